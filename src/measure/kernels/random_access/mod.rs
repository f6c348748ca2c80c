//! RandomAccess: what its algorithms share (parameters, the problem, the verification, the timing).
//!
//! SOURCE: the HPC Challenge definition of RandomAccess; the papers of the algorithms.
//! PURPOSE: the rate at which words of a table larger than any cache are updated in random order.
//! WORK: `updates` x N_words updates T[index(v)] ^= v, v from a stream of 64-bit values; 8 bytes an update.
//! CHECK: the number of updates on each rank and a hash of index and value after the run; then all updates are made once
//!   more, each straight to its owner, found by division, and `T[i] = i` must be back ([`measure`]).
//! DIFFERENCES from the reference implementation: starts have a common offset, unless `offset = "none"`, as its bare
//!   starts send most of the first updates of some ranks to one destination; buffers are made before the clock starts;
//!   the table's size is asked for, not derived from memory (the rules: 2^n words, at most half of memory).

pub mod alltoallv;
pub mod base;
pub mod grid;
pub mod hypercube;
pub mod layout;
pub mod one_sided;
pub mod problem;
pub mod random_stream;
pub mod recursive_halving;
pub mod roles;
pub mod routed;
pub mod sequential;
pub mod shared;
pub mod star;
pub mod table;
mod time_limited;
pub mod verify;

pub use problem::Problem;
pub use verify::{Rules, Tally, measure};

use super::{About, Domain, Kernel, Outcome, Output, Parameter, Ranks, Work, output, parameter};
use crate::error::Result;
use crate::measure::comm::World;
use crate::measure::comm::arena::Pages;
use crate::point::{Point, Value};
use crate::source::Source;
use crate::units::{Unit, WORD_BYTES};
use std::collections::BTreeMap;

const N_WORDS: Parameter = Parameter {
    name: "N_words",
    column: "table_words",
    unit: Unit::Words,
    meaning: "table: words of all ranks together, a power of two",
    domain: Domain::Size { least: 2, most: 1 << 60, default: 1 << 24 },
};
const OWN_WORDS: Parameter = Parameter { meaning: "table: words of each rank's own, a power of two", ..N_WORDS };
const UPDATES: Parameter = parameter(
    "updates",
    "updates_per_word",
    "updates: by word of the table; the definition's are 4",
    Domain::Real { above: 0.0, most: 1e6, default: 4.0 },
);
const TIME_BOUND: Parameter = Parameter {
    name: "time_bound",
    column: "time_bound_seconds",
    unit: Unit::Seconds,
    meaning: "time bound: of a run; as many of the updates are made as shorter runs say that it has time for; 0 is none",
    domain: Domain::Integer { least: 0, most: 1 << 20, default: 0 },
};
const Q: Parameter = parameter(
    "Q",
    "look_ahead",
    "look-ahead: values generated and stored at once, a rank; the definition allows 1024",
    Domain::Integer { least: 1, most: 1 << 20, default: 1024 },
);
const STREAM: Parameter = parameter(
    "stream",
    "stream",
    "stream: shift register with the lowest bits as index (the reference's), or LCG with the highest",
    Domain::Choice(random_stream::Kind::NAMES),
);
const STARTS: Parameter = parameter(
    "starts",
    "starts",
    "starts: of the streams: equally spaced along the cycle, or one behind another as the reference implementation's",
    Domain::Choice(&["spaced", "reference"]),
);
const OFFSET: Parameter = parameter(
    "offset",
    "offset",
    "offset: of all starts: common, or none as in the reference implementation, which is weak",
    Domain::Choice(&["common", "none"]),
);
const PAGES: Parameter = parameter(
    "pages",
    "pages",
    "pages: asked for, huge (2 MiB on x86_64) or base (4 KiB); what was granted is in page_bytes",
    Domain::Choice(Pages::NAMES),
);
const SEED: Parameter = parameter(
    "seed",
    "seed",
    "seed: moves the common offset; 1 leaves it",
    Domain::Integer { least: 0, most: u64::MAX, default: 1 },
);

const OWNER_BY: Parameter = parameter(
    "owner_by",
    "owner_by",
    "owner by: shift (powers of two of ranks), division, prediction (multiplication and correction), or the cheapest",
    Domain::Choice(&["cheapest", "shift", "division", "prediction"]),
);
const B: Parameter = parameter(
    "B",
    "receive_buffers",
    "receive buffers: receives posted at once, a rank",
    Domain::Integer { least: 1, most: 1 << 16, default: 16 },
);
const SMSG: Parameter = parameter(
    "SMSG",
    "send_handles",
    "send handles: sends outstanding at once, a rank",
    Domain::Integer { least: 1, most: 1 << 16, default: 16 },
);

const OUTPUTS: &[Output] = &[
    output("rank_seconds_min", Unit::Seconds, "time of the fastest rank"),
    output("rank_seconds_mean", Unit::Seconds, "mean time of the ranks"),
    output("imbalance", Unit::None, "time of the slowest rank over the mean"),
    output("messages_per_update", Unit::None, "messages sent, an update"),
    output("hops_per_update", Unit::None, "times that an update is sent"),
    output("bytes_sent_per_update", Unit::Bytes, "bytes of updates sent, an update"),
    output("stored_max", Unit::None, "most updates stored at once on a rank"),
    output(
        "stored_over_limit",
        Unit::None,
        "1 if more updates than Q were stored by chance (hypercube paper, footnote 1)",
    ),
    output("buffer_bytes", Unit::Bytes, "memory of buffers, on the rank with most"),
    output("errors", Unit::None, "wrong words of the table"),
    output("error_fraction", Unit::None, "wrong words of the table, as a share"),
    output("table_hash", Unit::None, "hash of the updated table: algorithms with the same streams give the same"),
    output("updates_made", Unit::None, "updates of all ranks"),
    output("memory_share", Unit::None, "table, as a share of the memory of its nodes"),
    output("conformant", Unit::None, "1 if the run keeps to all rules of the definition"),
    output("rules_broken", Unit::None, "rules of the definition that the run does not keep to, or none"),
    output("fullest_destination", Unit::None, "most of the first 1024 updates of a rank that go to one rank"),
    output("fullest_fair", Unit::None, "about what the fullest destination would get if all were as likely"),
    output("weak_starts", Unit::None, "1 if the fullest destination gets far more than that"),
    output("cores_used", Unit::None, "threads that shared the table"),
    output("processors", Unit::None, "processors that they could use"),
    output("page_bytes", Unit::Bytes, "pages granted to rank 0; absent if mixed or unknown"),
    output("huge_share", Unit::None, "share of rank 0's memory on huge pages"),
];

const HEADLINE: &str = "operations_per_second";
const METHOD: &str = "RandomAccess (HPC Challenge) updates the words of a table of N_words words in random order: \
    T[index(v)] = T[index(v)] xor v, for 4 values v a word (`updates`) from a stream of 64-bit values of which every rank \
    generates a part. One sample is one run of all updates, from a common start; its time is that of the slowest rank, \
    which has then made every update of its own words. Filling the table and making buffers is not on the clock. After \
    each run the number of updates of each rank and a hash of index and value over the table were compared with what the \
    streams demand, and all updates were undone, each straight at its owner, which had to give back T[i] = i.";

/// How ranks divide a table.
pub enum Division {
    /// Each has one of its own.
    None,
    OverRanks,
    /// Over so many of them.
    Over(fn(&Point) -> usize),
}

impl Division {
    /// Parts of a table.
    fn parts(&self, point: &Point) -> usize {
        match self {
            Division::None => 1,
            Division::OverRanks => point.ranks,
            Division::Over(parts) => parts(point),
        }
    }
}

/// An algorithm of RandomAccess: a kernel, but for what all of them share.
pub struct Algorithm {
    pub about: &'static About,
    pub table: Division,
    /// Points that this algorithm cannot run, besides those that none can.
    pub refuse: fn(&Point) -> std::result::Result<(), String>,
    /// Words of buffers, a rank.
    pub buffers: fn(&Point) -> u64,
    pub run: fn(&Point, &mut World) -> Result<Outcome>,
}

impl Kernel for Algorithm {
    fn about(&self) -> &'static About {
        self.about
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        let words = point.integer("N_words");
        if !words.is_power_of_two() {
            let (below, above) = (1u64 << words.ilog2(), words.next_power_of_two());
            return Err(format!(
                "N_words = {words} is not a power of two, but bits of a value are its index; use {below} or {above}"
            ));
        }
        if !matches!(self.table, Division::None) && point.ranks as u64 > words {
            let ranks = point.ranks;
            return Err(format!("{ranks} ranks are more than the {words} words of the table; use a larger N_words"));
        }
        if problem::updates(point) == 0 {
            return Err(format!("updates = {} of {words} words is none at all; use more", point.real("updates")));
        }
        (self.refuse)(point)
    }

    fn work(&self, point: &Point) -> Work {
        let tables = if matches!(self.table, Division::None) { point.ranks as u64 } else { 1 };
        work((problem::updates(point) * tables) as f64)
    }

    /// A bound of the time may leave fewer updates than asked for.
    fn done(&self, point: &Point, outputs: &BTreeMap<String, Value>) -> Work {
        outputs.get("updates_made").and_then(Value::as_f64).map_or_else(|| self.work(point), work)
    }

    fn memory(&self, point: &Point) -> u64 {
        let words = self.arena_words(point).saturating_add((self.buffers)(point));
        words.saturating_add(verify::WORDS).saturating_mul(WORD_BYTES)
    }

    fn arena_words(&self, point: &Point) -> u64 {
        point.integer("N_words").div_ceil(self.table.parts(point) as u64)
    }

    /// The streams are the definition's, the same in every run: the number of the run changes nothing.
    fn run(&self, point: &Point, _run: u64, world: &mut World) -> Result<Outcome> {
        match point.integer("time_bound") {
            0 => (self.run)(point, world),
            seconds => time_limited::run(self.run, point, seconds as f64, world),
        }
    }
}

fn work(updates: f64) -> Work {
    Work {
        operations: updates,
        operation: "update",
        bytes: updates * WORD_BYTES as f64,
        byte_definition: "words updated, 8 bytes an update",
    }
}

/// What an algorithm is; the rest is the same for all.
const fn about(
    id: &'static str,
    summary: &'static str,
    source: &'static Source,
    place: &'static str,
    ranks: Ranks,
    parameters: &'static [Parameter],
) -> About {
    About { id, summary, source, place, parameters, outputs: OUTPUTS, ranks, headline: HEADLINE, method: METHOD }
}

/// Nothing more to refuse.
fn anything(_: &Point) -> std::result::Result<(), String> {
    Ok(())
}

fn owner_can_be_found(point: &Point) -> std::result::Result<(), String> {
    if point.text("owner_by") == "shift" && !point.ranks.is_power_of_two() {
        return Err(format!(
            "owner_by = \"shift\" needs a power of two of ranks, not {}; use \"division\" or \"prediction\"",
            point.ranks
        ));
    }
    Ok(())
}
