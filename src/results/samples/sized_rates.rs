//! Rates with their intervals, and rates between measured sizes of memory.

use apexmap_base::units::{Unit, is_informative, quantity, quantity_with_interval};
use apexmap_theory::places::{NoRate, sizes_around};

/// A rate in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub value: f64,
    /// 95 %, if all points around the place have one.
    pub interval: Option<(f64, f64)>,
    /// The measured size in bytes that stands for another one.
    pub read_at: Option<f64>,
    /// Whether it is an upper bound: a sweep through caches is as fast as its instructions, and the map has the fastest ones.
    pub is_bound: bool,
}

impl Rate {
    /// Returns the rate of this many ranks.
    #[must_use]
    pub fn times(self, ranks: f64) -> Self {
        let interval = self.interval.map(|(low, high)| (low * ranks, high * ranks));
        Self { value: self.value * ranks, interval, ..self }
    }

    /// Returns the rate with its interval, for people: `< 112 GB/s (91 to 138)`.
    pub fn words(&self) -> String {
        let unit = Unit::BytesPerSecond;
        let ends = self.interval.filter(|ends| is_informative(*ends));
        let words =
            ends.map_or_else(|| quantity(self.value, unit), |ends| quantity_with_interval(self.value, ends, unit));
        if self.is_bound { format!("< {words}") } else { words }
    }
}

/// Median, low and high end of a point or a place; NaN where unknown.
pub type Ends = [f64; 3];

/// Returns the rate at a size from those at measured sizes, which ascend. Between sizes, the logarithm of the rate is linear in that of the
/// size.
pub fn at_size(rates: &[(f64, Ends)], size: f64) -> std::result::Result<Rate, NoRate> {
    let sizes: Vec<f64> = rates.iter().map(|(size, _)| *size).collect();
    let around = sizes_around(&sizes, size).ok_or(NoRate::Size(size))?;
    let end = |end: usize| around.iter().map(|(index, weight)| weight * rates[*index].1[end].ln()).sum::<f64>().exp();
    let alone = Some(sizes[around[0].0]).filter(|measured| around.len() == 1 && *measured != size);
    Ok(rate([0, 1, 2].map(end), alone))
}

/// Returns a rate with its interval, if both ends are known.
pub fn rate([value, low, high]: Ends, read_at: Option<f64>) -> Rate {
    Rate { value, interval: (low.is_finite() && high.is_finite()).then_some((low, high)), read_at, is_bound: false }
}
