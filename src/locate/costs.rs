//! Measured costs of accesses to memory, by their way and the size of the data.

use apexmap_theory::places::{SAME_SIZE, lines_of_words, position};

/// How accesses reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Sweep,
    Strided,
    /// Strided, with lines that displace each other in the sets of the second-level cache.
    Displaced,
    /// At random, many at once.
    Independent,
    /// At random, each after the one before.
    Dependent,
}

/// The time of an access to a word. The stride is in words, and 1 unless the access is strided; a strided walk reaches some lines of its
/// region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub access: Access,
    pub stride: f64,
    pub region_bytes: f64,
    pub seconds: f64,
}

#[derive(Clone, Debug)]
pub struct Costs {
    /// The result or the card that they come from.
    pub source: String,
    /// By ascending size.
    costs: Vec<Cost>,
}

impl Costs {
    pub fn new(source: String, mut costs: Vec<Cost>) -> Self {
        costs.sort_by(|a, b| a.region_bytes.total_cmp(&b.region_bytes));
        Self { source, costs }
    }

    /// Returns the size up to which sweeps and random accesses were measured; 0 if some were not.
    pub fn reach(&self) -> f64 {
        let last = |access: Access| self.costs.iter().rfind(|cost| cost.access == access);
        let end = |access: Access| last(access).map_or(0.0, |cost| cost.region_bytes);
        end(Access::Sweep).min(end(Access::Independent)).min(end(Access::Dependent))
    }

    /// Returns the time of an access to lines of this size: interpolated, or that of the nearest end of the measured sizes. Strided walks
    /// that were not measured count as independent accesses, and those with displaced lines as dependent ones.
    pub fn seconds(&self, access: Access, stride: f64, bytes: f64) -> f64 {
        let distance = |cost: &Cost| (cost.stride / stride).ln().abs();
        let mut ladder: Vec<&Cost> = self.costs.iter().filter(|cost| cost.access == access).collect();
        let nearest = ladder.iter().map(|cost| distance(cost)).fold(f64::MAX, f64::min);
        ladder.retain(|cost| distance(cost) == nearest);
        let region = bytes * ladder.first().map_or(1.0, |cost| lines_of_words(cost.stride));
        let sizes: Vec<f64> = ladder.iter().map(|cost| cost.region_bytes).collect();
        let end = sizes.last().copied().unwrap_or(0.0);
        match access {
            Access::Strided if region > SAME_SIZE * end => return self.seconds(Access::Independent, 1.0, bytes),
            Access::Displaced if ladder.is_empty() => return self.seconds(Access::Dependent, 1.0, bytes),
            _ => {}
        }
        let Some((index, share)) = sizes.first().and_then(|least| position(&sizes, region.clamp(*least, end))) else {
            return f64::NAN;
        };
        let next = ladder[(index + 1).min(ladder.len() - 1)];
        ladder[index].seconds.powf(1.0 - share) * next.seconds.powf(share)
    }
}
