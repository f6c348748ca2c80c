//! A miss among many hits costs its full latency; a miss among other misses costs a part of it.

use super::read::{BATCH, READS, batch_count, next_draw, time_batches};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.sparse",
    summary: "Time per read if a share of the reads misses the first-level cache",
    source: &source::APEX_MAP,
    place: "Section 2",
    parameters: parameters![BYTES, PAGES, SHARE, READS],
    method: "Every rank reads words of its region, most of them in its first 2 KiB. Every run draws the addresses \
        anew, in batches of 16384 while the clock is stopped; the first batch is untimed. The region was \
        traversed once before. The time is that of the slowest rank. The sum of all words was compared with the \
        sum computed from their addresses.",
    refuse: |point| {
        check_region(point)?;
        if region_words(point) <= NEAR_WORDS {
            return Err(refusal!(
                ["bytes"],
                "the region is not larger than the 2 KiB that other reads go to; use bytes = \"4 KiB\" or more"
            ));
        }
        Ok(())
    },
    work: |point| work_per_rank(point, batch_count(point).saturating_mul(BATCH), "read", 8, "8 per read"),
    arena_words: region_words,
    buffer_bytes: |_| BATCH * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const SHARE: Key<f64> = key(
    "random_share",
    "fraction of the reads that go to random words of the region; others hit the first-level cache",
    Domain::Real { exclusive_min: 0.0, max: 1.0, default: 0.1 },
);

/// At the start of the region. They receive most reads. The first-level cache holds them, so only the others miss.
const NEAR_WORDS: u64 = 2048 / WORD_BYTES;

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, mut draw) = prepare_region(comm, point, stream, arena)?;
    let words = region_words(point);
    // The number of 64-bit draws that select the region.
    let region_draws = (SHARE.of(point) * 2f64.powi(64)) as u64;
    let fill = |batch: &mut [u64]| {
        let mut sum = 0u64;
        for slot in batch {
            draw = next_draw(draw);
            // Different bits of the draw select the area and the word in it.
            let limit = if mix(draw) <= region_draws { words } else { NEAR_WORDS };
            *slot = draw >> (u64::BITS - limit.ilog2());
            sum = sum.wrapping_add(*slot);
        }
        sum
    };
    let count = batch_count(point);
    let (seconds, wrong) = time_batches(comm, BATCH, count, fill, |batch| sum_all(memory, batch, 1));
    Ok(gather_outcome(comm, seconds, (count * BATCH) as f64, wrong, "sums differ from the sum of the words in memory"))
}
