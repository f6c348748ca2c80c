//! How long other users leave lines in the last cache, from the latency of a region after a time without reads.

use apexmap_base::error::Result;
use apexmap_measure::kernels::calibrate::memory::residence;
use apexmap_results::samples::Samples;
use apexmap_theory::machine::{Card, Number, catalogue};
use apexmap_theory::models::card_number;
use apexmap_theory::statistics::median;

const KERNEL: &str = residence::KERNEL.id;
const NUMBER: &str = catalogue::L3_DISPLACEMENTS_PER_SECOND.name;

struct Wait {
    left: f64,
    /// Seconds since the lines were last read.
    unused: f64,
}

/// Adds how often others displace lines in the last cache, from the latency of a region after a time without reads: the share of the
/// cache that others fill, over the time after which half of the region remains. The interval spans the waits next to it. Adds
/// nothing if the lines stay. Returns why the rate cannot be determined.
pub fn add(card: &mut Card, samples: &Samples) -> Result<Option<String>> {
    let samples = samples.with_word("kernel", &[KERNEL]).good();
    let Some(memory) = card.get(catalogue::MEMORY_LATENCY_SECONDS.name) else { return Ok(None) };
    let waits = waits(&samples, memory);
    let Some(index) = waits.iter().position(|wait| wait.left < 0.5) else { return Ok(None) };
    let Some(before) = index.checked_sub(1).map(|index| &waits[index]) else {
        return Ok(Some(format!(
            "the card has no {NUMBER}: more than half of a region in L3 is lost after the shortest wait"
        )));
    };
    let after = &waits[index];
    let share = (before.left - 0.5) / (before.left - after.left);
    // The waits are spaced by factors, so interpolate between their logarithms.
    let half = before.unused * (after.unused / before.unused).powf(share);
    let room = free_share(card, &samples);
    let how = format!(
        "the share of L3 that others fill, {room:.2}, over the time after which half of a region is lost, from the latencies of {KERNEL}"
    );
    let number = Number::new(room / half, "1/s", how).with_interval(room / after.unused, room / before.unused);
    card.set(NUMBER, number)?;
    Ok(None)
}

/// The share of the last cache that the region leaves to others.
fn free_share(card: &Card, samples: &Samples) -> f64 {
    let cache = card_number(card, catalogue::L3_BYTES.name).unwrap_or(f64::INFINITY);
    let region = samples.rows().first().map_or(0.0, |&row| samples.table().number("region_bytes", row));
    1.0 - (region / cache).min(0.5)
}

fn waits(samples: &Samples, memory: f64) -> Vec<Wait> {
    let table = samples.table();
    let column = |name: &str| samples.rows().iter().map(|&row| table.number(name, row)).collect::<Vec<f64>>();
    let [wait, seconds, unused] = ["wait_seconds", "operation_seconds", "unused_seconds"].map(column);
    let mut durations = wait.clone();
    durations.sort_by(f64::total_cmp);
    durations.dedup();
    let cached = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let summarise = |duration: f64| {
        let rows: Vec<usize> = (0..wait.len()).filter(|&row| wait[row] == duration).collect();
        let median =
            |values: &[f64]| median(&rows.iter().map(|&row| values[row]).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        Wait { left: (memory - median(&seconds)) / (memory - cached), unused: median(&unused) }
    };
    durations.into_iter().map(summarise).collect()
}
