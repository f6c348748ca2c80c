//! The columns for the load of each core, and the parameters that change the load.

use crate::kernels::random_access::OUTPUTS;
use crate::kernels::{Domain, Key, Output, key, output};
use apexmap_base::units::Unit;

/// Number of cores whose load has a column.
pub const MAX_CORES: usize = 8;
pub const LOADS: [&str; MAX_CORES] = [
    "core0_load_seconds",
    "core1_load_seconds",
    "core2_load_seconds",
    "core3_load_seconds",
    "core4_load_seconds",
    "core5_load_seconds",
    "core6_load_seconds",
    "core7_load_seconds",
];
pub const OUTPUTS_WITH_LOADS: [Output; OUTPUTS.len() + MAX_CORES] = {
    let mut outputs = [OUTPUTS[0]; OUTPUTS.len() + MAX_CORES];
    let mut i = 0;
    while i < outputs.len() {
        outputs[i] = if i < OUTPUTS.len() {
            OUTPUTS[i]
        } else {
            output(LOADS[i - OUTPUTS.len()], Unit::Seconds, "load of this core: busy time per update of its node")
        };
        i += 1;
    }
    outputs
};

pub const DISABLED: Key<u64> = key(
    "disabled",
    "disabled_cores",
    "disabled cores: number of cores of each node, the last ones, that discard the updates that they receive",
    Domain::Integer { min: 0, max: MAX_CORES as u64 - 1, default: 0 },
);
pub const DELAY: Key<u64> = key(
    "delay_ns",
    "delay_nanoseconds",
    "artificial delay, in nanoseconds, for every update that the core delayed_core generates or receives",
    Domain::Integer { min: 0, max: 1_000_000_000, default: 0 },
);
pub const DELAYED: Key<u64> = key(
    "delayed_core",
    "delayed_core",
    "number of the core of each node that is delayed, counted from 0",
    Domain::Integer { min: 0, max: MAX_CORES as u64 - 1, default: 0 },
);
