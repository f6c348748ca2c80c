//! The difference between the cost of a block of n lines and n times the cost of a line is the effect of prefetching.

use super::read::{next_draw, time_batches};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.blocks",
    summary: "Time per block of consecutive words at a random address",
    source: &source::APEX_MAP,
    place: "Section 2",
    parameters: parameters![BYTES, PAGES, BLOCK, READS],
    method: "Every rank reads all words of random blocks in its region. Every run draws the blocks anew while the \
        clock is stopped; the first batch is untimed. The region was traversed once before. The time is that of \
        the slowest rank. The sum of all words was compared with the sum computed from the addresses.",
    refuse: |point| {
        check_region(point)?;
        require_power_of_two(point, BLOCK)?;
        let (block, words) = (BLOCK.of(point), region_words(point));
        match block {
            _ if block > words => Err(refusal!(
                ["L", "bytes"],
                "a block of {block} words is longer than the region of {words}; use more bytes"
            )),
            _ => Ok(()),
        }
    },
    work: |point| {
        let bytes = BLOCK.of(point) * WORD_BYTES;
        work_per_rank(point, batch_count(point).saturating_mul(batch_size(point)), "block", bytes, "8 L per block")
    },
    arena_words: region_words,
    buffer_bytes: |point| batch_size(point) * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const BLOCK: Key<u64> =
    key("L", "words of a block, a power of two", integers(1..=1 << 37, 64)).in_column("block_words", Unit::Words);
const READS: Key<u64> = key("reads", "blocks per run, in whole batches", integers(1..=1 << 40, 1 << 14));

/// 1 MiB between two readings of the clock, at most 16384 blocks. In the first-level cache, these take a hundred times as long as
/// reading the clock.
fn batch_size(point: &Point) -> u64 {
    ((1 << 17) / BLOCK.of(point)).clamp(1, 1 << 14)
}

fn batch_count(point: &Point) -> u64 {
    READS.of(point).div_ceil(batch_size(point))
}

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, mut draw) = prepare_region(comm, point, stream, arena)?;
    let (words, block) = (region_words(point), BLOCK.of(point));
    // The upper bits of a draw select a block.
    let block_start =
        |draw: u64| if words == block { 0 } else { (draw >> (u64::BITS - (words / block).ilog2())) * block };
    let fill = |batch: &mut [u64]| {
        let mut sum = 0u64;
        for slot in batch {
            draw = next_draw(draw);
            *slot = block_start(draw);
            // Each word holds its index.
            sum = sum.wrapping_add(block.wrapping_mul(*slot)).wrapping_add(block * (block - 1) / 2);
        }
        sum
    };
    let (size, count) = (batch_size(point), batch_count(point));
    let (seconds, faults) = time_batches(comm, size, count, fill, |batch| sum_all(memory, batch, block as usize));
    Ok(gather_outcome(comm, seconds, (count * size) as f64, faults, "sums differ from the sum of the words in memory"))
}
