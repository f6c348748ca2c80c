//! Columns of bounds for results with a machine card: the maximum rate, the limit that binds, and the fraction reached.

use crate::table::Table;
use crate::table::derived_columns::{self, BOUNDS};
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Launch, Sample};
use apexmap_measure::kernels::keys::Access;
use apexmap_measure::kernels::{self, Output};
use apexmap_theory::bounds::{self, Case, Limits, Terms};
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use std::collections::BTreeMap;

/// Returns the limits at the point of a row; `None` if its kernel has no bounds or the row has not all parameters.
pub fn terms_at(table: &Table, row: usize, launch: &Launch, limits: &Limits) -> Option<Terms> {
    let kernel = kernels::find(table.word("kernel", row)).ok()?;
    let mut point = Point::new(kernel.id, table.number("ranks", row) as usize);
    for parameter in kernel.parameters {
        // Results of earlier versions do not have newer parameters.
        let value = table.value(parameter.column, row).or_else(|| parameter.default_value())?;
        // Parquet files of other programs may have whole numbers as reals.
        point.params.insert(parameter.name.to_owned(), parameter.convert(&value).ok()?);
    }
    let value = |output: &Output| Some((output.column.to_owned(), table.value(output.column, row)?));
    terms(&point, &kernel.outputs.iter().filter_map(value).collect(), launch, limits)
}

fn terms(point: &Point, outputs: &BTreeMap<String, Value>, launch: &Launch, limits: &Limits) -> Option<Terms> {
    bounds::terms(&Case {
        limits,
        point,
        outputs,
        carrier: (&launch.transport, &launch.library),
        nodes: launch.nodes().unwrap_or(1),
    })
}

/// Returns the numbers of [`BOUNDS`] and the bottleneck; `None` for launches on other hosts than those that the card is for.
pub fn bound_values(
    sample: &Sample,
    launch: &Launch,
    limits: &Limits,
) -> Option<([Option<f64>; BOUNDS.len()], &'static str)> {
    if !limits.apply_to(&launch.host) {
        return None;
    }
    let bottleneck = terms(&sample.point, &sample.outputs, launch, limits)?.bottleneck()?;
    let work = kernels::find(&sample.point.kernel).ok()?.work_done(&sample.point, &sample.outputs);
    let bytes = bottleneck.rate * work.bytes / work.operations;
    let [_, _, operations, _, bandwidth, _] = derived_columns::rates(sample, None);
    let share = operations.map(|rate| rate / bottleneck.rate);
    let per_rank = bytes / sample.point.ranks as f64;
    let attainable = attainable_rate(sample, launch, limits);
    let attained = bandwidth.zip(attainable).map(|(rate, attainable)| rate / attainable);
    Some(([Some(bottleneck.rate), Some(bytes), Some(per_rank), share, attainable, attained], bottleneck.name))
}

/// Returns the bytes per second per process that the kernel's model predicts from the card; `None` for writes.
fn attainable_rate(sample: &Sample, launch: &Launch, limits: &Limits) -> Option<f64> {
    let kernel = sample.point.kernel.as_str();
    // A single rank sends no messages.
    if sample.point.ranks > 1 && !limits.has_carrier((&launch.transport, &launch.library)) {
        return None;
    }
    let numbers = limits.surface.as_ref().filter(|_| Surface.about().explains.contains(&kernel))?;
    if Access::of(&sample.point) != Access::Read {
        return None;
    }
    let number = |name: &str| match name {
        "P" => Some(sample.point.ranks as f64),
        "ranks_per_node" => Some(sample.point.ranks as f64 / launch.nodes().unwrap_or(1) as f64),
        _ => {
            let value = sample.point.params.get(name).or_else(|| sample.outputs.get(name));
            value.and_then(Value::as_f64).or_else(|| Surface.kernel_value(kernel, name))
        }
    };
    let prediction = Surface.predict(&Surface.variables(&number).ok()?, numbers).value;
    Some(prediction).filter(|rate| rate.is_finite() && *rate > 0.0)
}
