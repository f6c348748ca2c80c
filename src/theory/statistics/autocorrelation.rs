//! Autocorrelation of samples: the correlation at lag 1 within launches, pooled over the points of a result.
//!
//! Successive samples of a point are one round over all points apart, so slow changes of the machine correlate them. With
//! correlation r, n samples are worth n (1 - r) / (1 + r) independent ones (Priestley, Spectral Analysis and Time Series,
//! 1981, Section 5.3.2), so an interval within one launch is widened by the square root of (1 + r) / (1 - r).
//!
//! The correlated values are logarithms of times minus their mean in the launch, which hides part of the correlation of few
//! samples. This is corrected exactly for a process where each sample depends only on the one before. Residuals beyond three
//! scaled median absolute deviations are set to this limit, so that no single outlier decides.

use crate::statistics::median;
use std::collections::BTreeMap;

/// Correlation above which intervals within one launch are widened.
pub const HIGH: f64 = 0.1;

/// Correlation above which no interval is given: the correction itself then covers less than 94 % (tests/intervals.rs).
pub const TOO_HIGH: f64 = 0.7;

const MIN_PAIRS: usize = 30;

/// Minimum number of samples of a point in a launch: two samples always have equal distances from their mean.
const MIN_SAMPLES_PER_LAUNCH: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autocorrelation {
    /// Correlation of successive samples of a point in a launch, from -1 to 1, by at least 30 pairs.
    pub successive: Option<f64>,
    /// Correlation of a sample with the next sample of the launch, of any point, from -1 to 1.
    pub neighbours: f64,
    /// Number of pairs of successive samples of a point, in launches with at least four samples of the point.
    pub pairs: usize,
}

impl Autocorrelation {
    /// Computes the correlations from series of a point in a launch. `order` lists the samples of each launch in order of
    /// time, as series index and position. `None` with fewer than 30 pairs in series, or if all times are equal.
    pub fn from_series(series: &[Vec<f64>], order: &[Vec<(usize, usize)>]) -> Option<Self> {
        let residuals = residuals(series);
        let product = |pair: &[f64]| pair[0] * pair[1];
        let square = |value: &f64| value * value;
        let in_time = |launch: &Vec<(usize, usize)>| -> (f64, f64) {
            let values: Vec<f64> =
                launch.iter().map(|&(series_index, position)| residuals[series_index][position]).collect();
            (values.windows(2).map(product).sum(), values.iter().map(square).sum())
        };
        let launches: Vec<(f64, f64)> = order.iter().map(in_time).collect();
        let total_squares: f64 = launches.iter().map(|(_, squares)| squares).sum();
        let followers: usize = series.iter().map(|times| times.len().saturating_sub(1)).sum();
        if followers < MIN_PAIRS || total_squares <= 0.0 {
            return None;
        }
        let long: Vec<&Vec<f64>> = residuals.iter().filter(|values| values.len() >= MIN_SAMPLES_PER_LAUNCH).collect();
        let pairs: usize = long.iter().map(|values| values.len() - 1).sum();
        let both: f64 = long.iter().flat_map(|values| values.windows(2)).map(product).sum();
        let squares: f64 = long.iter().flat_map(|values| values.iter()).map(square).sum();
        let is_known = pairs >= MIN_PAIRS && squares > 0.0;
        Some(Self {
            successive: is_known.then(|| unbiased_correlation(both / squares, &long)),
            neighbours: launches.iter().map(|(both, _)| both).sum::<f64>() / total_squares,
            pairs,
        })
    }

    /// Returns the factor by which an interval within one launch is wider in logarithms; `None` for a too high correlation.
    pub fn widening(&self) -> Option<f64> {
        match self.successive {
            Some(r) if r > TOO_HIGH => None,
            Some(r) if r > HIGH => Some(((1.0 + r) / (1.0 - r)).sqrt()),
            _ => Some(1.0),
        }
    }

    pub fn sentence(&self) -> String {
        let neighbours = apexmap_base::units::short_number(self.neighbours);
        let Some(r) = self.successive else {
            return format!(
                "correlation of neighbours in time {neighbours}; too few samples per point and launch for the correlation within a point"
            );
        };
        let follows = match self.widening() {
            Some(1.0) => "low: intervals within one launch treat samples as independent".to_owned(),
            Some(times) => {
                format!("high: intervals within one launch are widened by {}", apexmap_base::units::short_number(times))
            }
            None => format!("above {TOO_HIGH}: no intervals within one launch; measure several launches"),
        };
        format!(
            "correlation of successive samples of a point {} ({} pairs; {neighbours} between neighbours in time), {follows}",
            apexmap_base::units::short_number(r),
            self.pairs
        )
    }
}

/// Returns logarithms minus their mean, with outliers limited.
fn residuals(series: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let centred = |times: &Vec<f64>| -> Vec<f64> {
        let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.into_iter().map(|log| log - mean).collect()
    };
    let mut residuals: Vec<Vec<f64>> = series.iter().map(centred).collect();
    let sizes: Vec<f64> = residuals.iter().flatten().map(|residual| residual.abs()).collect();
    // 1.4826: a normal distribution's standard deviation over its median absolute deviation.
    let most = 3.0 * 1.4826 * median(&sizes).unwrap_or(0.0);
    if most > 0.0 {
        residuals.iter_mut().flatten().for_each(|residual| *residual = residual.clamp(-most, most));
    }
    residuals
}

/// Returns the correlation r for which series minus their means have this ratio of products to squares on average.
fn unbiased_correlation(ratio: f64, series: &[&Vec<f64>]) -> f64 {
    let mut lengths: BTreeMap<usize, f64> = BTreeMap::new();
    series.iter().for_each(|times| *lengths.entry(times.len()).or_default() += 1.0);
    // With a correlation of 1, all values equal their mean.
    let (mut low, mut high) = (-0.99, 0.99);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        let (mut both, mut squares) = (0.0, 0.0);
        for (&length, &count) in &lengths {
            let expected = expected_sums(middle, length);
            both += count * expected.0;
            squares += count * expected.1;
        }
        if both < ratio * squares { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Returns the expected sums of products of successive residuals and of squares, in variances of a value, for n values with
/// correlation r^k at distance k, minus their mean.
fn expected_sums(r: f64, n: usize) -> (f64, f64) {
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
