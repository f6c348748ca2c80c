//! Decides whether a model describes a measurement, independently of alternative models.

use apexmap_theory::fit::Point;
use apexmap_theory::statistics::median;

/// Factor of a prediction that is accurate enough for a reader.
pub const NEAR: f64 = 1.25;

/// Maximum SMAPE of a model that describes a measurement, as a fraction. It equals a factor of 1.29 at every point.
pub const MAX_SMAPE: f64 = 0.25;

/// Returns the median of measured over predicted rates; NaN without points.
pub fn bias(points: &[Point]) -> f64 {
    let ratios: Vec<f64> = points.iter().map(|point| point.measured / point.predicted).collect();
    median(&ratios).unwrap_or(f64::NAN)
}

/// Returns why a model with this SMAPE does not describe these points: "its error is 50.9 % (SMAPE), more than 25 %".
/// Returns `None` if it does.
pub fn failure(smape: f64, points: &[Point]) -> Option<String> {
    let bias = bias(points);
    let (factor, direction) = (bias.max(1.0 / bias), if bias >= 1.0 { "faster" } else { "slower" });
    let error = (smape > MAX_SMAPE)
        .then(|| format!("its error is {:.1} % (SMAPE), more than {:.0} %", 100.0 * smape, 100.0 * MAX_SMAPE));
    let median = (factor > NEAR)
        .then(|| format!("its median point is {factor:.2} times {direction} than predicted, more than {NEAR}"));
    let reasons: Vec<String> = error.into_iter().chain(median).collect();
    (!reasons.is_empty()).then(|| reasons.join(", and "))
}
