//! Caches with sets: lines of a strided walk that displace each other although the cache has room for them.

use crate::reuse::{Histogram, YOUNGEST};
use crate::site::{LINE_BYTES, Site};
use serde::Serialize;

/// The sets of a cache. A line's set is its number modulo theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sets {
    pub sets: u64,
    pub ways: u64,
}

/// The largest ratio of a distance and its estimate from few lines.
const SAMPLING_ERROR: f64 = 1.5;

/// Lines of a strided walk that displace each other in the second-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Conflict {
    /// Different lines of a pass.
    pub lines: u64,
    /// Sets that they reach.
    pub sets: u64,
    /// Share of these lines that miss at each visit.
    pub share: f64,
}

impl Sets {
    /// Returns the conflict of a pass. If a set gets more lines than it has ways, all of them miss: each comes back after all others.
    pub fn conflict(self, stride: u64, steps: u64) -> Conflict {
        let mut counts = vec![0u64; self.sets as usize];
        let (mut last, mut lines) = (None, 0);
        // More lines than the cache has miss in any case.
        for step in 0..steps.min(self.sets * self.ways) {
            let line = step.wrapping_mul(stride) / LINE_BYTES;
            if last.replace(line) != Some(line) {
                counts[(line % self.sets) as usize] += 1;
                lines += 1;
            }
        }
        let displaced: u64 = counts.iter().filter(|count| **count > self.ways).sum();
        let sets = counts.iter().filter(|count| **count > 0).count() as u64;
        Conflict { lines, sets, share: displaced as f64 / lines.max(1) as f64 }
    }

    /// Returns the misses of a strided site, whose source line has this stride, that a fully associative cache of this size would not have, and their conflict.
    pub fn extra_misses(self, site: &Site, stride: u64, reuse: &Histogram, level: u32) -> (f64, Option<Conflict>) {
        let counters = &site.counters;
        let broken = counters.accesses.saturating_sub(counters.same_stride + counters.same_address).max(1);
        // The step back and the next one both break the stride.
        let steps = 2 * counters.accesses / broken * (counters.stride.unsigned_abs() / stride.max(1)).max(1);
        let conflict = self.conflict(stride, steps);
        // The youngest lines are counted in those of the sample. A line that was just accessed hits.
        let distance = |end: f64| if end > YOUNGEST as f64 { end } else { end * f64::from(level).exp2() };
        let comes_after_pass = |end: f64| end > 1.0 && SAMPLING_ERROR * distance(end) >= conflict.lines as f64;
        let bins = reuse.bins_within((self.sets * self.ways) as f64).filter(|(end, _)| comes_after_pass(*end));
        (conflict.share * bins.map(|(_, accesses)| accesses).sum::<f64>(), (conflict.share > 0.0).then_some(conflict))
    }
}
