use super::stream::sum;
use super::*;
use crate::kernels::shared::parameters::{TRAFFIC, add_traffic};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.stride",
    summary: "Bandwidth of memory by size and stride: the memory mountain",
    source: &source::MEMORY_MOUNTAIN,
    place: "Section 6.6.1",
    parameters: parameters![BYTES, STRIDE, PAGES, READS],
    outputs: &[OUTPUTS[0], PAGE_BYTES, HUGE_SHARE, TRAFFIC[0], TRAFFIC[1]],
    headline: "bytes_per_second_per_rank",
    method: "Every rank reads every S-th word of its region from end to end, repeatedly. The region was traversed once \
        before. The time is that of the slowest rank. The sum of all words was compared with the sum of their \
        indices.",
    accesses_in_order: true,
    refuse: |point| {
        check_region(point)?;
        match (STRIDE.of(point), region_words(point)) {
            (stride, words) if stride > words => Err(refusal!(
                ["stride", "bytes"],
                "stride = {stride} words is longer than the region of {words}; use more bytes"
            )),
            _ => Ok(()),
        }
    },
    work: |point| {
        work_per_rank(point, pass_count(point).saturating_mul(reads_per_pass(point)), "read", WORD_BYTES, "8 per read")
    },
    arena_words: region_words,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const STRIDE: Key<u64> =
    key("stride", "stride: distance between consecutive reads, in words", integers(1..=1 << 37, 1))
        .in_column("stride_words", Unit::Words);
const READS: Key<u64> = key("reads", "reads per run, in whole passes over the region", integers(1..=1 << 40, 1 << 22));

fn reads_per_pass(point: &Point) -> u64 {
    region_words(point).div_ceil(STRIDE.of(point))
}

fn pass_count(point: &Point) -> u64 {
    READS.of(point).div_ceil(reads_per_pass(point))
}

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, _) = prepare_region(comm, point, stream, arena)?;
    let (stride, passes) = (STRIDE.of(point), pass_count(point));
    let start = comm.wall_time();
    let pass = |found_sum: u64, _| found_sum.wrapping_add(sum_strided(black_box(memory), stride as usize));
    let found_sum = (0..passes).fold(0, pass);
    let seconds = comm.wall_time() - start;
    let n = u128::from(reads_per_pass(point));
    let sum_per_pass = (u128::from(stride) * (n * (n - 1) / 2)) as u64;
    let wrong = u64::from(found_sum != sum_per_pass.wrapping_mul(passes));
    let work = (KERNEL.work)(point);
    let mut outcome =
        gather_outcome(comm, seconds, work.operations / point.ranks as f64, wrong, "ranks read wrong words");
    add_traffic(&mut outcome, work.operations * (WORD_BYTES * stride.min(8)) as f64);
    Ok(outcome)
}

/// The timed loop: the wrapping sum of every `stride`-th word, from four independent partial sums.
pub fn sum_strided(words: &[u64], stride: usize) -> u64 {
    if stride == 1 {
        return sum(words);
    }
    let turns = words.len().saturating_sub(1) / stride + 1;
    let (mut sums, rest_start) = ([0u64; 4], turns / 4 * 4 * stride);
    let (mut pointer, [offset_1, offset_2, offset_3]) = (words.as_ptr(), [1, 2, 3].map(|k| k * stride));
    for _ in 0..turns / 4 {
        // SAFETY: the last word of all turns has the index `(turns - 1) * stride`, which is less than the length.
        unsafe {
            sums[0] = sums[0].wrapping_add(*pointer);
            sums[1] = sums[1].wrapping_add(*pointer.add(offset_1));
            sums[2] = sums[2].wrapping_add(*pointer.add(offset_2));
            sums[3] = sums[3].wrapping_add(*pointer.add(offset_3));
        }
        pointer = pointer.wrapping_add(4 * stride);
    }
    let rest = words.get(rest_start..).unwrap_or_default().iter().step_by(stride);
    rest.chain(&sums).fold(0, |sum, word| sum.wrapping_add(*word))
}
