//! Rates: the one place where they are computed, from a sample's seconds and its kernel's work.

use apexmap_base::sample::Sample;
use apexmap_base::units::Unit;
use apexmap_measure::kernels;

/// A derived column and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    pub column: &'static str,
    pub unit: Unit,
    /// As on an axis.
    pub label: &'static str,
}

const fn derived(column: &'static str, unit: Unit, label: &'static str) -> Derived {
    Derived { column, unit, label }
}

/// The derived columns, in the order in which [`rates`] returns them. MB are 10^6 bytes everywhere.
pub const COLUMNS: [Derived; 6] = [
    derived("operations", Unit::None, "operations of all ranks"),
    derived("bytes", Unit::Bytes, "bytes of all ranks"),
    derived("operations_per_second", Unit::PerSecond, "aggregate rate of operations"),
    derived("bytes_per_second", Unit::BytesPerSecond, "aggregate bandwidth"),
    derived("bytes_per_second_per_rank", Unit::BytesPerSecond, "bandwidth per process"),
    derived("cycles_per_operation", Unit::Cycles, "cycles per operation, per process"),
];

/// Rates that are also given as corrected for how slow the machine was.
pub const CORRECTABLE: [&str; 3] = ["operations_per_second", "bytes_per_second", "bytes_per_second_per_rank"];
/// The columns of the corrected rates, in the order of [`CORRECTABLE`].
pub const CORRECTED: [Derived; 3] = [
    derived(
        "operations_per_second_corrected",
        Unit::PerSecond,
        "aggregate rate of operations, corrected by the canary",
    ),
    derived("bytes_per_second_corrected", Unit::BytesPerSecond, "aggregate bandwidth, corrected by the canary"),
    derived(
        "bytes_per_second_per_rank_corrected",
        Unit::BytesPerSecond,
        "bandwidth per process, corrected by the canary",
    ),
];
/// The column of a rate as corrected.
pub fn corrected_column(rate: &str) -> String {
    format!("{rate}_corrected")
}

/// Column of the corrected rate over the measured one.
pub const CORRECTION: &str = "correction";

/// Column of the name of the limit that binds.
pub const BOUND_BY: &str = "bound_by";
/// Column of the measured rate over its bound.
pub const SHARE: &str = "share_of_bound";

/// Column of what the card's numbers let expect: the prediction of the kernel's model, to which nothing was fitted here.
pub const ATTAINABLE: &str = "attainable_bytes_per_second_per_rank";
/// Column of the measured rate over that.
pub const ATTAINED: &str = "share_of_attainable";

/// Bounds of rates, what is attainable, and the shares of both that were reached: columns of a result with a machine card.
pub const BOUNDS: [Derived; 6] = [
    derived("bound_operations_per_second", Unit::PerSecond, "bound of the aggregate rate of operations"),
    derived("bound_bytes_per_second", Unit::BytesPerSecond, "bound of the aggregate bandwidth"),
    derived("bound_bytes_per_second_per_rank", Unit::BytesPerSecond, "bound of the bandwidth per process"),
    derived(SHARE, Unit::None, "fraction of the bound"),
    derived(ATTAINABLE, Unit::BytesPerSecond, "bandwidth per process predicted from the card"),
    derived(ATTAINED, Unit::None, "fraction of the prediction"),
];

/// The column that bounds a rate's column, if one does.
pub fn bound_of(column: &str) -> Option<&'static str> {
    BOUNDS.iter().map(|bound| bound.column).find(|bound| bound.strip_prefix("bound_") == Some(column))
}

/// Rates of a sample on processors of `hertz`; `None` where it has no time or its kernel is unknown to this program.
pub fn rates(sample: &Sample, hertz: Option<f64>) -> [Option<f64>; 6] {
    let Ok(kernel) = kernels::find(&sample.point.kernel) else { return [None; 6] };
    let work = kernel.done(&sample.point, &sample.outputs);
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
