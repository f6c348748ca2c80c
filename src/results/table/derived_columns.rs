//! Computes all rates, from a sample's seconds and its kernel's work.

use apexmap_base::sample::Sample;
use apexmap_base::units::Unit;
use apexmap_measure::kernels;

#[derive(Clone, Copy, Debug)]
pub struct DerivedColumn {
    pub column: &'static str,
    pub unit: Unit,
    pub label: &'static str,
}

const fn derived_column(column: &'static str, unit: Unit, label: &'static str) -> DerivedColumn {
    DerivedColumn { column, unit, label }
}

/// The derived columns, in the order of [`rates`]. MB are 10^6 bytes everywhere.
pub const COLUMNS: [DerivedColumn; 6] = [
    derived_column("operations", Unit::None, "operations of all ranks"),
    derived_column("bytes", Unit::Bytes, "bytes of all ranks"),
    derived_column("operations_per_second", Unit::PerSecond, "aggregate rate of operations"),
    derived_column("bytes_per_second", Unit::BytesPerSecond, "aggregate bandwidth"),
    derived_column("bytes_per_second_per_rank", Unit::BytesPerSecond, "bandwidth per process"),
    derived_column("cycles_per_operation", Unit::Cycles, "cycles per operation, per process"),
];

pub const BOUND_BY: &str = "bound_by";
pub const SHARE: &str = "share_of_bound";

/// Column of the rate that the kernel's model predicts from the card, without a fit to these samples.
pub const ATTAINABLE: &str = "attainable_bytes_per_second_per_rank";
pub const ATTAINED: &str = "share_of_attainable";

/// Bounds of rates, the prediction from the card, and the fractions reached: columns of a result with a machine card.
pub const BOUNDS: [DerivedColumn; 6] = [
    derived_column("bound_operations_per_second", Unit::PerSecond, "bound of the aggregate rate of operations"),
    derived_column("bound_bytes_per_second", Unit::BytesPerSecond, "bound of the aggregate bandwidth"),
    derived_column("bound_bytes_per_second_per_rank", Unit::BytesPerSecond, "bound of the bandwidth per process"),
    derived_column(SHARE, Unit::None, "fraction of the bound"),
    derived_column(ATTAINABLE, Unit::BytesPerSecond, "bandwidth per process predicted from the card"),
    derived_column(ATTAINED, Unit::None, "fraction of the prediction"),
];

pub fn bound_column(column: &str) -> Option<&'static str> {
    BOUNDS.iter().map(|bound| bound.column).find(|bound| bound.strip_prefix("bound_") == Some(column))
}

/// Returns the rates of a sample on processors of `hertz`; `None` without a time, and for kernels whose values the user names.
pub fn rates(sample: &Sample, hertz: Option<f64>) -> [Option<f64>; 6] {
    let kernel = match kernels::find(&sample.point.kernel) {
        Ok(kernel) if !kernel.has_own_parameters => kernel,
        _ => return [None; 6],
    };
    let work = kernel.work_done(&sample.point, &sample.outputs);
    let ranks = sample.point.ranks as f64;
    let per_second = |amount: f64| sample.seconds.map(|seconds| amount / seconds);
    [
        Some(work.operations),
        Some(work.bytes),
        per_second(work.operations),
        per_second(work.bytes),
        per_second(work.bytes / ranks),
        sample.seconds.zip(hertz).map(|(seconds, hertz)| seconds * hertz * ranks / work.operations),
    ]
}
