//! Beside each rate what the machine allows at most, which limit binds and what share of it was reached: columns of a result
//! whose folder holds the card of its machine.

use super::derive::{self, Derived, derived};
use super::journal::Record;
use super::table::{Column, Table};
use crate::explore::bounds::{self, Case, Limits};
use crate::measure::kernels;
use crate::sample::{Launch, Sample};
use crate::units::Unit;

/// Column of the name of the limit that binds.
pub const BOUND_BY: &str = "bound_by";
/// Column of the measured rate over its bound.
pub const SHARE: &str = "share_of_bound";

/// The numbers among the columns.
pub const COLUMNS: [Derived; 4] = [
    derived("bound_operations_per_second", Unit::PerSecond, "bound of the aggregate rate of operations"),
    derived("bound_bytes_per_second", Unit::BytesPerSecond, "bound of the aggregate bandwidth"),
    derived("bound_bytes_per_second_per_rank", Unit::BytesPerSecond, "bound of the bandwidth of a process"),
    derived(SHARE, Unit::None, "share of the machine's own limit"),
];

/// The column that bounds a rate's column, if one does.
pub fn bound_of(column: &str) -> Option<&'static str> {
    COLUMNS.iter().map(|bound| bound.column).find(|bound| bound.strip_prefix("bound_") == Some(column))
}

/// Adds the columns to the table of these records.
pub fn add(table: &mut Table, records: &[Record], limits: &Limits) {
    let samples =
        records.iter().flat_map(|record| record.samples.iter().map(|sample| (sample, record.launch.as_ref())));
    let bounds: Vec<_> =
        samples.map(|(sample, launch)| launch.and_then(|launch| bound(sample, launch, limits))).collect();
    for (at, column) in COLUMNS.iter().enumerate() {
        let numbers = bounds.iter().map(|bound| bound.as_ref().and_then(|bound| bound.0[at]).unwrap_or(f64::NAN));
        table.insert(column.column, Column::Numbers(numbers.collect()));
    }
    let code = |name: &str| bounds::NAMES.iter().position(|known| *known == name).map(|at| at as u32);
    let codes = bounds.iter().map(|bound| bound.as_ref().and_then(|bound| code(bound.1))).collect();
    let dictionary = bounds::NAMES.map(str::to_owned).to_vec();
    table.insert(BOUND_BY, Column::Words { codes, dictionary });
}

/// The limits at the point of a sample.
pub fn terms(sample: &Sample, launch: &Launch, limits: &Limits) -> Option<bounds::Terms> {
    let mut nodes: Vec<&str> = launch.placement.iter().map(|place| place.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    bounds::terms(&Case {
        limits,
        point: &sample.point,
        outputs: &sample.outputs,
        carrier: (&launch.transport, &launch.library),
        nodes: nodes.len().max(1),
    })
}

/// The numbers of [`COLUMNS`] and what binds; none for launches on other hosts than the card's.
fn bound(sample: &Sample, launch: &Launch, limits: &Limits) -> Option<([Option<f64>; 4], &'static str)> {
    if !limits.is_of(&launch.host) && limits.accepted.is_none() {
        return None;
    }
    let binding = terms(sample, launch, limits)?.bottleneck()?;
    let work = kernels::find(&sample.point.kernel).ok()?.done(&sample.point, &sample.outputs);
    let bytes = binding.rate * work.bytes / work.operations;
    let measured = derive::rates(sample, None)[2];
    let share = measured.map(|rate| rate / binding.rate);
    Some(([Some(binding.rate), Some(bytes), Some(bytes / sample.point.ranks as f64), share], binding.name))
}
