//! How near a model must come to a measurement to be said to describe it, whatever the alternatives are.

use apexmap_theory::fit::Point;
use apexmap_theory::statistics::median;

/// A factor of a prediction that is as good as a reader needs.
pub const NEAR: f64 = 1.25;

/// The largest SMAPE of a model that describes a measurement, in shares of one: as much as a factor of 1.29 at every point.
pub const MOST_SMAPE: f64 = 0.25;

/// Median of measured by predicted; NaN without points.
pub fn bias(points: &[Point]) -> f64 {
    let ratios: Vec<f64> = points.iter().map(|point| point.measured / point.predicted).collect();
    median(&ratios).unwrap_or(f64::NAN)
}

/// Why a model does not describe these points, `smape` off: "its error is 50.9 % (SMAPE), more than 25 %". `None` if it does.
pub fn failure(smape: f64, points: &[Point]) -> Option<String> {
    let bias = bias(points);
    let (off, way) = (bias.max(1.0 / bias), if bias >= 1.0 { "faster" } else { "slower" });
    let error = (smape > MOST_SMAPE)
        .then(|| format!("its error is {:.1} % (SMAPE), more than {:.0} %", 100.0 * smape, 100.0 * MOST_SMAPE));
    let median =
        (off > NEAR).then(|| format!("its median point is {off:.2} times {way} than predicted, more than {NEAR}"));
    let reasons: Vec<String> = error.into_iter().chain(median).collect();
    (!reasons.is_empty()).then(|| reasons.join(", and "))
}
