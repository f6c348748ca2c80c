//! Rates: the one place where they are computed, from a sample's seconds and its kernel's work.

use crate::kernels;
use crate::sample::Sample;

/// A derived column and what it means.
pub struct Derived {
    pub column: &'static str,
    pub meaning: &'static str,
}

/// The derived columns, in the order in which [`rates`] returns them. MB are 10^6 bytes everywhere.
pub const COLUMNS: [Derived; 6] = [
    Derived { column: "operations", meaning: "accesses, updates or messages of the run, all ranks" },
    Derived { column: "bytes", meaning: "bytes of the run by the kernel's byte definition, all ranks" },
    Derived { column: "operations_per_second", meaning: "aggregate" },
    Derived { column: "bytes_per_second", meaning: "aggregate bandwidth" },
    Derived { column: "bytes_per_second_per_rank", meaning: "bandwidth a process" },
    Derived { column: "cycles_per_operation", meaning: "cycles of one process for one of its operations" },
];

/// Rates of a sample on processors of `hertz`; `None` where it has no time or its kernel is unknown to this program.
pub fn rates(sample: &Sample, hertz: Option<f64>) -> [Option<f64>; 6] {
    let Ok(kernel) = kernels::find(&sample.point.kernel) else { return [None; 6] };
    let work = kernel.work(&sample.point);
    let ranks = sample.point.ranks as f64;
    let a_second = |amount: f64| sample.seconds.map(|seconds| amount / seconds);
    [
        Some(work.operations),
        Some(work.bytes),
        a_second(work.operations),
        a_second(work.bytes),
        a_second(work.bytes / ranks),
        sample.seconds.zip(hertz).map(|(seconds, hertz)| seconds * hertz * ranks / work.operations),
    ]
}
