//! Shares of accesses served by each level of memory, for addresses from the power law or drawn uniformly.

use super::lru::{AccessPattern, BlockHits, Ratios};
use apexmap_base::units::WORD_BYTES;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Caches in bytes as one rank can use them, and the number of pages whose translations a core holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    pub caches: [f64; 3],
    pub tlb_entries: f64,
}

/// Shares of accesses and lines by level of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Shares of the lines that L2, L3 and main memory serve. The first level serves the rest.
    pub served: [f64; 3],
    /// Shares of the accesses whose farthest line is in L2, L3 and main memory. An access waits for this line.
    pub waiting: [f64; 3],
    /// Share of the accesses whose first page has no cached translation.
    pub untranslated: f64,
}

/// Shares of a rank's accesses to its own memory, and of accesses from other ranks that it serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessShares {
    pub own: Shares,
    pub served: Shares,
}

/// A point of Apex-Map: alpha, total words, words of a block, ranks, bytes of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    pub alpha: f64,
    pub memory: f64,
    pub block: f64,
    pub ranks: f64,
    pub page: f64,
}

/// Bytes of a cache line. `INDEX`: lines per index of 8 bytes.
pub const LINE: f64 = 64.0;
const INDEX: f64 = 1.0 / 8.0;

/// Maximum number of cached hit ratios, and of cached points. A fit requests the same ones thousands of times.
const MAX_CACHED_RATIOS: usize = 1 << 16;
const MAX_CACHED_POINTS: usize = 1 << 12;

/// Step of the logarithm of foreign lines between computed hit ratios; otherwise each step of a fit computes new ones.
const INTERPOLATION_STEP: f64 = 0.125;

thread_local! {
    static KNOWN_RATIOS: RefCell<HashMap<[u64; 7], Ratios>> = RefCell::new(HashMap::new());
    static KNOWN_POINTS: RefCell<HashMap<[u64; 9], Rc<PointHits>>> = RefCell::new(HashMap::new());
}

/// Hit ratios of all caches at a point. They depend on no cost, so a fit of costs computes them once.
pub struct PointHits {
    l1: Ratios,
    l2: Ratios,
    /// Accesses to L3 without foreign lines, and its size in lines.
    l3_accesses: AccessPattern,
    l3_lines: f64,
    l3_alone: OnceCell<Ratios>,
    /// Hit ratios of L3 by the number of interpolation steps, in ascending order.
    l3_steps: RefCell<Vec<(i64, Ratios)>>,
    pages: Ratios,
}

impl PointHits {
    pub fn find(place: SurfacePoint, sizes: Sizes) -> Rc<Self> {
        let SurfacePoint { alpha, memory, block, ranks, page } = place;
        let [l1, l2, l3] = sizes.caches;
        let key = [alpha, memory, block, ranks, page, l1, l2, l3, sizes.tlb_entries].map(f64::to_bits);
        KNOWN_POINTS.with_borrow_mut(|points| {
            if points.len() >= MAX_CACHED_POINTS {
                points.clear();
            }
            Rc::clone(points.entry(key).or_insert_with(|| Rc::new(Self::compute(place, sizes))))
        })
    }

    fn compute(place: SurfacePoint, sizes: Sizes) -> Self {
        let (own, block) = (place.memory / place.ranks * WORD_BYTES as f64, place.block * WORD_BYTES as f64);
        let accesses_of = |unit: f64, once: f64| {
            let SurfacePoint { alpha, ranks, .. } = place;
            let lines = (own / unit).max(1.0);
            AccessPattern { alpha, lines, ranks, block: (block / unit).max(1.0), once, others: 0.0 }
        };
        // A single rank reads its indices from one array repeatedly.
        let of_lines = accesses_of(LINE, if place.ranks > 1.0 { INDEX } else { 0.0 });
        let [l1, l2, l3] = sizes.caches.map(|bytes| bytes / LINE);
        Self {
            l1: cached_ratios(of_lines, l1),
            l2: cached_ratios(of_lines, l2),
            l3_accesses: of_lines,
            l3_lines: l3,
            l3_alone: OnceCell::new(),
            l3_steps: RefCell::default(),
            pages: cached_ratios(accesses_of(place.page, 0.0), sizes.tlb_entries),
        }
    }

    pub fn shares(&self, others: f64) -> AccessShares {
        let (l1, l2, l3, pages) = (&self.l1, &self.l2, self.l3_ratios(others), &self.pages);
        let own = Shares::from_hits([l1.own, l2.own, l3.own], 1.0 - pages.own.lines);
        // A single rank serves no other.
        let is_alone = self.l3_accesses.ranks <= 1.0;
        let served = || Shares::from_hits([l1.served, l2.served, l3.served], 1.0 - pages.served.lines);
        AccessShares { own, served: if is_alone { own } else { served() } }
    }

    /// Returns the hit ratios of L3, interpolated in the number of foreign lines.
    fn l3_ratios(&self, others: f64) -> Ratios {
        if others == 0.0 {
            return *self.l3_alone.get_or_init(|| cached_ratios(self.l3_accesses, self.l3_lines));
        }
        let step = others.ln() / INTERPOLATION_STEP;
        let below = step.floor();
        let (low, high) = (self.l3_ratios_at(below), self.l3_ratios_at(below + 1.0));
        let number = |from: f64, to: f64| from + (step - below) * (to - from);
        let interpolate = |from: BlockHits, to: BlockHits| BlockHits {
            lines: number(from.lines, to.lines),
            whole: number(from.whole, to.whole),
        };
        Ratios { own: interpolate(low.own, high.own), served: interpolate(low.served, high.served) }
    }

    fn l3_ratios_at(&self, step: f64) -> Ratios {
        let mut steps = self.l3_steps.borrow_mut();
        let place = steps.binary_search_by_key(&(step as i64), |(step, _)| *step).unwrap_or_else(|place| {
            let others = (step * INTERPOLATION_STEP).exp();
            let ratios = cached_ratios(AccessPattern { others, ..self.l3_accesses }, self.l3_lines);
            steps.insert(place, (step as i64, ratios));
            place
        });
        steps[place].1
    }
}

pub fn cached_ratios(accesses: AccessPattern, room: f64) -> Ratios {
    let AccessPattern { alpha, lines, ranks, block, once, others } = accesses;
    let key = [alpha, lines, ranks, block, once, others, room].map(f64::to_bits);
    KNOWN_RATIOS.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED_RATIOS {
            cache.clear();
        }
        *cache.entry(key).or_insert_with(|| accesses.hits(room))
    })
}

impl Shares {
    /// Computes the shares from the hit ratios of the caches. A larger cache holds at least as much.
    fn from_hits(caches: [BlockHits; 3], untranslated: f64) -> Self {
        let beyond =
            |l1: f64, l2: f64, l3: f64| [(l2 - l1).max(0.0), (l3 - l1.max(l2)).max(0.0), 1.0 - l1.max(l2).max(l3)];
        let [l1, l2, l3] = caches;
        Self {
            served: beyond(l1.lines, l2.lines, l3.lines),
            waiting: beyond(l1.whole, l2.whole, l3.whole),
            untranslated,
        }
    }

    /// Returns the shares if `share` of the accesses goes to uniformly drawn blocks in a region, and the rest hits L1.
    pub fn from_uniform_reads(region: f64, block: f64, share: f64, page: f64, sizes: Sizes) -> Self {
        let kept = |room: f64| if room >= block { (room / region).min(1.0) } else { 0.0 };
        let hits =
            sizes.caches.map(|bytes| 1.0 - share * (1.0 - kept(bytes))).map(|hit| BlockHits { lines: hit, whole: hit });
        Self::from_hits(hits, share * (1.0 - kept(sizes.tlb_entries * page)))
    }
}
