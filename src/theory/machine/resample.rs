//! Cards drawn at random from the intervals of a card.

use super::{Card, inverse};
use crate::statistics::distributions::normal_quantile;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The standard normal quantile of a 95 % interval.
const Z: f64 = 1.959963984540054;

impl Card {
    /// Returns cards whose numbers vary as the 95 % intervals of this card say: the logarithm of a number is normal, and numbers that were
    /// fitted together vary together. Returns none if no number has an interval. Equal seeds give equal cards.
    pub fn resample(&self, count: u32, seed: u64) -> Vec<Card> {
        if self.numbers.values().all(|number| number.low.is_none()) {
            return Vec::new();
        }
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        // The quantile of 0 is infinite.
        (0..count).map(|_| self.draw(&mut || normal_quantile(rng.random_range(1e-12..1.0)))).collect()
    }

    /// Returns one card. `normal` returns standard normal numbers.
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
