//! `cargo bench --bench message_rate [-- PAIRS [openmpi|mpich [distinct|one]]]`: compares latency, bandwidth and
//! message rate with the loops of the OSU micro-benchmarks. The loops are rewritten in plain C (`peer.c`), because no
//! public package has OSU's own. Both use the same MPI and the same launcher.
//!
//! Launches of apexmap and of the peer alternate; in each, every test runs several times. The output is the medians,
//! the ratio of medians (above 1: apexmap is faster), and the least and greatest ratio of a pair of launches. The goal
//! is a ratio of at least 0.9.

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../../tests/mpi_worker.rs"]
mod mpi_worker;

use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::kernels;
use apexmap_measure::numerics::statistics::median;
use apexmap_run::launch::{LaunchJob, LocalMachine, check};
use mpi_worker::{MPICH, Mpi, OPEN_MPI, job};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAIRS: usize = 7;
/// Runs of a test in a launch.
const RUNS: u32 = 5;
const WINDOW: u64 = 64;

/// A comparison of one kernel at one message size.
struct Test {
    /// Name of the test in the peer.
    name: &'static str,
    kernel: &'static str,
    bytes: u64,
    window: u64,
    messages: u64,
}

/// Returns OSU's tests: 64 messages per window, round trips one at a time. Long messages are fewer, so that runs take 1
/// to 100 ms.
fn tests() -> Vec<Test> {
    let sizes = [4, 8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 4 << 20];
    let kinds = [("latency", "ping_pong"), ("streaming", "streaming"), ("bidirectional", "bidirectional")];
    let test = |(name, kernel): (&'static str, &'static str), bytes: u64| {
        let window = if name == "latency" { 16 } else { WINDOW };
        let rounds = ((64 << 20) / (bytes.max(2048) * window)).clamp(2, 256);
        Test { name, kernel, bytes, window, messages: rounds * window }
    };
    kinds.iter().flat_map(|&kind| sizes.iter().map(move |&bytes| test(kind, bytes))).collect()
}

impl Test {
    fn point(&self, buffers: &str) -> Point {
        let point = Point::new(&format!("message_rate.{}", self.kernel), 2).with_parameter("message_bytes", self.bytes);
        let point = point
            .with_parameter("window", self.window)
            .with_parameter("messages", self.messages)
            .with_parameter("buffers", buffers);
        kernels::complete(point).expect("a valid point")
    }

    /// Returns the one-way messages of a run.
    fn messages(&self) -> f64 {
        kernels::find(&format!("message_rate.{}", self.kernel)).expect("a kernel").work(&self.point("one")).operations
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let pairs = arguments.first().map_or(PAIRS, |count| count.parse().expect("a number of pairs"));
    for (name, mpi) in [("openmpi", &OPEN_MPI), ("mpich", &MPICH)] {
        if arguments.get(1).is_none_or(|only| only == name) {
            let wanted = |buffers: &&str| arguments.get(2).is_none_or(|only| only == buffers);
            ["distinct", "one"].into_iter().filter(wanted).for_each(|buffers| compare(mpi, buffers, pairs));
        }
    }
}

fn compare(mpi: &Mpi, buffers: &str, pairs: usize) {
    let (tests, peer) = (tests(), compile(mpi));
    mpi.worker();
    let (mut ours, mut theirs) = (vec![Vec::new(); tests.len()], vec![Vec::new(); tests.len()]);
    for pair in 0..pairs {
        // The order alternates from pair to pair.
        for turn in 0..2 {
            let (seconds, into) = match turn == pair % 2 {
                true => (run_ours(mpi, buffers, &tests), &mut ours),
                false => (run_peer(mpi, &peer, buffers, &tests), &mut theirs),
            };
            seconds.iter().zip(into).for_each(|(runs, into)| into.push(median(runs).expect("runs")));
        }
    }
    println!("\n{}, {buffers} buffers: {pairs} pairs of launches", mpi.name);
    println!(
        "{:<14} {:>8} {:>12} {:>12} {:>11} {:>7} {:>14}",
        "", "bytes", "us apexmap", "us C", "MB/s", "ratio", "pairs"
    );
    for (test, (ours, theirs)) in tests.iter().zip(ours.iter().zip(&theirs)) {
        let mut ratios: Vec<f64> = theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
        ratios.sort_by(f64::total_cmp);
        let [ours, theirs] = [ours, theirs].map(|times| median(times).expect("pairs") / test.messages());
        println!(
            "{:<14} {:>8} {:>12.3} {:>12.3} {:>11.1} {:>7.3} {:>6.3} {:>6.3}",
            test.name,
            test.bytes,
            ours * 1e6,
            theirs * 1e6,
            test.bytes as f64 / ours / 1e6,
            theirs / ours,
            ratios[0],
            ratios[ratios.len() - 1],
        );
    }
}

fn compile(mpi: &Mpi) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/message_rate/peer.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("message-rate-peer-{}", mpi.launcher));
    let compiled =
        Command::new(mpi.compiler).args(["-O3", "-Wno-stringop-overflow", "-o"]).arg(&program).arg(&source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{} does not compile {}", mpi.compiler, source.display());
    program
}

/// Returns the seconds of every run, by test.
fn run_ours(mpi: &Mpi, buffers: &str, tests: &[Test]) -> Vec<Vec<f64>> {
    let mut seconds = vec![Vec::new(); tests.len()];
    let points = tests.iter().map(|test| test.point(buffers)).collect();
    let ending = mpi.run(&job("message-rate", 2, RUNS, points), &mut |event| {
        if let Event::Sample(sample) = event {
            assert_eq!(sample.status, Status::Ok, "{}: {}", sample.point.label(), sample.message);
            let index: usize = sample.key.parse().expect("a task's number");
            seconds[index].extend(sample.seconds);
        }
    });
    assert_eq!(ending.status, Status::Ok, "{}", ending.message);
    seconds
}

/// Returns the peer's seconds of every run, by test.
fn run_peer(mpi: &Mpi, peer: &Path, buffers: &str, tests: &[Test]) -> Vec<Vec<f64>> {
    let mut arguments = vec![RUNS.to_string(), u8::from(buffers == "distinct").to_string()];
    for test in tests {
        let rounds = test.messages / test.window;
        arguments.extend([test.name.into(), test.bytes.to_string(), test.window.to_string(), rounds.to_string()]);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = check(&*mpi.launcher(), peer, &path).expect("the launcher exists");
    let host = LocalMachine::detect();
    let job = LaunchJob {
        program,
        worker: peer.to_owned(),
        arguments,
        ranks: 2,
        nodes: None,
        ranks_per_node: None,
        hosts: Vec::new(),
        place: None,
        variables: Vec::new(),
        machine: host,
    };
    let command = mpi.launcher().command(&job);
    let (program, arguments) = command.argv.split_first().expect("a command");
    let output =
        Command::new(program).args(arguments).envs(command.env).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut seconds = vec![Vec::new(); tests.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (test, time) = line.split_once(' ').expect("a test and its seconds");
        seconds[test.parse::<usize>().expect("a number")].push(time.parse().expect("seconds"));
    }
    seconds
}
