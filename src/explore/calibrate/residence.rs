//! How fast others displace the lines of the last cache: from the latency of a region that nobody has read for some time.

use crate::error::Result;
use crate::explore::machine::{Card, Number};
use crate::explore::store::Samples;
use crate::measure::numerics::statistics::{Summary, median};

const KERNEL: &str = "calibrate.residence";
const NUMBER: &str = "l3_displacements_per_second";

/// Waits of which more than this share of the lines is left, or less than one less it, tell little of the rate.
const MOST_LEFT: f64 = 0.9;

/// Runs after one wait.
struct Wait {
    /// Shares of the lines that were left, and seconds since they were last read.
    runs: Vec<(f64, f64)>,
}

impl Wait {
    fn left(&self) -> f64 {
        median(&self.runs.iter().map(|run| run.0).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// If lines are lost at the same rate all the time.
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().map(|(left, unused)| -left.clamp(1e-3, 1.0).ln() / unused)
    }
}

/// Adds the rate to a card that has the latency of memory; nothing where the lines stay. What cannot be told is said.
///
/// # Errors
/// If it is no number that a card takes.
pub fn add(card: &mut Card, samples: &Samples) -> Result<Option<String>> {
    let samples = samples.with_word("kernel", &[KERNEL]).good();
    let Some(memory) = card.get("memory_latency_seconds") else { return Ok(None) };
    let waits = waits(&samples, memory);
    let telling: Vec<f64> = waits
        .iter()
        .filter(|wait| (1.0 - MOST_LEFT..=MOST_LEFT).contains(&wait.left()))
        .flat_map(Wait::rates)
        .collect();
    if let Some(found) = Summary::of(&telling) {
        let how = format!("latency after waits of {KERNEL}, {} runs", found.n);
        let number = Number::new(found.median, "1/s", how);
        let number = found.interval.map_or(number.clone(), |(low, high)| number.with_interval(low, high));
        card.set(NUMBER, number)?;
        return Ok(None);
    }
    let gone = waits.last().is_some_and(|wait| wait.left() < MOST_LEFT);
    let why = "the lines of L3 that nobody reads are lost, but no wait leaves a part of them";
    Ok(gone.then(|| format!("the card has no {NUMBER}: {why}")))
}

/// By wait, the shortest first.
fn waits(samples: &Samples, memory: f64) -> Vec<Wait> {
    let table = samples.table();
    let of = |name: &str| samples.rows().iter().map(|&row| table.number(name, row)).collect::<Vec<f64>>();
    let [wait, seconds, unused] = ["wait_seconds", "operation_seconds", "unused_seconds"].map(of);
    let mut all = wait.clone();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let cached = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let one = |of: f64| {
        let rows = (0..wait.len()).filter(|&row| wait[row] == of);
        Wait { runs: rows.map(|row| ((memory - seconds[row]) / (memory - cached), unused[row])).collect() }
    };
    all.into_iter().map(one).collect()
}
