//! NAME: calibrate.loaded. The memory latency of one core while the other cores use memory bandwidth.
//!
//! SOURCE: the loaded latency of Intel's Memory Latency Checker and of multichase.
//! DEFINITION: rank 0 makes `reads` dependent random reads in its region of `bytes` bytes; meanwhile all other ranks
//!   read their own regions from end to end, and pause after every 64 KiB so that they read for about `share` per cent
//!   of the time. An operation is one read of rank 0.
//! CHECK: the sums of the words that all ranks read against the sums that their addresses imply.

use super::read::{Places, follow, prepare};
use super::stream::sum;
use super::{BYTES, PAGES, about, contents, power_of_two, prime, region_words};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::{Arena, Pages};
use crate::measure::kernels::calibrate::{OUTPUTS, Probe};
use crate::measure::kernels::{About, Domain, Outcome, Parameter, Work, parameter};
use crate::measure::kernels::{Output, output};
use crate::measure::numerics::mix::seed;
use crate::on_transport;
use crate::point::Point;
use crate::point::Value;
use crate::units::{Unit, WORD_BYTES};
use std::collections::BTreeMap;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &About {
        outputs: LOADED,
        ..about(
            "calibrate.loaded",
            "Memory latency of one core while the other ranks read memory",
            "Section 3.1, tu",
            &[BYTES, PAGES, SHARE, READS],
            "Rank 0 makes dependent random reads while all other ranks read their own memory from end to end, for a \
             given fraction of the time. The time is that of rank 0's reads; the bandwidth is that of all other \
             ranks until rank 0 is done. The sums of the words read were compared with the sums that their \
             addresses imply.",
        )
    },
    refuse: |point| match point.ranks {
        1 => Err("needs at least two ranks: the others load the memory".into()),
        _ => power_of_two(point),
    },
    work: |point| {
        let operations = point.integer("reads") as f64;
        Work { operations, operation: "read", bytes: operations * 8.0, byte_definition: "8 per read of rank 0" }
    },
    words: region_words,
    buffers: |point| point.integer("reads") * WORD_BYTES,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};

const LOADED: &[Output] = &[
    OUTPUTS[0],
    output("background_bytes_per_second", Unit::BytesPerSecond, "read bandwidth of all other ranks together"),
];
const SHARE: Parameter = parameter(
    "share",
    "busy_per_cent",
    "share of the time during which the other ranks read, in per cent",
    Domain::Integer { least: 0, most: 100, default: 100 },
);
const READS: Parameter = parameter(
    "reads",
    "reads",
    "reads by rank 0 in one run",
    Domain::Integer { least: 1, most: 1 << 30, default: 1 << 16 },
);
/// Words between two pauses.
const CHUNK: usize = (64 << 10) / 8;

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (words, pages) = (region_words(point), Pages::from_name(point.text("pages")));
    let (memory, _) = arena.words(pages, words as usize, contents(), |place| place as u64)?;
    let mut reads = vec![0; point.integer("reads") as usize];
    let expected = prepare(&mut reads, Places::anywhere(words), &mut seed(&[stream, comm.rank() as u64]), true);
    prime(comm, memory);
    comm.barrier();
    let start = comm.now();
    let (bytes, seconds, wrong) = if comm.rank() == 0 {
        let wrong = u64::from(follow(memory, black_box(&reads)) != expected);
        let seconds = comm.now() - start;
        let mut barrier = comm.ibarrier();
        while !comm.test(&mut barrier) {
            comm.relax();
        }
        (0, seconds, wrong)
    } else {
        let (bytes, wrong) = background(comm, memory, point.integer("share") as f64 / 100.0);
        (bytes, comm.now() - start, wrong)
    };
    let report = [seconds.to_bits(), bytes, wrong];
    let all = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let (own, others) = all.split_at(report.len());
    let seconds = f64::from_bits(own[0]);
    let drawn = others.chunks_exact(report.len()).map(|row| row[1] as f64 / f64::from_bits(row[0])).sum::<f64>();
    let wrong: u64 = all.chunks_exact(report.len()).map(|row| row[2]).sum();
    let outputs = BTreeMap::from([
        ("operation_seconds", Value::Real(seconds / reads.len() as f64)),
        ("background_bytes_per_second", Value::Real(drawn)),
    ]);
    let verdict = if wrong == 0 { Ok(()) } else { Err(format!("{wrong} ranks read wrong words")) };
    Ok(Outcome { seconds, outputs, verdict })
}

/// Reads the memory from end to end until rank 0 has arrived: bytes, and chunks whose sum was wrong.
fn background<C: Collectives>(comm: &C, memory: &[u64], share: f64) -> (u64, u64) {
    let (mut bytes, mut wrong) = (0, 0);
    let mut barrier = comm.ibarrier();
    let mut chunks = memory.chunks(CHUNK).cycle();
    // Each rank reads at least once, however soon rank 0 is done.
    while (bytes == 0 && share > 0.0) || !comm.test(&mut barrier) {
        let Some(chunk) = chunks.next().filter(|_| share > 0.0) else {
            comm.relax();
            continue;
        };
        let start = comm.now();
        let found = sum(black_box(chunk));
        let next = start + (comm.now() - start) / share;
        let (first, count) = (chunk[0], chunk.len() as u64);
        wrong += u64::from(found != first * count + count * (count - 1) / 2);
        bytes += count * WORD_BYTES;
        while comm.now() < next {
            std::hint::spin_loop();
        }
    }
    (bytes, wrong)
}
