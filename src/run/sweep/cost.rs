//! What a sample is expected to cost, in seconds on the wall clock, before the sweep runs.

use super::plan::Context;
use apexmap_base::point::{Point, Value};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels;
use apexmap_measure::numerics::power_law::remote_share;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use std::collections::HashMap;

/// Between two samples, besides what a kernel does: the driver, the schedule, barriers.
pub const OVERHEAD: f64 = 2e-4;

/// Seconds without a sign of life that any sample may take, where the sweep sets no limit.
pub const LEAST_SILENCE: f64 = 60.0;

/// Mean wall time of a sample of each point that journals hold, by key: the time since the sample before, so that
/// verification and all else between two runs count.
pub fn measured(records: &[Record<SampleOutcome>]) -> HashMap<String, f64> {
    let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
    for record in records {
        for pair in record.samples.windows(2) {
            // Clocks may be set back.
            let cost = pair[1].unix_seconds - pair[0].unix_seconds;
            if cost > 0.0 {
                let sum = sums.entry(&pair[1].key).or_default();
                *sum = (sum.0 + cost, sum.1 + 1.0);
            }
        }
    }
    sums.into_iter().map(|(key, (sum, count))| (key.to_owned(), sum / count)).collect()
}

/// A rough estimate from the kernel's work, as of a typical machine: 50 ns per operation, unless operations take memory in order,
/// and 8 GB/s on each rank, five times that between ranks, half of it on the clock. The fraction of remote accesses is assumed to be Apex-Map's.
pub fn rough(point: &Point) -> f64 {
    rough_on(point, Hardware::here().hardware_threads())
}

/// As [`rough`], on so many hardware threads.
pub fn rough_on(point: &Point, hardware_threads: usize) -> f64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return OVERHEAD };
    let work = kernel.work(point);
    let number = |name: &str| point.params.get(name).and_then(Value::as_f64);
    let far = 1.0 + 4.0 * remote_share(point.ranks, number("alpha").unwrap_or(1.0));
    let crowded = (point.ranks as f64 / hardware_threads as f64).max(1.0);
    let each = if kernel.in_order() { 0.0 } else { 5e-8 };
    let seconds = far * crowded * (work.operations * each + work.bytes / 8e9) / point.ranks as f64;
    OVERHEAD + bounded(point, seconds / 2.0) * 2.0
}

/// Longest time, in seconds, for which a rank at this point may give no sign of life: it cannot tell anything while its clock runs,
/// and its memory may be filled by slower ranks than the first, which tells how far it is.
pub fn longest_silence(context: &Context, point: &Point) -> f64 {
    /// How many times a run may take what is expected roughly: 250 ns for each operation.
    const SLOWNESS: f64 = 5.0;
    /// Bytes per second of memory that is touched for the first time, on one rank. A virtual machine gave 0.43 GB/s.
    const FIRST_TOUCH: f64 = 1e8;
    // Where ranks run elsewhere, the processors of this machine say nothing.
    let threads = if context.launcher.remote { usize::MAX } else { Hardware::here().hardware_threads() };
    let memory = kernels::find(&point.kernel).map_or(0, |kernel| kernel.memory(point));
    LEAST_SILENCE + SLOWNESS * rough_on(point, threads) + memory as f64 / FIRST_TOUCH + of_crowd(context, point.ranks)
}

/// What a sample takes longer where more ranks of MPICH are on this machine than it has hardware threads: they wait without giving
/// their core to those that they wait for, so that every barrier lasts until the system has given each rank its turn.
pub fn of_crowd(context: &Context, ranks: usize) -> f64 {
    /// In a sample: gathers, broadcasts and barriers, a rough number; and a turn of Linux's scheduler, in seconds. Eight kernels of
    /// MPICH 4.0 on 16 ranks of two cores took 12 s.
    const TURNS: f64 = 10.0;
    const TURN: f64 = 4e-3;
    let threads = Hardware::here().hardware_threads();
    if crowded(context, ranks) { TURNS * TURN * ranks as f64 / threads as f64 } else { 0.0 }
}

/// Whether ranks of a launch wait for each other without yielding, on too few cores.
pub fn crowded(context: &Context, ranks: usize) -> bool {
    let here = !context.launcher.remote && context.ranks_per_node.is_none();
    let spins = context.transport == TransportKind::Mpi && context.library.contains("MPICH");
    here && spins && ranks > Hardware::here().hardware_threads()
}

/// The time of a run within the point's own time bound, if it has one.
pub fn bounded(point: &Point, seconds: f64) -> f64 {
    match point.params.get("time_bound").and_then(Value::as_f64) {
        Some(bound) if bound > 0.0 => seconds.min(bound),
        _ => seconds,
    }
}
