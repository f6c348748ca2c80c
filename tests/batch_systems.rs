//! Tests with OpenPBS, Torque, LSF and Flux. Scripts replace their programs, with the same arguments and answers;
//! driver, jobs and launches are real.

use super::common::{self, Scratch};
use apexmap_results::disk::Folder;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
        let copy = scratch.join("stand_in.sh");
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/batch_systems/stand_in.sh");
        fs::copy(&stand_in, &copy).expect("the script");
        fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).expect("rights");
        for program in ["qsub", "bsub", "flux"] {
            symlink(&copy, scratch.join("bin").join(program)).expect("a link");
        }
        // Slow points on one thread.
        let text = format!(
            "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = \"64 kwords\"\nN = 400\n[axes]\nL = [1, 4, 16]\n\
             [launch]\npreflight = \"0 s\"\n[launch.submit]\nsystem = \"{system}\"\ntime_limit = \"5 min\"\n[repeat]\nmin = 30\n"
        );
        fs::write(scratch.join("s.toml"), text).expect("a file");
        Self { scratch, system }
    }

    fn apexmap(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(arguments).current_dir(&*self.scratch);
        command.env("PATH", format!("{}:{path}", self.scratch.join("bin").display()));
        command.env("STAND_IN", self.scratch.join("queue")).env("SYSTEM", self.system);
        let output = common::output(&mut command);
        let messages = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{messages}");
        messages
    }

    /// Submits the sweep, and waits for the end of job `number`. Returns the output of the command.
    fn submit(&self, number: usize) -> String {
        let messages = self.apexmap(&["run", "s.toml", "--no-report", "--out", "result"]);
        let end = self.scratch.join(format!("queue/{number}/end"));
        let begun = Instant::now();
        while !end.is_file() {
            assert!(begun.elapsed() < Duration::from_secs(120), "job {number} does not end: {messages}");
            std::thread::sleep(Duration::from_millis(20));
        }
        messages
    }

    /// Returns the samples, each with its repetition.
    fn samples(&self) -> Vec<(String, u32, u32)> {
        let records = Folder { path: self.scratch.join("result") }.records().unwrap_or_default();
        let samples = records.iter().flat_map(|record| &record.samples);
        samples.map(|sample| (sample.key.clone(), sample.block, sample.repetition)).collect()
    }
}

/// Runs a job that is killed at its limit, and one for the rest.
fn check_site(system: &'static str, id: &str) {
    let site = Site::new(system);
    fs::write(site.scratch.join("queue/limit"), format!("{} 8\n", site.scratch.join("result").display()))
        .expect("a file");
    let messages = site.submit(1);
    assert!(messages.contains(&format!("submitted job {}: 1 node", id.replace('N', "1"))), "{messages}");
    let (kept, log) = (site.samples().len(), fs::read_to_string(site.scratch.join("result/jobs/nodes-1.log")));
    assert!((1..90).contains(&kept), "{kept} samples; {log:?}");
    let messages = site.submit(2);
    assert!(messages.contains(&format!("submitted job {}: 1 node", id.replace('N', "2"))), "{messages}");
    let mut samples = site.samples();
    assert_eq!(samples.len(), 90);
    samples.sort();
    samples.dedup();
    assert_eq!(samples.len(), 90, "samples were duplicated");
    assert!(site.apexmap(&["status", "result"]).contains("3 done, 0 partial"));
}

#[test]
fn a_sweep_runs_under_openpbs() {
    check_site("pbs", "N.pbs-01.hsn.machine.example.org");
}

#[test]
fn a_sweep_runs_under_torque() {
    check_site("torque", "N.pbs-01.hsn.machine.example.org");
}

#[test]
fn a_sweep_runs_under_lsf_which_reads_scripts_from_standard_input() {
    check_site("lsf", "N");
}

#[test]
fn a_sweep_runs_under_flux_which_has_non_numeric_ids() {
    check_site("flux", "ƒN");
}
