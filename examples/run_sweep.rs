//! Reads a sweep, runs each of its points in this process, and prints medians with 95 % intervals.
//!
//!     cargo run --release --example run_sweep -- my.toml
//!
//! Without a file it runs the small sweep below. `apexmap run` does more: it starts launches, keeps every sample in a
//! journal, repeats runs until the interval is narrow, and resumes after an interruption.

use apexmap::results::Summary;
use apexmap::sweeps::{self, Machine, Sweep};
use apexmap::{Result, kernels};
use std::path::Path;

const SMALL: &str = r#"
    [fixed]
    kernel = "apex_map.sequential"
    M = "1 Mwords"
    [axes]
    alpha = [0.01, 1]
    L = { from = 1, to = 4096, factor = 16 }
    [repeat]
    min = 6
"#;

fn main() -> Result<()> {
    for point in &read()?.points {
        let seconds: Vec<f64> =
            (0..6).map(|stream| Ok(kernels::run_embedded(point, stream)?.seconds)).collect::<Result<_>>()?;
        let summary = Summary::from_samples(&seconds).expect("six samples");
        // A 95 % interval of the median needs at least six samples.
        let (low, high) = summary.interval.expect("an interval");
        println!("{:<50} {:.3e} s [{low:.3e}, {high:.3e}]", point.label(), summary.median);
    }
    Ok(())
}

fn read() -> Result<Sweep> {
    match std::env::args().nth(1) {
        Some(path) => sweeps::read(Path::new(&path), Machine::detect()),
        None => sweeps::parse(SMALL, Path::new("small.toml"), Machine::detect()),
    }
}
