//! Apex-Map: what its variants share (parameters, memory, addresses, verification, timing).
//!
//! SOURCE: Strohmaier and Shan, Sections 2 and 2.1, Table 1.
//! PURPOSE: the rate at which global data reach the processor, by temporal (alpha) and spatial (L) locality.
//! WORK: N x I accesses per rank, each the sum of L consecutive words; bytes are the words read, 8 L per access.
//! CHECK: every rank's sum of all words read against the sum that the drawn addresses imply. The memory holds
//!   differences of a mixing function, so the sum of a block follows from its two ends without reading memory.
//! DIFFERENCES from the paper: all N index arrays are drawn before the clock starts, because a rank that draws while
//!   others run serves no requests; one index array is run before, untimed; the owner of an address is computed when it
//!   is drawn; the last block of memory is drawn like any other; words are 64-bit integers, so the sum is exact in any
//!   order.

mod one_sided;
mod sequential;
mod two_sided;

pub use one_sided::ONE_SIDED;
pub use sequential::{SEQUENTIAL, sum_all};
pub use two_sided::TWO_SIDED;

use super::{About, Domain, Kernel, Outcome, Output, Parameter, Work, output};
use crate::error::Result;
use crate::measure::comm::arena::{Arena, Granted, Pages};
use crate::measure::comm::{Collectives, World};
use crate::measure::numerics::mix::{mix, seed};
use crate::measure::numerics::power_law::PowerLaw;
use crate::measure::numerics::statistics::Summary;
use crate::measure::observer;
use crate::point::{Point, Value};
use crate::units::{Unit, WORD_BYTES};
use multiversion::multiversion;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

const M: Parameter = Parameter {
    name: "M",
    column: "memory_words",
    unit: Unit::Words,
    meaning: "global memory, evenly distributed across the ranks",
    domain: Domain::Integer { least: 1, most: 1 << 60, default: 64 << 20 },
};
const ALPHA: Parameter = Parameter {
    name: "alpha",
    column: "alpha",
    unit: Unit::None,
    meaning: "temporal locality: shape of the power law of the addresses; 1 is uniform, smaller is more local",
    domain: Domain::Real { above: 0.0, most: 1.0, default: 1.0 },
};
const L: Parameter = Parameter {
    name: "L",
    column: "block_words",
    unit: Unit::Words,
    meaning: "spatial locality: consecutive words per access",
    domain: Domain::Integer { least: 1, most: 1 << 30, default: 1 },
};
const I: Parameter = Parameter {
    name: "I",
    column: "indices",
    unit: Unit::None,
    meaning: "accesses per index array",
    domain: Domain::Integer { least: 1, most: 1 << 32, default: 1024 },
};
const N: Parameter = Parameter {
    name: "N",
    column: "index_arrays",
    unit: Unit::None,
    meaning: "number of index arrays in one run",
    domain: Domain::Integer { least: 1, most: 1 << 32, default: 8 },
};
const PAGES: Parameter = Parameter {
    name: "pages",
    column: "pages",
    unit: Unit::None,
    meaning: "page size requested: huge (2 MiB on x86_64) or base (4 KiB); page_bytes has the size granted",
    domain: Domain::Choice(Pages::NAMES),
};
const SEED: Parameter = Parameter {
    name: "seed",
    column: "seed",
    unit: Unit::None,
    meaning: "seed of the random addresses",
    domain: Domain::Integer { least: 0, most: u64::MAX, default: 1 },
};
const B: Parameter = Parameter {
    name: "B",
    column: "receive_buffers",
    unit: Unit::None,
    meaning: "receive buffers: maximum outstanding remote accesses per rank",
    domain: Domain::Integer { least: 1, most: 1 << 16, default: 16 },
};
const SMSG: Parameter = Parameter {
    name: "SMSG",
    column: "send_handles",
    unit: Unit::None,
    meaning: "send handles: maximum outstanding sends per rank, separately for requests and replies",
    domain: Domain::Integer { least: 1, most: 1 << 16, default: 16 },
};
const NSER: Parameter = Parameter {
    name: "NSER",
    column: "serve_limit",
    unit: Unit::None,
    meaning: "serve limit: maximum requests of other ranks answered after each own access",
    domain: Domain::Integer { least: 1, most: 1 << 16, default: 16 },
};

/// The paper's z-axis: "the achieved bandwidth per processes" (Section 3.3).
const HEADLINE: &str = "bytes_per_second_per_rank";

const METHOD: &str = "Apex-Map sums blocks of L consecutive words whose starts follow a power law of shape alpha \
    over a global memory of M words, rotated so that each rank accesses its own memory most often. One sample is \
    one run of N x I accesses on every rank, from a common start until every rank has its data and no request is \
    outstanding; its time is that of the slowest rank. Before the clock starts, indices are drawn and one index \
    array is run. In every run and on every rank, the sum of all words read was checked against the sum that the \
    drawn addresses imply.";

const OUTPUTS: &[Output] = &[
    output("rank_seconds_min", Unit::Seconds, "time until the first rank has all of its data"),
    output("rank_seconds_median", Unit::Seconds, "time until the median rank has all of its data"),
    output("rank_seconds_max", Unit::Seconds, "time until the last rank has all of its data"),
    output("remote_share", Unit::None, "fraction of the accesses that went to another rank's memory"),
    output("requests_served", Unit::None, "requests answered by all ranks"),
    output("requests_served_max", Unit::None, "requests answered by the busiest rank"),
    output("page_bytes", Unit::Bytes, "page size granted to rank 0; absent if mixed or unknown"),
    output("huge_share", Unit::None, "fraction of rank 0's memory on huge pages"),
];

/// What tells the variants apart.
pub struct Variant {
    about: &'static About,
    /// Blocks of L words that a rank needs besides its share of the global memory.
    buffers: fn(&Point) -> u64,
    run: fn(&Point, u64, &mut World) -> Result<Outcome>,
}

impl Kernel for Variant {
    fn about(&self) -> &'static About {
        self.about
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        check(point)
    }

    fn work(&self, point: &Point) -> Work {
        let operations = point.ranks as f64 * point.integer("I") as f64 * point.integer("N") as f64;
        Work {
            operations,
            operation: "access",
            bytes: operations * (point.integer("L") * WORD_BYTES) as f64,
            byte_definition: "words read and summed, 8 L bytes per access",
        }
    }

    fn memory(&self, point: &Point) -> u64 {
        let indices = point.integer("I").saturating_mul(point.integer("N") + 1);
        let blocks = point.integer("L").saturating_mul((self.buffers)(point));
        local_words(point).saturating_add(indices).saturating_add(blocks).saturating_mul(WORD_BYTES)
    }

    fn arena_words(&self, point: &Point) -> u64 {
        local_words(point)
    }

    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        (self.run)(point, stream, world)
    }
}

/// Where an access goes: the rank in the upper 24 bits, the word within its memory in the lower 40.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Location(u64);

impl Location {
    const OFFSET_BITS: u32 = 40;

    fn new(owner: u64, offset: u64) -> Self {
        Self(owner << Self::OFFSET_BITS | offset)
    }

    fn owner(self) -> usize {
        (self.0 >> Self::OFFSET_BITS) as usize
    }

    fn offset(self) -> usize {
        (self.0 & ((1 << Self::OFFSET_BITS) - 1)) as usize
    }
}

/// A function of a rank and a word whose differences are the contents of memory.
fn potential(rank: u64, word: u64) -> u64 {
    mix(rank << Location::OFFSET_BITS ^ word)
}

/// The accesses of one rank for one run.
struct Draw {
    warm_up: Vec<Location>,
    timed: Vec<Location>,
    /// What the timed accesses must sum to.
    expected: u64,
}

impl Draw {
    fn new(point: &Point, rank: usize, stream: u64) -> Self {
        let (memory, block) = (point.integer("M"), point.integer("L"));
        let local = local_words(point);
        let law = PowerLaw::new(memory / block, point.real("alpha"));
        let mut rng = Pcg64Mcg::seed_from_u64(seed(&[point.integer("seed"), rank as u64, stream]));
        // The hot end of the power law is the rank's own memory.
        let mut location = || {
            let word = law.sample(&mut rng) * block;
            Location::new((word / local + rank as u64) % point.ranks as u64, word % local)
        };
        let warm_up = (0..point.integer("I")).map(|_| location()).collect();
        let timed: Vec<_> = (0..point.integer("I") * point.integer("N")).map(|_| location()).collect();
        let sum_of = |at: &Location| {
            let (owner, first) = (at.owner() as u64, at.offset() as u64);
            potential(owner, first + block).wrapping_sub(potential(owner, first))
        };
        let expected = timed.iter().fold(0, |sum: u64, at| sum.wrapping_add(sum_of(at)));
        Self { warm_up, timed, expected }
    }
}

/// What a rank did in a pass over its accesses.
#[derive(Clone, Copy, Default)]
struct Tally {
    sum: u64,
    remote: u64,
    served: u64,
    /// The transport's clock when all of the rank's own data had been summed.
    own_end: f64,
}

/// M/P.
fn local_words(point: &Point) -> u64 {
    point.integer("M") / point.ranks as u64
}

/// This rank's share of the global memory.
fn memory<'a>(point: &Point, rank: usize, arena: &'a mut Arena) -> Result<(&'a [u64], Granted)> {
    let words = local_words(point) as usize;
    let rank = rank as u64;
    let value = |i: usize| potential(rank, i as u64 + 1).wrapping_sub(potential(rank, i as u64));
    arena.words(Pages::from_name(point.text("pages")), words, rank, value)
}

/// Warms up, times one pass between two common moments, checks it and gathers what the ranks have to say.
fn time<C: Collectives>(
    comm: &C,
    draw: &Draw,
    granted: Granted,
    mut pass: impl FnMut(&[Location]) -> Tally,
) -> Outcome {
    pass(&draw.warm_up);
    observer::clock_starts();
    comm.barrier();
    let start = comm.now();
    let tally = pass(&draw.timed);
    let end = comm.now();
    observer::clock_stops();

    let own = tally.own_end - start;
    let wrong = u64::from(tally.sum != draw.expected);
    let report = [(end - start).to_bits(), own.to_bits(), tally.remote, tally.served, wrong];
    let all = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let column = |k: usize| all.chunks_exact(report.len()).map(move |row| row[k]);
    let own = Summary::of(&column(1).map(f64::from_bits).collect::<Vec<_>>()).expect("there is at least one rank");
    let accesses = (draw.timed.len() * comm.size()) as f64;
    let mut outputs = BTreeMap::from([
        ("rank_seconds_min", Value::Real(own.min)),
        ("rank_seconds_median", Value::Real(own.median)),
        ("rank_seconds_max", Value::Real(own.max)),
        ("remote_share", Value::Real(column(2).sum::<u64>() as f64 / accesses)),
        ("requests_served", Value::Integer(column(3).sum())),
        ("requests_served_max", Value::Integer(column(3).max().unwrap_or(0))),
    ]);
    outputs.extend(granted.page_bytes.map(|bytes| ("page_bytes", Value::Integer(bytes))));
    outputs.extend(granted.huge_share.map(|share| ("huge_share", Value::Real(share))));
    let verdict = match column(4).sum::<u64>() {
        0 => Ok(()),
        ranks => Err(format!("the sum of the words read is wrong on {ranks} of {} ranks", comm.size())),
    };
    Outcome { seconds: column(0).map(f64::from_bits).fold(0.0, f64::max), outputs, verdict }
}

/// Sum of one block; the compute of Table 1.
#[multiversion(targets("x86_64+avx2"))]
fn sum_block(block: &[u64]) -> u64 {
    block.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))
}

/// Combinations that no variant can run.
fn check(point: &Point) -> std::result::Result<(), String> {
    let (memory, block, ranks) = (point.integer("M"), point.integer("L"), point.ranks as u64);
    if memory % ranks != 0 {
        return Err(format!(
            "M = {memory} words cannot be divided evenly among {ranks} ranks; use a multiple of {ranks}"
        ));
    }
    let local = memory / ranks;
    if block > local {
        return Err(format!(
            "L = {block} words is more than the memory per rank, M/P = {local} words; L must be at most M/P"
        ));
    }
    if local % block != 0 {
        return Err(format!(
            "the memory per rank, M/P = {local} words, is not a multiple of L = {block} words; a block must not \
             straddle two ranks"
        ));
    }
    if local > 1 << Location::OFFSET_BITS || ranks > 1 << 24 {
        return Err(format!("M/P = {local} words on {ranks} ranks: the maximum is 2^40 words per rank and 2^24 ranks"));
    }
    if point.integer("I").checked_mul(point.integer("N")).is_none_or(|accesses| accesses > 1 << 36) {
        return Err("I x N is more than 2^36 accesses per run".into());
    }
    Ok(())
}
