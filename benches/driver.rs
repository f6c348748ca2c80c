//! `cargo bench --bench driver`: measures the driver's cost per point, over 1,000 points with almost no work.
//!
//! The output is the time of the whole program, and the time of the worker with the same job and without a driver, each
//! also per point. The share of the quickstart's time that is timed shows what launches, draws, warm-ups and checks take.

use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const POINTS: usize = 1000;
const RUNS: usize = 7;

const SWEEP: &str = r#"
[fixed]
kernel = "apex_map.sequential"
M = "1 kwords"
I = 1
N = 1
[axes]
seed = { from = 1, to = 1000, step = 1 }
[repeat]
min = 1
[launch]
preflight = "0 s"
"#;

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let sweep = folder.join("driver.toml");
    std::fs::write(&sweep, SWEEP).expect("the sweep");
    let (mut driven, mut bare) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let out = folder.join(run.to_string());
        driven.push(seconds(|| {
            apexmap(&["run", "--no-report", "--out", &out.to_string_lossy(), &sweep.to_string_lossy()], None);
        }));
        let (job, lines) = (out.join("journals/0001.job"), folder.join("lines"));
        let job = job.to_string_lossy();
        bare.push(seconds(|| {
            apexmap(&["worker", "--job", &job, "--transport", "threads", "--ranks", "1"], Some(&lines));
        }));
    }
    let quick = folder.join("quickstart");
    let spent = seconds(|| apexmap(&["run", "quickstart", "--no-report", "--out", &quick.to_string_lossy()], None));
    let table = Folder::open(&quick).and_then(|folder| folder.table()).expect("samples");
    let timed: f64 = Samples::from(table).numbers("seconds").iter().sum();
    let _ = std::fs::remove_dir_all(&folder);
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (driven, bare) = (median(&mut driven), median(&mut bare));
    let point = |seconds: f64| seconds * 1e3 / POINTS as f64;
    println!("{POINTS} points, medians of {RUNS} runs");
    println!("apexmap run: {driven:.3} s, {:.4} ms a point", point(driven));
    println!("the worker alone: {bare:.3} s, {:.4} ms a point; ratio {:.2}", point(bare), driven / bare);
    println!("the driver's own: {:.4} ms a point", point(driven - bare));
    println!("quickstart: {spent:.1} s, {:.0} % of it timed", 100.0 * timed / spent);
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn apexmap(arguments: &[&str], output: Option<&Path>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = output.map_or(Stdio::null(), |path| File::create(path).expect("a file for the lines").into());
    let status = command.args(arguments).stdout(output).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "apexmap {arguments:?} failed");
}
