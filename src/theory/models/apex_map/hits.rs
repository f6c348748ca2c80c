//! Shares of accesses served by each level of memory, for addresses from the power law or drawn uniformly.

use super::lru::{AccessPattern, BlockHits, Ratios};
use apexmap_base::units::WORD_BYTES;
use std::cell::RefCell;
use std::collections::HashMap;

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

/// Maximum number of cached hit ratios. A fit requests the same ones thousands of times.
const MAX_CACHED_RATIOS: usize = 1 << 16;

/// Step, in logarithms of the number of foreign lines, between computed hit ratios. Values between steps are interpolated;
/// otherwise each step of a fit would compute new ones.
const INTERPOLATION_STEP: f64 = 0.125;

thread_local! {
    static KNOWN: RefCell<HashMap<[u64; 7], Ratios>> = RefCell::new(HashMap::new());
}

/// Returns the shares for the power law of Apex-Map, if others bring `others` lines into the last cache per access.
pub fn power_law_shares(place: SurfacePoint, sizes: Sizes, others: f64) -> AccessShares {
    let (own, block) = (place.memory / place.ranks * WORD_BYTES as f64, place.block * WORD_BYTES as f64);
    let hit_ratios = |unit: f64, once: f64, room: f64, others: f64| {
        let SurfacePoint { alpha, ranks, .. } = place;
        let lines = (own / unit).max(1.0);
        interpolate_ratios(AccessPattern { alpha, lines, ranks, block: (block / unit).max(1.0), once, others }, room)
    };
    // A single rank reads its indices from one array repeatedly.
    let once = if place.ranks > 1.0 { INDEX } else { 0.0 };
    let [l1, l2, l3] = sizes.caches.map(|bytes| bytes / LINE);
    let caches = [hit_ratios(LINE, once, l1, 0.0), hit_ratios(LINE, once, l2, 0.0), hit_ratios(LINE, once, l3, others)];
    let pages = hit_ratios(place.page, 0.0, sizes.tlb_entries, 0.0);
    let to_shares = |which: fn(&Ratios) -> BlockHits| {
        Shares::from_hits(caches.map(|cache| which(&cache)), 1.0 - which(&pages).lines)
    };
    AccessShares { own: to_shares(|ratios| ratios.own), served: to_shares(|ratios| ratios.served) }
}

/// Returns the hit ratios of a cache of `room` units, interpolated in the number of foreign lines.
fn interpolate_ratios(accesses: AccessPattern, room: f64) -> Ratios {
    if accesses.others == 0.0 {
        return cached_ratios(accesses, room);
    }
    let step = accesses.others.ln() / INTERPOLATION_STEP;
    let [low, high] = [step.floor(), step.floor() + 1.0]
        .map(|step| cached_ratios(AccessPattern { others: (step * INTERPOLATION_STEP).exp(), ..accesses }, room));
    let number = |from: f64, to: f64| from + (step - step.floor()) * (to - from);
    let interpolate = |from: BlockHits, to: BlockHits| BlockHits {
        lines: number(from.lines, to.lines),
        whole: number(from.whole, to.whole),
    };
    Ratios { own: interpolate(low.own, high.own), served: interpolate(low.served, high.served) }
}

fn cached_ratios(accesses: AccessPattern, room: f64) -> Ratios {
    let AccessPattern { alpha, lines, ranks, block, once, others } = accesses;
    let key = [alpha, lines, ranks, block, once, others, room].map(f64::to_bits);
    KNOWN.with_borrow_mut(|cache| {
        if cache.len() >= MAX_CACHED_RATIOS {
            cache.clear();
        }
        *cache.entry(key).or_insert_with(|| accesses.hits(room))
    })
}

impl Shares {
    /// Computes the shares from the hit ratios of the caches. A larger cache holds at least as much.
    fn from_hits(caches: [BlockHits; 3], untranslated: f64) -> Self {
        let beyond = |select: fn(&BlockHits) -> f64| {
            let [l1, l2, l3] = caches.map(|hits| select(&hits));
            [(l2 - l1).max(0.0), (l3 - l1.max(l2)).max(0.0), 1.0 - l1.max(l2).max(l3)]
        };
        Self { served: beyond(|hits| hits.lines), waiting: beyond(|hits| hits.whole), untranslated }
    }

    /// Returns the shares if `share` of the accesses goes to uniformly drawn blocks of `block` bytes in a region, and the
    /// rest hits the first level.
    pub fn from_uniform_reads(region: f64, block: f64, share: f64, page: f64, sizes: Sizes) -> Self {
        let kept = |room: f64| if room >= block { (room / region).min(1.0) } else { 0.0 };
        let hits =
            sizes.caches.map(|bytes| 1.0 - share * (1.0 - kept(bytes))).map(|hit| BlockHits { lines: hit, whole: hit });
        Self::from_hits(hits, share * (1.0 - kept(sizes.tlb_entries * page)))
    }
}
