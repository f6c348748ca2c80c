//! Runs: words that are read consecutively, by one instruction or by the instructions of a source line together.

use crate::site::{LINE_BYTES, Site};
use apexmap_base::units::WORD_BYTES;
use std::collections::HashMap;
use std::hash::Hash;

/// Sites of a source line that are compared with each other at most.
const MOST_SITES: usize = 128;

/// A step of a walk, by the sites of its source line together: an unrolled loop walks as its plain one.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Bytes of consecutive words that are read.
    pub bytes: f64,
    /// From there to the next words: the stride of the site, unless others divide it evenly. 0 if the site has none.
    pub stride: u64,
}

/// The number of runs of consecutive words, and their words. A run of several sites counts for each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Runs {
    pub count: f64,
    pub words: f64,
}

impl Runs {
    /// `entered`: the lines that the site enters which were not among the youngest.
    pub fn new(site: &Site, step: Step, entered: f64) -> Self {
        let (counters, size, span) = (&site.counters, width(site), step.bytes);
        let (stride, words) = (counters.stride.unsigned_abs() as f64, WORD_BYTES as f64);
        // A gap of less than a word is often none: of words at a stride of 12 bytes, every second one follows the one before.
        let is_next = if stride > size { (1.0 - (stride - span) / words).clamp(0.0, 1.0) } else { 0.0 };
        // Each stride begins with a step from elsewhere and its own first one.
        let begun = counters.accesses.saturating_sub(1 + counters.same_stride + counters.same_address) as f64;
        let runs = counters.runs as f64 - is_next * (counters.same_stride as f64 + begun / 2.0);
        let bytes = counters.run_bytes as f64 + counters.runs as f64 * size;
        // Of the lines of an unrolled loop, each site enters some first.
        let is_shared = is_next > 0.0 && entered > 0.0;
        let part = if is_shared { (entered * LINE_BYTES as f64 / (bytes * span / size)).min(1.0) } else { 1.0 };
        Self { count: runs.max(1.0) * part, words: bytes / words * span / size * part }
    }

    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.words += other.words;
    }
}

fn width(site: &Site) -> f64 {
    f64::from(site.size).max(WORD_BYTES as f64)
}

/// Returns the step of each site together with those of the same key and stride, or as many accesses, if their last accesses belong to
/// the same step. Sites with the key `None` stand alone.
pub fn steps<K: Hash + Eq>(sites: &[Site], key: impl Fn(usize) -> Option<K>) -> Vec<Step> {
    let mut lines: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, site) in sites.iter().enumerate().filter(|(_, site)| site.counters.accesses > 0) {
        if let Some(key) = key(index) {
            let accesses = if period(site).is_some() { 0 } else { site.counters.accesses };
            lines.entry((key, site.is_store, period(site), accesses)).or_default().push(index);
        }
    }
    let alone = |site: &Site| Step { bytes: width(site), stride: site.counters.stride.unsigned_abs() };
    let mut steps: Vec<Step> = sites.iter().map(alone).collect();
    for ((_, _, period, _), members) in lines.into_iter().filter(|(_, members)| members.len() <= MOST_SITES) {
        let last_words = |index: &usize| {
            let site = &sites[*index];
            (
                site.last_address / WORD_BYTES,
                site.last_address.saturating_add(u64::from(site.size.max(1)) - 1) / WORD_BYTES + 1,
            )
        };
        for index in &members {
            let (time, interval) = (sites[*index].last_time, sites[*index].interval);
            let is_near = |other: &&usize| sites[**other].last_time.abs_diff(time) <= interval;
            let words: Vec<(u64, u64)> = members.iter().filter(is_near).map(last_words).collect();
            let ((words, distance), step) = (step(last_words(index), &words, period), &mut steps[*index]);
            step.bytes = step.bytes.max((words * WORD_BYTES) as f64);
            step.stride = distance.map_or(step.stride, |distance| distance * WORD_BYTES);
        }
    }
    steps
}

/// Returns the stride of a site in words, if most steps have it.
fn period(site: &Site) -> Option<u64> {
    let counters = &site.counters;
    let stride = counters.stride.unsigned_abs();
    (2 * counters.same_stride > counters.accesses && stride.is_multiple_of(WORD_BYTES)).then_some(stride / WORD_BYTES)
}

/// Returns the number of words around `own` that all access without a gap, and the distance of such words if they divide the period
/// evenly. A loop may end between two sites.
fn step(own: (u64, u64), neighbours: &[(u64, u64)], period: Option<u64>) -> (u64, Option<u64>) {
    let reach = 2 * period.unwrap_or(0);
    let shifts = || (0..=4).map(|step| step * period.unwrap_or(0));
    let near = neighbours.iter().filter(|other| period.is_none() || other.0.abs_diff(own.0) < reach);
    let near: Vec<(u64, u64)> = near.flat_map(|other| shifts().map(move |by| (other.0 + by, other.1 + by))).collect();
    let (mut first, mut end) = (own.0 + reach, own.1 + reach);
    while let Some(next) = near.iter().find(|(a, b)| *a <= end && *b >= first && (*a < first || *b > end)) {
        (first, end) = (first.min(next.0), end.max(next.1));
    }
    let words = (end - first).min(period.unwrap_or(u64::MAX));
    let distance = near.iter().filter(|(a, _)| *a > end).map(|(a, _)| a - first).min();
    let is_even = |distance: &u64| {
        let is_in_words = |(a, _): &(u64, u64)| (a + 4 * reach - first) % distance < words;
        period.is_some_and(|period| period.is_multiple_of(*distance)) && near.iter().all(is_in_words)
    };
    (words, distance.filter(is_even))
}
