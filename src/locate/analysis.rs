//! Reuse of sampled accesses, for each site and over time.
//!
//! SOURCE: sampling by the hash of a line, with distances and counts scaled by the rate: C. A. Waldspurger et al., "Efficient MRC
//! construction with SHARDS", FAST 2015.

use crate::reuse::{Histogram, Stack};
use crate::site::{Grain, LINE_BYTES, PAGE_BYTES, Sampled, Sink, is_kept};
use crate::sketch::{Distinct, Extent};
use serde::Serialize;

/// The reuse of a site's lines and pages.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    pub lines: Histogram,
    pub pages: Histogram,
    pub distinct: Distinct,
    pub extent: Extent,
    last_line: Option<u64>,
}

impl Reuse {
    pub fn merge(&mut self, other: &Self) {
        self.lines.merge(&other.lines);
        self.pages.merge(&other.pages);
        self.distinct.merge(&other.distinct);
        self.extent.merge(&other.extent);
    }
}

/// Lines that were accessed since the begin of the trace, at equal intervals of accesses.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// Accesses between two values.
    pub step: u64,
    pub lines: Vec<u64>,
    #[serde(skip)]
    accesses: u64,
}

impl Growth {
    const MOST: usize = 64;

    fn add(&mut self, accesses: u64, lines: u64) {
        self.accesses += accesses;
        while self.accesses >= self.step * (self.lines.len() as u64 + 1) {
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
    lines: Stack,
    pages: Stack,
    levels: Levels,
    /// Reuse of each site, by its index.
    pub sites: Vec<Reuse>,
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
        let growth = Growth { step: 1 << 10, lines: Vec::new(), accesses: 0 };
        let (lines, pages) = (Stack::default(), Stack::default());
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

    fn access_line(&mut self, index: usize, address: u64) {
        let (line, scale) = (address / LINE_BYTES, 1u64 << self.levels.line);
        let distance = self.lines.access(line).map(|distance| distance * scale);
        if distance.is_none() {
            self.first_lines += scale;
        }
        self.growth.add(scale, self.first_lines);
        let site = &mut self.sites[index];
        site.lines.add(distance, scale);
        if site.last_line.replace(line) != Some(line) {
            site.distinct.insert(line);
            site.extent.insert(address / PAGE_BYTES);
        }
    }
}

impl Sink for Analysis {
    fn access(&mut self, access: Sampled) {
        let index = access.site as usize;
        if index >= self.sites.len() {
            self.sites.resize_with(index + 1, Reuse::default);
        }
        if access.keeps_line {
            self.access_line(index, access.address);
        }
        if access.keeps_page {
            let scale = 1u64 << self.levels.page;
            let distance = self.pages.access(access.address / PAGE_BYTES).map(|distance| distance * scale);
            self.sites[index].pages.add(distance, scale);
        }
    }

    fn halve(&mut self, grain: Grain) {
        let (stack, level) = match grain {
            Grain::Line => (&mut self.lines, &mut self.levels.line),
            Grain::Page => (&mut self.pages, &mut self.levels.page),
        };
        *level += 1;
        stack.retain(|number| is_kept(number, *level));
    }
}
