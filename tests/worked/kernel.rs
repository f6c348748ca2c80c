//! Reads every S-th word of a rank's memory, in order.
//!
//! WORK: an operation reads one word of 8 bytes, although whole cache lines are transferred.
//! CHECK: word i holds i, so the sum of the words read is known.

use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_base::units::{Unit, WORD_BYTES};
use apexmap_measure::comm::Collectives;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::kernels::{Domain, Kernel, Key, Outcome, Output, Parameter, Work, parameters};
use apexmap_measure::{on_transport, refusal};
use std::collections::BTreeMap;
use std::hint::black_box;

/// Each paper has a constant in `source.rs`, which all its kernels and models use.
const SOURCE: Source =
    Source { authors: "The apexmap developers", title: "Contributing to apexmap", short: "an example" };

/// Names the contents of the arena, so that they are filled once per launch and not before every run.
const CONTENTS: u64 = 0x7374_7269_6465;

/// A key looks its parameter up in a point: `M.of(point)`.
const M: Key<u64> = Key::new(Parameter {
    name: "M",
    column: "memory_words",
    unit: Unit::Words,
    meaning: "memory: words of all ranks together",
    domain: Domain::Integer { min: 1, max: 1 << 40, default: 1 << 24 },
});
const S: Key<u64> = Key::new(Parameter {
    name: "S",
    column: "stride_words",
    unit: Unit::Words,
    meaning: "stride: from a word that is read to the next",
    domain: Domain::Integer { min: 1, max: 1 << 40, default: 8 },
});

/// Everything that is not named here is as in `Kernel::defaults`: any number of ranks, no messages, no bounds.
pub static STRIDE: Kernel = Kernel {
    id: "example.stride",
    summary: "Every S-th word of a rank's memory, in order",
    source: &SOURCE,
    place: "Add a kernel",
    parameters: parameters![M, S],
    outputs: &[Output { column: "words_read", unit: Unit::Words, meaning: "read by rank 0" }],
    method: "Every rank sums up every S-th word of its share of M words; the time is that of the slowest rank. The sum was \
             compared with its known value.",
    refuse: |point| match M.of(point).is_multiple_of(point.ranks as u64) {
        true => Ok(()),
        false => Err(refusal!(["M", "ranks"], "M = {} is no multiple of P = {}", M.of(point), point.ranks)),
    },
    work: |point| {
        let operations = (reads(point) * point.ranks as u64) as f64;
        Work {
            operations,
            operation: "read",
            bytes: operations * WORD_BYTES as f64,
            byte_definition: "8 bytes per read",
        }
    },
    arena_words: local_words,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..Kernel::defaults()
};

fn local_words(point: &Point) -> u64 {
    M.of(point) / point.ranks as u64
}

/// Returns the number of words that a rank reads.
fn reads(point: &Point) -> u64 {
    local_words(point).div_ceil(S.of(point))
}

fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (memory, _) = arena.words(Pages::Huge, local_words(point) as usize, CONTENTS, |i| i as u64)?;
    let stride = S.of(point) as usize;
    comm.barrier();
    let start = comm.wall_time();
    let sum = black_box(memory).iter().step_by(stride).fold(0, |sum: u64, &word| sum.wrapping_add(word));
    let seconds = comm.wall_time() - start;
    // 0 + S + 2 S + ... + (n - 1) S, which may not fit in a word.
    let n = u128::from(reads(point));
    let right = sum == (stride as u128 * (n * (n - 1) / 2)) as u64;
    // Rank 0 receives the time and the check of every rank.
    let report = [seconds.to_bits(), u64::from(!right)];
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let wrong: u64 = reports.chunks_exact(2).map(|row| row[1]).sum();
    Ok(Outcome {
        seconds: reports.chunks_exact(2).map(|row| f64::from_bits(row[0])).fold(0.0, f64::max),
        outputs: BTreeMap::from([("words_read", Value::Integer(reads(point)))]),
        verdict: if wrong == 0 { Ok(()) } else { Err(format!("{wrong} ranks read a wrong sum")) },
    })
}
