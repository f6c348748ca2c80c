//! Covariance of numbers that were fitted together.

use super::Card;
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Covariance of the numbers that one fit estimated. Their errors are correlated, so the intervals of single numbers do not
/// give the error of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JointFit {
    /// Id of the fitted model.
    pub model: String,
    /// The numbers, in the order of the matrix, without those that the data do not need.
    pub numbers: Vec<String>,
    /// Degrees of freedom: points minus parameters.
    pub freedom: usize,
    /// Student's t for these degrees of freedom, exceeded with a probability of 2.5 %.
    pub t: f64,
    /// Variance of ln(measured / predicted) of a single measurement.
    pub noise: f64,
    /// Covariance of the natural logarithms of the numbers, row by row.
    pub covariance: Vec<Vec<f64>>,
}

impl JointFit {
    /// Creates a fit with a covariance of zeros.
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

    /// Rejects values that no fit gives.
    pub(super) fn check(&self, card: &Card) -> Result<()> {
        let square = self.covariance.len() == self.numbers.len()
            && self.covariance.iter().all(|row| row.len() == self.numbers.len());
        let values = || self.covariance.iter().flatten().chain([&self.t, &self.noise]);
        let are_on_card = self.numbers.iter().all(|name| card.get(name).is_some());
        let variances = square && (0..self.numbers.len()).all(|index| self.covariance[index][index] >= 0.0);
        if variances && are_on_card && self.noise >= 0.0 && values().all(|value| value.is_finite()) {
            return Ok(());
        }
        Err(Error::input(
            "the covariance in [fit] must be finite, with one row and one column for each of its numbers, all of them on the card",
            "write the card again with `apexmap fit --format toml`, or remove [fit]",
        ))
    }
}
