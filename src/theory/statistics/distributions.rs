//! Quantiles and tails of Student's t and Fisher's F.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

pub fn t_quantile(freedom: usize) -> f64 {
    t_quantile_beyond(freedom, 0.025)
}

/// Returns the quantile of Student's t that is exceeded with probability `tail`.
pub fn t_quantile_beyond(freedom: usize, tail: f64) -> f64 {
    t_quantile_at(freedom.max(1) as f64, 1.0 - tail)
}

/// Degrees of freedom from which three terms of a series are more accurate than the search for a quantile, which may not end.
const MIN_SERIES_FREEDOM: f64 = 1e3;

/// Returns a quantile of Student's t. Less than half a degree of freedom counts as half.
///
/// SOURCE: for many degrees of freedom, Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
pub fn t_quantile_at(freedom: f64, share: f64) -> f64 {
    if freedom >= MIN_SERIES_FREEDOM {
        let z = Normal::standard().inverse_cdf(share);
        let (first, second) = ((z.powi(3) + z) / 4.0, (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0);
        return z + (first + second / freedom) / freedom;
    }
    StudentsT::new(0.0, 1.0, freedom.max(0.5)).map_or(f64::INFINITY, |t| t.inverse_cdf(share))
}

pub fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

pub fn t_above(freedom: f64, value: f64) -> f64 {
    // Beyond this, the normal distribution agrees to seven digits.
    if freedom >= 1e7 {
        return Normal::standard().sf(value);
    }
    StudentsT::new(0.0, 1.0, freedom.max(0.5)).map_or(1.0, |t| t.sf(value))
}

pub fn f_quantile_beyond(above: usize, below: usize, tail: f64) -> f64 {
    FisherSnedecor::new(above as f64, below.max(1) as f64).map_or(f64::NAN, |f| f.inverse_cdf(1.0 - tail))
}
