//! The speed of a weighted mix of codes relative to the first machine, with its interval.

use super::comparison::{Comparison, Group};
use super::geometric_mean::{GeometricMean, weighted_mean};
use super::points::Point;
use super::ratio::Basis;
use super::verdict;
use apexmap_base::reservation::Reservation;
use apexmap_base::units::WORD_BYTES;
use apexmap_results::samples::code_rates::bytes_per_rank;
use apexmap_theory::codes::{Code, weighted_ratio};
use apexmap_theory::places::{NoRate, interpolate};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    pub machine: usize,
    pub label: String,
    /// Or the names of the codes without a ratio.
    pub ratio: Result<MixRatio, Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MixRatio {
    pub mean: GeometricMean,
    pub reservations: Vec<Reservation>,
}

pub fn mixes(comparison: &Comparison) -> Vec<Mix> {
    let maps = comparison.groups().filter(|group| group.is_surface());
    let machines = 1..comparison.machines.len();
    maps.flat_map(|group| machines.clone().filter_map(move |machine| mix(group, machine))).collect()
}

pub fn mix(group: Group, machine: usize) -> Option<Mix> {
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    let ratio_at = |point: usize| group.comparison.ratio(machine, point).map_or(f64::NAN, |tested| tested.ratio.value);
    for (code, weight) in group.comparison.codes.iter().filter_map(|code| Some((code, code.weight?))) {
        match read(group, machine, code, ratio_at) {
            Ok(ratio) => parts.push((code, weight, ratio)),
            Err(_) => left_out.push(code.name.clone()),
        }
    }
    let ratio = match left_out.is_empty() {
        true => Ok(mix_ratio(group, machine, &parts)?),
        false => Err(left_out),
    };
    Some(Mix { machine, label: group.label.clone(), ratio })
}

/// The logarithm of the ratio is a sum over the logarithms at the points around the codes. A code counts by its share of the time
/// on the second machine, which is the derivative at the estimate.
fn mix_ratio(group: Group, machine: usize, parts: &[(&Code, f64, f64)]) -> Option<MixRatio> {
    let value = weighted_ratio(&parts.iter().map(|&(_, weight, ratio)| (weight, ratio)).collect::<Vec<_>>())?;
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for &(code, weight, ratio) in parts {
        for (point, share) in points_around(group, machine, code) {
            *weights.entry(point).or_default() += share * weight / ratio;
        }
    }
    let around: Vec<usize> = weights.keys().copied().collect();
    let points: Vec<(f64, &Point)> =
        weights.into_iter().map(|(point, weight)| (weight, group.comparison.point(point))).collect();
    let mean = weighted_mean(&points, machine, 0, &mut MannWhitney::default())?;
    let interval = mean.interval.filter(|_| mean.basis != Basis::Nothing);
    let interval = interval.map(|(low, high)| (value * low / mean.value, value * high / mean.value));
    let mean = GeometricMean { value, interval, ..mean };
    Some(MixRatio { reservations: verdict::reservations(group.comparison, [machine, 0], &mean, &around), mean })
}

/// Interpolation is linear in logarithms, so the weight of a point is the logarithm that is read if it has e and all others have 1.
fn points_around(group: Group, machine: usize, code: &Code) -> Vec<(usize, f64)> {
    let weight = |&point: &usize| {
        let only = |other: usize| if other == point { std::f64::consts::E } else { 1.0 };
        match read(group, machine, code, only) {
            Ok(value) if value > 1.0 => Some((point, value.ln())),
            _ => None,
        }
    };
    group.points.iter().filter_map(weight).collect()
}

/// Refuses a size that a machine did not measure. `value` is the value at a point, or NaN.
pub fn read(group: Group, machine: usize, code: &Code, value: impl Fn(usize) -> f64) -> Result<f64, NoRate> {
    if let Some(point) = group.points.first().map(|&index| group.comparison.point(index)) {
        for machine in [0, machine] {
            let bytes = point.number("memory_words").map(|words| words * WORD_BYTES as f64);
            let size = bytes.zip(point.number_on(machine, "ranks")).map(|(bytes, ranks)| bytes / ranks);
            let size = size.or_else(|| bytes_per_rank(&group.comparison.machines[machine].samples));
            code.check_place(point.number("chains"), size)?;
        }
    }
    let [blocks, alphas] = [0, 1].map(|axis| group.values(axis));
    let places = group.grid();
    let value_in = |i: usize, j: usize| places[[j, i]].map_or(f64::NAN, &value);
    interpolate([&blocks, &alphas], value_in, [code.block_words, code.alpha])
}
