//! Ratios of two machines: by point, their geometric mean, and the decision which differ from 1.
//!
//! One of twenty points without any difference has a 95 % interval that excludes 1. Decisions over many points are therefore
//! adjusted, so that on average at most 5 % of the points called different are false (Benjamini and Hochberg, see
//! [`apexmap_theory::statistics::rank_tests`]). Ratios of two values that cards determine have no noise, so nothing is tested:
//! their interval is the ratio.

use super::points::{Point, PointData, Points, Scope};
use apexmap_base::units::{NumberStyle, is_informative, number};
use apexmap_results::samples::estimate::{self, Mean};
pub use apexmap_theory::statistics::Basis;
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjust_p_values};
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::{BTreeMap, BTreeSet};

/// The speed of a machine relative to that of another at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// 95 % interval.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// Probability of a ratio at least this far from 1 if the true ratio is 1; `None` without noise.
    pub p: Option<f64>,
}

impl Ratio {
    /// Returns whether the 95 % interval excludes 1; false without an interval.
    pub fn is_decided(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// Makes a ratio from the estimate and interval of its logarithm.
    fn from_log(shift: f64, interval: Option<(f64, f64)>, basis: Basis, p: Option<f64>) -> Self {
        Self { value: shift.exp(), interval: interval.map(|(low, high)| (low.exp(), high.exp())), basis, p }
    }
}

/// Returns the mean over launches of one side, if the variation between launches is known or the value is exact.
pub fn mean(data: &PointData) -> Option<Mean> {
    match data.medians()[..] {
        [value] if data.exact => Some(Mean::from_exact(value)),
        _ => Mean::from_launches(&data.launches),
    }
}

/// Returns the logarithm of the ratio of two speeds, if the variation between launches is known or both follow from cards.
pub fn shift(numerator: &PointData, denominator: &PointData) -> Option<(Mean, Basis)> {
    match (numerator.exact, denominator.exact) {
        (true, true) if numerator.is_of_card() && denominator.is_of_card() => {
            Some((mean(numerator)?.subtract(&mean(denominator)?), Basis::Exact))
        }
        (true, true) => None,
        (false, false) => {
            estimate::log_ratio(&numerator.launches, &denominator.launches, numerator.same_run(denominator))
        }
        _ => Some((mean(numerator)?.subtract(&mean(denominator)?), Basis::Launches)),
    }
}

/// Returns the ratio of two speeds; `None` if one of them has no good sample.
pub fn ratio(numerator: &PointData, denominator: &PointData, tests: &mut MannWhitney) -> Option<Ratio> {
    scaled_ratio(numerator, denominator, 0.0, tests)
}

/// Returns the ratio of two speeds, with the first multiplied by a factor, which is given as its logarithm.
pub fn scaled_ratio(
    numerator: &PointData,
    denominator: &PointData,
    factor: f64,
    tests: &mut MannWhitney,
) -> Option<Ratio> {
    if numerator.launches.is_empty() || denominator.launches.is_empty() {
        return None;
    }
    if let Some((mean, basis)) = shift(numerator, denominator) {
        let mean = Mean { value: mean.value + factor, ..mean };
        let p = (basis != Basis::Exact).then(|| mean.p_two_sided());
        return Some(Ratio::from_log(mean.value, Some(mean.interval()), basis, p));
    }
    let (base, new) =
        (denominator.log_speeds(), numerator.log_speeds().into_iter().map(|speed| speed + factor).collect::<Vec<_>>());
    let (shift, interval) = tests.shift(&base, &new)?;
    let Some((low, high)) = interval else { return Some(Ratio::from_log(shift, None, Basis::Nothing, None)) };
    // Correlated samples contain less information than independent ones, so widen the interval.
    let Some(widening) = numerator.widening.zip(denominator.widening).map(|(a, b)| a.max(b)) else {
        return Some(Ratio::from_log(shift, None, Basis::Nothing, None));
    };
    let systematic = numerator.systematic() + denominator.systematic();
    let interval = (shift + (low - shift) * widening - systematic, shift + (high - shift) * widening + systematic);
    // A systematic error may explain a part of the difference, so the base is moved towards the new speeds.
    let moved_base = |by: f64| base.iter().map(|speed| speed + by).collect::<Vec<_>>();
    let (above, below) = (moved_base(systematic), moved_base(-systematic));
    let p = weaken(tests.p_above(&above, &new).min(tests.p_above(&new, &below)), widening);
    Some(Ratio::from_log(shift, Some(interval), Basis::Samples, Some((2.0 * p).min(1.0))))
}

/// A geometric mean of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    pub value: f64,
    /// 95 % interval of the measurement, or of the choice of points if the basis is [`Basis::Nothing`]; `None` for a single point
    /// without uncertainty.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    pub cells: usize,
    /// Number of points without an interval, which the mean does not include.
    pub left_out: usize,
    pub least: f64,
    pub most: f64,
}

impl GeometricMean {
    /// Multiplies the mean by the geometric mean of the points' factors, which are given as logarithms. The extremes keep their
    /// points.
    pub fn scale(self, factor: impl Fn(&Point) -> f64, points: &[&Point]) -> Self {
        let total: f64 = points.iter().map(|point| factor(point)).sum();
        let times = (total / points.len().max(1) as f64).exp();
        let interval = self.interval.map(|(low, high)| (low * times, high * times));
        Self { value: self.value * times, interval, least: self.least * times, most: self.most * times, ..self }
    }
}

/// Half-width of a 95 % interval of the standard normal distribution.
const NORMAL: f64 = 1.959_964;

/// A point of a mean: its weight, both sides and their ratio.
struct Member<'a> {
    weight: f64,
    machine: &'a PointData,
    base: &'a PointData,
    ratio: Ratio,
}

impl<'a> Member<'a> {
    /// Returns `None` if one of the machines has no good sample.
    fn new(point: &'a Point, weight: f64, machine: usize, base: usize, tests: &mut MannWhitney) -> Option<Self> {
        let (machine, base) = (point.by_machine[machine].as_ref()?, point.by_machine[base].as_ref()?);
        Some(Self { weight, machine, base, ratio: ratio(machine, base, tests)? })
    }
}

/// Returns the geometric mean of the speeds of one machine relative to another over these points.
///
/// The interval is that of the mean over exactly these points. Launches are the unit, each with all its points, because a slow
/// launch is slow at all of them. If a side has single launches, the interval is combined from the points' own intervals as if
/// these were independent. Points without an interval are excluded if others have one.
pub fn geometric_mean(
    points: &[&Point],
    machine: usize,
    base: usize,
    tests: &mut MannWhitney,
) -> Option<GeometricMean> {
    let members: Vec<Member> =
        points.iter().filter_map(|point| Member::new(point, 1.0, machine, base, tests)).collect();
    let mean = mean_of_points(&members)?;
    if mean.basis != Basis::Nothing {
        return Some(mean);
    }
    let total = members.len();
    let with_interval: Vec<_> = members.into_iter().filter(|member| member.ratio.interval.is_some()).collect();
    let mean_with_interval = mean_of_points(&with_interval).filter(|mean| mean.basis != Basis::Nothing);
    Some(mean_with_interval.map_or(mean, |mean_with_interval| GeometricMean {
        left_out: total - with_interval.len(),
        ..mean_with_interval
    }))
}

/// Returns the geometric mean over weighted points, with an interval as in [`geometric_mean`]; `None` if a point has no ratio.
pub fn weighted_mean(
    points: &[(f64, &Point)],
    machine: usize,
    base: usize,
    tests: &mut MannWhitney,
) -> Option<GeometricMean> {
    let members: Option<Vec<Member>> =
        points.iter().map(|(weight, point)| Member::new(point, *weight, machine, base, tests)).collect();
    mean_of_points(&members?)
}

/// Returns the mean over all these points.
fn mean_of_points(members: &[Member]) -> Option<GeometricMean> {
    if members.is_empty() {
        return None;
    }
    let total: f64 = members.iter().map(|member| member.weight).sum();
    let logs: Vec<f64> = members.iter().map(|member| member.ratio.value.ln()).collect();
    let value = members.iter().zip(&logs).map(|(member, log)| member.weight * log).sum::<f64>() / total;
    let (least, most) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
    let make_mean = |value: f64, interval: Option<(f64, f64)>, basis| GeometricMean {
        value: value.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        basis,
        cells: members.len(),
        left_out: 0,
        least: least.exp(),
        most: most.exp(),
    };
    if let Some(mean) = paired_mean(members) {
        return Some(make_mean(mean.value, Some(mean.interval()), Basis::Pairs));
    }
    let has_basis = |basis: Basis| members.iter().all(|member| member.ratio.basis == basis);
    let both_exact = members.iter().all(|member| member.machine.exact && member.base.exact);
    // The error of published values is not known, so that of their mean is not known either.
    let no_spread = both_exact && !has_basis(Basis::Exact);
    let side_mean = |pick: fn(&Member) -> (f64, PointData)| {
        let data: Vec<(f64, PointData)> = members.iter().map(pick).collect();
        mean_over_points(&data)
    };
    let machine = side_mean(|member| (member.weight, member.machine.clone()));
    let base = side_mean(|member| (member.weight, member.base.clone()));
    if let (Some(machine), Some(base), false) = (machine, base, no_spread) {
        let (mean, basis) =
            (machine.subtract(&base), if has_basis(Basis::Exact) { Basis::Exact } else { Basis::Launches });
        return Some(make_mean(mean.value, Some(mean.interval()), basis));
    }
    let width =
        |member: &Member| member.ratio.interval.map(|(low, high)| member.weight * (high / low).ln() / 2.0 / NORMAL);
    let widths: Option<Vec<f64>> = members.iter().map(width).collect();
    if let Some(widths) = widths {
        let half = NORMAL * widths.iter().map(|width| width * width).sum::<f64>().sqrt() / total;
        return Some(make_mean(value, Some((value - half, value + half)), Basis::Samples));
    }
    Some(make_mean(value, Mean::from_values(&logs).map(|mean| mean.interval()), Basis::Nothing))
}

/// Returns the mean over points of the paired differences between two sides of one run, block by block; `None` unless both sides
/// of each point have two common blocks.
fn paired_mean(members: &[Member]) -> Option<Mean> {
    let mut sets: BTreeMap<BTreeSet<u64>, Vec<(f64, Vec<f64>)>> = BTreeMap::new();
    let mut paired = 0;
    for Member { weight, machine, base, .. } in members.iter().filter(|member| member.machine.same_run(member.base)) {
        let pairs = estimate::pairs(&machine.launches, &base.launches)?;
        sets.entry(pairs.keys().copied().collect()).or_default().push((*weight, pairs.into_values().collect()));
        paired += 1;
    }
    if paired < members.len() { None } else { mean_of_sets(sets.into_values()) }
}

/// Returns the mean over weighted points of the log speeds, with launches as the unit. Points with the same number of launches
/// were measured in the same launches, because a sweep launches all points of a rank count together.
pub fn mean_over_points(data: &[(f64, PointData)]) -> Option<Mean> {
    let mut exact: Vec<(f64, f64)> = Vec::new();
    let mut sets: BTreeMap<usize, Vec<(f64, Vec<f64>)>> = BTreeMap::new();
    for (weight, point) in data {
        let medians = point.medians();
        if point.exact {
            exact.extend(medians.into_iter().map(|median| (*weight, median)));
        } else {
            sets.entry(medians.len()).or_default().push((*weight, medians));
        }
    }
    if exact.is_empty() {
        return mean_of_sets(sets.into_values());
    }
    let exact_weight: f64 = exact.iter().map(|(weight, _)| weight).sum();
    let value = exact.iter().map(|(weight, median)| weight * median).sum::<f64>() / exact_weight;
    let share = exact_weight / data.iter().map(|(weight, _)| weight).sum::<f64>();
    let exact_mean = (share, Mean::from_exact(value));
    if sets.is_empty() {
        return Some(exact_mean.1);
    }
    let rest = mean_of_sets(sets.into_values())?;
    Some(Mean::sum(&[exact_mean, (1.0 - share, rest)]))
}

/// Returns the mean over all weighted points of several sets. The rows of a set have one value per launch, in the same launches.
fn mean_of_sets(sets: impl Iterator<Item = Vec<(f64, Vec<f64>)>>) -> Option<Mean> {
    let of_set = |rows: Vec<(f64, Vec<f64>)>| {
        let total: f64 = rows.iter().map(|(weight, _)| weight).sum();
        let mean_in = |launch: usize| rows.iter().map(|(weight, row)| weight * row[launch]).sum::<f64>() / total;
        let mean = Mean::from_values(&(0..rows[0].1.len()).map(mean_in).collect::<Vec<_>>())?;
        Some((total, mean))
    };
    let parts: Vec<(f64, Mean)> = sets.map(of_set).collect::<Option<_>>()?;
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let parts: Vec<(f64, Mean)> = parts.into_iter().map(|(weight, mean)| (weight / total, mean)).collect();
    (!parts.is_empty()).then(|| Mean::sum(&parts))
}

/// Returns the one-sided p value if the normal deviate is divided by `times`.
pub fn weaken(p: f64, times: f64) -> f64 {
    let Some(normal) = Normal::new(0.0, 1.0).ok().filter(|_| times > 1.0) else { return p };
    normal.cdf(normal.inverse_cdf(p) / times)
}

/// The words for ratios of two values that cards determine.
pub const EXACT: &str = "exact for these cards";

/// Accepted fraction of false findings.
pub const FALSE_FINDINGS: f64 = 0.05;

/// Rules to decide whether a ratio differs from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Decision {
    /// All points of two machines together: on average at most 5 % of the points called different are false
    #[default]
    Adjusted,
    /// Each point separately, if its 95 % interval excludes 1: one in twenty equal points is called different
    Unadjusted,
}

impl Decision {
    /// Returns the text for captions.
    pub fn text(self) -> &'static str {
        match self {
            Self::Adjusted => "adjusted for the number of points: at most 5 % of the points called different are false",
            Self::Unadjusted => "unadjusted: each point separately, by whether its 95 % interval excludes 1",
        }
    }

    /// Returns the label of undecided points in legends.
    pub fn undecided_label(self) -> &'static str {
        match self {
            Self::Adjusted => "not certain",
            Self::Unadjusted => "not certain alone",
        }
    }

    /// Returns whether a ratio differs from 1. The interval must exclude 1 too, because with few samples it is wider than the
    /// test implies.
    pub fn differs(self, tested: &TestedRatio) -> bool {
        let adjusted = self == Self::Unadjusted || tested.q.is_some_and(|q| q <= FALSE_FINDINGS);
        tested.ratio.is_decided() && (adjusted || tested.ratio.basis == Basis::Exact)
    }

    /// Returns whether the noise hides if a ratio differs from 1. Without noise, a ratio of 1 is decided too.
    pub fn leaves_open(self, tested: &TestedRatio) -> bool {
        tested.ratio.basis != Basis::Exact && !self.differs(tested)
    }
}

/// A ratio that was tested together with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestedRatio {
    pub ratio: Ratio,
    /// The p value adjusted for all these ratios; `None` without a test.
    pub q: Option<f64>,
}

/// Adjusts the p values of ratios that were tested together.
pub fn adjust(ratios: Vec<Ratio>) -> Vec<TestedRatio> {
    let tested: Vec<f64> = ratios.iter().filter_map(|ratio| ratio.p).collect();
    let mut adjusted = adjust_p_values(&tested).into_iter();
    ratios.into_iter().map(|ratio| TestedRatio { ratio, q: ratio.p.and_then(|_| adjusted.next()) }).collect()
}

/// The ratios of a machine to the first one over the points of a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeRatios {
    pub scope: Scope,
    /// Indices of the points.
    pub points: Vec<usize>,
    /// Ratios by index of their point.
    pub ratios: BTreeMap<usize, TestedRatio>,
    /// `None` without a ratio.
    pub mean: Option<GeometricMean>,
}

impl ScopeRatios {
    pub fn new(points: &Points, scope: Scope, members: Vec<usize>, machine: usize) -> Self {
        let mut tests = MannWhitney::default();
        let ratio = |&index: &usize| {
            let point = &points.points[index];
            let (a, b) = (point.by_machine[machine].as_ref()?, point.by_machine[0].as_ref()?);
            Some((index, scaled_ratio(a, b, scope.factor(point, machine, 0), &mut tests)?))
        };
        let (indices, ratios): (Vec<usize>, Vec<Ratio>) = members.iter().filter_map(ratio).unzip();
        let chosen: Vec<&Point> = members.iter().map(|&index| &points.points[index]).collect();
        let mean = geometric_mean(&chosen, machine, 0, &mut tests);
        let mean = mean.map(|mean| mean.scale(|point| scope.factor(point, machine, 0), &chosen));
        Self { scope, ratios: indices.into_iter().zip(adjust(ratios)).collect(), mean, points: members }
    }
}

/// Formats a ratio with three digits, or with up to five if needed to differ from 1.
pub fn format_ratio(ratio: f64) -> String {
    number(ratio, NumberStyle::Ratio)
}

/// Formats the change by a factor: `+12.3 %`, and `x 123` from 100 on.
pub fn format_change(ratio: f64) -> String {
    if ratio < 100.0 { format!("{:+.1} %", 100.0 * (ratio - 1.0)) } else { format!("x {}", format_ratio(ratio)) }
}

/// Formats `1.23 [1.2, 1.26]`.
pub fn format_with_interval(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let interval = format_interval(interval).map(|interval| format!(" {interval}"));
    format!("{}{}", format_ratio(ratio), interval.unwrap_or_default())
}

/// Formats `[1.2, 1.26]`; `None` without an interval, and without noise.
pub fn format_interval(interval: Option<(f64, f64)>) -> Option<String> {
    interval.filter(|(low, high)| low < high).map(|(low, high)| match is_informative((low, high)) {
        true => format!("[{}, {}]", format_ratio(low), format_ratio(high)),
        false => "[not known]".to_owned(),
    })
}
