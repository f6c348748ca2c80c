//! Estimates the wall time of a sample in seconds, before the sweep runs.

use super::plan::{Context, Entry, Plan};
use super::simulation::Simulation;
use apexmap_base::point::{Point, Value};
use apexmap_base::units::{self, NumberStyle};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::keys::{ALPHA, Q, SENDING, Sending, TIME_BOUND};
use apexmap_measure::kernels::{self, Kernel, Traffic};
use apexmap_measure::numerics::power_law::remote_share;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_theory::models::{hypercube, roles};
use std::collections::HashMap;

/// Wall time between two samples besides the kernel: the driver, the schedule and barriers, in seconds.
pub const OVERHEAD: f64 = 2e-4;

/// Shortest limit in seconds for a sample without a sign of life, if the sweep sets none.
pub const MIN_SILENCE: f64 = 60.0;

/// Wall times of one sample at the points of a plan, in seconds.
pub struct SampleCosts<'a> {
    pub plan: &'a Plan,
    /// Measured times by key.
    measured: HashMap<String, f64>,
    /// Ratio of measured to estimated wall times, by kernel: the first samples show how fast this machine is at the other points.
    factors: HashMap<&'a str, f64>,
}

impl<'a> SampleCosts<'a> {
    /// Takes the measured times from the journals of a result.
    pub fn new(plan: &'a Plan, records: &[Record<SampleOutcome>]) -> Self {
        let mut costs = Self { plan, measured: mean_sample_costs(records), factors: HashMap::new() };
        costs.factors = costs.learned_factors();
        costs
    }

    /// The mean wall time of the point's samples.
    pub fn mean_of(&self, entry: &Entry) -> Option<f64> {
        self.measured.get(&entry.key).copied()
    }

    /// The measured wall time of a sample, else its estimate.
    pub fn cost(&self, entry: &Entry) -> f64 {
        let factor = self.factors.get(entry.point.kernel.as_str()).copied().unwrap_or(1.0);
        self.mean_of(entry).unwrap_or_else(|| factor * self.estimate(&entry.point))
    }

    fn estimate(&self, point: &Point) -> f64 {
        estimate(&self.plan.context, point) + oversubscription_cost(&self.plan.context, point.ranks)
    }

    fn learned_factors(&self) -> HashMap<&'a str, f64> {
        let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
        for entry in &self.plan.entries {
            if let Some(measured) = self.mean_of(entry) {
                let sum = sums.entry(&entry.point.kernel).or_default();
                *sum = (sum.0 + measured, sum.1 + self.estimate(&entry.point));
            }
        }
        let ratio = |(kernel, (measured, sum)): (&'a str, (f64, f64))| (sum > 0.0).then(|| (kernel, measured / sum));
        sums.into_iter().filter_map(ratio).collect()
    }
}

/// The mean wall time of a sample of each point, by key, since the previous sample: with verification and all else between two runs.
fn mean_sample_costs(records: &[Record<SampleOutcome>]) -> HashMap<String, f64> {
    let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
    for record in records {
        for pair in record.samples.windows(2) {
            // Skip negative costs, because clocks may be set back.
            let cost = pair[1].unix_seconds - pair[0].unix_seconds;
            if cost > 0.0 {
                let sum = sums.entry(&pair[1].key).or_default();
                *sum = (sum.0 + cost, sum.1 + 1.0);
            }
        }
    }
    sums.into_iter().map(|(key, (sum, count))| (key.to_owned(), sum / count)).collect()
}

/// The kernel's work on a typical machine: 50 ns per operation, unless operations take memory in order, and 8 GB/s per rank; five
/// times that between ranks, with Apex-Map's fraction of remote accesses. Half of the time is on the clock.
fn estimate(context: &Context, point: &Point) -> f64 {
    match &context.simulation {
        Some(simulation) => estimate_simulated(simulation, point),
        None => estimate_on(point, Hardware::this_machine().hardware_threads()),
    }
}

pub fn rule(context: &Context) -> &'static str {
    match context.simulation {
        Some(_) => {
            "1 us per simulated message, 0.25 us per link on its way and per operation, 12 GB/s; 5 ns per update and move if messages collect updates"
        }
        None => "50 ns per operation and 8 GB/s per rank",
    }
}

/// An operation and its bytes, a message, and each link on its way. Collected updates need fewer messages, but move several times.
fn estimate_simulated(simulation: &Simulation, point: &Point) -> f64 {
    const PER_MESSAGE: f64 = 1e-6;
    const PER_LINK: f64 = 2.5e-7;
    const PER_COLLECTED_UPDATE: f64 = 5e-9;
    const PER_OPERATION: f64 = 2.5e-7;
    const BYTES_PER_SECOND: f64 = 1.2e10;
    let Ok(kernel) = kernels::find(&point.kernel) else { return OVERHEAD };
    let work = kernel.work(point);
    let operations = work.operations;
    let collects_updates = !point.params.contains_key("access") && SENDING.get(point) != Some(Sending::Immediate);
    let (own_work, messages) = match Q.get(point).filter(|_| collects_updates) {
        Some(look_ahead) => {
            let (moves, messages) = moves_and_messages(kernel, point, look_ahead as f64);
            (PER_COLLECTED_UPDATE * moves * operations, messages * operations)
        }
        None => {
            let own = PER_OPERATION * operations + work.bytes / BYTES_PER_SECOND;
            (own, operations * remote_share(point.ranks, ALPHA.get(point).unwrap_or(1.0)))
        }
    };
    let links =
        simulation.machine(point.launch_size()).map_or(0.0, |machine| machine.mean_contended_links(point.ranks));
    let runs = 1.0 + simulation.resampled.len() as f64;
    OVERHEAD + runs * (own_work + messages * (PER_MESSAGE + PER_LINK * links))
}

/// How often an update moves between ranks, and the messages per update, if messages collect some of the Q stored updates.
pub fn moves_and_messages(kernel: &Kernel, point: &Point, look_ahead: f64) -> (f64, f64) {
    let ranks = point.ranks as f64;
    if let Some(stages) = (kernel.stages)(point) {
        // Rounds of Q updates: in each stage, a rank sends to all others in its line of the grid (hypercube paper, Section 2).
        let stages = stages.max(1) as f64;
        return (stages, hypercube::messages(ranks, stages) / look_ahead);
    }
    if kernel.traffic == Traffic::RandomOthers {
        // The fullest of the buckets for all ranks is sent: about twice the mean one, and about 2.5 updates if most are empty.
        return (1.0, 1.0 / ((2.0 * look_ahead / ranks).max(1.0) + 0.5));
    }
    // Buckets along the dimensions of a torus of nodes.
    let cores = point.params.get("cores_per_node").and_then(Value::as_f64).unwrap_or(1.0);
    let nodes = (ranks / cores).max(1.0);
    let moves = roles::hops(nodes).max(1.0);
    (moves, moves / roles::bucket(nodes, look_ahead))
}

pub fn estimate_on(point: &Point, hardware_threads: usize) -> f64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return OVERHEAD };
    let work = kernel.work(point);
    let remote_factor = 1.0 + 4.0 * remote_share(point.ranks, ALPHA.get(point).unwrap_or(1.0));
    let oversubscription = (point.ranks as f64 / hardware_threads as f64).max(1.0);
    let seconds_per_operation = if kernel.accesses_in_order { 0.0 } else { 5e-8 };
    let seconds = remote_factor * oversubscription * (work.operations * seconds_per_operation + work.bytes / 8e9)
        / point.ranks as f64;
    OVERHEAD + limit_to_time_bound(point, seconds / 2.0) * 2.0
}

/// How long a rank takes to fill its memory for the first sample, in seconds: 1 GB/s.
pub fn filling(point: &Point) -> f64 {
    kernels::find(&point.kernel).map_or(0.0, |kernel| kernel.memory(point) as f64 / 1e9)
}

/// In seconds. A rank reports nothing while its clock runs, and only the first one reports how far its memory is filled.
pub fn longest_silence(context: &Context, point: &Point) -> f64 {
    /// Factor of a slow machine over the rough estimate: 250 ns per operation.
    const SLOWNESS: f64 = 5.0;
    /// Bytes per second of one rank when it touches memory for the first time. A virtual machine reached 0.43 GB/s.
    const FIRST_TOUCH: f64 = 1e8;
    // If ranks run elsewhere, this machine's processors are no guide.
    let threads = if context.launcher.remote { usize::MAX } else { Hardware::this_machine().hardware_threads() };
    let memory = kernels::find(&point.kernel).map_or(0, |kernel| kernel.memory(point));
    MIN_SILENCE
        + SLOWNESS * estimate_on(point, threads)
        + memory as f64 / FIRST_TOUCH
        + oversubscription_cost(context, point.ranks)
}

/// Of a sample. Ranks of MPICH wait without yielding their core, so every barrier lasts until each rank had its turn.
pub fn oversubscription_cost(context: &Context, ranks: usize) -> f64 {
    /// Number of gathers, broadcasts and barriers in a sample (a rough number), and a turn of Linux's scheduler in seconds. Eight
    /// kernels of MPICH 4.0 on 16 ranks of two cores took 12 s.
    const TURNS: f64 = 10.0;
    const TURN: f64 = 4e-3;
    let threads = Hardware::this_machine().hardware_threads();
    if spins_oversubscribed(context, ranks) { TURNS * TURN * ranks as f64 / threads as f64 } else { 0.0 }
}

/// Whether ranks of a launch wait without yielding while they share hardware threads.
pub fn spins_oversubscribed(context: &Context, ranks: usize) -> bool {
    let is_local = !context.launcher.remote && context.ranks_per_node.is_none();
    let spins = context.transport == TransportKind::Mpi && context.library.contains("MPICH");
    is_local && spins && ranks > Hardware::this_machine().hardware_threads()
}

pub fn limit_to_time_bound(point: &Point, seconds: f64) -> f64 {
    match TIME_BOUND.get(point) {
        Some(bound) if bound > 0 => seconds.min(bound as f64),
        _ => seconds,
    }
}

/// Formats an estimated time with two digits: `about 28 s`.
pub fn describe_seconds(seconds: f64) -> String {
    if seconds < 1.0 { "less than 1 s".into() } else { format!("about {}", round_seconds(seconds)) }
}

/// Formats a time with two digits: `28 s`.
pub fn round_seconds(seconds: f64) -> String {
    units::seconds(units::number(seconds, NumberStyle::Rounded(2)).parse().unwrap_or(seconds))
}
