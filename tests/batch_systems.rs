//! Tests with OpenPBS, Torque, LSF and Flux. Scripts replace their programs, with the same arguments and answers;
//! driver, jobs and launches are real.

use super::common::{self, Scratch};
use apexmap_results::disk::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

const PROGRAMS: &[&str] = &["qsub", "qstat", "qdel", "bsub", "bjobs", "bkill", "flux"];

/// A login node of such a system.
struct Site {
    scratch: Scratch,
    system: &'static str,
}

impl Site {
    fn new(system: &'static str) -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.join("bin")).expect("a folder");
        fs::create_dir(scratch.join("queue")).expect("a folder");
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/batch_systems/stand_in.sh");
        let copy = scratch.join("stand_in.sh");
        fs::copy(&stand_in, &copy).expect("the script");
        let mut rights = fs::metadata(&copy).expect("the script").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
        fs::set_permissions(&copy, rights).expect("rights");
        for program in PROGRAMS {
            symlink(&copy, scratch.join("bin").join(program)).expect("a link");
        }
        Self { scratch, system }
    }

    fn queue(&self) -> PathBuf {
        self.scratch.join("queue")
    }

    /// Writes a sweep of slow points on one thread, with this number of repetitions.
    fn sweep(&self, name: &str, repetitions: u32) {
        let text = format!(
            "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = \"64 kwords\"\nN = 400\n[axes]\nL = [1, 4, 16]\n\
             [launch]\npreflight = \"0 s\"\n[launch.submit]\nsystem = \"{}\"\ntime_limit = \"5 min\"\n\
             [repeat]\nmin = {repetitions}\n",
            self.system
        );
        fs::write(self.scratch.join(name), text).expect("a file");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(arguments).current_dir(&*self.scratch);
        command.env("PATH", format!("{}:{path}", self.scratch.join("bin").display()));
        command.env("STAND_IN", self.queue()).env("SYSTEM", self.system);
        command
    }

    fn apexmap(&self, arguments: &[&str]) -> String {
        text(&common::output(&mut self.command(arguments)))
    }

    fn follow(&self, sweep: &str, out: &str) -> Child {
        let mut command = self.command(&["run", sweep, "--no-report", "--out", out]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program")
    }

    /// Waits until the follower ends, and lets it ask without pauses.
    fn wait_for_follower(&self, mut follower: Child, out: &str) -> Output {
        self.wait("the end of the follower", || {
            let asked = fs::File::options().write(true).open(self.scratch.join(out).join("jobs/asked"));
            let _ = asked.and_then(|file| file.set_modified(SystemTime::now() - Duration::from_secs(60)));
            follower.try_wait().expect("a state").is_some()
        });
        common::wait_for_output(follower)
    }

    fn wait(&self, goal: &str, mut until: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !until() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{goal} did not come: {:?}", self.jobs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the states of the jobs in the order of submission.
    fn jobs(&self) -> Vec<String> {
        let word = |number: usize| fs::read_to_string(self.queue().join(format!("{number}/word"))).ok();
        (1..).map_while(word).map(|word| word.trim().to_owned()).collect()
    }

    fn predecessor(&self, number: usize) -> Option<String> {
        let predecessor = fs::read_to_string(self.queue().join(format!("{number}/after"))).ok()?;
        Some(predecessor.trim().to_owned())
    }

    fn samples(&self, out: &str) -> Vec<(String, u32, u32)> {
        let records = Folder { path: self.scratch.join(out) }.records().unwrap_or_default();
        let samples = records.iter().flat_map(|record| &record.samples);
        samples.map(|sample| (sample.key.clone(), sample.block, sample.repetition)).collect()
    }

    fn assert_whole(&self, out: &str, expected: usize) {
        let mut samples = self.samples(out);
        assert_eq!(samples.len(), expected);
        samples.sort();
        samples.dedup();
        assert_eq!(samples.len(), expected, "samples were duplicated");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for number in 1..=self.jobs().len() {
            let _ = fs::write(self.queue().join(format!("{number}/word")), "cancelled");
            let pid = fs::read_to_string(self.queue().join(format!("{number}/pid"))).unwrap_or_default();
            if let Ok(pid) = pid.trim().parse::<i32>() {
                let _ = kill(Pid::from_raw(-pid), Signal::SIGTERM);
            }
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a job that is killed at its limit, and the next one. Then runs a chain, which the user leaves, finds again and
/// cancels.
fn check_site(system: &'static str, killed: &str) {
    let site = Site::new(system);
    site.sweep("s.toml", 30);
    fs::write(site.queue().join("limit"), format!("{} 8\n", site.scratch.join("result").display())).expect("a file");
    let output = site.wait_for_follower(site.follow("s.toml", "result"), "result");
    let messages = text(&output);
    assert!(output.status.success(), "{messages}");
    assert!(messages.contains(killed), "{messages}");
    assert_eq!(site.jobs(), ["limit", "done"], "{messages}");
    site.assert_whole("result", 90);

    // This sweep takes longer than the limit of one job.
    site.sweep("long.toml", 4_000_000);
    let follower = site.follow("long.toml", "long");
    site.wait("a chain and its samples", || site.samples("long").len() > 2 && site.jobs().len() > 4);
    kill(Pid::from_raw(follower.id() as i32), Signal::SIGINT).expect("a signal");
    let left = text(&site.wait_for_follower(follower, "long"));
    assert!(left.contains("the jobs continue"), "{left}");
    assert_eq!(site.predecessor(3), None, "the first of the chain waits for nothing");
    assert_eq!((site.predecessor(4).as_deref(), site.predecessor(5).as_deref()), (Some("3"), Some("4")));
    assert_eq!(site.jobs()[2..5], ["running", "waiting", "waiting"]);
    let status = site.apexmap(&["status", "long"]);
    assert!(status.contains("is running") && status.contains("is waiting in the queue"), "{status}");
    let chain = site.jobs().len() - 2;
    let cancelled = site.apexmap(&["cancel", "long"]);
    assert!(cancelled.contains(&format!("cancelled {chain} jobs: ")), "{cancelled}");
    assert!(site.jobs()[2..].iter().all(|word| word == "cancelled"), "{:?}", site.jobs());
    let pid: i32 = fs::read_to_string(site.queue().join("3/pid")).expect("a process").trim().parse().expect("a number");
    site.wait("the end of the job", || kill(Pid::from_raw(pid), None).is_err());
}

#[test]
fn a_sweep_runs_under_openpbs_which_truncates_ids() {
    check_site("pbs", "has left the queue");
}

#[test]
fn a_sweep_runs_under_torque_which_forgets_finished_jobs() {
    check_site("torque", "has left the queue");
}

#[test]
fn a_sweep_runs_under_lsf_which_reads_scripts_from_standard_input() {
    check_site("lsf", "was ended at its time limit: TERM_RUNLIMIT");
}

#[test]
fn a_sweep_runs_under_flux_which_has_non_numeric_ids() {
    check_site("flux", "was ended at its time limit");
}
