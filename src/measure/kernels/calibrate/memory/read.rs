//! With `spread = "pages"` a region has the same number of lines as one of 1/64 of the size (lines of 64 B, pages of 4 KiB), each
//! on a different line of its page, but each needs a separate address translation.

use super::*;
use crate::hardware::{base_page_bytes, huge_page_bytes, line_words};
use crate::kernels::shared::updates::table::{FAR_DISTANCE, NEAR_DISTANCE};
use crate::prefetch;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.read",
    summary: "Time per random read: many outstanding, or each dependent on the one before",
    place: "Section 3.1, tu",
    parameters: parameters![REGION, PAGES, ORDER, SPREAD, READS],
    method: "Every rank reads random words of its region. Every run draws the addresses anew: those of independent reads \
        in batches of 16384 while the clock is stopped, the others during the reads, so that only the region is read. \
        The first 16384 reads are untimed unless they are prefetched. The region was traversed once before. The time \
        is that of the slowest rank. The sum of all words was compared with the sum computed from their addresses.",
    refuse,
    work: |point| work_per_rank(point, batch_count(point).saturating_mul(BATCH), "read", 8, "8 per read"),
    arena_words: region_words,
    buffer_bytes: |_| 2 * BATCH * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const REGION: Key<u64> = BYTES
    .with_meaning("size of the region read per rank: whole cache lines, or whole pages; a power of two if prefetched");
const ORDER: Key<Order> =
    choice_key("order", "order of the reads: independent, prefetched, or each dependent on the one before");
choice! { enum Order { Independent = "independent", Prefetched = "prefetched", Dependent = "dependent" } }
const SPREAD: Key<Spread> =
    choice_key("spread", "spread of the addresses: all words of the region, or one word per page");
choice! { enum Spread { Words = "words", Pages = "pages" } }
pub(super) const READS: Key<u64> =
    key("reads", "reads in one run, in batches of 16384", integers(1..=1 << 40, 1 << 18));
/// Between two readings of the clock, which take less than a hundredth of the time of these reads even in the first-level cache.
pub(super) const BATCH: u64 = 1 << 14;

pub(super) fn batch_count(point: &Point) -> u64 {
    READS.of(point).div_ceil(BATCH)
}

fn refuse(point: &Point) -> Result<(), Refusal> {
    let bytes = BYTES.of(point);
    if ORDER.of(point) == Order::Prefetched {
        check_region(point)?;
    }
    let (unit, unit_name) = match SPREAD.of(point) {
        Spread::Pages => (page_bytes(point), "pages"),
        Spread::Words => (line_words() as u64 * WORD_BYTES, "cache lines"),
    };
    if bytes.is_multiple_of(unit) {
        return Ok(());
    }
    Err(refusal!(
        ["bytes", "spread"],
        "bytes = {bytes} are not whole {unit_name}; use {}",
        bytes.next_multiple_of(unit)
    ))
}

fn page_bytes(point: &Point) -> u64 {
    match PAGES.of(point) {
        Pages::Base => base_page_bytes(),
        Pages::Huge => huge_page_bytes(),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Places {
    words: u64,
    /// If one word of each page is read.
    page: Option<u64>,
}

impl Places {
    pub(super) fn anywhere(words: u64) -> Self {
        Self { words, page: None }
    }

    #[inline(always)]
    fn place(self, draw: u64) -> u64 {
        self.spread_over_pages(((u128::from(draw) * u128::from(self.words)) >> 64) as u64)
    }

    /// Like `place`, but faster, for a region whose number of words is a power of two.
    #[inline(always)]
    fn place_in_power_of_two(self, draw: u64) -> u64 {
        self.spread_over_pages(draw >> (u64::BITS - self.words.ilog2()))
    }

    #[inline(always)]
    fn spread_over_pages(self, place: u64) -> u64 {
        match self.page {
            None => place,
            // Fibonacci hashing: lines of neighbouring pages are as far apart as possible, so they spread evenly over the sets of
            // a cache (Knuth, The Art of Computer Programming, Volume 3, Section 6.4).
            Some(page) => {
                let first = place & !(page - 1);
                first + (first.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - page.ilog2()))
            }
        }
    }
}

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, mut draw) = prepare_region(comm, point, stream, arena)?;
    let page = (SPREAD.of(point) == Spread::Pages).then(|| page_bytes(point) / WORD_BYTES);
    let places = Places { page, ..Places::anywhere(region_words(point)) };
    let count = batch_count(point).saturating_mul(BATCH);
    let (seconds, wrong) = match ORDER.of(point) {
        Order::Prefetched => run_prefetched(comm, memory, places, draw, count),
        Order::Dependent => run_dependent(comm, memory, places, draw, count),
        Order::Independent => {
            let fill = |batch: &mut [u64]| prepare(batch, places, &mut draw, false);
            time_batches(comm, BATCH, batch_count(point), fill, |batch| sum_all(memory, batch, 1))
        }
    };
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "sums differ from the sum of the words in memory"))
}

/// Times `batches` batches of `size` places, after an untimed one. `fill` draws the places while the clock is stopped, and returns
/// the expected sum of `read`. Returns the seconds and the number of wrong batches.
pub(super) fn time_batches<C: Collectives>(
    comm: &C,
    size: u64,
    batches: u64,
    mut fill: impl FnMut(&mut [u64]) -> u64,
    read: impl Fn(&[u64]) -> u64,
) -> (f64, u64) {
    let (mut batch, mut seconds, mut wrong) = (vec![0; size as usize], 0.0, 0);
    for number in 0..=batches {
        let expected = fill(&mut batch);
        let start = comm.wall_time();
        let found_sum = read(black_box(&batch));
        seconds += if number == 0 { 0.0 } else { comm.wall_time() - start };
        wrong += u64::from(found_sum != expected);
    }
    (seconds, wrong)
}

/// Draws each place three times, when it is needed: to prefetch it early, to prefetch it soon, and to read it. So the loop accesses
/// only the region and never waits for a stored address.
fn run_prefetched<C: Collectives>(comm: &C, memory: &[u64], places: Places, first: u64, count: u64) -> (f64, u64) {
    let draw_ahead = |steps: usize| (0..steps).fold(first, |draw, _| next_draw(draw));
    let (mut far_draw, mut near_draw, mut current_draw, mut sum) =
        (draw_ahead(FAR_DISTANCE), draw_ahead(NEAR_DISTANCE), first, 0u64);
    let index = |draw: u64| places.place_in_power_of_two(draw) as usize;
    let start = comm.wall_time();
    for _ in 0..count {
        prefetch::prefetch_far(memory.as_ptr().wrapping_add(index(far_draw)));
        prefetch::prefetch_near(memory.as_ptr().wrapping_add(index(near_draw)));
        sum = sum.wrapping_add(memory[index(current_draw)]);
        (far_draw, near_draw, current_draw) = (next_draw(far_draw), next_draw(near_draw), next_draw(current_draw));
    }
    let seconds = comm.wall_time() - start;
    (seconds, u64::from(black_box(sum) != sum_of_places(places, first, count)))
}

/// Each word holds its place. Adding the distance to the next place gives the next address, which therefore depends on the word.
/// The distance is drawn meanwhile; an array of distances would occupy part of the caches.
fn run_dependent<C: Collectives>(comm: &C, memory: &[u64], places: Places, first: u64, count: u64) -> (f64, u64) {
    // Returns `None` if a wrong word leads out of the region.
    let walk = |first: u64, count: u64| -> Option<u64> {
        let (mut draw, mut place, mut word, mut sum) = (first, 0u64, 0u64, 0u64);
        for _ in 0..count {
            let next_place = places.place(draw);
            word = *memory.get(word.wrapping_add(next_place.wrapping_sub(place)) as usize)?;
            sum = sum.wrapping_add(word);
            (draw, place) = (next_draw(draw), next_place);
        }
        Some(sum)
    };
    let warm_up_draw = mix(first);
    let mut wrong = u64::from(black_box(walk(warm_up_draw, BATCH)) != Some(sum_of_places(places, warm_up_draw, BATCH)));
    let start = comm.wall_time();
    let found_sum = walk(black_box(first), count);
    let seconds = comm.wall_time() - start;
    wrong += u64::from(black_box(found_sum) != Some(sum_of_places(places, first, count)));
    (seconds, wrong)
}

/// The places are drawn from `first` on.
fn sum_of_places(places: Places, first: u64, count: u64) -> u64 {
    let (mut sum, mut draw) = (0u64, first);
    for _ in 0..count {
        sum = sum.wrapping_add(places.place(draw));
        draw = next_draw(draw);
    }
    sum
}

/// Knuth's MMIX. Draws use the upper bits.
#[inline(always)]
pub(super) fn next_draw(draw: u64) -> u64 {
    draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Returns the sum of the places. For dependent reads, each entry is the difference from the previous place (0 at first).
pub(super) fn prepare(batch: &mut [u64], places: Places, draw: &mut u64, dependent: bool) -> u64 {
    let (mut sum, mut previous) = (0u64, 0);
    for slot in batch {
        *draw = next_draw(*draw);
        let place = places.place(*draw);
        sum = sum.wrapping_add(place);
        *slot = if dependent { place.wrapping_sub(previous) } else { place };
        previous = place;
    }
    sum
}

/// Each word holds its place, from which the next place is computed.
pub(super) fn follow_differences(memory: &[u64], differences: &[u64]) -> u64 {
    let (mut sum, mut word) = (0u64, 0u64);
    for difference in differences {
        word = memory[word.wrapping_add(*difference) as usize];
        sum = sum.wrapping_add(word);
    }
    sum
}
