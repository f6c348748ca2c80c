//! `cargo bench --bench disturbance`: measures how reliably a disturbed run is detected, and how often a quiet run is
//! reported as disturbed.
//!
//! Runs of a small sweep alternate between an otherwise quiet machine and one where another thread computes on the core
//! of rank 0. The output is the number of runs of each kind that are reported as disturbed. The goals are at least 95
//! of 100 disturbed runs, and at most 5 of 100 quiet ones.

use apexmap_measure::affinity;
use apexmap_measure::hardware::{Hardware, PlacementOrder, place_ranks};
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::Quietness;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const RUNS: usize = 100;

const SWEEP: &str = r#"
[fixed]
kernel = "apex_map.sequential"
M = "4 Mwords"
I = 1024
N = 128
[axes]
alpha = [0.01, 1]
L = [1, 64]
[repeat]
min = 6
[launch]
preflight = "0 s"
"#;

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("noise.toml"), SWEEP).expect("the sweep");
    let (mut quiet, mut disturbed) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        quiet.push(measure(&folder, &format!("quiet-{run}")));
        disturbed.push(with_busy_thread(|| measure(&folder, &format!("disturbed-{run}"))));
    }
    let _ = std::fs::remove_dir_all(&folder);
    let called = |runs: &[Health]| runs.iter().filter(|health| health.verdict() == Quietness::Disturbed).count();
    println!("of {RUNS} runs each, called disturbed:");
    println!("  {:3} with another thread on the core of rank 0", called(&disturbed));
    println!("  {:3} without", called(&quiet));
    for health in quiet.iter().filter(|health| health.verdict() == Quietness::Disturbed) {
        println!("      {}", health.sentence());
    }
    let samples: usize = quiet.iter().map(Health::disturbed_count).sum();
    println!("  {samples} of {} samples of the runs without", quiet.iter().map(Health::sample_count).sum::<usize>());
}

fn measure(folder: &Path, name: &str) -> Health {
    let out = folder.join(name);
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    program.arg("run").arg(folder.join("noise.toml")).arg("--no-report").arg("--out").arg(&out);
    let ended = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(ended.expect("the program").success(), "{name}");
    let table = Folder::open(&out).and_then(|folder| folder.table()).expect("samples");
    Health::from_samples(&Samples::from(table))
}

/// Runs a function while another thread computes on the hardware thread of rank 0.
fn with_busy_thread<R>(body: impl FnOnce() -> R) -> R {
    let hardware = Hardware::this_machine();
    let first = place_ranks(&hardware.threads, &hardware.allowed, PlacementOrder::default())[0];
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            affinity::bind(&[first]);
            while !ended.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let result = body();
        ended.store(true, Ordering::Relaxed);
        result
    })
}
