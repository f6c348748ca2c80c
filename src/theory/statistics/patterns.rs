//! Patterns in the times of one point that a median and its interval hide: steps of the clock, a trend, two modes.

use super::{median, quantile};
use std::cmp::Ordering;

/// Minimum number of times that show a step of the clock.
const MIN_STEP_TIMES: usize = 6;

/// Returns the smallest step between times with two values, or one value per eight times; 0 for a fine clock.
pub fn clock_step(times: &[f64]) -> f64 {
    let mut distinct = times.to_vec();
    distinct.sort_by(f64::total_cmp);
    // A clock counts in whole steps, but differences of its readings have rounding errors.
    distinct.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
    let step = distinct.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::min);
    let is_coarse = times.len() >= MIN_STEP_TIMES && distinct.len() <= (times.len() / 8).max(2);
    step.filter(|_| is_coarse).unwrap_or(0.0)
}

/// A change of times in the order of their measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Last time relative to the first, both on a straight line through the times.
    pub change: f64,
    /// Normal deviate of the rank correlation between times and their order.
    pub deviate: f64,
}

/// Returns the common trend of several series of positive times, each in order; `None` without two times in a series.
///
/// SOURCE: M. G. Kendall, Rank Correlation Methods, 4th ed. 1970: Spearman's coefficient, whose sum of products has the variance
/// n^2 (n + 1)^2 (n - 1) / 144 for n times in random order. Ties make the test cautious.
pub fn trend(series: &[Vec<f64>]) -> Option<Trend> {
    let (mut products, mut variance, mut slope, mut squares, mut steps, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for times in series.iter().filter(|times| times.len() > 1) {
        let n = times.len() as f64;
        let (middle, mean) = ((n - 1.0) / 2.0, times.iter().sum::<f64>() / n);
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        for (position, time) in times.iter().enumerate() {
            let offset = position as f64 - middle;
            let below = sorted.partition_point(|other| other < time) + sorted.partition_point(|other| other <= time);
            products += offset * ((below as f64 - 1.0) / 2.0 - middle);
            slope += offset * (time / mean - 1.0);
            squares += offset * offset;
        }
        variance += (n * (n + 1.0)).powi(2) * (n - 1.0) / 144.0;
        (steps, count) = (steps + n - 1.0, count + 1.0);
    }
    let half = slope / squares * steps / count / 2.0;
    let change = if half.abs() < 1.0 { (1.0 + half) / (1.0 - half) } else { f64::INFINITY.powf(half.signum()) };
    (count > 0.0).then(|| Trend { change, deviate: products / variance.sqrt() })
}

/// Minimum number of values for two modes. With fewer, chance leaves such gaps.
pub const MIN_MODE_VALUES: usize = 12;
const MIN_MODE_SHARE: f64 = 0.2;
/// Smallest gap between two modes, relative to the wider one without its outer tenths. Twelve normal values show it in 0.5 %.
const MIN_GAP: f64 = 1.5;

/// Returns the medians of two groups of values if a wide gap separates them.
pub fn two_modes(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = (MIN_MODE_SHARE * sorted.len() as f64).ceil() as usize;
    if sorted.len() < MIN_MODE_VALUES {
        return None;
    }
    let gap = |&index: &usize| sorted[index] - sorted[index - 1];
    let widest = |a: &usize, b: &usize| -> Ordering { gap(a).total_cmp(&gap(b)) };
    let index = (least..=sorted.len() - least).max_by(widest)?;
    let (lower, upper) = sorted.split_at(index);
    let width = |mode: &[f64]| Some(quantile(mode, 0.9)? - quantile(mode, 0.1)?);
    let is_wide = gap(&index) > MIN_GAP * width(lower)?.max(width(upper)?);
    is_wide.then_some((median(lower)?, median(upper)?))
}
