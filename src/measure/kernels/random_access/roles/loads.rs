use crate::kernels::prelude::*;
use crate::kernels::random_access::OUTPUTS;

/// Whose load has a column.
pub const MAX_CORES: usize = 8;
pub const LOADS: [Output; MAX_CORES] = [
    load("core0_load_seconds"),
    load("core1_load_seconds"),
    load("core2_load_seconds"),
    load("core3_load_seconds"),
    load("core4_load_seconds"),
    load("core5_load_seconds"),
    load("core6_load_seconds"),
    load("core7_load_seconds"),
];
pub const STEADY: Output = output(
    "steady_operations_per_second",
    Unit::PerSecond,
    "updates per second while all nodes generate: in the second half of the time until the first one has generated its last; without disabled cores",
);
const ADDED: [Output; MAX_CORES + 1] = join(&LOADS, &[STEADY]);
pub const OUTPUTS_OF_ROLES: [Output; OUTPUTS.len() + MAX_CORES + 1] = join(OUTPUTS, &ADDED);

const fn load(column: &'static str) -> Output {
    output(column, Unit::Seconds, "load of this core: busy time per update of its node")
}

pub const DISABLED: Key<u64> = key(
    "disabled",
    "disabled cores: number of cores of each node, the last ones, that discard the updates that they receive",
    integers(0..=MAX_CORES as u64 - 1, 0),
)
.in_column("disabled_cores", Unit::None);
pub const DELAY: Key<u64> = key(
    "delay_ns",
    "artificial delay, in nanoseconds, for every update that the core delayed_core generates or receives",
    integers(0..=1_000_000_000, 0),
)
.in_column("delay_nanoseconds", Unit::None);
pub const DELAYED: Key<u64> = key(
    "delayed_core",
    "number of the core of each node that is delayed, counted from 0",
    integers(0..=MAX_CORES as u64 - 1, 0),
);

/// The time while a rank waits for messages or for room.
#[derive(Default)]
pub struct Idle {
    since: Option<f64>,
    pub seconds: f64,
}

impl Idle {
    pub fn begin(&mut self, comm: &impl Comm) {
        self.since.get_or_insert_with(|| comm.wall_time());
    }

    pub fn end(&mut self, comm: &impl Comm) {
        if let Some(since) = self.since.take() {
            self.seconds += comm.wall_time() - since;
        }
    }
}

/// Parts of the updates of an updating core.
const PARTS: usize = 16;

/// In seconds of the run: when a node has generated its last update, and when a core has received each part of its mean number of updates.
#[derive(Default)]
pub struct Progress {
    pub generated: f64,
    received: Vec<f64>,
}

impl Progress {
    /// Words of a rank, see [`Self::words`].
    pub const WORDS: usize = 1 + PARTS;

    pub fn receive(&mut self, updates: u64, mean: f64, seconds: impl Fn() -> f64) {
        while self.received.len() < PARTS && (updates * PARTS as u64) as f64 >= mean * (self.received.len() + 1) as f64
        {
            self.received.push(seconds());
        }
    }

    /// As bits, to be gathered. Parts that were not received last forever.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let parts = (0..PARTS).map(|part| self.received.get(part).copied().unwrap_or(f64::INFINITY));
        [self.generated].into_iter().chain(parts).map(f64::to_bits)
    }
}

/// [`STEADY`], from the words of each rank: `cores` ranks form a node, and the first `routers` of these route. Nodes that wait for room do
/// not advance equally. The longer they run, the smaller a part of the time is that of the last ones alone, which this leaves out.
pub fn steady_rate(ranks: &[Vec<f64>], (cores, routers): (usize, usize), updates: u64) -> f64 {
    let end = ranks.iter().step_by(cores).map(|times| times[0]).fold(f64::INFINITY, f64::min);
    let owners = ranks.iter().enumerate().filter(|(rank, _)| rank % cores >= routers);
    let received: Vec<&[f64]> = owners.map(|(_, times)| &times[1..]).collect();
    let share = |time: f64| {
        let parts = |times: &&[f64]| {
            let whole = times.partition_point(|&passed| passed <= time);
            let before = if whole == 0 { 0.0 } else { times[whole - 1] };
            whole as f64 + times.get(whole).map_or(0.0, |next| (time - before) / (next - before))
        };
        received.iter().map(parts).sum::<f64>() / (received.len() * PARTS) as f64
    };
    updates as f64 * (share(end) - share(end / 2.0)) / (end / 2.0)
}
