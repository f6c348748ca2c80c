//! Sizes of the memory that a site reaches: the number of its different lines, and the extent of their addresses.

use crate::site::hash;

/// Hashes of a sketch. The standard error of a count is 1 / sqrt(HASHES - 2): 4.4 %.
const HASHES: usize = 512;
/// Hashes that are known to be in a sketch.
const RECENT: usize = 16;

/// Estimates the number of different lines from those with the smallest hashes. Exact for fewer than `HASHES` lines.
///
/// SOURCE: Z. Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002. Sampling keeps the smallest hashes, too
/// ([`crate::site::is_kept`]), so that a sketch of sampled lines is one of all lines.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    /// The smallest hashes, ascending.
    hashes: Vec<u64>,
    /// Hashes that came last, by their low bits: lines often repeat.
    recent: [u64; RECENT],
}

impl Distinct {
    /// Inserts a line. Returns `false` if it came shortly before.
    pub fn insert(&mut self, line: u64) -> bool {
        let hash = hash(line);
        // The hash of line 0 is 0, which the places have at first.
        let is_new = std::mem::replace(&mut self.recent[hash as usize % RECENT], !hash) != !hash;
        if is_new {
            self.insert_hash(hash);
        }
        is_new
    }

    fn insert_hash(&mut self, hash: u64) {
        if self.hashes.len() == HASHES && hash >= self.hashes[HASHES - 1] {
            return;
        }
        if let Err(place) = self.hashes.binary_search(&hash) {
            self.hashes.truncate(HASHES - 1);
            self.hashes.insert(place, hash);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        other.hashes.iter().for_each(|hash| self.insert_hash(*hash));
    }

    /// Returns the number of different lines, if one of 2^`level` lines was sampled at last.
    pub fn count(&self, level: u32) -> f64 {
        let kept = self.hashes.partition_point(|hash| level == 0 || hash >> (64 - level) == 0);
        if kept < HASHES {
            return kept as f64 * f64::from(level).exp2();
        }
        (HASHES - 1) as f64 / (self.hashes[HASHES - 1] as f64 / 64f64.exp2())
    }
}

const INTERVALS: usize = 6;
/// Pages closer than this belong to one interval from the beginning.
const NEAR: u64 = 256;

/// The pages from the first to the last that sites reached, in a few intervals: heap, stack and libraries are far apart.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    /// First and last pages, ascending.
    intervals: Vec<(u64, u64)>,
}

impl Extent {
    pub fn insert(&mut self, page: u64) {
        self.insert_interval(page, page);
    }

    fn insert_interval(&mut self, first: u64, last: u64) {
        if self.intervals.iter().any(|(low, high)| *low <= first && last <= *high) {
            return;
        }
        let place = self.intervals.partition_point(|(low, _)| *low < first);
        self.intervals.insert(place, (first, last));
        while let Some(place) =
            self.nearest().filter(|place| self.intervals.len() > INTERVALS || self.gap(*place) < NEAR)
        {
            self.join(place);
        }
    }

    /// Adds the pages of another site. An instruction walks through one part of memory: gaps there are pages that it has not reached
    /// yet, and count. Gaps between the parts of different sites are no memory of the program's, or none that it reaches.
    pub fn merge(&mut self, other: &Self) {
        other.fill_gaps().intervals.iter().for_each(|(first, last)| self.insert_interval(*first, *last));
    }

    pub fn pages(&self) -> u64 {
        self.intervals.iter().map(|(low, high)| high - low + 1).sum()
    }

    /// Returns the extent with the gaps that are smaller than the intervals together.
    fn fill_gaps(&self) -> Self {
        let mut filled = self.clone();
        while let Some(place) = filled.nearest().filter(|place| filled.gap(*place) < filled.pages()) {
            filled.join(place);
        }
        filled
    }

    fn nearest(&self) -> Option<usize> {
        (1..self.intervals.len()).map(|next| next - 1).min_by_key(|place| self.gap(*place))
    }

    fn gap(&self, place: usize) -> u64 {
        self.intervals[place + 1].0.saturating_sub(self.intervals[place].1 + 1)
    }

    fn join(&mut self, place: usize) {
        let (_, last) = self.intervals.remove(place + 1);
        self.intervals[place].1 = self.intervals[place].1.max(last);
    }
}
