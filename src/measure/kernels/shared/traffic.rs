//! The bytes that travel between memory and cores.

use crate::kernels::{Output, output};
use apexmap_base::units::Unit;

/// Both are computed, for all access of a run: nothing counts them.
pub const TRAFFIC: [Output; 2] = [
    output(
        "traffic_bytes",
        Unit::Bytes,
        "bytes that travel between memory and cores where no cache holds them: whole lines of 64 bytes, and twice for a store, \
         which reads its line first (read for ownership), unless it is non-temporal",
    ),
    output("traffic_bytes_per_second", Unit::BytesPerSecond, "bytes that travel where no cache holds them, per second"),
];
