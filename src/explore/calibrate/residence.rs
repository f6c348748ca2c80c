//! How long others leave the lines of the last cache: from the latency of a region that nobody has read for some time.

use crate::error::Result;
use crate::explore::machine::{Card, Number};
use crate::explore::store::Samples;
use crate::measure::numerics::statistics::median;

const KERNEL: &str = "calibrate.residence";
const NUMBER: &str = "l3_displacements_per_second";

/// After one wait, medians of its runs.
struct Wait {
    /// Fraction of the lines that were left.
    left: f64,
    /// Seconds since they were last read.
    unused: f64,
}

/// Adds the rate, one over the time after which half of the lines are left, to a card that has the latency of memory; nothing where
/// they stay. The interval is that between the waits around it. What cannot be told is said.
///
/// # Errors
/// If it is no number that a card takes.
pub fn add(card: &mut Card, samples: &Samples) -> Result<Option<String>> {
    let samples = samples.with_word("kernel", &[KERNEL]).good();
    let Some(memory) = card.get("memory_latency_seconds") else { return Ok(None) };
    let waits = waits(&samples, memory);
    let Some(at) = waits.iter().position(|wait| wait.left < 0.5) else { return Ok(None) };
    let Some(before) = at.checked_sub(1).map(|at| &waits[at]) else {
        return Ok(Some(format!("the card has no {NUMBER}: more than half of a part of L3 is lost at once")));
    };
    let after = &waits[at];
    let share = (before.left - 0.5) / (before.left - after.left);
    let half = before.unused * (after.unused / before.unused).powf(share);
    let how = format!("one over the time after which half of a part of L3 is lost, by the latencies of {KERNEL}");
    card.set(NUMBER, Number::new(1.0 / half, "1/s", how).with_interval(1.0 / after.unused, 1.0 / before.unused))?;
    Ok(None)
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
        let rows: Vec<usize> = (0..wait.len()).filter(|&row| wait[row] == of).collect();
        let median =
            |values: &[f64]| median(&rows.iter().map(|&row| values[row]).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        Wait { left: (memory - median(&seconds)) / (memory - cached), unused: median(&unused) }
    };
    all.into_iter().map(one).collect()
}
