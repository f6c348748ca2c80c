//! How far a card's numbers are known: their intervals, their ranges, and the best of each.

use super::{Card, inverse};
use apexmap_base::units;

impl Card {
    /// Its 95 % interval in its base unit.
    pub fn interval(&self, name: &str) -> Option<(f64, f64)> {
        if let Some(low) = self.base(name, |number| number.low) {
            return Some((low, self.base(name, |number| number.high)?));
        }
        let inverse = inverse(name)?;
        Some((1.0 / self.base(&inverse, |n| n.high)?, 1.0 / self.base(&inverse, |n| n.low)?))
    }

    /// The least and the greatest of few launches or runs, in its base unit.
    pub fn range(&self, name: &str) -> Option<(f64, f64)> {
        let ends = |name: &str| {
            let end = |of: fn((f64, f64)) -> f64| self.base(name, |number| number.range.map(of));
            Some((end(|ends| ends.0)?, end(|ends| ends.1)?))
        };
        ends(name).or_else(|| ends(&inverse(name)?).map(|(least, greatest)| (1.0 / greatest, 1.0 / least)))
    }

    /// Whether the interval of a number, if it has one, says anything of it.
    pub fn is_known(&self, name: &str) -> bool {
        self.interval(name).is_none_or(units::is_known)
    }

    /// The names of the numbers whose intervals say nothing of them.
    pub fn uncertain(&self) -> Vec<&str> {
        self.numbers.keys().map(String::as_str).filter(|name| !self.is_known(name)).collect()
    }

    /// The best that was measured, in its base unit; of a number that was not measured here, the number itself. `None` of one whose
    /// interval says nothing of it: no bound is made of it.
    pub fn best(&self, name: &str) -> Option<f64> {
        self.base(name, |number| number.best.or(Some(number.value))).filter(|_| self.is_known(name))
    }
}
