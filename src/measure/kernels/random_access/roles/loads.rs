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
pub const OUTPUTS_WITH_LOADS: [Output; OUTPUTS.len() + MAX_CORES] = join(OUTPUTS, &LOADS);

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
        if self.since.is_none() {
            self.since = Some(comm.wall_time());
        }
    }

    pub fn end(&mut self, comm: &impl Comm) {
        if let Some(since) = self.since.take() {
            self.seconds += comm.wall_time() - since;
        }
    }
}
