//! The place of accesses on the map: the L of their runs, and the alpha whose miss ratios in LRU caches are nearest.
//!
//! SOURCE: the fit of alpha to miss ratios: K. Z. Ibrahim, E. Strohmaier, "Characterizing the relation between Apex-Map synthetic probes
//! and reuse distance distributions", ICPP 2010. It reports mismatches of 3 points on average and 8 at worst.

use crate::reuse::Histogram;
use crate::site::LINE_BYTES;
use apexmap_theory::models::apex_map::lru::AccessPattern;
use apexmap_theory::places::lines_of_words;
use serde::Serialize;

/// Words beyond which a run counts as this long: beyond, L has only minor influence (Apex-Map paper, Section 3.2).
pub const LONGEST_RUN: f64 = 4096.0;
/// The largest mismatch of a place, in points of the miss ratio.
pub const MAX_MISMATCH: f64 = 8.0;
const BLOCKS: f64 = 16.0;
/// The smallest alpha, that of the quickstart. Smaller ones differ little: nearly all accesses are to the nearest words.
const LEAST_ALPHA: f64 = 1e-3;
/// The smallest cache that is compared, in lines. Sites that take turns displace each other's lines in smaller ones.
const FIRST_CACHE: f64 = 8.0;

#[derive(Clone, Copy)]
pub struct Accesses<'a> {
    pub lines: &'a Histogram,
    pub accesses: f64,
    /// Accesses of which these are the leading ones: the mismatch is per access of all.
    pub part_accesses: f64,
    pub runs: f64,
    /// Words of all runs.
    pub words: f64,
    /// Lines of the memory that the accesses reach.
    pub memory_lines: f64,
    /// Lines that other accesses bring into a cache between two runs.
    pub others: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Place {
    pub alpha: f64,
    #[serde(rename = "L")]
    pub block_words: f64,
    /// The memory to which alpha refers, in bytes.
    pub bytes: f64,
    /// Mean difference between the miss ratios of the accesses and those of Apex-Map, in points.
    pub mismatch: f64,
}

impl Place {
    /// Returns whether Apex-Map's miss ratios are near enough.
    pub fn is_near(&self) -> bool {
        self.mismatch <= MAX_MISMATCH
    }
}

impl Accesses<'_> {
    /// Returns L: the mean length of a run in words, at least 1 and at most [`LONGEST_RUN`].
    pub fn block_words(&self) -> f64 {
        (self.words / self.runs.max(1.0)).clamp(1.0, LONGEST_RUN)
    }

    /// Returns the place that fits best. Other accesses come between the runs, or in other phases of the program.
    pub fn fit(&self) -> Place {
        let places = [self.others, 0.0].map(|others| Accesses { others, ..*self }.nearest());
        if places[0].mismatch <= places[1].mismatch { places[0] } else { places[1] }
    }

    /// Returns the place with least squares, or that with alpha 1 if its mismatch is smaller: walks that come back after one distance
    /// have two minima.
    fn nearest(&self) -> Place {
        let caches = self.caches();
        let measured: Vec<f64> = caches.iter().map(|cache| self.lines.misses(*cache) / self.accesses).collect();
        let differences = |log_alpha: f64| -> Vec<f64> {
            let pattern = self.pattern(log_alpha.exp());
            let visits = (self.runs * self.run_lines() / self.accesses).min(1.0);
            let model = caches.iter().map(|cache| visits * (1.0 - pattern.hits(*cache).own.lines));
            model.zip(&measured).map(|(model, measured)| model - measured).collect()
        };
        let squares = |log_alpha: f64| differences(log_alpha).iter().map(|difference| difference * difference).sum();
        let log_alpha = find_minimum(squares, LEAST_ALPHA.ln(), 0.0);
        let place = |log_alpha: f64| {
            let mismatch = differences(log_alpha).iter().map(|difference| difference.abs()).sum::<f64>();
            let mismatch = 100.0 * mismatch / caches.len() as f64 * self.accesses / self.part_accesses;
            let bytes = self.memory_lines * LINE_BYTES as f64;
            Place { alpha: log_alpha.exp(), block_words: self.block_words(), bytes, mismatch }
        };
        let (fitted, uniform) = (place(log_alpha), place(0.0));
        if uniform.mismatch < fitted.mismatch { uniform } else { fitted }
    }

    fn run_lines(&self) -> f64 {
        lines_of_words(self.words / self.runs.max(1.0))
    }

    fn pattern(&self, alpha: f64) -> AccessPattern {
        // A run through all memory is a walk in order through blocks of it.
        let block = self.run_lines().min((self.memory_lines / BLOCKS).max(lines_of_words(LONGEST_RUN)));
        AccessPattern { alpha, lines: self.memory_lines.max(block), ranks: 1.0, block, once: self.others, others: 0.0 }
    }

    /// Returns the sizes of the caches to compare, in lines: all powers of two until the cache holds everything.
    fn caches(&self) -> Vec<f64> {
        let visits = self.runs * self.run_lines();
        let largest = self.memory_lines * (1.0 + self.others * self.runs / visits.max(1.0));
        let sizes = (0..48).map(|power| FIRST_CACHE * f64::from(power).exp2());
        sizes.take_while(|size| *size == FIRST_CACHE || *size < largest).collect()
    }
}

/// Returns the place of the minimum of a function with one minimum, by golden section.
fn find_minimum(value: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const STEPS: usize = 16;
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..STEPS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = value(right);
        }
    }
    let best = f64::midpoint(low, high);
    // Accesses with less reuse than any of Apex-Map are at the end.
    if high == 0.0 { 0.0 } else { best }
}
