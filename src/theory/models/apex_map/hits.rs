//! Shares of accesses served by each level of memory, for addresses from the power law or drawn uniformly.

use super::lru::{Accesses, Found, Ratios};
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
pub struct Both {
    pub own: Shares,
    pub served: Shares,
}

/// A point of Apex-Map: alpha, total words, words of a block, ranks, bytes of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
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
const KEPT: usize = 1 << 16;

/// Step, in logarithms of the number of foreign lines, between computed hit ratios. Values between steps are interpolated;
/// otherwise each step of a fit would compute new ones.
const BETWEEN: f64 = 0.125;

thread_local! {
    static KNOWN: RefCell<HashMap<[u64; 7], Ratios>> = RefCell::new(HashMap::new());
}

/// Returns the shares for the power law of Apex-Map, if others bring `others` lines into the last cache per access.
pub fn by_power_law(place: Place, sizes: Sizes, others: f64) -> Both {
    let (own, block) = (place.memory / place.ranks * WORD_BYTES as f64, place.block * WORD_BYTES as f64);
    let of = |unit: f64, once: f64, room: f64, others: f64| {
        let Place { alpha, ranks, .. } = place;
        let lines = (own / unit).max(1.0);
        interpolated(Accesses { alpha, lines, ranks, block: (block / unit).max(1.0), once, others }, room)
    };
    // A single rank reads its indices from one array repeatedly.
    let once = if place.ranks > 1.0 { INDEX } else { 0.0 };
    let [l1, l2, l3] = sizes.caches.map(|bytes| bytes / LINE);
    let caches = [of(LINE, once, l1, 0.0), of(LINE, once, l2, 0.0), of(LINE, once, l3, others)];
    let pages = of(place.page, 0.0, sizes.tlb_entries, 0.0);
    let of_one = |which: fn(&Ratios) -> Found| Shares::of(caches.map(|cache| which(&cache)), 1.0 - which(&pages).lines);
    Both { own: of_one(|ratios| ratios.own), served: of_one(|ratios| ratios.served) }
}

/// Returns the hit ratios of a cache of `room` units, interpolated in the number of foreign lines.
fn interpolated(accesses: Accesses, room: f64) -> Ratios {
    if accesses.others == 0.0 {
        return known(accesses, room);
    }
    let at = accesses.others.ln() / BETWEEN;
    let [low, high] =
        [at.floor(), at.floor() + 1.0].map(|at| known(Accesses { others: (at * BETWEEN).exp(), ..accesses }, room));
    let number = |from: f64, to: f64| from + (at - at.floor()) * (to - from);
    let found =
        |from: Found, to: Found| Found { lines: number(from.lines, to.lines), whole: number(from.whole, to.whole) };
    Ratios { own: found(low.own, high.own), served: found(low.served, high.served) }
}

fn known(accesses: Accesses, room: f64) -> Ratios {
    let Accesses { alpha, lines, ranks, block, once, others } = accesses;
    let key = [alpha, lines, ranks, block, once, others, room].map(f64::to_bits);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KEPT {
            known.clear();
        }
        *known.entry(key).or_insert_with(|| accesses.hits(room))
    })
}

impl Shares {
    /// Computes the shares from the hit ratios of the caches. A larger cache holds at least as much.
    fn of(caches: [Found; 3], untranslated: f64) -> Self {
        let beyond = |of: fn(&Found) -> f64| {
            let [l1, l2, l3] = caches.map(|found| of(&found));
            [(l2 - l1).max(0.0), (l3 - l1.max(l2)).max(0.0), 1.0 - l1.max(l2).max(l3)]
        };
        Self { served: beyond(|found| found.lines), waiting: beyond(|found| found.whole), untranslated }
    }

    /// Returns the shares if `share` of the accesses goes to uniformly drawn blocks of `block` bytes in a region, and the
    /// rest hits the first level.
    pub fn uniform(region: f64, block: f64, share: f64, page: f64, sizes: Sizes) -> Self {
        let kept = |room: f64| if room >= block { (room / region).min(1.0) } else { 0.0 };
        let hits =
            sizes.caches.map(|bytes| 1.0 - share * (1.0 - kept(bytes))).map(|hit| Found { lines: hit, whole: hit });
        Self::of(hits, share * (1.0 - kept(sizes.tlb_entries * page)))
    }
}
