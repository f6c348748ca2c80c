//! NAME: calibrate.stride. The memory mountain: bandwidth of reading every S-th word of a region.
//!
//! SOURCE: Bryant and O'Hallaron, Computer Systems: A Programmer's Perspective, Section 6.6.1 (The Memory Mountain); McCalpin's
//!   STREAM.
//! DEFINITION: every `stride`-th word of a region of `bytes` bytes is read, from end to end, in whole passes with a total of at
//!   least `reads` reads. Bytes are those of the words read; separate outputs count the bytes that travel.
//! CHECK: the sum of all words read, against the sum of their indices.

use super::stream::sum;
use super::{BYTES, FAMILY, PAGES, prepare_region, region_words, require_power_of_two, work_per_rank};
use crate::comm::Collectives;
use crate::comm::arena::Arena;
use crate::kernels::calibrate::{OUTPUTS, gather_outcome};
use crate::kernels::shared::parameters::{HUGE_SHARE, PAGE_BYTES};
use crate::kernels::shared::traffic::TRAFFIC;
use crate::kernels::{Domain, Kernel, Key, Outcome, Parameter, key, parameters};
use crate::on_transport;
use crate::refusal;
use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::source;
use apexmap_base::units::{Unit, WORD_BYTES};
use std::hint::black_box;

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
        require_power_of_two(point)?;
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
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
    ..FAMILY
};

const STRIDE: Key<u64> = Key::new(Parameter {
    name: "stride",
    column: "stride_words",
    unit: Unit::Words,
    meaning: "stride: distance between consecutive reads, in words",
    domain: Domain::Integer { min: 1, max: 1 << 37, default: 1 },
});
const READS: Key<u64> = key(
    "reads",
    "reads",
    "reads per run, in whole passes over the region",
    Domain::Integer { min: 1, max: 1 << 40, default: 1 << 22 },
);

fn reads_per_pass(point: &Point) -> u64 {
    region_words(point).div_ceil(STRIDE.of(point))
}

fn pass_count(point: &Point) -> u64 {
    READS.of(point).div_ceil(reads_per_pass(point))
}

/// Runs the kernel on all ranks. Collective.
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
    let traffic = work.operations * (WORD_BYTES * stride.min(8)) as f64;
    outcome.outputs.insert(TRAFFIC[0].column, Value::Real(traffic));
    outcome.outputs.insert(TRAFFIC[1].column, Value::Real(traffic / outcome.seconds));
    Ok(outcome)
}

/// The timed loop: returns the wrapping sum of every `stride`-th word, from four independent partial sums.
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
