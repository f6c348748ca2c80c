//! Injects faults into running sweeps: system calls that fail, processes that are killed, full disks, concurrent
//! drivers. No sample in a journal is lost or duplicated, no process stays behind, and the next run completes the
//! sweep.
//!
//! These tests make a few tries of each fault; `make faults` makes a hundred and prints a table (docs/appendix/faults.md). It
//! reads two environment variables: `APEXMAP_FAULT_TRIES` (100) and `APEXMAP_FAULTS`, a part of the faults' names
//! (all).

mod harness;

use apexmap_results::disk::Folder;
use harness::{Case, Tally, random_below};

pub use harness::shim;
use nix::libc::{EDQUOT, EIO, ENOSPC};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

/// A fault to inject.
#[derive(Clone, Copy)]
enum Fault {
    /// The driver's k-th call on a file of the result fails or kills it: see `FAULT_ERROR` in shim.c.
    Call { error: i32, stays: bool },
    /// The same while a report is written.
    CallOfReport { error: i32 },
    /// The driver gets this signal at a random moment.
    Driver(Signal),
    /// The worker is killed at a random moment.
    Worker,
    /// The disk is full.
    FullDisk,
    /// This number of drivers starts at once, with readers among them.
    Drivers(usize),
}

const FAULTS: [(&str, Fault); 17] = [
    ("call fails: input/output error", Fault::Call { error: EIO, stays: false }),
    ("call fails: no room", Fault::Call { error: ENOSPC, stays: false }),
    ("call fails: quota exceeded, for good", Fault::Call { error: EDQUOT, stays: true }),
    ("short write, then no room", Fault::Call { error: -2, stays: false }),
    ("killed before a call", Fault::Call { error: 0, stays: false }),
    ("killed within a write", Fault::Call { error: -1, stays: false }),
    ("report: call fails: input/output error", Fault::CallOfReport { error: EIO }),
    ("report: short write, then no room", Fault::CallOfReport { error: -2 }),
    ("report: killed before a call", Fault::CallOfReport { error: 0 }),
    ("driver killed at any moment", Fault::Driver(Signal::SIGKILL)),
    ("driver gets SIGINT", Fault::Driver(Signal::SIGINT)),
    ("driver gets SIGTERM", Fault::Driver(Signal::SIGTERM)),
    ("driver gets SIGHUP", Fault::Driver(Signal::SIGHUP)),
    ("worker killed at any moment", Fault::Worker),
    ("disk full", Fault::FullDisk),
    ("two drivers at once", Fault::Drivers(2)),
    ("three drivers at once", Fault::Drivers(3)),
];

/// Returns the numbers of calls on files of the result: of a run on journals, of a run on all files, and of a report on
/// all files.
fn calls() -> [u64; 3] {
    static COUNTED: OnceLock<[u64; 3]> = OnceLock::new();
    *COUNTED.get_or_init(|| {
        let mut case = Case::new();
        let count = |case: &mut Case, mut command: Command, part: &str| {
            let file = case.mark();
            let _ = fs::remove_file(&file);
            let part = case.result().join(part);
            command.env("LD_PRELOAD", shim()).env("FAULT_PATH", part).env("FAULT_COUNT", &file);
            case.run_with_codes(command, &[0]);
            fs::metadata(file).expect("the shim counts").len()
        };
        let run = case.run(false);
        let journals = count(&mut case, run, "journals");
        fs::remove_dir_all(case.result()).unwrap();
        let run = case.run(false);
        let all_calls = count(&mut case, run, "");
        let mut report = case.command(&["report"]);
        report.arg(case.result());
        [journals, all_calls, count(&mut case, report, "")]
    })
}

fn sleep_at_random(seed: u64, max_milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(random_below(seed, max_milliseconds)));
}

/// Returns the launch: the child of the driver's guardian.
fn worker_of(driver: &Child) -> Option<i32> {
    let child = |process: i32| -> Option<i32> {
        let children = format!("/proc/{process}/task/{process}/children");
        fs::read_to_string(children).ok()?.split_ascii_whitespace().next()?.parse().ok()
    };
    child(child(driver.id() as i32)?)
}

fn inject(command: &mut Command, case: &Case, part: &str, call: u64, error: i32, stays: bool) {
    command.env("LD_PRELOAD", shim()).env("FAULT_PATH", case.result().join(part)).env("FAULT_AT", call.to_string());
    command.env("FAULT_ERROR", error.to_string()).env("FAULT_MARK", case.mark());
    if stays {
        command.env("FAULT_STAYS", "1");
    }
}

/// Creates a case. Half of the cases contain a sweep that was interrupted before.
fn start_case(seed: u64) -> Case {
    let mut case = Case::new();
    if random_below(seed, 2) == 1 {
        let mut command = case.run(false);
        inject(&mut command, &case, "journals", 5 + random_below(seed + 1, calls()[0]), -1, false);
        case.run_with_codes(command, &[0]);
        let _ = fs::remove_file(case.mark());
        case.record_samples();
    }
    case
}

/// Runs one try of a fault.
fn attempt(fault: Fault, seed: u64) -> Tally {
    let [of_journals, of_run, of_report] = calls();
    match fault {
        Fault::Call { error, stays } => {
            let mut case = start_case(seed);
            let mut command = case.run(false);
            // Most calls write the Parquet file. Therefore half of the faults strike journals and the others any file,
            // with most of them early.
            let early = of_run.min(1 << random_below(seed + 2, of_run.ilog2().into()));
            let (part, calls) = if random_below(seed + 3, 2) == 0 { ("journals", of_journals) } else { ("", early) };
            inject(&mut command, &case, part, 1 + random_below(seed + 4, calls), error, stays);
            case.run_with_codes(command, &[0, 3]);
            let struck = case.mark().exists();
            case.conclude(struck)
        }
        Fault::CallOfReport { error } => {
            let mut case = Case::new();
            let run = case.run(true);
            case.run_with_codes(run, &[0]);
            let mut command = case.command(&["report"]);
            command.arg(case.result());
            inject(&mut command, &case, "", 1 + random_below(seed, of_report), error, false);
            case.run_with_codes(command, &[0, 3]);
            let struck = case.mark().exists();
            case.conclude(struck)
        }
        Fault::Driver(signal) => {
            let mut case = start_case(seed);
            let mut driver = case.run(false).spawn().unwrap();
            sleep_at_random(seed + 2, 500);
            let struck = driver.try_wait().unwrap().is_none();
            let _ = kill(Pid::from_raw(driver.id() as i32), signal);
            // Until the driver handles signals, they kill it.
            if let Some(code) = case.wait(driver).and_then(|status| status.code()) {
                case.expect([0, 128 + signal as i32].contains(&code), || format!("exit code {code} after {signal}"));
            }
            case.conclude(struck)
        }
        Fault::Worker => {
            let mut case = start_case(seed);
            let driver = case.run(false).spawn().unwrap();
            sleep_at_random(seed + 2, 500);
            let worker = worker_of(&driver);
            worker.map(|worker| kill(Pid::from_raw(worker), Signal::SIGKILL));
            let code = case.wait(driver).and_then(|status| status.code());
            case.expect(code == Some(0), || format!("exit code {code:?}"));
            case.conclude(worker.is_some())
        }
        Fault::FullDisk => full_disk(seed),
        Fault::Drivers(number) => run_drivers_at_once(number, seed),
    }
}

/// A mounted file system, which is unmounted at the end of the try.
struct MountedDisk(PathBuf);

impl Drop for MountedDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Runs a sweep on a small file system if one can be mounted; otherwise the shim reports a full disk.
fn full_disk(seed: u64) -> Tally {
    let mut case = Case::new();
    fs::create_dir_all(case.disk()).unwrap();
    let mount = |options: String, disk: &Path| {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &options, "none"]).arg(disk).stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let mounted = mount(format!("size={}k", 4 + 4 * random_below(seed, 60)), &case.disk());
    let _mounted = mounted.then(|| MountedDisk(case.disk()));
    let mut command = case.run(true);
    if !mounted {
        inject(&mut command, &case, "", 1 + random_below(seed, calls()[1]), ENOSPC, true);
    }
    let child = command.spawn().unwrap();
    let code = case.wait(child).and_then(|status| status.code());
    case.expect([Some(0), Some(3)].contains(&code), || format!("exit code {code:?}"));
    if !mounted {
        return case.conclude(code == Some(3));
    }
    let disk = case.disk();
    assert!(mount("remount,size=64m".into(), &disk), "more room");
    case.check(code == Some(3));
    case.tally.clone()
}

/// Starts drivers at once. One measures; the others measure after it or must wait. Readers see a complete result or
/// none.
fn run_drivers_at_once(number: usize, seed: u64) -> Tally {
    let mut case = Case::new();
    let mut children: Vec<(Child, &[i32])> = Vec::new();
    for index in 0..number as u64 {
        children.push((case.run(index == 0).spawn().unwrap(), &[0, 3]));
        sleep_at_random(seed + index, 40);
    }
    for words in [["status"], ["query"], ["report"]] {
        sleep_at_random(seed + 9, 300);
        let mut reader = case.command(&words);
        children.push((reader.arg(case.result()).spawn().unwrap(), &[0, 2]));
    }
    let mut measured = 0;
    for (index, (child, codes)) in children.into_iter().enumerate() {
        let code = case.wait(child).and_then(|status| status.code());
        case.expect(code.is_some_and(|code| codes.contains(&code)), || format!("process {index} ended with {code:?}"));
        measured += u32::from(index < number && code == Some(0));
    }
    case.expect(measured > 0, || "no driver measured".into());
    case.conclude(true)
}

/// Number of concurrent tries. A try waits most of its time.
const CONCURRENT_TRIES: u64 = 4;

/// Runs this number of tries, each with its own seed.
fn campaign(fault: Fault, tries: u64) -> Tally {
    let part = |first_try: u64| {
        (first_try..tries).step_by(CONCURRENT_TRIES as usize).map(move |number| (number, attempt(fault, 1000 * number)))
    };
    let tallies: Vec<(u64, Tally)> = std::thread::scope(|scope| {
        let parts: Vec<_> =
            (0..CONCURRENT_TRIES).map(|first_try| scope.spawn(move || part(first_try).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().expect("tries")).collect()
    });
    let mut total = Tally::default();
    for (number, tally) in tallies {
        total.tries += tally.tries;
        total.struck += tally.struck;
        total.lost += tally.lost;
        total.doubled += tally.doubled;
        total.orphans += tally.orphans;
        total.hangs += tally.hangs;
        total.others.extend(tally.others.into_iter().map(|problem| format!("try {number}: {problem}")));
    }
    total
}

fn assert_few_clean(faults: std::ops::Range<usize>, tries: u64) {
    for (name, fault) in &FAULTS[faults] {
        let tally = campaign(*fault, tries);
        assert!(tally.is_clean(), "{name}: {tally:#?}");
    }
}

#[test]
fn failing_system_calls_lose_no_samples() {
    assert_few_clean(0..4, 2);
}

#[test]
fn a_driver_killed_at_any_system_call_loses_no_samples() {
    assert_few_clean(4..6, 2);
}

#[test]
fn a_kill_never_mixes_points_of_two_plans() {
    let mut case = Case::new();
    let run = case.run(false);
    case.run_with_codes(run, &[0]);
    let saved = case.disk().join("saved");
    fs::rename(case.result(), &saved).unwrap();
    case.change_sweep("[1, 8]", "[8, 64]\n");
    let (mut before, mut between, mut after) = (0, 0, 0);
    for call in (1..=60).step_by(3) {
        assert!(Command::new("cp").arg("-rp").args([&saved, &case.result()]).status().unwrap().success());
        let mut command = case.run(false);
        inject(&mut command, &case, "", call, 0, false);
        case.run_with_codes(command, &[0]);
        let table = Folder::open(&case.result()).unwrap().table().unwrap();
        let plan = fs::read_to_string(case.result().join("points.jsonl")).unwrap();
        let is_stale = |row: usize| table.number("stale", row) == 1.0;
        let planned = |row: usize| plan.contains(table.word("key", row));
        assert!((0..table.rows).all(|row| is_stale(row) != planned(row)), "killed at call {call}");
        match (0..table.rows).filter(|&row| is_stale(row)).count() {
            0 => before += 1,
            _ if table.rows == 12 => between += 1,
            _ => after += 1,
        }
        fs::remove_dir_all(case.result()).unwrap();
    }
    assert!(before > 0 && between > 0 && after > 0, "{before} {between} {after}");
    assert!(case.tally.is_clean(), "{:?}", case.tally);
}

#[test]
fn a_failing_report_leaves_complete_files() {
    assert_few_clean(6..9, 1);
}

#[test]
fn signals_and_kills_lose_no_samples_and_leave_no_process() {
    assert_few_clean(9..14, 1);
}

#[test]
fn a_full_disk_loses_no_samples() {
    assert_few_clean(14..15, 2);
}

#[test]
fn concurrent_drivers_measure_once() {
    assert_few_clean(15..17, 1);
}

/// `make faults` runs this test.
#[test]
#[ignore = "takes a quarter of an hour: `make faults`"]
fn each_fault_is_injected_a_hundred_times() {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    let (tries, part) = (number("APEXMAP_FAULT_TRIES", 100), std::env::var("APEXMAP_FAULTS").unwrap_or_default());
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "| fault | tries | struck | lost | doubled | orphans | hangs | other |\n|---|---|---|---|---|---|---|---|"
    );
    let mut clean = true;
    for (name, fault) in FAULTS.iter().filter(|(name, _)| name.contains(&part)) {
        let Tally { tries, struck, lost, doubled, orphans, hangs, others } = &campaign(*fault, tries);
        let other = others.len();
        let _ = writeln!(out, "| {name} | {tries} | {struck} | {lost} | {doubled} | {orphans} | {hangs} | {other} |");
        others.iter().for_each(|problem| drop(writeln!(out, "  {problem}")));
        clean &= [*lost, *doubled, *orphans, *hangs, other] == [0; 5];
    }
    assert!(clean, "see the table");
}
