//! Ratios of one machine to another: point by point, and their geometric mean.

use super::points::{Point, PointData};
use super::statistics::{MannWhitney, Mean};
use serde::Serialize;
use std::collections::BTreeMap;

/// By what an interval or a test knows how values differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The spread between launches.
    Launches,
    /// The spread of samples within a launch, which does not know how launches differ.
    Samples,
    /// There are too few of either.
    Nothing,
}

/// The speed of a machine relative to that of another at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// 95 % interval.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
}

impl Ratio {
    /// Whether the 95 % interval leaves 1 outside; without an interval nothing is decided.
    pub fn is_decided(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// The mean over launches of one side, where it is known how launches differ or the value is exact.
pub fn mean(data: &PointData) -> Option<Mean> {
    let medians = data.medians();
    match medians[..] {
        [value] if data.exact => Some(Mean::exact(value)),
        _ => Mean::of(&medians),
    }
}

/// `of` by `to`; `None` where one of them has no good sample.
pub fn ratio(of: &PointData, to: &PointData, tests: &mut MannWhitney) -> Option<Ratio> {
    let (medians, others) = (of.medians(), to.medians());
    if medians.is_empty() || others.is_empty() {
        return None;
    }
    let both_exact = of.exact && to.exact;
    if let (Some(a), Some(b), false) = (mean(of), mean(to), both_exact) {
        let shift = a.minus(&b);
        let (low, high) = shift.interval();
        return Some(Ratio {
            value: shift.value.exp(),
            interval: Some((low.exp(), high.exp())),
            basis: Basis::Launches,
        });
    }
    let (shift, interval) = tests.shift(&to.all(), &of.all())?;
    let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
    let basis = if interval.is_some() { Basis::Samples } else { Basis::Nothing };
    Some(Ratio { value: shift.exp(), interval, basis })
}

/// A geometric mean of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    pub value: f64,
    /// 95 % interval: of the measurement by [`Basis`], of the choice of points where that is [`Basis::Nothing`]; absent for a
    /// single point without uncertainty.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    pub cells: usize,
    pub least: f64,
    pub most: f64,
}

/// Half the width of a 95 % interval of a normal distribution, in standard deviations.
const NORMAL: f64 = 1.959_964;

/// The geometric mean of the speeds of machine `of` by those of machine `to`, over these points.
///
/// Its interval is that of this mean over these very points: launches are the unit, with all of their points together, since
/// a launch that was slow was so at all of them. Where a side has single launches it is put together from the points'
/// own intervals, as if they were independent.
pub fn geometric_mean(points: &[&Point], of: usize, to: usize, tests: &mut MannWhitney) -> Option<GeometricMean> {
    let both: Vec<(&PointData, &PointData, Ratio)> = points
        .iter()
        .filter_map(|point| {
            let (a, b) = (point.by_machine[of].as_ref()?, point.by_machine[to].as_ref()?);
            Some((a, b, ratio(a, b, tests)?))
        })
        .collect();
    if both.is_empty() {
        return None;
    }
    let cells = both.len();
    let logs: Vec<f64> = both.iter().map(|(_, _, ratio)| ratio.value.ln()).collect();
    let value = logs.iter().sum::<f64>() / cells as f64;
    let (least, most) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
    let found = |value: f64, interval: Option<(f64, f64)>, basis| GeometricMean {
        value: value.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        basis,
        cells,
        least: least.exp(),
        most: most.exp(),
    };
    let exact = both.iter().all(|(a, b, _)| a.exact && b.exact);
    let one = |pick: &dyn Fn(&(&PointData, &PointData, Ratio)) -> PointData| {
        over_points(&both.iter().map(pick).collect::<Vec<_>>())
    };
    if let (Some(a), Some(b), false) = (one(&|both| both.0.clone()), one(&|both| both.1.clone()), exact) {
        let mean = a.minus(&b);
        return Some(found(mean.value, Some(mean.interval()), Basis::Launches));
    }
    let widths: Option<Vec<f64>> =
        both.iter().map(|(_, _, ratio)| ratio.interval.map(|(low, high)| (high / low).ln() / 2.0 / NORMAL)).collect();
    if let Some(widths) = widths {
        let half = NORMAL * widths.iter().map(|width| width * width).sum::<f64>().sqrt() / cells as f64;
        return Some(found(value, Some((value - half, value + half)), Basis::Samples));
    }
    Some(found(value, Mean::of(&logs).map(|mean| mean.interval()), Basis::Nothing))
}

/// The mean of log speeds over points, by launches: points measured in the same number of launches were measured in the
/// same ones, as a sweep launches all points of a rank count together.
pub fn over_points(data: &[PointData]) -> Option<Mean> {
    let mut sets: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
    for one in data {
        let medians = one.medians();
        if one.exact {
            sets.entry(0).or_default().push(medians);
        } else {
            sets.entry(medians.len()).or_default().push(medians);
        }
    }
    let total = data.len() as f64;
    let of_set = |(launches, rows): (&usize, &Vec<Vec<f64>>)| {
        let weight = rows.len() as f64 / total;
        let mean_of = |launch: usize| rows.iter().map(|row| row[launch]).sum::<f64>() / rows.len() as f64;
        let mean = match launches {
            0 => Some(Mean::exact(mean_of(0))),
            _ => Mean::of(&(0..*launches).map(mean_of).collect::<Vec<_>>()),
        };
        mean.map(|mean| (weight, mean))
    };
    let parts: Option<Vec<(f64, Mean)>> = sets.iter().map(of_set).collect();
    parts.map(|parts| Mean::sum(&parts))
}
