//! Uncertainty of the numbers on a card: intervals, best values, cards drawn at random, and the covariance of a fit.

use super::{Card, inverse};
use crate::statistics::distributions::normal_quantile;
use apexmap_base::error::{Error, Result};
use apexmap_base::units;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// The standard normal quantile of a 95 % interval.
const Z: f64 = 1.959963984540054;

impl Card {
    /// Returns the 95 % interval of a number in its base unit.
    pub fn interval(&self, name: &str) -> Option<(f64, f64)> {
        if let Some(low) = self.base(name, |number| number.low) {
            return Some((low, self.base(name, |number| number.high)?));
        }
        let inverse = inverse(name)?;
        Some((1.0 / self.base(&inverse, |n| n.high)?, 1.0 / self.base(&inverse, |n| n.low)?))
    }

    /// Returns the smallest and the largest of few launches or runs, in the base unit.
    pub fn range(&self, name: &str) -> Option<(f64, f64)> {
        let ends = |name: &str| {
            let end = |select: fn((f64, f64)) -> f64| self.base(name, |number| number.range.map(select));
            Some((end(|ends| ends.0)?, end(|ends| ends.1)?))
        };
        ends(name).or_else(|| ends(&inverse(name)?).map(|(least, greatest)| (1.0 / greatest, 1.0 / least)))
    }

    /// Returns the size that the system reports, 0 if none: the number itself if not measured. Old cards have none beside it.
    pub fn reported_size(&self, name: &str) -> Option<f64> {
        self.base(name, |number| number.reported.or(Some(number.value).filter(|_| number.low.is_none())))
    }

    /// Returns whether a number is known: it has no interval, or an interval that is narrow enough to be useful.
    pub fn is_known(&self, name: &str) -> bool {
        self.interval(name).is_none_or(units::is_informative)
    }

    /// Returns the names of the numbers whose intervals are too wide to be useful.
    pub fn uncertain_numbers(&self) -> Vec<&str> {
        self.numbers.keys().map(String::as_str).filter(|name| !self.is_known(name)).collect()
    }

    /// Returns the best measured value in the base unit, or else the value. `None` for a useless interval: no bound uses it.
    pub fn best(&self, name: &str) -> Option<f64> {
        self.base(name, |number| number.best.or(Some(number.value))).filter(|_| self.is_known(name))
    }

    /// Returns cards drawn from the 95 % intervals, with normal logarithms; numbers of a fit vary together.
    pub fn resample(&self, count: u32, seed: u64) -> Vec<Card> {
        if self.numbers.values().all(|number| number.low.is_none()) {
            return Vec::new();
        }
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        // The quantile of 0 is infinite.
        (0..count).map(|_| self.draw(&mut || normal_quantile(rng.random_range(1e-12..1.0)))).collect()
    }

    fn draw(&self, normal: &mut impl FnMut() -> f64) -> Card {
        let joint = self.draw_joint(normal);
        let mut card = Card { joint: None, ..self.clone() };
        for (name, number) in &mut card.numbers {
            let (Some(low), Some(high)) = (number.low, number.high) else { continue };
            let z = normal();
            let sign = |other: &str| match inverse(other) {
                _ if other == name => Some(1.0),
                inverse if inverse.as_ref() == Some(name) => Some(-1.0),
                _ => None,
            };
            let shift = match joint.iter().find_map(|(other, shift)| Some(sign(other)? * shift)) {
                Some(shift) => shift,
                None if low > 0.0 => z * (high / low).ln() / (2.0 * Z),
                // The interval is open below: only its upper end gives the spread.
                None if number.value > 0.0 => z * (high / number.value).ln() / Z,
                None => continue,
            };
            number.value *= shift.exp();
            (number.low, number.high, number.range, number.best) = (None, None, None, None);
        }
        card
    }

    /// Returns the changes of the logarithms of the numbers that were fitted together, by their covariance.
    fn draw_joint(&self, normal: &mut impl FnMut() -> f64) -> Vec<(String, f64)> {
        let Some(fit) = &self.joint else { return Vec::new() };
        let n = fit.numbers.len();
        let covariance = DMatrix::from_fn(n, n, |row, column| fit.covariance[row][column]);
        let eigen = covariance.symmetric_eigen();
        let draws = DVector::from_fn(n, |index, _| normal() * eigen.eigenvalues[index].max(0.0).sqrt());
        let shifts = &eigen.eigenvectors * draws;
        fit.numbers.iter().cloned().zip(shifts.iter().copied()).collect()
    }
}

/// Covariance of the numbers of one fit. Intervals of single numbers do not give the error of a prediction.
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
