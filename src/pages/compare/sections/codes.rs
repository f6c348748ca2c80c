//! The ratios at the places of known codes.

use crate::compare::comparison::{Comparison, Group};
use crate::compare::ratio::{format_ratio, format_with_interval};
use apexmap_base::units::short_number;
use apexmap_theory::codes::{Code, NOT_ON_MAP, Reading, interpolate, weighted_ratio};
use serde::Serialize;

#[derive(Serialize)]
pub struct Codes {
    maps: Vec<CodeMap>,
}

/// The codes on a map over alpha and L.
#[derive(Serialize)]
struct CodeMap {
    label: String,
    rows: Vec<CodeRow>,
    /// Sentences about the weighted mix of the codes.
    mixes: Vec<String>,
}

/// A code and the ratio of each machine to the first.
#[derive(Serialize)]
struct CodeRow {
    code: String,
    alpha: String,
    block: String,
    cells: Vec<String>,
}

impl Codes {
    pub fn new(comparison: &Comparison) -> Self {
        let groups = comparison.groups().filter(|group| group.is_surface());
        let map = |group: Group| CodeMap {
            label: group.label.clone(),
            rows: comparison.codes.iter().map(|code| row(group, code)).collect(),
            mixes: (1..comparison.machines.len()).filter_map(|machine| mix(group, machine)).collect(),
        };
        Self { maps: groups.map(map).collect() }
    }
}

impl Codes {
    pub fn applies(&self) -> bool {
        !self.maps.is_empty()
    }

    pub fn sentences(&self) -> Vec<String> {
        self.maps.iter().flat_map(|map| &map.mixes).cloned().collect()
    }
}

fn row(group: Group, code: &Code) -> CodeRow {
    let cell = |machine: usize| match ratio(group, machine, code) {
        _ if !is_on_map(group, code) => NOT_ON_MAP.to_owned(),
        (Reading::Value(ratio), interval) => format_with_interval(ratio, interval),
        (Reading::Outside, _) => "outside the map".to_owned(),
        (Reading::Gap, _) => "not measured".to_owned(),
    };
    CodeRow {
        code: code.name.clone(),
        alpha: short_number(code.alpha),
        block: short_number(code.block_words),
        cells: (1..group.comparison.machines.len()).map(cell).collect(),
    }
}

/// Returns whether a group has such accesses as a code.
fn is_on_map(group: Group, code: &Code) -> bool {
    code.is_on_map(group.points.first().and_then(|&index| group.comparison.point(index).number("chains")))
}

/// Returns the ratio of a machine to the first at the place of a code, with its interval if all points around have one.
fn ratio(group: Group, machine: usize, code: &Code) -> (Reading, Option<(f64, f64)>) {
    let [blocks, alphas] = [0, 1].map(|axis| group.values(axis));
    let places = group.grid();
    let part = |select: fn(f64, Option<(f64, f64)>) -> f64| {
        let value = |i: usize, j: usize| {
            let tested = places[[j, i]].and_then(|index| group.comparison.ratio(machine, index));
            tested.map_or(f64::NAN, |tested| select(tested.ratio.value, tested.ratio.interval))
        };
        interpolate([&blocks, &alphas], value, [code.block_words, code.alpha])
    };
    let low = part(|_, interval| interval.map_or(f64::NAN, |(low, _)| low));
    let high = part(|_, interval| interval.map_or(f64::NAN, |(_, high)| high));
    let interval = match (low, high) {
        (Reading::Value(low), Reading::Value(high)) => Some((low, high)),
        _ => None,
    };
    (part(|value, _| value), interval)
}

/// Describes the ratio of the mix of all codes with a weight; `None` if no code has one.
fn mix(group: Group, machine: usize) -> Option<String> {
    let comparison = group.comparison;
    let weighted: Vec<(&Code, f64)> = comparison.codes.iter().filter_map(|code| Some((code, code.weight?))).collect();
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for (code, weight) in &weighted {
        match ratio(group, machine, code).0 {
            Reading::Value(ratio) if is_on_map(group, code) => parts.push((*weight, ratio)),
            _ => left_out.push(code.name.as_str()),
        }
    }
    let title = format!("Weighted mix of codes, {}: {}", group.label, comparison.title(machine));
    match weighted_ratio(&parts) {
        _ if weighted.is_empty() => None,
        Some(ratio) if left_out.is_empty() => Some(format!("{title} = {}.", format_ratio(ratio))),
        _ => Some(format!("{title} is not known: no ratio at {}.", left_out.join(", "))),
    }
}
