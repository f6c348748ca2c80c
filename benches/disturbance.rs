//! `cargo bench --bench disturbance -- RUNS`: measures how reliably a disturbed run is detected, and how often a quiet run is
//! reported as disturbed.
//!
//! RUNS runs (100 by default) of a small sweep alternate between an otherwise quiet machine, one where another thread computes
//! on the core of rank 0, and one where another thread computes on each core. The output is the number of runs of each kind that
//! are reported as disturbed. The goals are at least 95 % of the disturbed runs, and at most 5 % of the quiet ones.

use apexmap_measure::affinity;
use apexmap_measure::hardware::{Hardware, PlacementOrder, place_ranks};
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::Quietness;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

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
    let runs: usize = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(100);
    let hardware = Hardware::this_machine();
    let threads = place_ranks(&hardware.threads, &hardware.allowed, PlacementOrder::default());
    let kinds = [
        ("without another thread", &threads[..0]),
        ("one on the core of rank 0", &threads[..1]),
        ("one on each core", &threads),
    ];
    let mut health = kinds.map(|_| Vec::new());
    for run in 0..runs {
        for (kind, (_, busy)) in kinds.iter().enumerate() {
            health[kind].push(with_busy_threads(busy, || measure(&folder, &format!("{kind}-{run}"))));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("of {runs} runs each, called disturbed:");
    for ((kind, _), health) in kinds.iter().zip(&health) {
        println!("  {:3} {kind}", health.iter().filter(|health| health.verdict() == Quietness::Disturbed).count());
    }
    for health in health[0].iter().filter(|health| health.verdict() == Quietness::Disturbed) {
        println!("      {}", health.sentence());
    }
    let samples: usize = health[0].iter().map(Health::disturbed_count).sum();
    println!(
        "  {samples} of {} samples of the runs without",
        health[0].iter().map(Health::sample_count).sum::<usize>()
    );
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

/// Runs a function while a thread computes on each of these hardware threads.
fn with_busy_threads<R>(busy: &[usize], body: impl FnOnce() -> R) -> R {
    let ended = AtomicBool::new(false);
    let ended = &ended;
    std::thread::scope(|scope| {
        for &thread in busy {
            scope.spawn(move || {
                affinity::bind(&[thread]);
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = body();
        ended.store(true, Ordering::Relaxed);
        result
    })
}
