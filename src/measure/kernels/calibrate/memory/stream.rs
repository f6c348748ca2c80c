//! NAME: calibrate.stream. The bandwidth of memory: consecutive words read, or STREAM's triad.
//!
//! SOURCE: McCalpin's STREAM (Triad), and its byte count: 24 per word of the result, though most processors also read
//!   the result's line.
//! DEFINITION: `passes` passes over `bytes` bytes per rank. `read`: the sum of all words. `triad`: a = b + 3 c over
//!   three arrays of a third each.
//! CHECK: the sums against those of the contents; the triad's array against its sources.

use super::{BYTES, PAGES, about, contents, each, power_of_two, region_words};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::{Arena, Pages};
use crate::measure::kernels::calibrate::{Probe, outcome};
use crate::measure::kernels::{About, Domain, Outcome, Parameter, parameter};
use crate::on_transport;
use crate::point::Point;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &About {
        headline: "bytes_per_second",
        ..about(
            "calibrate.stream",
            "Bandwidth of memory: consecutive words read, or the triad",
            "STREAM, Triad",
            &[ACCESS, BYTES, PAGES, PASSES],
            "Every rank traverses its own memory from end to end, all at the same time; the time is that of the \
             slowest. Sums were compared with those of the contents, the triad's array with its sources. The memory \
             was traversed once before the clock started.",
        )
    },
    refuse: power_of_two,
    work: |point| {
        let words = if point.text("access") == "read" { region_words(point) } else { third(point) as u64 };
        let bytes = if point.text("access") == "read" { 8 } else { 24 };
        each(point, point.integer("passes") * words, "word", bytes, "8 per word read; 24 per word of the triad")
    },
    words: region_words,
    buffers: |_| 0,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

const ACCESS: Parameter =
    parameter("access", "access", "access: sum of the words read, or a = b + 3 c", Domain::Choice(&["read", "triad"]));
const PASSES: Parameter = parameter(
    "passes",
    "passes",
    "passes over the memory in one run",
    Domain::Integer { least: 1, most: 1 << 32, default: 4 },
);

fn third(point: &Point) -> usize {
    // Whole lines, so that the arrays begin on some.
    (region_words(point) / 3 / 8 * 8) as usize
}

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (words, passes) = (region_words(point) as usize, point.integer("passes"));
    let pages = Pages::from_name(point.text("pages"));
    let operations = (KERNEL.work)(point).operations / point.ranks as f64;
    if point.text("access") == "read" {
        let (memory, _) = arena.words(pages, words, contents(), |place| place as u64)?;
        black_box(sum(memory));
        comm.barrier();
        let start = comm.now();
        let found = (0..passes).fold(0u64, |found, _| found.wrapping_add(sum(black_box(memory))));
        let seconds = comm.now() - start;
        let once = (words as u64).wrapping_mul(words as u64 - 1) / 2;
        let wrong = u64::from(found != once.wrapping_mul(passes));
        return Ok(outcome(comm, seconds, operations, wrong, "ranks read wrong words"));
    }
    let (memory, _) = arena.words_mut(pages, words, contents(), |place| place as u64)?;
    let (result, sources) = memory.split_at_mut(third(point));
    let (b, c) = sources.split_at(third(point));
    result.fill(0);
    comm.barrier();
    let start = comm.now();
    (0..passes).for_each(|_| triad(black_box(&mut *result), black_box(b), black_box(c)));
    let seconds = comm.now() - start;
    let is_wrong = |(a, (b, c)): &(&u64, (&u64, &u64))| **a != b.wrapping_add(c.wrapping_mul(3));
    let wrong = result.iter().zip(b.iter().zip(c)).filter(is_wrong).count() as u64;
    Ok(outcome(comm, seconds, operations, wrong, "words of the triad are wrong"))
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
pub(super) fn sum(words: &[u64]) -> u64 {
    let mut sum = 0u64;
    for &word in words {
        sum = sum.wrapping_add(word);
    }
    sum
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn triad(result: &mut [u64], b: &[u64], c: &[u64]) {
    for (a, (b, c)) in result.iter_mut().zip(b.iter().zip(c)) {
        *a = b.wrapping_add(c.wrapping_mul(3));
    }
}
