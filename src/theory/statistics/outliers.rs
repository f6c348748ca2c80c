//! Robust distances from the median: values that are far from the others of their group.
//!
//! The modified z score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC, 1993) is a distance in scaled
//! median absolute deviations, which up to half of the values may leave unchanged. They call scores beyond 3.5 outliers.

use super::median;
use statrs::distribution::{ContinuousCDF, Normal};

/// Scores below which no value is an outlier, however few values are compared.
const MIN_LIMIT: f64 = 3.5;
/// Probability of at least one false outlier among all compared values of a normal distribution, if its scale were known.
const FALSE_ALARMS: f64 = 0.05;
/// Standard deviation of a normal distribution, relative to its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Returns the factor from the median absolute deviation of `count` values to the standard deviation of normal values.
///
/// SOURCE: for few values, C. Croux and P. J. Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale,
/// Computational Statistics 1, 1992.
pub fn deviation_factor(count: usize) -> f64 {
    const FEW: [f64; 8] = [1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107];
    let few = count.checked_sub(2).and_then(|index| FEW.get(index)).copied();
    NORMAL * few.unwrap_or(count as f64 / (count as f64 - 0.8))
}

pub fn median_deviation(residuals: &[f64]) -> f64 {
    let sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
    median(&sizes).unwrap_or(0.0)
}

/// Returns the score of outliers among this many values: at least 3.5, and exceeded in 5 % of normal samples (Bonferroni).
pub fn limit(comparisons: usize) -> f64 {
    Normal::standard().inverse_cdf(1.0 - FALSE_ALARMS / comparisons.max(1) as f64).max(MIN_LIMIT)
}
