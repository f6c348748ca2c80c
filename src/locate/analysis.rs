//! Reuse of sampled accesses, for each site and over time.
//!
//! SOURCE: sampling by the hash of a line, with distances and counts scaled by the rate: C. A. Waldspurger et al., "Efficient MRC
//! construction with SHARDS", FAST 2015.

use crate::reuse::{Displaced, Histogram, Tree};
use crate::site::{Grain, LINE_BYTES, PAGE_BYTES, Sink, Site, is_kept};
use crate::sketch::{Distinct, Extent};
use serde::Serialize;

/// The reuse of a site's lines and pages.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    pub lines: Histogram,
    pub pages: Histogram,
    pub distinct: Distinct,
    pub extent: Extent,
}

impl Reuse {
    pub fn merge(&mut self, other: &Self) {
        self.lines.merge(&other.lines);
        self.pages.merge(&other.pages);
        self.distinct.merge(&other.distinct);
        self.extent.merge(&other.extent);
    }

    fn enter(&mut self, line: u64) {
        self.distinct.insert(line);
        self.extent.insert(line * LINE_BYTES / PAGE_BYTES);
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
    pages: Tree,
    levels: Levels,
    /// Reuse of each site, by its index.
    sites: Vec<Reuse>,
    pub growth: Growth,
    first_lines: u64,
}

/// One of 2^level lines and pages is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Levels {
    pub line: u32,
    pub page: u32,
}

impl Default for Analysis {
    fn default() -> Self {
        let growth = Growth { step: 1 << 12, lines: Vec::new() };
        let (lines, pages) = (Tree::default(), Tree::default());
        Self { lines, pages, levels: Levels::default(), sites: Vec::new(), growth, first_lines: 0 }
    }
}

impl Analysis {
    /// Returns the present levels of sampling.
    pub fn levels(&self) -> Levels {
        self.levels
    }

    /// Returns the number of sampled lines or pages that are known.
    pub fn count_known(&self, grain: Grain) -> usize {
        match grain {
            Grain::Line => self.lines.len(),
            Grain::Page => self.pages.len(),
        }
    }

    /// Returns the reuse of each site, with the accesses to the youngest lines and pages that the sites counted.
    pub fn into_reuse(mut self, sites: &[Site]) -> Vec<Reuse> {
        self.sites.resize_with(sites.len().max(self.sites.len()), Reuse::default);
        for (reuse, site) in self.sites.iter_mut().zip(sites) {
            reuse.lines.add_young(&site.young[Grain::Line as usize]);
            reuse.pages.add_young(&site.young[Grain::Page as usize]);
        }
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
    fn access_old(&mut self, site: usize, grain: Grain, number: u64, displaced: Displaced) {
        let (tree, level) = match grain {
            Grain::Line => (&mut self.lines, self.levels.line),
            Grain::Page => (&mut self.pages, self.levels.page),
        };
        let scale = 1 << level;
        let distance = tree.access(number, displaced).map(|distance| distance * scale);
        match grain {
            Grain::Line => {
                self.first_lines += if distance.is_none() { scale } else { 0 };
                let site = self.site(site);
                site.lines.add(distance, scale);
                site.enter(number);
            }
            Grain::Page => self.site(site).pages.add(distance, scale),
        }
    }

    fn enter_young(&mut self, site: usize, line: u64) {
        self.site(site).enter(line);
    }

    fn halve(&mut self, grain: Grain) {
        let (tree, level) = match grain {
            Grain::Line => (&mut self.lines, &mut self.levels.line),
            Grain::Page => (&mut self.pages, &mut self.levels.page),
        };
        *level += 1;
        tree.retain(|number| is_kept(number, *level));
    }

    fn pass(&mut self, accesses: u64) {
        self.growth.reach(accesses, self.first_lines);
    }
}
