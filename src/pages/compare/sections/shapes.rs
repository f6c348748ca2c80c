//! The shapes of performance surfaces (Apex-Map paper, Section 3.3): trade-offs, sensitivity along each axis, best to worst.

use super::prelude::*;
use apexmap_base::point::Value;
use apexmap_base::units::quantity;
use apexmap_measure::kernels;
use apexmap_results::samples::ascending;
use apexmap_results::table::columns::value_text;
use apexmap_theory::trade::{self, Trade};
use serde_json::Value as Json;

/// `has_cards`: the section on hardware numbers follows under the same heading.
pub fn section(comparison: &Comparison, has_cards: bool) -> Option<Json> {
    let shapes: Vec<Shape> = comparison.groups().map(shape).collect();
    let sentences: Vec<String> = shapes.iter().filter_map(sentence).collect();
    (!shapes.is_empty() || has_cards).then(|| json!({ "shapes": shapes, "sentences": sentences }))
}

#[derive(Default, Serialize)]
struct Shape {
    label: String,
    alphas: Vec<String>,
    trades: Vec<LevelTrades>,
    sensitivities: Vec<Sensitivity>,
    ranges: Vec<Json>,
}

#[derive(Serialize)]
struct LevelTrades {
    level: String,
    machines: Vec<(String, Trade)>,
}

#[derive(Serialize)]
struct Sensitivity {
    machine: String,
    axis: String,
    /// Speed at the best end of the axis relative to the other end: median over the lines along it.
    gain: String,
    #[serde(skip)]
    times: f64,
    #[serde(skip)]
    column: String,
    /// d ln(speed) / d ln(axis) between neighbouring points: median; `least` and `most` are the extremes.
    elasticity: String,
    least: String,
    most: String,
}

fn shape(group: Group) -> Shape {
    let mut shape = Shape { label: group.label.clone(), ..Shape::default() };
    if group.is_surface() {
        shape.trades = trades(group);
        shape.alphas = group.values(1).into_iter().map(short_number).collect();
    }
    for (k, machine) in group.comparison.machines.iter().enumerate() {
        for axis in &group.axes {
            shape.sensitivities.extend(sensitivity(group, k, &machine.name, axis));
        }
        shape.ranges.extend(range(group, k, &machine.name));
    }
    shape
}

fn surface(group: Group, machine: usize) -> Vec<Vec<f64>> {
    group.speeds(machine).rows().into_iter().map(|row| row.to_vec()).collect()
}

/// At the bandwidths of the paper and of the base's surface that at least two machines reach.
fn trades(group: Group) -> Vec<LevelTrades> {
    let (comparison, blocks) = (group.comparison, group.values(0));
    let surfaces: Vec<Vec<Vec<f64>>> = (0..comparison.machines.len()).map(|machine| surface(group, machine)).collect();
    let levels = ascending(surfaces.iter().flat_map(|surface| trade::levels(surface)));
    let held = |level: f64| {
        let machines = comparison.machines.iter().zip(&surfaces);
        let machines: Vec<(String, Trade)> =
            machines.map(|(machine, surface)| (machine.name.clone(), trade::trade(&blocks, surface, level))).collect();
        LevelTrades { level: quantity(level, Unit::BytesPerSecond), machines }
    };
    // Show a level only if at least two machines' surfaces span it.
    let is_shared = |held: &LevelTrades| held.machines.iter().filter(|(_, trade)| trade.factor.is_some()).count() > 1;
    levels.into_iter().map(held).filter(is_shared).collect()
}

/// Points that differ in one axis only, as (axis value, ln speed), ascending.
fn lines(group: Group, machine: usize, axis: &str) -> Vec<Vec<(f64, f64)>> {
    let mut lines: BTreeMap<Vec<u64>, Vec<(f64, f64)>> = BTreeMap::new();
    for &index in &group.points {
        let (point, speed) = (group.comparison.point(index), group.comparison.speed(machine, index));
        let (Some(x), Some(speed)) = (point.number(axis), speed) else { continue };
        let others = group.axes.iter().filter(|other| *other != axis);
        let key: Vec<u64> = others.map(|other| point.number(other).unwrap_or(-1.0).to_bits()).collect();
        lines.entry(key).or_default().push((x, speed.ln()));
    }
    let mut lines: Vec<_> = lines.into_values().filter(|line| line.len() > 1).collect();
    lines.iter_mut().for_each(|line| line.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

fn sensitivity(group: Group, machine: usize, name: &str, axis: &str) -> Option<Sensitivity> {
    let lines = lines(group, machine, axis);
    let (low, high) = range_of_axis(&lines)?;
    // Locality increases as alpha decreases.
    let sign = if axis == ALPHA { -1.0 } else { 1.0 };
    let gain = |line: &Vec<(f64, f64)>| Some(sign * (line.last()?.1 - line.first()?.1));
    let gains: Vec<f64> = lines.iter().filter_map(gain).collect();
    let slopes: Vec<f64> = lines
        .iter()
        .flat_map(|line| line.windows(2))
        // The logarithm of 0 is infinite.
        .filter(|pair| pair[0].0 > 0.0)
        .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 / pair[0].0).ln())
        .collect();
    let (least, most) = slopes.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
    let times = median(&gains)?.exp();
    let (from, to) = if axis == ALPHA { (high, low) } else { (low, high) };
    let parameters = || kernels::ALL.iter().flat_map(|kernel| kernel.parameters);
    let parameter = parameters().find(|parameter| parameter.column == axis);
    Some(Sensitivity {
        machine: name.to_owned(),
        axis: format!("{} to {}", label(axis, &value_of(axis, from)), value_text(parameter, &value_of(axis, to))),
        gain: short_number(times),
        times,
        column: axis.to_owned(),
        elasticity: short_number(median(&slopes)?),
        least: short_number(least),
        most: short_number(most),
    })
}

fn range_of_axis(lines: &[Vec<(f64, f64)>]) -> Option<(f64, f64)> {
    let values = || lines.iter().flatten().map(|(x, _)| *x);
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    (low < high).then_some((low, high))
}

fn value_of(axis: &str, value: f64) -> Value {
    if axis == ALPHA { Value::Real(value) } else { Value::Integer(value as u64) }
}

fn range(group: Group, machine: usize, name: &str) -> Option<Json> {
    let speed = |&index: &usize| Some((index, group.comparison.speed(machine, index)?));
    let mut speeds: Vec<(usize, f64)> = group.points.iter().filter_map(speed).collect();
    speeds.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (worst, best) = (speeds.first()?, speeds.last()?);
    let unit = columns::describe_of(group.headline, [group.kernel]).unit;
    // If the kernel measures times, a speed is the reciprocal of a time.
    let shown = |speed: f64| match unit {
        Unit::Seconds => apexmap_base::units::seconds(1.0 / speed),
        Unit::Cycles => short_number(1.0 / speed),
        unit => quantity(speed, unit),
    };
    let place = |index: usize| {
        let point = group.comparison.point(index);
        let values = group.axes.iter().filter_map(|axis| Some(label(axis, point.value(axis)?)));
        values.collect::<Vec<_>>().join(", ")
    };
    Some(json!({
        "machine": name,
        "best": shown(best.1),
        "best_at": place(best.0),
        "worst": shown(worst.1),
        "worst_at": place(worst.0),
        "ratio": short_number(best.1 / worst.1),
    }))
}

fn sentence(shape: &Shape) -> Option<String> {
    let gain = |machine: &str, axis: &str| -> Option<f64> {
        shape.sensitivities.iter().find(|s| s.machine == machine && s.column == axis).map(|s| s.times)
    };
    let clause = |range: &Json| {
        let machine = range["machine"].as_str()?;
        let (temporal, spatial) = (gain(machine, ALPHA)?, gain(machine, BLOCK)?);
        let locality = if temporal > spatial { "temporal" } else { "spatial" };
        Some(format!(
            "{machine} gains {}x from spatial and {}x from temporal locality, more from {locality}",
            short_number(spatial),
            short_number(temporal)
        ))
    };
    let each: Vec<String> = shape.ranges.iter().filter_map(clause).collect();
    (!each.is_empty() && !shape.alphas.is_empty()).then(|| format!("{}: {}.", shape.label, each.join("; ")))
}
