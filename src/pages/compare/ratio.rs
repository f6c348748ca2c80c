//! Ratios of two machines: by point, and the decision which differ from 1.
//!
//! One of twenty points without any difference has a 95 % interval that excludes 1. Decisions over many points are therefore adjusted:
//! at most 5 % of the points called different are false (Benjamini and Hochberg, [`apexmap_theory::statistics::rank_tests`]). Ratios of two
//! values that cards determine have no noise, so nothing is tested: their interval is the ratio.
//!
//! [`Direction`] is the one place that decides. Samples of single launches decide nothing, because launches of one machine differ, and
//! neither does a difference as large as the cost of a disturbance on the slower side.

use super::points::PointData;
use apexmap_base::units::{NumberStyle, is_informative, number};
use apexmap_results::samples::estimate::{self, Mean};
pub use apexmap_theory::statistics::Basis;
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjust_p_values};
use statrs::distribution::{ContinuousCDF, Normal};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// Probability of a ratio at least this far from 1 if the true ratio is 1; `None` without noise.
    pub p: Option<f64>,
    /// Factors by which disturbance can have slowed the machine and the base; infinite if unknown.
    pub slowed: [f64; 2],
}

impl Ratio {
    pub fn is_decided(&self) -> bool {
        matches!(Direction::new(self.interval, self.basis, self.slowed), Direction::Faster | Direction::Slower)
    }

    /// `shift` is a logarithm.
    fn from_log(shift: f64, interval: Option<(f64, f64)>, basis: Basis, p: Option<f64>) -> Self {
        let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
        Self { value: shift.exp(), interval, basis, p, slowed: [1.0; 2] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Faster,
    Slower,
    Equal,
    /// The interval includes 1 or covers only single launches, or a disturbance may explain the difference.
    Undecided,
    /// No interval, or one too wide to decide anything.
    Unknown,
}

impl Direction {
    /// `slowed`: as in [`Ratio`]; only that of the slower side may explain a difference.
    pub fn new(interval: Option<(f64, f64)>, basis: Basis, slowed: [f64; 2]) -> Self {
        match interval.filter(|&interval| basis != Basis::Nothing && is_informative(interval)) {
            None => Self::Unknown,
            Some(_) if basis == Basis::Samples => Self::Undecided,
            Some((low, _)) if low > slowed[1] => Self::Faster,
            Some((_, high)) if high * slowed[0] < 1.0 => Self::Slower,
            Some(_) if basis == Basis::Exact => Self::Equal,
            Some(_) => Self::Undecided,
        }
    }
}

/// If the variation between launches is known or the value is exact.
pub fn mean(data: &PointData) -> Option<Mean> {
    match data.medians()[..] {
        [value] if data.exact => Some(Mean::from_exact(value)),
        _ => Mean::from_launches(&data.launches),
    }
}

/// Logarithm of the ratio, if the variation between launches is known or both follow from cards.
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

pub fn ratio(numerator: &PointData, denominator: &PointData, tests: &mut MannWhitney) -> Option<Ratio> {
    scaled_ratio(numerator, denominator, 0.0, tests)
}

/// `factor` is the logarithm of a factor of the first.
pub fn scaled_ratio(
    numerator: &PointData,
    denominator: &PointData,
    factor: f64,
    tests: &mut MannWhitney,
) -> Option<Ratio> {
    let ratio = ratio_of_noise(numerator, denominator, factor, tests)?;
    // A disturbance slows both sides of a pair.
    let is_paired = ratio.basis == Basis::Pairs;
    let slowed = if is_paired { [1.0; 2] } else { [numerator, denominator].map(|data| data.slowing.factor()) };
    Some(Ratio { slowed, ..ratio })
}

fn ratio_of_noise(
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
    // Correlated samples contain less information than independent ones, so widen the interval.
    let widening = numerator.widening.zip(denominator.widening).map(|(a, b)| a.max(b));
    let Some(((low, high), widening)) = interval.zip(widening) else {
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

/// Divides the normal deviate of a one-sided p value.
pub fn weaken(p: f64, times: f64) -> f64 {
    let Some(normal) = Normal::new(0.0, 1.0).ok().filter(|_| times > 1.0) else { return p };
    normal.cdf(normal.inverse_cdf(p) / times)
}

pub const EXACT: &str = "exact for these cards";

pub const FALSE_FINDINGS: f64 = 0.05;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Decision {
    /// All points of two machines together: on average at most 5 % of the points called different are false
    #[default]
    Adjusted,
    /// Each point separately, if its 95 % interval excludes 1: one in twenty equal points is called different
    Unadjusted,
}

impl Decision {
    pub fn text(self) -> &'static str {
        match self {
            Self::Adjusted => "adjusted for the number of points: at most 5 % of the points called different are false",
            Self::Unadjusted => "unadjusted: each point separately, by whether its 95 % interval excludes 1",
        }
    }

    pub fn undecided_label(self) -> &'static str {
        match self {
            Self::Adjusted => "not certain",
            Self::Unadjusted => "not certain alone",
        }
    }

    /// The interval must exclude 1 too, because with few samples it is wider than the test implies.
    pub fn differs(self, tested: &TestedRatio) -> bool {
        let adjusted = self == Self::Unadjusted || tested.q.is_some_and(|q| q <= FALSE_FINDINGS);
        tested.ratio.is_decided() && (adjusted || tested.ratio.basis == Basis::Exact)
    }

    /// Noise hides whether it differs. Without noise, a ratio of 1 is decided too.
    pub fn leaves_open(self, tested: &TestedRatio) -> bool {
        tested.ratio.basis != Basis::Exact && !self.differs(tested)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestedRatio {
    pub ratio: Ratio,
    pub q: Option<f64>,
}

pub fn adjust(ratios: Vec<Ratio>) -> Vec<TestedRatio> {
    let tested: Vec<f64> = ratios.iter().filter_map(|ratio| ratio.p).collect();
    let mut adjusted = adjust_p_values(&tested).into_iter();
    ratios.into_iter().map(|ratio| TestedRatio { ratio, q: ratio.p.and_then(|_| adjusted.next()) }).collect()
}

/// Three digits, or up to five if needed to differ from 1.
pub fn format_ratio(ratio: f64) -> String {
    number(ratio, NumberStyle::Ratio)
}

/// `+12.3 %`, and `x 123` from 100 on
pub fn format_change(ratio: f64) -> String {
    if ratio < 100.0 { format!("{:+.1} %", 100.0 * (ratio - 1.0)) } else { format!("x {}", format_ratio(ratio)) }
}

pub fn format_with_interval(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let interval = format_interval(interval).map(|interval| format!(" {interval}"));
    format!("{}{}", format_ratio(ratio), interval.unwrap_or_default())
}

pub fn format_interval(interval: Option<(f64, f64)>) -> Option<String> {
    interval.filter(|(low, high)| low < high).map(|(low, high)| match is_informative((low, high)) {
        true => format!("[{}, {}]", format_ratio(low), format_ratio(high)),
        false => "[not known]".to_owned(),
    })
}
