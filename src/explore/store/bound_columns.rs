//! Beside each rate what the machine allows at most, which limit binds and what share of it was reached: columns of a result
//! whose folder holds the card of its machine.

use super::derive::{self, BOUNDS};
use super::table::Table;
use crate::explore::bounds::{self, Case, Limits, Terms};
use crate::measure::kernels::{self, Domain, Output};
use crate::point::{Point, Value};
use crate::sample::{Launch, Sample};
use std::collections::BTreeMap;

/// The limits at the point of a row; `None` where its kernel has no bounds or the row lacks a parameter.
pub fn terms_at(table: &Table, row: usize, launch: &Launch, limits: &Limits) -> Option<Terms> {
    let kernel = kernels::find(table.word("kernel", row)).ok()?;
    let mut point = Point::new(kernel.id(), table.number("ranks", row) as usize);
    for parameter in kernel.parameters() {
        // Results of earlier versions lack newer parameters.
        let value = table.value(parameter.column, row).or_else(|| parameter.default_value())?;
        let value = match (value, parameter.domain) {
            (value, Domain::Real { .. } | Domain::Choice(_)) => value,
            // Other programs' Parquet files may have whole numbers as reals.
            (Value::Real(value), _) => Value::Integer(value as u64),
            (value, _) => value,
        };
        point.params.insert(parameter.name.to_owned(), value);
    }
    let value = |output: &Output| Some((output.column.to_owned(), table.value(output.column, row)?));
    terms(&point, &kernel.outputs().iter().filter_map(value).collect(), launch, limits)
}

/// The limits at a point with these outputs.
fn terms(point: &Point, outputs: &BTreeMap<String, Value>, launch: &Launch, limits: &Limits) -> Option<Terms> {
    let mut nodes: Vec<&str> = launch.placement.iter().map(|place| place.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    bounds::terms(&Case {
        limits,
        point,
        outputs,
        carrier: (&launch.transport, &launch.library),
        nodes: nodes.len().max(1),
    })
}

/// The numbers of [`BOUNDS`] and the bottleneck; none for launches on other hosts than the card's.
pub fn bound(sample: &Sample, launch: &Launch, limits: &Limits) -> Option<([Option<f64>; BOUNDS.len()], &'static str)> {
    if !limits.is_of(&launch.host) && limits.accepted.is_none() {
        return None;
    }
    let bottleneck = terms(&sample.point, &sample.outputs, launch, limits)?.bottleneck()?;
    let work = kernels::find(&sample.point.kernel).ok()?.done(&sample.point, &sample.outputs);
    let bytes = bottleneck.rate * work.bytes / work.operations;
    let measured = derive::rates(sample, None)[2];
    let share = measured.map(|rate| rate / bottleneck.rate);
    Some(([Some(bottleneck.rate), Some(bytes), Some(bytes / sample.point.ranks as f64), share], bottleneck.name))
}
