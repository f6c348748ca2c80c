//! One try of a fault: a result folder, a driver that meets the fault, and the conditions that must hold afterwards.

use crate::common::Scratch;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::numerics::mix::mix;
use apexmap_results::disk::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_apexmap");
/// Samples of each point in each launch.
const SAMPLES_PER_POINT: usize = 3;
const SWEEP: &str = "[launch]\nlaunches = 2\npreflight = 0\n[repeat]\nmin = 3\n[fixed]\nkernel = \"apex_map.sequential\"\n\
                     M = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]\n";
/// Time limit of a program; a program that takes longer hangs.
const PROGRAM_TIME_LIMIT: Duration = Duration::from_secs(60);

/// Counts of the problems in all tries of one fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub tries: u32,
    /// Tries that the fault struck; other tries ended before.
    pub struck: u32,
    /// Samples that were in a journal and are lost.
    pub lost: usize,
    /// Samples that exist twice.
    pub doubled: usize,
    /// Processes that outlived their driver.
    pub orphans: usize,
    pub hangs: usize,
    /// Other problems: next runs that did not complete the sweep, incomplete files, files left behind, wrong exit
    /// codes.
    pub others: Vec<String>,
}

impl Tally {
    pub fn is_clean(&self) -> bool {
        (self.lost, self.doubled, self.orphans, self.hangs, self.others.len()) == (0, 0, 0, 0, 0)
    }
}

/// Returns a pseudo-random number below `limit`, the same in each run of the tests.
pub fn random_below(seed: u64, limit: u64) -> u64 {
    mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % limit.max(1)
}

/// Builds the library that makes system calls fail, and returns its path.
pub fn shim() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let output = std::env::temp_dir().join(format!("apexmap-shim-{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let mut cc = Command::new("cc");
        let built = cc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&output).args([source, "-ldl"]).status();
        assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
        output
    })
}

/// Key, block, repetition and status of a sample.
type SampleName = (String, u32, u32, String);

/// A result folder with drivers that meet faults.
pub struct Case {
    scratch: Scratch,
    pub tally: Tally,
    held: BTreeMap<SampleName, usize>,
}

impl Case {
    pub fn new() -> Self {
        let scratch = Scratch::new();
        fs::write(scratch.join("sweep.toml"), SWEEP).unwrap();
        Self { scratch, tally: Tally { tries: 1, ..Tally::default() }, held: BTreeMap::new() }
    }

    /// Returns the folder for results, where a file system may be mounted.
    pub fn disk(&self) -> PathBuf {
        self.scratch.join("disk")
    }

    pub fn result(&self) -> PathBuf {
        self.disk().join("r")
    }

    pub fn mark(&self) -> PathBuf {
        self.scratch.join("mark")
    }

    /// Returns a command of the program.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub fn run(&self, report: bool) -> Command {
        let mut command = self.command(if report { &["run"] } else { &["run", "--no-report"] });
        command.arg("--out").arg(self.result()).arg(self.scratch.join("sweep.toml"));
        command
    }

    /// Changes the sweep's text for later runs.
    pub fn change_sweep(&self, from: &str, to: &str) {
        assert!(SWEEP.contains(from));
        fs::write(self.scratch.join("sweep.toml"), SWEEP.replace(from, to)).unwrap();
    }

    /// Waits for a process, and kills it at the time limit.
    pub fn wait(&mut self, mut child: Child) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PROGRAM_TIME_LIMIT {
            if let Some(status) = child.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.tally.hangs += 1;
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    /// Runs a command to its end. It must exit with one of these codes or by a signal.
    pub fn run_with_codes(&mut self, mut command: Command, codes: &[i32]) {
        let child = command.spawn().unwrap();
        if let Some(code) = self.wait(child).and_then(|status| status.code()) {
            self.expect(codes.contains(&code), || format!("exit code {code}"));
        }
    }

    pub fn expect(&mut self, holds: bool, describe_problem: impl Fn() -> String) {
        if !holds {
            self.tally.others.push(describe_problem());
        }
    }

    /// Counts each sample in the journals. The torn last line of a journal is not a sample.
    fn samples(&self) -> BTreeMap<SampleName, usize> {
        let mut counts = BTreeMap::new();
        for entry in fs::read_dir(self.result().join("journals")).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            for line in fs::read(&path).unwrap().split(|&byte| byte == b'\n') {
                if let Ok(Event::Sample(sample)) = serde_json::from_slice(line) {
                    let status = sample.status.name().to_owned();
                    *counts.entry((sample.key, sample.block, sample.repetition, status)).or_default() += 1;
                }
            }
        }
        counts
    }

    /// Records the samples of the result, which must not disappear later, and counts those lost since the last call.
    pub fn record_samples(&mut self) {
        self.end_orphans();
        let now = self.samples();
        let held = std::mem::replace(&mut self.held, now);
        self.count_lost(&held);
    }

    fn count_lost(&mut self, before: &BTreeMap<SampleName, usize>) {
        self.tally.lost += before.keys().filter(|name| !self.held.contains_key(*name)).count();
        self.tally.doubled = self.held.values().filter(|&&times| times > 1).count();
    }

    /// Waits for processes that work on this result without a driver; after a time limit, kills and counts them.
    fn end_orphans(&mut self) {
        let begun = Instant::now();
        while !self.processes().is_empty() {
            if begun.elapsed() > Duration::from_secs(10) {
                for pid in self.processes() {
                    self.tally.orphans += 1;
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn processes(&self) -> Vec<i32> {
        let word = self.scratch.to_string_lossy().into_owned();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let of_this = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&word)
        };
        pids.filter(of_this).collect()
    }

    /// Runs without a fault: this must complete the sweep, lose nothing and leave no files behind.
    pub fn conclude(mut self, struck: bool) -> Tally {
        self.check(struck);
        self.tally
    }

    /// Checks like [`Case::conclude`], but keeps the folder.
    pub fn check(&mut self, struck: bool) {
        self.tally.struck = u32::from(struck);
        self.record_samples();
        let child = self.run(false).spawn().unwrap();
        let status = self.wait(child);
        let code = status.and_then(|status| status.code());
        self.expect(code == Some(0), || format!("the next run ended with {code:?}"));
        self.record_samples();
        let good = self.held.keys().filter(|name| name.3 == Status::Ok.name()).count();
        self.expect(good == 2 * 2 * SAMPLES_PER_POINT, || format!("{good} good samples"));
        let total = self.held.len();
        let rows = Folder::open(&self.result()).and_then(|folder| folder.table()).map(|table| table.rows);
        self.expect(rows.as_ref().is_ok_and(|rows| *rows == total), || format!("{rows:?} rows of {total} samples"));
        for wrong in incomplete_files(&self.result()) {
            self.tally.others.push(wrong);
        }
    }
}

/// Returns incomplete files, and files left behind by writers that have ended.
fn incomplete_files(folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            wrong.extend(incomplete_files(&path));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let end: &[u8] = match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => b"</svg>\n",
            Some("png") => b"IEND\xaeB`\x82",
            Some("html") => b"</html>",
            Some("parquet") => b"PAR1",
            Some("json") => b"}",
            Some("tmp") => b"nothing ends so",
            _ => b"",
        };
        if !bytes.ends_with(end) {
            wrong.push(format!("{} is not whole, or left behind", path.display()));
        }
    }
    wrong
}
