//! RandomAccess: the rate of updates in random order to words of a table larger than any cache (HPC Challenge definition; the
//! papers of the algorithms). Unlike in the reference implementation, starting points have a common offset, unless `offset =
//! "none"`, because without it most early updates of some ranks go to one destination. Buffers are allocated before the clock
//! starts. The table's size is a parameter, not derived from memory (the rules: 2^n words, at most half of memory).

pub mod alltoallv;
pub mod base;
pub mod exchange;
pub mod grid;
pub mod hypercube;
pub mod nodes;
pub mod one_sided;
pub mod problem;
pub mod roles;
pub mod routed;
pub mod sequential;
pub mod shared;
mod time_limited;
pub mod verify;

use crate::kernels::prelude::*;
use operation::{OPERATION, Operation};
pub use problem::Problem;
use problem::{Offset, OwnerBy, Starts};
use random_stream::{IndexBits, StreamKind};
pub use verify::{Rules, Tally, measure};

use super::shared::parameters::{HUGE_SHARE, PAGE_BYTES, PAGES, receive_buffers, seed_key, send_handles};
use super::shared::updates::{layout, operation, random_stream, table};
use crate::comm::Path;

pub const N_WORDS: Key<u64> = key(
    "N_words",
    "table size in words, over all ranks, a power of two",
    Domain::Size { min: 2, max: 1 << 60, default: 1 << 24 },
)
.in_column("table_words", Unit::Words);
const OWN_WORDS: Key<u64> = N_WORDS.with_meaning("table size in words, per rank, a power of two");
pub const UPDATES: Key<f64> = key(
    "updates",
    "updates per word of the table; the definition has 4",
    Domain::Real { exclusive_min: 0.0, max: 1e6, default: 4.0 },
)
.in_column("updates_per_word", Unit::None);
pub const TIME_BOUND: Key<u64> = key(
    "time_bound",
    "time bound per run: the number of updates is reduced to fit into it, estimated from \
     shorter runs; 0 means no bound",
    integers(0..=1 << 20, 0),
)
.in_column("time_bound_seconds", Unit::Seconds);
pub const Q: Key<u64> = key(
    "Q",
    "look-ahead: maximum number of values that a rank stores; the definition allows 1024",
    integers(1..=1 << 20, 1024),
)
.in_column("look_ahead", Unit::None);
pub const STREAM: Key<StreamKind> = choice_key(
    "stream",
    "stream: lfsr (the shift register of the definition) or lcg (a linear congruential generator)",
);
const INDEX: Key<IndexBits> = choice_key(
    "index",
    "bits of a value that form its word's index: as in the reference implementation (lfsr: lowest, lcg: \
     highest), the lowest, or the \
     highest as in the text of the definition",
)
.in_column("index_bits", Unit::None);
const STARTS: Key<Starts> = choice_key(
    "starts",
    "starting points of the streams: spaced (equally along the cycle) or reference (consecutive, as in the reference \
     implementation)",
);
const OFFSET: Key<Offset> = choice_key(
    "offset",
    "offset of all starting points: common, or none as in the reference implementation, whose first values are weak",
);
const SEED: Key<u64> = seed_key("seed: shifts the common offset; 1 leaves it unchanged");
const OWNER_BY: Key<OwnerBy> = choice_key(
    "owner_by",
    "method to compute a word's owner: shift (needs a power of two of ranks), division, prediction (multiplication and \
     correction), or the cheapest of these",
);
const B: Key<u64> = receive_buffers("receive buffers: outstanding receives per rank");
const SMSG: Key<u64> = send_handles("send handles: maximum outstanding sends per rank");
const ON_NODE: Key<Path> = choice_key(
    "within_node",
    "way between the ranks of a node over MPI: messages, memory that they share, or auto: memory if they can share it; threads always use \
     memory, simulated ranks always messages",
);

const LONGEST: Key<u64> = key(
    "message_words",
    "maximum number of updates in a message; a longer one is sent in pieces; 0 means a buffer (2 Q + 16, or what random_access.exchange \
     expects), but for messages over MPI at most eager_bytes of the card of --card, or what Open MPI sends eagerly within a node; \
     longest_message_words has the number used",
    integers(0..=1 << 21, 0),
);

/// At most; messages may be shorter ([`eager_piece_words`]).
fn piece_words(point: &Point, buffer: usize) -> usize {
    match LONGEST.of(point) as usize {
        0 => buffer,
        words => words.min(buffer),
    }
}

/// Unless the point says otherwise, a message is so short that its transport sends it without a rendezvous.
fn eager_piece_words(comm: &impl Comm, point: &Point, buffer: usize) -> usize {
    let eager = comm.eager_bytes(ON_NODE.of(point)).filter(|_| LONGEST.of(point) == 0);
    piece_words(point, buffer).min(eager.map_or(usize::MAX, |bytes| (bytes / WORD_BYTES as usize).max(1)))
}

const OUTPUTS: &[Output] = &[
    output("rank_seconds_min", Unit::Seconds, "time of the fastest rank"),
    output("rank_seconds_mean", Unit::Seconds, "mean time of the ranks"),
    output("imbalance", Unit::None, "time of the slowest rank / mean time"),
    output("messages_per_update", Unit::None, "messages sent per update"),
    output(
        "memory_share_of_messages",
        Unit::None,
        "fraction of the messages that went through memory that ranks share",
    ),
    output(
        "message_way",
        Unit::None,
        "way of updates to other ranks: through memory that ranks share, by messages, or both",
    ),
    output("longest_message_words", Unit::Words, "largest number of updates in a message"),
    output(
        "updates_prefetched",
        Unit::None,
        "updates from the first prefetch of a word to its update: 0 (no prefetch), 32 or 128; on base pages, tables \
         beyond caches get the fastest, which is timed before the run",
    ),
    output("hops_per_update", Unit::None, "mean number of times that an update is sent"),
    output("bytes_sent_per_update", Unit::Bytes, "bytes sent per update, without message headers"),
    output("stored_max", Unit::None, "maximum number of updates stored on any rank"),
    output(
        "stored_over_limit",
        Unit::None,
        "1 if a rank stored more than Q updates by chance (hypercube paper, footnote 1)",
    ),
    output(
        "excess_share",
        Unit::None,
        "fraction of the updates that exceed Q per rank and round, which the paper allows ranks to discard (footnote 1)",
    ),
    output("buffer_bytes", Unit::Bytes, "buffer memory of the rank with the largest buffers"),
    output("errors", Unit::None, "number of wrong words in the table"),
    output("error_fraction", Unit::None, "fraction of wrong words in the table"),
    output("table_hash", Unit::None, "hash of the updated table; algorithms with the same streams give the same hash"),
    output("updates_made", Unit::None, "number of updates by all ranks"),
    output("memory_share", Unit::None, "table size / memory of the nodes that hold it"),
    output("conformant", Unit::None, "1 if the run follows all rules of the definition"),
    output("rules_broken", Unit::None, "rules of the definition that the run breaks, or \"none\""),
    output(
        "fullest_destination",
        Unit::None,
        "largest number of a rank's first 1024 updates with the same destination",
    ),
    output("fullest_fair", Unit::None, "expected fullest_destination if all destinations were equally likely"),
    output("weak_starts", Unit::None, "1 if fullest_destination is far above fullest_fair"),
    output("cores_used", Unit::None, "number of threads that shared the table"),
    output("hardware_threads", Unit::None, "number of hardware threads that these threads could use"),
    PAGE_BYTES,
    HUGE_SHARE,
];

const METHOD: &str = "RandomAccess (HPC Challenge) updates the words of a table of N_words words in random order: \
    T[index(v)] = T[index(v)] xor v, for 4 values v per word (`updates`). The values come from a stream of 64-bit values; \
    every rank generates a part of it. One sample is one run of all updates, from a common start. Its time is that of the \
    slowest rank; a rank ends when it has applied every update of the words that it owns. Filling the table and allocating buffers is \
    not timed. After each run the number of updates on each rank and a hash of index and value over the table were \
    compared with those that the streams imply. All updates were then undone, each directly at its owner, which had to \
    restore T[i] = i. Runs of another operation than xor were replayed on a second table, which had to contain the same words.";

/// Per rank.
const MAX_SIMULATED_WORDS: u64 = 256;

const FAMILY: Kernel = Kernel {
    outputs: OUTPUTS,
    method: METHOD,
    bounded: Some(Bounded::Updates),
    simulation: Some(Computations::Updates { divided: Divided::AmongAll, by_roles: false }),
    family_check: check,
    work: |point| work(problem::updates(point) as f64),
    // With a time bound, the updates that were applied may be fewer than the point requests.
    work_done: |kernel, point, outputs| {
        outputs.get("updates_made").and_then(Value::as_f64).map_or_else(|| kernel.work(point), work)
    },
    arena_words: |point| N_WORDS.of(point).div_ceil(point.ranks as u64),
    verification_bytes: |kernel, point| {
        // A replay needs a second table.
        let replayed = if Operation::of(point) == Operation::Xor { 0 } else { kernel.arena_words(point) };
        replayed.saturating_add(verify::VERIFICATION_WORDS).saturating_mul(WORD_BYTES)
    },
    // Lists have twice the space of their mean length, which the system provides only when it is used.
    simulated_memory: |kernel, point| {
        let lists = (kernel.buffer_bytes)(point).min(6 * Q.of(point) * WORD_BYTES);
        kernel.arena_words(point).saturating_mul(WORD_BYTES).saturating_add(lists)
    },
    family_run: run,
    ..Kernel::DEFAULT
};

fn check(kernel: &Kernel, point: &Point) -> Result<(), Refusal> {
    let words = N_WORDS.of(point);
    if !words.is_power_of_two() {
        let (below, above) = (1u64 << words.ilog2(), words.next_power_of_two());
        return Err(refusal!(
            ["N_words"],
            "N_words = {words} is not a power of two, but the index consists of bits of the value; use \
             {below} or {above}"
        ));
    }
    if !matches!(kernel.division, Division::EachRank) && point.ranks as u64 > words {
        let ranks = point.ranks;
        return Err(refusal!(
            ["ranks", "N_words"],
            "{ranks} ranks are more than the {words} words of the table; use a larger N_words"
        ));
    }
    if problem::updates(point) == 0 {
        return Err(refusal!(
            ["updates", "N_words"],
            "updates = {} per word x {words} words rounds to zero updates; increase it",
            UPDATES.of(point)
        ));
    }
    let (kind, bits) = (STREAM.of(point), INDEX.of(point));
    if (kind, bits) == (StreamKind::Lcg, IndexBits::Lowest) {
        return Err(refusal!(
            ["index", "stream"],
            "index = \"lowest\" with stream = \"lcg\" updates the same words again and again, because the lowest n bits of \
             this stream repeat after 2^n values; use index = \"highest\", or stream = \"lfsr\""
        ));
    }
    let lowest = matches!((bits, kind), (IndexBits::Lowest, _) | (IndexBits::Reference, StreamKind::Lfsr));
    if lowest && Operation::of(point) == Operation::And {
        return Err(refusal!(
            ["operation", "index", "stream"],
            "operation = \"and\" changes no word if the lowest bits of a value are the index, because T[i] = i and v = i in \
             these bits, and cannot be verified; use index = \"highest\""
        ));
    }
    Ok(())
}

/// The number of the run is not used, because the definition's streams are the same in every run.
fn run(kernel: &Kernel, point: &Point, run: u64, world: &mut World) -> Result<Outcome> {
    let run_stored = |point: &Point, world: &mut World| match TIME_BOUND.of(point) {
        0 => (kernel.run)(point, run, world),
        seconds => time_limited::run(kernel.run, point, seconds as f64, world),
    };
    if !world.arena.is_simulated() {
        return run_stored(point, world);
    }
    let mut outcome = run_stored(&shrink(point, kernel.division.parts(point)), world)?;
    // A simulation does not show the share of a node's memory, nor whether a run would follow the rules.
    outcome.outputs.remove("memory_share");
    outcome.outputs.insert("conformant", Value::Integer(0));
    outcome.outputs.insert("rules_broken", Value::Text("simulated".into()));
    Ok(outcome)
}

/// Returns the point of simulated ranks with as many updates of a smaller table, which has `parts` parts. The contents of a table
/// take memory but no virtual time, because the driver charges the updates of the whole one.
fn shrink(point: &Point, parts: usize) -> Point {
    let words = N_WORDS.of(point);
    let stored = words.min(MAX_SIMULATED_WORDS * parts.next_power_of_two() as u64);
    // Both are powers of two, so the product of words and updates per word stays the same.
    let updates = UPDATES.of(point) * (words / stored) as f64;
    point.clone().with_parameter("N_words", stored).with_parameter("updates", updates)
}

fn work(updates: f64) -> Work {
    Work::new(updates, "update", WORD_BYTES as f64, "words updated, 8 bytes per update")
}

fn bytes(words: u64) -> u64 {
    words.saturating_mul(WORD_BYTES)
}

fn refuse_unusable_shift(point: &Point) -> Result<(), Refusal> {
    if OWNER_BY.of(point) == OwnerBy::Shift && !point.ranks.is_power_of_two() {
        return Err(refusal!(
            ["owner_by", "ranks"],
            "owner_by = \"shift\" needs a number of ranks that is a power of two, not {}; use \"division\" or \
             \"prediction\"",
            point.ranks
        ));
    }
    Ok(())
}
