//! How alike successive samples are: their correlation at lag 1 within launches, pooled over the points of a result.
//!
//! Samples of a point follow one another at the distance of a round over all points, so slow changes of the machine make them
//! alike; an interval within one launch that takes them as independent is then too narrow. With correlation r, n samples tell as
//! much as n (1 - r) / (1 + r) independent ones (Priestley, Spectral Analysis and Time Series, 1981, Section 5.3.2), so
//! that the interval is widened by the square root of (1 + r) / (1 - r). Launches are independent of one another by
//! comparison, and their intervals need no widening.
//!
//! What is correlated are logarithms of times less their mean in the launch, which takes away part of the correlation where samples
//! are few: that is made good exactly, for a process in which each sample depends on the one before only. Residuals
//! beyond three scaled median absolute deviations count as that, so that no single outlier decides.

use crate::statistics::median;
use std::collections::BTreeMap;

/// Above this, intervals within one launch are widened.
pub const HIGH: f64 = 0.1;

/// Above this there are none: the correction itself then covers less than 94 % (tests/intervals.rs).
pub const TOO_HIGH: f64 = 0.7;

/// Fewer pairs of successive samples tell nothing.
const LEAST_PAIRS: usize = 30;

/// Fewer samples of a point in a launch tell next to nothing of how they correlate: two have equal distances from their mean,
/// whatever they are.
const LEAST_LENGTH: usize = 4;

/// Correlations of the samples of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autocorrelation {
    /// Between a sample and the next of the same point in the same launch, from -1 to 1; `None` with fewer than 30 pairs of
    /// points with at least four samples in the launch.
    pub successive: Option<f64>,
    /// Between a sample and the next of the launch, whichever point that is of, from -1 to 1.
    pub neighbours: f64,
    /// Pairs of successive samples of a point, in launches with at least four of it.
    pub pairs: usize,
}

impl Autocorrelation {
    /// Of the times of points in launches, each in the order of time. `order`: all residuals of each launch in the order of
    /// time, as pairs of the index of a series and the place in it. `None` with fewer than 30 samples that have another of their
    /// series, or if all are equal.
    pub fn of(series: &[Vec<f64>], order: &[Vec<(usize, usize)>]) -> Option<Self> {
        let residuals = residuals(series);
        let product = |pair: &[f64]| pair[0] * pair[1];
        let square = |value: &f64| value * value;
        let in_time = |launch: &Vec<(usize, usize)>| -> (f64, f64) {
            let values: Vec<f64> = launch.iter().map(|&(of, at)| residuals[of][at]).collect();
            (values.windows(2).map(product).sum(), values.iter().map(square).sum())
        };
        let launches: Vec<(f64, f64)> = order.iter().map(in_time).collect();
        let all: f64 = launches.iter().map(|(_, squares)| squares).sum();
        let told: usize = series.iter().map(|times| times.len().saturating_sub(1)).sum();
        if told < LEAST_PAIRS || all <= 0.0 {
            return None;
        }
        let long: Vec<&Vec<f64>> = residuals.iter().filter(|values| values.len() >= LEAST_LENGTH).collect();
        let pairs: usize = long.iter().map(|values| values.len() - 1).sum();
        let both: f64 = long.iter().flat_map(|values| values.windows(2)).map(product).sum();
        let squares: f64 = long.iter().flat_map(|values| values.iter()).map(square).sum();
        let known = pairs >= LEAST_PAIRS && squares > 0.0;
        Some(Self {
            successive: known.then(|| unbiased(both / squares, &long)),
            neighbours: launches.iter().map(|(both, _)| both).sum::<f64>() / all,
            pairs,
        })
    }

    /// By what the ends of an interval within one launch are moved away from the median, in logarithms: 1 where the correlation
    /// is low, `None` where it is too high for any interval.
    pub fn widening(&self) -> Option<f64> {
        match self.successive {
            Some(r) if r > TOO_HIGH => None,
            Some(r) if r > HIGH => Some(((1.0 + r) / (1.0 - r)).sqrt()),
            _ => Some(1.0),
        }
    }

    /// What it is and what follows from it.
    pub fn sentence(&self) -> String {
        let neighbours = apexmap_base::units::significant(self.neighbours);
        let Some(r) = self.successive else {
            return format!(
                "correlation of neighbours in time {neighbours}; too few samples of a point in a launch for theirs"
            );
        };
        let follows = match self.widening() {
            Some(1.0) => "low: intervals within one launch take samples as independent".to_owned(),
            Some(times) => {
                format!("high: intervals within one launch are widened by {}", apexmap_base::units::significant(times))
            }
            None => format!("above {TOO_HIGH}: there are no intervals within one launch; measure several launches"),
        };
        format!(
            "correlation of successive samples of a point {} ({} pairs; {neighbours} between neighbours in time), {follows}",
            apexmap_base::units::significant(r),
            self.pairs
        )
    }
}

/// Logarithms less their mean, cut off where they are outliers.
fn residuals(series: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let centred = |times: &Vec<f64>| -> Vec<f64> {
        let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.into_iter().map(|log| log - mean).collect()
    };
    let mut all: Vec<Vec<f64>> = series.iter().map(centred).collect();
    let sizes: Vec<f64> = all.iter().flatten().map(|residual| residual.abs()).collect();
    let most = 3.0 * 1.4826 * median(&sizes).unwrap_or(0.0);
    if most > 0.0 {
        all.iter_mut().flatten().for_each(|residual| *residual = residual.clamp(-most, most));
    }
    all
}

/// The correlation r whose series, less their means, have this ratio of products to squares on average.
fn unbiased(ratio: f64, series: &[&Vec<f64>]) -> f64 {
    let mut lengths: BTreeMap<usize, f64> = BTreeMap::new();
    series.iter().for_each(|times| *lengths.entry(times.len()).or_default() += 1.0);
    let (mut low, mut high) = (-0.99, 0.99);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        let (mut both, mut squares) = (0.0, 0.0);
        for (&length, &count) in &lengths {
            let expected = expected(middle, length);
            both += count * expected.0;
            squares += count * expected.1;
        }
        if both < ratio * squares { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Expected sums of products of successive residuals and of their squares, of n values with correlation r^k at distance k, less
/// their mean, in variances of a value.
fn expected(r: f64, n: usize) -> (f64, f64) {
    let length = n as f64;
    let (mut power, mut row, mut mean) = (1.0, 1.0, length);
    for k in 1..n {
        power *= r;
        row += power;
        mean += 2.0 * (length - k as f64) * power;
    }
    // Mean covariance with the first value, and over all pairs of values.
    let (row, mean) = (row / length, mean / (length * length));
    ((length - 1.0) * (r + mean) - 2.0 * length * mean + 2.0 * row, length * (1.0 - mean))
}
