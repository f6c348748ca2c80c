//! What a fit says of several numbers together.

use super::Card;
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The covariance of numbers that one fit found: their errors go together, so that the intervals of each alone do not say how far
/// off a prediction is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JointFit {
    /// Id of the model that was fitted.
    pub model: String,
    /// The numbers, in the order of the matrix; those that the data do without are not among them.
    pub numbers: Vec<String>,
    /// Points more than parameters.
    pub freedom: usize,
    /// The quantile of Student's t for it that 2.5 % are above.
    pub t: f64,
    /// Variance of ln(measured / predicted) of a measurement.
    pub noise: f64,
    /// Covariance of the natural logarithms of the numbers, row by row.
    pub covariance: Vec<Vec<f64>>,
}

impl JointFit {
    /// From a fit.
    pub fn new(model: &str, numbers: Vec<String>, freedom: usize, t: f64, noise: f64) -> Self {
        Self {
            model: model.into(),
            covariance: vec![vec![0.0; numbers.len()]; numbers.len()],
            numbers,
            freedom,
            t,
            noise,
        }
    }

    /// Refuses what no fit gives.
    pub(super) fn check(&self, card: &Card) -> Result<()> {
        let square = self.covariance.len() == self.numbers.len()
            && self.covariance.iter().all(|row| row.len() == self.numbers.len());
        let values = || self.covariance.iter().flatten().chain([&self.t, &self.noise]);
        let known = self.numbers.iter().all(|name| card.get(name).is_some());
        let variances = square && (0..self.numbers.len()).all(|at| self.covariance[at][at] >= 0.0);
        if variances && known && self.noise >= 0.0 && values().all(|value| value.is_finite()) {
            return Ok(());
        }
        Err(Error::input(
            "[fit] must have a covariance of as many rows and columns as it names numbers, all of them on the card",
            "write the card again with `apexmap fit --format toml`, or take [fit] away",
        ))
    }
}
