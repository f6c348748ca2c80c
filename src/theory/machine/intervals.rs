//! Uncertainty of the numbers on a card: intervals, ranges and best values.

use super::{Card, inverse};
use apexmap_base::units;

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

    /// Returns the size that the system reports, in the base unit; 0 if it reports none. This is the number itself, if it was not
    /// measured. Earlier versions wrote no reported size beside a measured one.
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

    /// Returns the best measured value in the base unit, or the value itself if the number was not measured here. Returns
    /// `None` if its interval is too wide to be useful, so that no bound uses it.
    pub fn best(&self, name: &str) -> Option<f64> {
        self.base(name, |number| number.best.or(Some(number.value))).filter(|_| self.is_known(name))
    }
}
