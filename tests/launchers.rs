//! Tests of launchers that misbehave: how a sweep ends with each of them, what it keeps, and that no process stays
//! behind.

use super::common::{Scratch, apexmap, output, with_time_limit};
use super::mpi_worker::{MPICH, OPEN_MPI, job, lock_launches};
use apexmap_base::point::Point;
use apexmap_base::sample::Status;
use apexmap_measure::kernels;
use apexmap_measure::provenance;
use apexmap_measure::worker::Info;
use apexmap_results::disk::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Starts the worker correctly.
const GOOD_LAUNCHER: &str = "exec \"$@\"";
/// Limits that these sweeps never reach.
const LONG_LIMITS: &str = "timeout = \"600 s\"\nstart_timeout = \"600 s\"";
/// Limits for launches that never send an expected line.
const SHORT_LIMITS: &str = "timeout = \"0.3 s\"\nstart_timeout = \"0.3 s\"";
/// Limits for launches that begin well and then never finish a run.
const SHORT_RUN_LIMIT: &str = "timeout = \"0.3 s\"\nstart_timeout = \"600 s\"";

/// A sweep of two points, a launcher that is a script, and a worker that poses as an MPI worker.
struct Case {
    scratch: Scratch,
    out: PathBuf,
    worker: PathBuf,
    kernel: &'static str,
}

impl Case {
    /// Creates a case with samples from a good launcher: two of each point.
    fn new() -> Self {
        let case = Self::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\n[axes]\nL = [1, 8]");
        let output = case.run(GOOD_LAUNCHER, LONG_LIMITS, 2);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        case
    }

    fn empty(kernel: &'static str) -> Self {
        let scratch = Scratch::new();
        let program = env!("CARGO_BIN_EXE_apexmap");
        let transports = ["threads", "mpi"].map(str::to_owned).to_vec();
        let info = Info { build: provenance::build(), transports, mpi_library: Some("MPI of scripts".into()) };
        std::fs::write(scratch.join("info"), serde_json::to_string(&info).unwrap()).unwrap();
        // worker --job FILE --transport mpi --ranks 2
        let worker = format!(
            "#!/bin/sh\nif [ \"$2\" = --info ]; then exec cat '{}'; fi\n\
             exec '{program}' worker --job \"$3\" --transport threads --ranks \"$7\"\n",
            scratch.join("info").display()
        );
        std::fs::write(scratch.join("worker"), worker).unwrap();
        std::fs::set_permissions(scratch.join("worker"), PermissionsExt::from_mode(0o755)).unwrap();
        let (out, worker) = (scratch.join("result"), scratch.join("worker"));
        Self { scratch, out, worker, kernel }
    }

    /// Returns the command that measures this number of samples of each point through this launcher.
    fn command(&self, launcher: &str, limits: &str, samples: u32) -> Command {
        let [script, sweep] = ["launcher", "sweep.toml"].map(|name| self.scratch.join(name));
        std::fs::write(&script, format!("ranks=$1; shift\n{launcher}\n")).unwrap();
        let text = format!(
            "[fixed]\nranks = 2\n{}\n[repeat]\nmin = {samples}\n[launch]\ntransport = \"mpi\"\n\
             launcher = \"custom\"\ncommand = [\"sh\", \"{}\", \"{{ranks}}\", \"{{worker}}\", \"{{arguments}}\"]\n\
             preflight = \"0 s\"\nworker = \"{}\"\n{limits}\n",
            self.kernel,
            script.display(),
            self.worker.display()
        );
        std::fs::write(&sweep, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command.args(["run", "--no-report", "--out"]).arg(&self.out).arg(&sweep);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // This variable identifies all processes of the case.
        command.env("APEXMAP_TEST", self.scratch.as_os_str());
        command
    }

    fn run(&self, launcher: &str, limits: &str, samples: u32) -> Output {
        output(&mut self.command(launcher, limits, samples))
    }

    /// Returns key and repetition of the good samples.
    fn samples(&self) -> Vec<(String, u32)> {
        let records = Folder::open(&self.out).unwrap().records().unwrap();
        let good = records.into_iter().flat_map(|record| record.samples).filter(|s| s.status == Status::Ok);
        good.map(|sample| (sample.key, sample.repetition)).collect()
    }

    /// Returns the processes of this case.
    fn processes(&self) -> Vec<i32> {
        let mark = format!("APEXMAP_TEST={}", self.scratch.display());
        let of_case = |entry: &std::fs::DirEntry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes()) && !stat.contains(") Z")
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten().filter(of_case);
        processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Waits until no process of this case is left.
    fn assert_gone(&self, context: &str) {
        let tries = (0..3000).take_while(|_| !self.processes().is_empty());
        let tries = tries.map(|_| std::thread::sleep(Duration::from_millis(20))).count();
        assert!(tries < 3000, "{context}: {:?} stay behind", self.processes());
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        self.processes().into_iter().for_each(|pid| _ = kill(Pid::from_raw(pid), Signal::SIGKILL));
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A launcher's script, the limits of its sweep, the exit code, and a part of the message.
type LauncherCase<'a> = (&'a str, &'a str, i32, &'a str);

/// Checks that a sweep with each of these launchers ends as expected, keeps its samples, and is complete after a good
/// launch.
fn check_launchers(tries: &[LauncherCase]) {
    let case = Case::new();
    let before = case.samples();
    assert_eq!(before.len(), 4);
    let saved = case.scratch.join("saved");
    std::fs::rename(&case.out, &saved).unwrap();
    for (launcher, limits, code, message) in tries {
        let copied = Command::new("cp").arg("-r").args([&saved, &case.out]).status().unwrap();
        assert!(copied.success());
        let output = case.run(launcher, limits, 4);
        let text = errors(&output);
        assert!(text.len() < 20_000, "{launcher}: {} bytes are written", text.len());
        assert_eq!(output.status.code(), Some(*code), "{launcher}: {text}");
        assert!(text.contains(message), "{launcher}: {text}");
        assert!(case.processes().is_empty(), "{launcher}: something stays behind");
        let kept = case.samples();
        assert!(before.iter().all(|sample| kept.contains(sample)), "{launcher}: samples are lost");
        assert!(kept.len() == 4 || !message.starts_with(MISFIT_MESSAGE), "{launcher}: {} samples count", kept.len());
        if *code == 0 {
            let status = apexmap(&["status", case.out.to_str().unwrap()]);
            let status = String::from_utf8_lossy(&status.stdout);
            assert!(status.contains("launch 0002: 2 ranks on threads"), "{launcher}: {status}");
        }
        let files = std::fs::read_dir(case.out.join("journals")).unwrap().flatten();
        assert!(files.map(|file| file.metadata().unwrap().len()).all(|bytes| bytes < 2_000_000), "{launcher}");
        let output = case.command(GOOD_LAUNCHER, LONG_LIMITS, 4).arg("--retry-failed").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "after {launcher}: {}", errors(&output));
        let samples = case.samples();
        assert_eq!(samples.len(), 8, "after {launcher}");
        assert_eq!(samples.into_iter().collect::<HashSet<_>>().len(), 8, "after {launcher}");
        std::fs::remove_dir_all(&case.out).unwrap();
    }
}

const MISFIT_MESSAGE: &str = "its lines are inconsistent";

#[test]
fn worker_lines_are_found_in_any_output_of_a_launcher() {
    check_launchers(&[
        // A banner without a line break.
        ("printf 'job 4711 starting... '; exec \"$@\"", LONG_LIMITS, 0, "2 of 2 points done"),
        ("\"$@\" | sed -u 's/^/[0] /'", LONG_LIMITS, 0, "2 of 2 points done"),
        ("\"$@\" | sed -u 's/$/\\r/'", LONG_LIMITS, 0, "2 of 2 points done"),
        ("\"$@\" | sed -u 's/^/UCX WARN\\n\\n{\"event\":\"what\"}\\n/'", LONG_LIMITS, 0, "2 of 2 points done"),
        ("head -c 300000 /dev/urandom; exec \"$@\"", LONG_LIMITS, 0, "2 of 2 points done"),
        ("head -c 3000000 /dev/zero >&2; exec \"$@\"", LONG_LIMITS, 0, "2 of 2 points done"),
    ]);
}

#[test]
fn an_unexpected_line_is_a_fault_and_its_samples_do_not_count() {
    let sed = |script: &str| format!("\"$@\" | sed -u '{script}'");
    let wrong = [
        (sed("/\"start\"/d"), "a sample without a start"),
        (sed("/\"hello\"/d"), "a start before the greeting"),
        (sed("0,/\"sample\"/{/\"sample\"/d}"), "a start before the last run's sample"),
        (sed("/\"sample\"/p"), "a sample without a start"),
        (sed("p"), "a second launch begins"),
        (sed("/\"hello\"/s/\"ranks\":2/\"ranks\":3/"), "a greeting of another launch"),
        (sed("/\"sample\"/s/\"key\":\"[^\"]*\"/\"key\":\"another\"/"), "a sample of another point"),
        (sed("/\"sample\"/s/\"I\":64/\"I\":32/"), "a sample of another point"),
        (sed("/\"sample\"/s/\"repetition\":2/\"repetition\":7/"), "a sample of another run"),
        (sed("/\"sample\"/s/\"repetition\":3/\"repetition\":7/"), "a sample of another run"),
        (sed("/\"hello\"/h;/\"sample\"/{/\"repetition\":3/G}"), "a second launch begins"),
        (sed("/\"sample\"/s/\"block\":0/\"block\":1/"), "a sample of another run"),
        (sed("/\"start\"/s/\"index\":[01]/\"index\":9/"), "a start of a point that is not in the job"),
        (sed("/\"start\"/s/\"repetition\":2/\"repetition\":0/"), "a start of repetition 0 instead of 2"),
        (sed("/\"start\"/{h;d};/\"sample\"/G"), "a sample without a start"),
        (sed("/\"start\"/s/.*/{\"event\":\"done\",\"budget_spent\":false}/"), "an end before all points were measured"),
        (sed("/\"start\"/s/.*/{\"event\":\"done\",\"budget_spent\":true}/"), "an end of the budget"),
        (sed("/\"start\"/s/^/{\"event\":\"ended\",\"status\":\"ok\",\"message\":\"\"}\\n/"), "a line of the driver's"),
        ("\"$@\" & \"$@\" & wait".to_owned(), "a second launch begins"),
        ("head -c 2000000 /dev/zero; exec \"$@\"".to_owned(), "a start before the greeting"),
        (
            "while :; do echo '{\"event\":\"memory\",\"ranks\":[]}'; done".to_owned(),
            "a line about memory before the greeting",
        ),
    ];
    let expected: Vec<String> = wrong.iter().map(|(_, why)| format!("{MISFIT_MESSAGE}: {why}")).collect();
    // The lines of two launches may interleave anywhere, and some systems report their memory before the first start.
    let any_misfit =
        |index: usize| ["&", "start\"/d", "{h;d}", "head"].iter().any(|part| wrong[index].0.contains(part));
    let message_at = |index: usize| if any_misfit(index) { MISFIT_MESSAGE } else { expected[index].as_str() };
    check_launchers(
        &(0..wrong.len()).map(|index| (wrong[index].0.as_str(), LONG_LIMITS, 3, message_at(index))).collect::<Vec<_>>(),
    );
}

#[test]
fn a_silent_launch_or_one_without_line_ends_is_stopped_in_time() {
    let silent = "did not start: no sign of life within 0.3 s";
    check_launchers(&[
        ("exec sleep 1000", SHORT_LIMITS, 3, silent),
        ("exec tr '\\0' x < /dev/zero", SHORT_LIMITS, 3, silent),
        ("exec yes", SHORT_LIMITS, 3, silent),
        ("yes >&2", SHORT_LIMITS, 3, silent),
        ("trap '' TERM; sleep 1000 & wait; wait", SHORT_LIMITS, 3, silent),
        ("setsid sleep 1000 & exit 0", SHORT_LIMITS, 3, silent),
        ("\"$@\" | sed -u '/\"hello\"/q'; exec sleep 1000", SHORT_LIMITS, 3, "no sign of life"),
    ]);
}

/// Stops its own process, and becomes the worker when it continues.
const STOP_FIRST: &str = "kill -STOP $$; exec \"$@\"";

#[test]
fn a_suspended_launch_is_abandoned_in_time_and_killed() {
    let silent = "did not start: no sign of life within 0.3 s";
    let worker = format!("sh -c '{STOP_FIRST}' worker \"$@\"");
    check_launchers(&[
        (STOP_FIRST, SHORT_LIMITS, 3, silent),
        (&worker, SHORT_LIMITS, 3, silent),
        (&format!("setsid {worker}"), SHORT_LIMITS, 3, silent),
        (&format!("trap '' TERM; {worker}; sleep 1000"), SHORT_LIMITS, 3, silent),
        ("\"$@\" | sed -u '/\"hello\"/q'; kill -STOP $$", SHORT_LIMITS, 3, "no sign of life"),
        ("\"$@\" | sed -u '/\"start\"/q'; kill -STOP $$", SHORT_RUN_LIMIT, 4, "timed-out"),
    ]);
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\nL = 1");
    let output = case.run(STOP_FIRST, SHORT_LIMITS, 2);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let records = Folder::open(&case.out).unwrap().records().unwrap();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.ended, Some((Status::TimedOut, "no sign of life within 0.3 s".into())));
    assert!(record.launch.is_none() && record.samples.is_empty() && record.damage().is_none());
}

#[test]
fn error_output_of_good_launches_is_told_in_run_status_and_report() {
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\nL = 1");
    let warning = "It appears as if there is not enough space for /dev/shm/vader_segment.n1 (the shared-memory backing";
    let launcher = format!("echo '{warning}' >&2; echo '[n1:9] odd' >&2; echo '[n1:10] odd' >&2; exec \"$@\"");
    let output = case.run(&launcher, &format!("{LONG_LIMITS}\nlaunches = 2"), 2);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let cause = "/dev/shm of a node is too small";
    assert_eq!((text.matches(cause).count(), text.matches("--shm-size").count()), (1, 1), "{text}");
    let lines = "the launches printed 6 lines besides their samples, most often: 4 times";
    assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" ").matches(lines).count(), 1, "{text}");
    let text = |arguments: &[&str]| {
        let output = apexmap(&[arguments, &[case.out.to_str().expect("a path")]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let status = text(&["status"]);
    assert!(status.contains(lines) && status.matches(cause).count() == 1 && status.contains("[n1:9] odd"), "{status}");
    text(&["report"]);
    let report = std::fs::read_to_string(case.out.join("report.html")).expect("a report").replace("&#x2f;", "/");
    assert!(report.contains(lines) && report.contains(cause) && report.contains("--shm-size"));
}

#[test]
fn samples_before_an_inconsistent_line_are_kept_but_do_not_count() {
    let case = Case::new();
    let launcher = "\"$@\" | sed -u '/\"hello\"/h;/\"sample\"/{/\"repetition\":3/G}'";
    let output = case.run(launcher, LONG_LIMITS, 4);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let messages = errors(&output);
    assert!(messages.contains("0 new samples in ") && messages.contains("0 of 2 points done\n"), "{messages}");
    let journal = std::fs::read_to_string(case.out.join("journals/0002.jsonl")).unwrap();
    // A run beside another program ends a visit, so their number differs.
    let kept = journal.matches("{\"event\":\"sample\"").count();
    assert!(kept >= 2, "they stay where they were: {kept}");
    let out = case.out.to_str().unwrap();
    let expected = &format!("journal 0002.jsonl: {kept} samples of a launch with inconsistent lines do not count");
    for command in ["status", "query"] {
        let output = apexmap(&[command, out]);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && text.contains(expected), "{command}: {text}");
        assert!(command != "status" || text.contains("0 done, 2 partial") && text.contains("samples: 4 successful"));
    }
    assert_eq!(Folder::open(&case.out).unwrap().table().unwrap().rows, 4);
}

#[test]
fn an_endless_run_is_a_failed_point_despite_other_output() {
    check_launchers(&[
        ("\"$@\" | sed -u '/\"start\"/q'; exec yes UCX WARN", SHORT_RUN_LIMIT, 4, "timed-out"),
        ("\"$@\" | sed -u '/\"start\"/q'; exec sleep 1000", SHORT_RUN_LIMIT, 4, "timed-out"),
        ("\"$@\" | sed -u '/\"start\"/q'; tr '\\0' x < /dev/zero >&2", SHORT_RUN_LIMIT, 4, "timed-out"),
    ]);
}

#[test]
fn launches_that_die_are_retried_a_limited_number_of_times() {
    let again = "3 consecutive launches on 2 ranks ended without a sample";
    check_launchers(&[
        ("exit 0", LONG_LIMITS, 3, "did not start: the worker ended early"),
        ("exit 9", LONG_LIMITS, 3, "did not start: the launch ended with exit code 9"),
        ("yes 'no slots' | head -c 3000000 | tr '\\n' ' ' >&2; exit 1", LONG_LIMITS, 3, "no slots no slots"),
        ("\"$@\" | sed -u '/\"hello\"/q'; exit 9", LONG_LIMITS, 3, again),
        ("\"$@\" | sed -u '/\"hello\"/q'; kill -9 $$", LONG_LIMITS, 3, again),
        ("\"$@\" | sed -u '/\"start\"/q'; exit 9", LONG_LIMITS, 4, "2 failed"),
        // Each launch adds one sample, until the points are complete.
        ("\"$@\" | sed -u '/\"sample\"/q'; exit 9", LONG_LIMITS, 0, "exit code 9"),
    ]);
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\nL = 1");
    let output = case.run("\"$@\" | sed -u '/\"sample\"/q'; exit 9", LONG_LIMITS, 1000);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let text = errors(&output);
    assert!(text.contains("25 consecutive launches on 2 ranks ended without the last sample of any point"), "{text}");
    assert_eq!(case.samples().len(), 25, "what they measured is kept");
}

#[test]
fn a_set_up_fault_is_reported_once_and_points_wait() {
    let error = "[n1:00065] *** An error occurred in MPI_Win_create\n[n1:00065] *** reported by process [1,0]\n[n1:00065] *** \
                 MPI_ERR_WIN: invalid window\n[n1:00065] *** MPI_ERRORS_ARE_FATAL\n";
    let rest = "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n".repeat(20);
    let case =
        Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\n[axes]\nL = [1, 2, 4, 8, 16]");
    let launcher = format!("\"$@\" | sed -u '/\"start\"/q'; printf '{error}{rest}' >&2; exit 53");
    let output = case.run(&launcher, LONG_LIMITS, 2);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(6), "{text}");
    let expected = "error: 3 consecutive launches failed for the same reason, so the set-up is at fault, not a point: MPI_Win_create fails";
    assert!(text.contains(expected) && text.contains("5 points wait for the fix"), "{text}");
    assert!(text.contains("An error occurred in MPI_Win_create; the launch ended with exit code 53"), "{text}");
    let status = apexmap(&["status", case.out.to_str().unwrap()]);
    assert!(!String::from_utf8_lossy(&status.stdout).contains("5 failed"), "{status:?}");
    let output = case.run(GOOD_LAUNCHER, LONG_LIMITS, 2);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(case.samples().len(), 10);
}

#[test]
fn launcher_output_is_kept_and_its_cause_is_reported() {
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\nL = 1");
    let launcher = "echo '[proxy:0:0@n1] execvp error on file /w/apexmap (No such file or directory)'; exit 255";
    let output = case.run(launcher, LONG_LIMITS, 2);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(6), "{text}");
    assert!(
        text.contains(
            "did not start: a node cannot find or execute the worker, or a program that starts it: [proxy:0:0@n1]"
        ),
        "{text}"
    );
    assert!(text.contains("put the worker on a file system that all nodes mount at the same path"), "{text}");
    let kept = std::fs::read_to_string(case.out.join("journals/0001.stderr")).unwrap();
    assert!(kept.contains("execvp error"), "{kept}");
}

#[test]
fn ranks_that_outlive_their_launcher_are_followed_to_their_end() {
    check_launchers(&[
        ("setsid \"$@\" & exit 0", LONG_LIMITS, 0, "2 of 2 points done"),
        ("\"$@\" & exit 0", LONG_LIMITS, 0, "2 of 2 points done"),
        ("\"$@\"; setsid sleep 1000 > /dev/null 2>&1 & exit 0", LONG_LIMITS, 0, "2 of 2 points done"),
    ]);
}

#[test]
fn a_process_detached_from_its_launch_on_purpose_is_not_killed() {
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\nL = 1");
    let daemon = "APEXMAP_LAUNCH=stay setsid sleep 1000 > /dev/null 2>&1 &";
    let output = case.run(&format!("{daemon}\nexec \"$@\""), LONG_LIMITS, 2);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(case.processes().len(), 1, "it is left alone, as docs/appendix/faults.md says");
}

/// Four thousand million messages, which take minutes.
const LONG_RUN: &str = "kernel = \"calibrate.mailbox\"\nmessage_bytes = 8\nmessages = 4294967296";

/// Starts a sweep and waits until it is in a long run.
fn start_long_run(case: &Case, launcher: &str) -> Child {
    let started = case.scratch.join("started");
    let _ = std::fs::remove_file(&started);
    let tee = format!("{launcher} | sed -u '/\"start\"/w {}'", started.display());
    let mut driver = case.command(&tee, LONG_LIMITS, 2).spawn().unwrap();
    while !std::fs::metadata(&started).is_ok_and(|file| file.len() > 0) {
        assert!(driver.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(Duration::from_millis(2));
    }
    driver
}

#[test]
fn a_launch_during_a_run_ends_with_its_driver() {
    use Signal::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
    for launcher in ["\"$@\"", "setsid \"$@\"", "(trap '' TERM; \"$@\")"] {
        for (signal, code) in [(SIGINT, Some(130)), (SIGTERM, Some(143)), (SIGHUP, Some(129)), (SIGKILL, None)] {
            let case = Case::empty(LONG_RUN);
            let driver = start_long_run(&case, launcher);
            kill(Pid::from_raw(driver.id() as i32), signal).unwrap();
            let output = driver.wait_with_output().unwrap();
            assert_eq!(output.status.code(), code, "{launcher}: {}", errors(&output));
            case.assert_gone(&format!("{launcher} after {signal}"));
            let summarized = errors(&output).contains("0 samples kept, 0 of 1 point done");
            assert_eq!(summarized, code.is_some(), "{launcher}: {}", errors(&output));
        }
    }
}

/// Uses a real MPI inside a script. The system sends a signal when a parent dies, but the script does not forward it.
#[test]
fn an_mpi_launch_in_a_script_ends_with_its_driver() {
    needs!(Mpi);
    for mpi in [&OPEN_MPI, &MPICH] {
        let worker = mpi.worker().to_owned();
        let _alone = lock_launches();
        let launcher = mpi.launcher();
        let program = launcher.programs()[0];
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
            let mut case = Case::empty(LONG_RUN);
            case.worker.clone_from(&worker);
            let settings = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
                            OMPI_MCA_rmaps_base_oversubscribe=1";
            // In another session, only the first rank can notice.
            let setsid = if signal == Signal::SIGKILL { "setsid" } else { "" };
            let command = format!("{settings}\n{setsid} {program} -n $ranks \"$@\" < /dev/null");
            let driver = start_long_run(&case, &command);
            assert!(case.processes().len() > 5, "driver, script, launcher and ranks");
            kill(Pid::from_raw(driver.id() as i32), signal).unwrap();
            let output = driver.wait_with_output().unwrap();
            case.assert_gone(&format!("{} after {signal}: {}", mpi.name, errors(&output)));
        }
    }
}

/// As on another node: the first rank sees of the driver only the pipe that it writes to.
#[test]
fn all_ranks_end_during_a_run_when_the_output_pipe_closes() {
    use std::io::{BufRead, BufReader};
    needs!(Mpi);
    for mpi in [&OPEN_MPI, &MPICH] {
        let scratch = Scratch::new();
        let (worker, pipe) = (scratch.join("rank"), scratch.join("pipe"));
        let text = format!(
            "#!/bin/sh\nif [ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = 0 ]; then exec > '{}'; fi\nexec '{}' \"$@\"\n",
            pipe.display(),
            mpi.worker().display()
        );
        std::fs::write(&worker, text).unwrap();
        std::fs::set_permissions(&worker, PermissionsExt::from_mode(0o755)).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let point = Point::new("calibrate.mailbox", 2)
            .with_parameter("message_bytes", 8u64)
            .with_parameter("messages", 1u64 << 32);
        let job = job("unread", 2, 1, vec![kernels::complete(point).unwrap()]);
        let launch = std::thread::spawn(move || mpi.start(&worker, &job, 2));
        let mut lines = BufReader::new(std::fs::File::open(&pipe).unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("\"start\"")));
        drop(lines);
        let output = with_time_limit(move || launch.join().unwrap());
        assert!(!output.status.success(), "{}: {}", mpi.name, errors(&output));
    }
}

/// As started by `nohup` and `&` in a script.
#[test]
fn a_driver_that_ignores_ctrl_c_continues_and_its_launcher_gets_it() {
    use std::os::unix::process::CommandExt;
    let case = Case::empty("kernel = \"apex_map.two_sided\"\nM = \"4 kwords\"\nI = 64\nN = 2\n[axes]\nL = [1, 8]");
    let heard = case.scratch.join("heard");
    let launcher = format!("trap 'echo > {}' INT; kill -INT $$; kill -INT $PPID; \"$@\"", heard.display());
    let mut command = case.command(&launcher, LONG_LIMITS, 2);
    // SAFETY: the closure makes one system call, which is allowed after a fork.
    unsafe {
        command.pre_exec(|| {
            nix::sys::signal::signal(Signal::SIGINT, nix::sys::signal::SigHandler::SigIgn)?;
            Ok(())
        });
    }
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(heard.exists(), "the launcher has trapped what it was sent");
    assert_eq!(case.samples().len(), 4);
}

#[test]
fn a_second_ctrl_c_ends_driver_and_launch_immediately() {
    use std::os::unix::process::ExitStatusExt;
    let case = Case::empty(LONG_RUN);
    // The driver waits after the first signal, because the launch ignores SIGTERM.
    let mut driver = start_long_run(&case, "(trap '' TERM; \"$@\")");
    let pid = Pid::from_raw(driver.id() as i32);
    let ended = loop {
        let _ = kill(pid, Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(5));
        if let Some(status) = driver.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(ended.signal(), Some(Signal::SIGINT as i32));
    case.assert_gone("a second Ctrl-C");
}

#[test]
fn a_worker_program_that_does_not_identify_itself_is_refused_in_time() {
    use apexmap_run::campaign::worker::query_info;
    let scratch = Scratch::new();
    let program = |name: &str, text: &str| {
        let path = scratch.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho $$ > {}/pid\n{text}\n", scratch.display())).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let limit = Duration::from_millis(300);
    for (name, text, limit, expected) in [
        ("silent", "sleep 1000", limit, "does not describe itself within 0.3 s"),
        ("endless", "exec yes", Duration::from_secs(600), "is not apexmap"),
        ("loud", "yes >&2", limit, "does not describe itself within 0.3 s"),
        ("wrong", "echo 1.2.3", Duration::from_secs(600), "is not apexmap"),
    ] {
        let error = query_info(&program(name, text), limit).expect_err(name);
        assert!(error.message.contains(expected) && error.exit_code() == 3, "{name}: {error}");
        let pid = std::fs::read_to_string(scratch.join("pid")).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{name} still lives");
    }
    let error = query_info(&scratch.join("absent"), limit).expect_err("it is not there");
    assert!(error.message.contains("absent") && error.exit_code() == 3, "{error}");
}

#[test]
fn a_worker_named_without_a_folder_is_taken_from_the_current_folder() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_apexmap"), scratch.join("wk")).unwrap();
    // The PATH has another program with this name first.
    std::fs::create_dir(scratch.join("path")).unwrap();
    std::os::unix::fs::symlink("/bin/false", scratch.join("path/wk")).unwrap();
    let text =
        "[fixed]\nkernel = \"apex_map.sequential\"\nM = \"4 kwords\"\nI = 64\nN = 2\n[launch]\npreflight = \"0 s\"\n";
    std::fs::write(scratch.join("sweep.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.current_dir(&*scratch).env("PATH", scratch.join("path"));
    let output = command.args(["run", "sweep.toml", "--worker", "wk", "--no-report"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
}
