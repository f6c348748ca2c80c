//! Apex-Map: what its variants share (parameters, memory, addresses, verification, timing).
//!
//! SOURCE: Strohmaier and Shan, Sections 2 and 2.1, Table 1.
//! PURPOSE: the rate at which global data reach the processor, by temporal (alpha) and spatial (L) locality.
//! WORK: N x I accesses per rank, each the sum of L consecutive words; bytes are the words read, 8 L per access.
//! CHECK: every rank's sum of all words read against the sum that the drawn addresses imply. The memory holds
//!   differences of a mixing function, so the sum of a block follows from its two ends without reading memory.
//! DIFFERENCES from the paper: with several ranks all N index arrays are drawn before the clock starts, because a rank
//!   that draws while others run serves no requests; caches are warmed before, untimed; the owner of an address is computed
//!   when it is drawn; the last block of memory is drawn like any other; words are 64-bit integers, not floating-point
//!   numbers, so the sum is exact in any order and no chain of floating-point additions limits it.

pub mod access;
pub mod access_all;
mod accesses;
mod arrays;
pub mod chains;
pub mod draw;
#[cfg(target_arch = "x86_64")]
pub mod lanes;
mod neighbours;
mod one_sided;
mod request;
mod sequential;
mod sum;
mod sum_all;
pub mod timing;
mod two_sided;
#[cfg(target_arch = "x86_64")]
pub mod vectors;
pub mod warm_up;
pub mod writing;

pub use chains::CHAINS_KERNEL as CHAINS;
pub use neighbours::KERNEL as NEIGHBOURS;
pub use one_sided::ONE_SIDED;
pub use request::REQUEST;
pub use sequential::SEQUENTIAL;
pub use sum_all::sum_all;
pub use two_sided::TWO_SIDED;

use draw::{Location, potential};
use sum::{Adder, Sum};
use sum_all::adder;
use timing::Arrays;

use super::{About, Domain, Kernel, Outcome, Output, Parameter, Work, output};
use crate::comm::World;
use crate::comm::arena::{Arena, Granted, Pages};
use crate::kernels::Rings;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::units::{Unit, WORD_BYTES};

pub(super) const M: Parameter = Parameter {
    name: "M",
    column: "memory_words",
    unit: Unit::Words,
    meaning: "global memory, evenly distributed across the ranks",
    domain: Domain::Global { least: 1, most: 1 << 60, default: 64 << 20 },
};
pub(super) const ALPHA: Parameter = Parameter {
    name: "alpha",
    column: "alpha",
    unit: Unit::None,
    meaning: "temporal locality: shape of the power law of the addresses; 1 is uniform, smaller is more local",
    domain: Domain::Real { above: 0.0, most: 1.0, default: 1.0 },
};
pub(super) const L: Parameter = Parameter {
    name: "L",
    column: "block_words",
    unit: Unit::Words,
    meaning: "spatial locality: consecutive words per access",
    domain: Domain::Integer { least: 1, most: 1 << 30, default: 1 },
};
pub(super) const I: Parameter = Parameter {
    name: "I",
    column: "indices",
    unit: Unit::None,
    meaning: "accesses per index array",
    domain: Domain::Integer { least: 1, most: 1 << 32, default: 1024 },
};
pub(super) const N: Parameter = Parameter {
    name: "N",
    column: "index_arrays",
    unit: Unit::None,
    meaning: "number of index arrays in one run; by default enough for the clock and for the remote accesses to even out",
    domain: Domain::Chosen { least: 1, most: 1 << 32, from: "I, L, alpha and P", choose: arrays::count },
};
const PAGES: Parameter = Parameter {
    name: "pages",
    column: "pages",
    unit: Unit::None,
    meaning: "page size requested: huge (2 MiB on x86_64) or base (4 KiB); page_bytes has the size granted",
    domain: Domain::Choice(Pages::NAMES),
};
pub(super) const SEED: Parameter = Parameter {
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
    meaning: "send handles: maximum outstanding sends per rank, separately for requests and replies: 2 SMSG in all",
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
    over a global memory of M words, rotated so that each rank accesses its own memory most often. Words are 64-bit \
    integers, not floating-point numbers: their sum is the same in any order. One sample is \
    one run of N x I accesses on every rank, from a common start until every rank has its data and no request is \
    outstanding; its time is that of the slowest rank. Before the clock starts, each rank reads the hot end of its \
    memory once, at most 64 MiB, and runs other index arrays until their time per access settles, for 8 to 25 ms. \
    Indices are drawn off the clock: on one process one array at a time, into one buffer, with the clock running over \
    each array and its own cost subtracted; on several all N arrays before, so that their 8 bytes per access are streamed \
    beside the data. In every run and on every rank, the sum of all words read was checked against the sum that the \
    drawn addresses imply. Where blocks were written, all accesses were made again afterwards in a plain loop, which had \
    to read the same sum and leave the same words.";

const OUTPUTS: &[Output] = &[
    output("rank_seconds_min", Unit::Seconds, "time until the first rank has all of its data"),
    output("rank_seconds_median", Unit::Seconds, "time until the median rank has all of its data"),
    output("rank_seconds_mean", Unit::Seconds, "mean time until a rank has all of its data"),
    output("rank_seconds_max", Unit::Seconds, "time until the last rank has all of its data"),
    output("remote_share", Unit::None, "fraction of the accesses that went to another rank's memory"),
    output("requests_served", Unit::None, "requests answered by all ranks"),
    output("requests_served_max", Unit::None, "requests answered by the busiest rank"),
    output("warm_up_accesses", Unit::None, "accesses of rank 0 before the clock, besides reading its hot memory once"),
    output(
        "drift",
        Unit::None,
        "time of the last quarter of the slowest rank's accesses relative to the first quarter, less 1; absent below \
         4 accesses",
    ),
    output(
        "steady",
        Unit::None,
        "1 if drift lies between -0.1 and 0.1, 0 if not: caches were not warm, or the machine was disturbed",
    ),
    output(
        "clock_ticks",
        Unit::None,
        "time in units of the clock's resolution; below 1,000 the clock is too coarse for the run",
    ),
    output("page_bytes", Unit::Bytes, "page size granted to rank 0; absent if mixed or unknown"),
    output("huge_share", Unit::None, "fraction of rank 0's memory on huge pages"),
];

/// The outputs of all variants, and further ones.
const fn with_outputs<const FURTHER: usize, const ALL: usize>(further: [Output; FURTHER]) -> [Output; ALL] {
    assert!(OUTPUTS.len() + FURTHER == ALL);
    let mut all = [OUTPUTS[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < OUTPUTS.len() { OUTPUTS[at] } else { further[at - OUTPUTS.len()] };
        at += 1;
    }
    all
}

/// What tells the variants apart.
pub struct Variant {
    about: &'static About,
    arrays: Arrays,
    /// Combinations that it cannot run, besides those of all variants.
    refuse: fn(&Point) -> std::result::Result<(), String>,
    /// Whether only the accesses of rank 0 count.
    rank_0_alone: bool,
    /// Blocks of L words that a rank needs besides its share of the global memory.
    buffers: fn(&Point) -> u64,
    /// As [`Kernel::rings`].
    rings: fn(&Point) -> Vec<Rings>,
    run: fn(&Point, u64, &mut World) -> Result<Outcome>,
}

impl Kernel for Variant {
    fn about(&self) -> &'static About {
        self.about
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        check(point)?;
        (self.refuse)(point)
    }

    fn work(&self, point: &Point) -> Work {
        let ranks = if self.rank_0_alone { 1 } else { point.ranks };
        let operations = ranks as f64 * point.integer("I") as f64 * point.integer("N") as f64;
        let (words, byte_definition) = access::words_asked_for(point);
        Work { operations, operation: "access", bytes: operations * words * WORD_BYTES as f64, byte_definition }
    }

    fn memory(&self, point: &Point) -> u64 {
        let drawn = if self.arrays == Arrays::AllBefore { point.integer("N") } else { 1 };
        // One more array warms up.
        let indices = point.integer("I").saturating_mul(drawn.saturating_add(1));
        let blocks = point.integer("L").saturating_mul((self.buffers)(point));
        local_words(point).saturating_add(indices).saturating_add(blocks).saturating_mul(WORD_BYTES)
    }

    fn arena_words(&self, point: &Point) -> u64 {
        local_words(point)
    }

    fn rings(&self, point: &Point) -> Vec<Rings> {
        (self.rings)(point)
    }

    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        (self.run)(point, stream, world)
    }
}

/// M/P.
fn local_words(point: &Point) -> u64 {
    point.integer("M") / point.ranks as u64
}

/// This rank's share of the global memory.
fn memory<'a>(point: &Point, rank: usize, arena: &'a mut Arena) -> Result<(&'a [u64], Granted)> {
    let pages = Pages::from_name(point.text("pages"));
    arena.words(pages, local_words(point) as usize, rank as u64, |word| contents(rank as u64, word as u64))
}

/// What a word of a rank's memory holds.
fn contents(rank: u64, word: u64) -> u64 {
    potential(rank, word + 1).wrapping_sub(potential(rank, word))
}

/// Combinations that no variant can run.
pub(super) fn check(point: &Point) -> std::result::Result<(), String> {
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
