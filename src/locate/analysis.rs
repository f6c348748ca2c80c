//! Reuse of sampled accesses, for each site.
//!
//! SOURCE: sampling by the hash of a line, with distances and counts scaled by the rate: C. A. Waldspurger et al., "Efficient MRC
//! construction with SHARDS", FAST 2015.

use crate::reuse::{Displaced, Found, Histogram, Tree, Youngest};
use crate::site::{HUGE_PAGE_BYTES, LINE_BYTES, PAGE_BYTES, Sink, Site, is_kept};
use crate::sketch::{Distinct, Extent};

#[derive(Clone, Debug, Default)]
pub struct Reuse {
    pub lines: Histogram,
    /// Pages that it enters, by the number of different pages since; recent ones do not count.
    pub pages: Histogram,
    pub distinct_pages: Distinct,
    /// Pages of 2 MiB around those.
    pub huge_pages: Distinct,
    pub distinct: Distinct,
    pub extent: Extent,
}

impl Reuse {
    pub fn merge(&mut self, other: &Self) {
        self.lines.merge(&other.lines);
        self.pages.merge(&other.pages);
        self.distinct_pages.merge(&other.distinct_pages);
        self.huge_pages.merge(&other.huge_pages);
        self.distinct.merge(&other.distinct);
        self.extent.merge(&other.extent);
    }

    fn enter(&mut self, line: u64) {
        if self.distinct.insert(line) {
            self.extent.insert(line * LINE_BYTES / PAGE_BYTES);
        }
    }
}

/// Computes reuse from sampled accesses.
#[derive(Default)]
pub struct Analysis {
    lines: Tree,
    pages: Tree,
    young_pages: Youngest,
    level: u32,
    sites: Vec<Reuse>,
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
        let site = self.site(site);
        site.lines.add(distance, scale);
        site.enter(line);
    }

    fn enter_young(&mut self, site: usize, line: u64) {
        self.site(site).enter(line);
    }

    fn enter_page(&mut self, site: usize, page: u64) {
        let scale = 1 << self.level;
        let distance = match self.young_pages.access(page) {
            Found::Young(place) => Some(place as u64),
            Found::Old(displaced) => self.pages.access(page, displaced),
        };
        let site = self.site(site);
        site.pages.add(distance.map(|distance| distance * scale), scale);
        site.distinct_pages.insert(page);
        site.huge_pages.insert(page * PAGE_BYTES / HUGE_PAGE_BYTES);
    }

    fn begin(&mut self) {
        *self = Self::default();
    }

    fn halve(&mut self) {
        self.level += 1;
        self.lines.retain(|line| is_kept(line, self.level));
        self.pages.retain(|page| is_kept(page, self.level));
        self.young_pages.retain(|page| is_kept(page, self.level));
    }
}
