//! The columns for bytes that travel between memory and cores.

use crate::kernels::{Output, output};
use apexmap_base::units::Unit;

/// Both values are computed from the accesses of a run, not measured by hardware counters.
pub const TRAFFIC: [Output; 2] = [
    output(
        "traffic_bytes",
        Unit::Bytes,
        "bytes that travel between memory and cores if no cache holds the data: whole lines of 64 bytes; a store counts twice, \
         because it reads its line first (read for ownership), unless it is non-temporal",
    ),
    output("traffic_bytes_per_second", Unit::BytesPerSecond, "traffic_bytes per second"),
];
