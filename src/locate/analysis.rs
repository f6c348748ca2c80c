//! Reuse of sampled accesses, for each site and over time.
//!
//! SOURCE: sampling by the hash of a line, with distances and counts scaled by the rate: C. A. Waldspurger et al., "Efficient MRC
//! construction with SHARDS", FAST 2015.

use crate::reuse::{Displaced, Histogram, Tree};
use crate::site::{LINE_BYTES, PAGE_BYTES, Sink, Site, is_kept};
use crate::sketch::{Distinct, Extent};
use serde::Serialize;

#[derive(Clone, Debug, Default)]
pub struct Reuse {
    pub lines: Histogram,
    pub distinct: Distinct,
    pub extent: Extent,
}

impl Reuse {
    pub fn merge(&mut self, other: &Self) {
        self.lines.merge(&other.lines);
        self.distinct.merge(&other.distinct);
        self.extent.merge(&other.extent);
    }

    fn enter(&mut self, line: u64) {
        if self.distinct.insert(line) {
            self.extent.insert(line * LINE_BYTES / PAGE_BYTES);
        }
    }
}

/// Lines that were accessed since the begin of the trace, at equal intervals of accesses.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// Accesses between two values.
    pub step: u64,
    pub lines: Vec<u64>,
}

impl Growth {
    const MOST: usize = 64;

    fn reach(&mut self, accesses: u64, lines: u64) {
        while accesses >= self.step * (self.lines.len() as u64 + 1) {
            if self.lines.len() == Self::MOST {
                self.lines = self.lines.iter().skip(1).step_by(2).copied().collect();
                self.step *= 2;
            } else {
                self.lines.push(lines);
            }
        }
    }
}

/// Computes reuse from sampled accesses.
pub struct Analysis {
    lines: Tree,
    level: u32,
    sites: Vec<Reuse>,
    pub growth: Growth,
    first_lines: u64,
}

impl Default for Analysis {
    fn default() -> Self {
        let growth = Growth { step: 1 << 12, lines: Vec::new() };
        Self { lines: Tree::default(), level: 0, sites: Vec::new(), growth, first_lines: 0 }
    }
}

impl Analysis {
    pub fn level(&self) -> u32 {
        self.level
    }

    pub fn count_known(&self) -> usize {
        self.lines.len()
    }

    /// Returns the reuse of each site, with the accesses to the youngest lines that the sites counted.
    pub fn into_reuse(mut self, sites: &[Site]) -> Vec<Reuse> {
        self.sites.resize_with(sites.len().max(self.sites.len()), Reuse::default);
        self.sites.iter_mut().zip(sites).for_each(|(reuse, site)| reuse.lines.add_young(&site.young));
        self.sites
    }

    fn site(&mut self, index: usize) -> &mut Reuse {
        if index >= self.sites.len() {
            self.sites.resize_with(index + 1, Reuse::default);
        }
        &mut self.sites[index]
    }
}

impl Sink for Analysis {
    fn access_old(&mut self, site: usize, line: u64, displaced: Displaced) {
        let scale = 1 << self.level;
        let distance = self.lines.access(line, displaced).map(|distance| distance * scale);
        self.first_lines += if distance.is_none() { scale } else { 0 };
        let site = self.site(site);
        site.lines.add(distance, scale);
        site.enter(line);
    }

    fn enter_young(&mut self, site: usize, line: u64) {
        self.site(site).enter(line);
    }

    fn halve(&mut self) {
        self.level += 1;
        self.lines.retain(|line| is_kept(line, self.level));
    }

    fn pass(&mut self, accesses: u64) {
        self.growth.reach(accesses, self.first_lines);
    }
}
