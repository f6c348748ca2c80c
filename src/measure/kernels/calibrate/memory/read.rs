//! NAME: calibrate.read. The time per random read: many outstanding at once, or one after the other.
//!
//! SOURCE: the random accesses of RandomAccess and Apex-Map without anything else, which bound both.
//! DEFINITION: `reads` words of a region of `bytes` bytes, drawn uniformly, and again in every run. `independent`: the
//!   addresses are known in advance, 16384 at a time, and read without prefetching; `prefetched`: each is also
//!   prefetched, 16 reads ahead into the first-level cache and 128 ahead into the second, which tracks more outstanding
//!   misses; `dependent`: each address follows from the word read before. `spread = "pages"` draws from one word per
//!   page instead, each on a different line of its page: the same number of lines as in a region 1/64 the size (4 KiB
//!   pages), but each needs its own address translation.
//! CHECK: the sum of all words read against the sum that their addresses imply.

use super::{BYTES, PAGES, about, each, power_of_two, region, region_words};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::Arena;
use crate::measure::kernels::apex_map::sum_all;
use crate::measure::kernels::calibrate::{Probe, outcome};
use crate::measure::kernels::no_rings;
use crate::measure::kernels::random_access::table::{AHEAD, FAR_AHEAD};
use crate::measure::kernels::{Domain, Outcome, Parameter, parameter};
use crate::measure::numerics::mix::mix;
use crate::measure::prefetch;
use crate::on_transport;
use crate::point::Point;
use crate::units::WORD_BYTES;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &about(
        "calibrate.read",
        "Time per random read: many outstanding, or each dependent on the one before",
        "Section 3.1, tu",
        &[BYTES, PAGES, ORDER, SPREAD, READS],
        "Every rank reads random words of its own region. The addresses are drawn again in every run: in batches of \
         16384 while the clock is stopped, the first batch untimed; with prefetching they are drawn during the \
         reads, so the reads never pause. The region was traversed once before. The time is that of the slowest \
         rank. The sum of all words was compared with the sum that their addresses imply.",
    ),
    refuse: |point| {
        power_of_two(point)?;
        let page = page_bytes(point);
        match point.text("spread") {
            "pages" if point.integer("bytes") < page => {
                Err(format!("spread = \"pages\" needs at least one page; use bytes = {page} or more"))
            }
            _ => Ok(()),
        }
    },
    work: |point| each(point, batches(point) * BATCH, "read", 8, "8 per read"),
    words: region_words,
    buffers: |_| 2 * BATCH * WORD_BYTES,
    rings: no_rings,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};

const ORDER: Parameter = parameter(
    "order",
    "order",
    "order of the reads: independent, prefetched, or each dependent on the one before",
    Domain::Choice(&["independent", "prefetched", "dependent"]),
);
const SPREAD: Parameter = parameter(
    "spread",
    "spread",
    "spread of the addresses: all words of the region, or one word per page",
    Domain::Choice(&["words", "pages"]),
);
pub(super) const READS: Parameter = parameter(
    "reads",
    "reads",
    "reads in one run, in batches of 16384",
    Domain::Integer { least: 1, most: 1 << 40, default: 1 << 18 },
);
/// Reads between two readings of the clock, which cost less than a hundredth of them even in the first-level cache.
pub(super) const BATCH: u64 = 1 << 14;

pub(super) fn batches(point: &Point) -> u64 {
    point.integer("reads").div_ceil(BATCH)
}

/// Of the pages that were asked for.
fn page_bytes(point: &Point) -> u64 {
    if point.text("pages") == "base" { 4 << 10 } else { 2 << 20 }
}

/// From a draw to a word of the region.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// Bits of a draw below those that name a word.
    shift: u32,
    /// Of a page, if one word of each is read.
    page: Option<u64>,
}

impl Places {
    /// All words of a region.
    pub(super) fn anywhere(words: u64) -> Self {
        Self { shift: u64::BITS - words.ilog2(), page: None }
    }

    #[inline(always)]
    fn of(self, draw: u64) -> u64 {
        let place = draw >> self.shift;
        match self.page {
            None => place,
            Some(page) => {
                let first = place & !(page - 1);
                first + (mix(first) & (page - 1))
            }
        }
    }
}

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, draws) = region(comm, point, stream, arena)?;
    let page = (point.text("spread") == "pages").then(|| page_bytes(point) / WORD_BYTES);
    let places = Places { page, ..Places::anywhere(region_words(point)) };
    let (seconds, wrong) = match point.text("order") {
        "prefetched" => prefetched(comm, memory, places, draws, batches(point) * BATCH),
        order => {
            let (dependent, mut draw) = (order == "dependent", draws);
            let fill = |batch: &mut [u64]| prepare(batch, places, &mut draw, dependent);
            let read = |batch: &[u64]| if dependent { follow(memory, batch) } else { sum_all(memory, batch, 1) };
            in_batches(comm, BATCH, batches(point), fill, read)
        }
    };
    let count = batches(point) * BATCH;
    Ok(outcome(comm, seconds, count as f64, wrong, "sums differ from the sum of the words in memory"))
}

/// Seconds, and wrong batches, of so many batches of `size` places; the first of all does not count. `fill` draws places while
/// the clock is stopped, and gives the sum that `read` should find there.
pub(super) fn in_batches<C: Collectives>(
    comm: &C,
    size: u64,
    batches: u64,
    mut fill: impl FnMut(&mut [u64]) -> u64,
    read: impl Fn(&[u64]) -> u64,
) -> (f64, u64) {
    let (mut batch, mut seconds, mut wrong) = (vec![0; size as usize], 0.0, 0);
    for number in 0..=batches {
        let expected = fill(&mut batch);
        let start = comm.now();
        let found = read(black_box(&batch));
        seconds += if number == 0 { 0.0 } else { comm.now() - start };
        wrong += u64::from(found != expected);
    }
    (seconds, wrong)
}

/// Places are drawn as they are needed, three times: to ask for them early, to ask for them soon, to read them. Nothing but
/// the region is touched, and nothing is waited for.
fn prefetched<C: Collectives>(comm: &C, memory: &[u64], places: Places, first: u64, count: u64) -> (f64, u64) {
    let ahead = |steps: usize| (0..steps).fold(first, |draw, _| step(draw));
    let (mut early, mut soon, mut now, mut sum) = (ahead(FAR_AHEAD), ahead(AHEAD), first, 0u64);
    let start = comm.now();
    for _ in 0..count {
        prefetch::early(memory.as_ptr().wrapping_add(places.of(early) as usize));
        prefetch::near(memory.as_ptr().wrapping_add(places.of(soon) as usize));
        sum = sum.wrapping_add(memory[places.of(now) as usize]);
        (early, soon, now) = (step(early), step(soon), step(now));
    }
    let seconds = comm.now() - start;
    let (mut expected, mut draw) = (0u64, first);
    for _ in 0..count {
        expected = expected.wrapping_add(places.of(draw));
        draw = step(draw);
    }
    (seconds, u64::from(black_box(sum) != expected))
}

/// A linear congruential generator (Knuth's MMIX), whose upper bits are drawn from.
#[inline(always)]
pub(super) fn step(draw: u64) -> u64 {
    draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Draws places, and gives their sum; for dependent reads each is left as what is added to the one before, the first to 0.
pub(super) fn prepare(batch: &mut [u64], places: Places, draw: &mut u64, dependent: bool) -> u64 {
    let (mut sum, mut before) = (0u64, 0);
    for slot in batch {
        *draw = step(*draw);
        let place = places.of(*draw);
        sum = sum.wrapping_add(place);
        *slot = if dependent { place.wrapping_sub(before) } else { place };
        before = place;
    }
    sum
}

/// Each word holds its place, from which the next one's follows.
pub(super) fn follow(memory: &[u64], differences: &[u64]) -> u64 {
    let (mut sum, mut word) = (0u64, 0u64);
    for difference in differences {
        word = memory[word.wrapping_add(*difference) as usize];
        sum = sum.wrapping_add(word);
    }
    sum
}
