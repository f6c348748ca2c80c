//! The accesses of Apex-Map and their verification, and the two protocols for remote blocks (Strohmaier and Shan, Sections 2 and
//! 2.1, Table 1). The memory holds differences of a mixing function. The sum of a block therefore follows from the block's two
//! ends, without reading memory.

pub mod arrays;
pub mod draw;
pub mod one_sided;
pub mod tally;
pub mod timing;
pub mod two_sided;
pub mod warm_up;

use crate::kernels::prelude::*;
pub(crate) use crate::kernels::shared::parameters::PAGES;
use crate::kernels::shared::parameters::{HUGE_SHARE, PAGE_BYTES, receive_buffers, seed_key, send_handles};
use apexmap_base::units::size_of_words;
use draw::{Location, potential};

pub const M: Key<u64> = key(
    "M",
    "global memory, evenly distributed across the ranks",
    Domain::Global { min: 1, max: 1 << 60, default: 64 << 20 },
)
.in_column("memory_words", Unit::Words);
pub const ALPHA: Key<f64> = key(
    "alpha",
    "temporal locality: shape of the power law of the addresses; 1 is uniform, smaller is more local",
    Domain::Real { exclusive_min: 0.0, max: 1.0, default: 1.0 },
);
pub const L: Key<u64> = key("L", "spatial locality: consecutive words per access", integers(1..=1 << 30, 1))
    .in_column("block_words", Unit::Words);
pub const I: Key<u64> =
    key("I", "accesses per index array", integers(1..=1 << 32, 1024)).in_column("indices", Unit::None);
pub static N: Key<u64> = key(
    "N",
    "number of index arrays in one run; the default is large enough for the clock and for \
     remote accesses to average out",
    chosen(1..=1 << 32, "I, L, alpha and P", arrays::count),
)
.in_column("index_arrays", Unit::None);
pub const SEED: Key<u64> = seed_key("seed of the random addresses");
pub const B: Key<u64> = receive_buffers("receive buffers: maximum outstanding remote accesses per rank");
pub const SMSG: Key<u64> = send_handles(
    "send handles: maximum outstanding sends per rank, separately for requests and replies: 2 SMSG in total",
);
pub const NSER: Key<u64> = key(
    "NSER",
    "serve limit: maximum requests of other ranks answered after each own access",
    integers(1..=1 << 16, 16),
)
.in_column("serve_limit", Unit::None);

/// The z-axis of the paper's figures: "the achieved bandwidth per processes" (Section 3.3).
pub(crate) const HEADLINE: &str = "bytes_per_second_per_rank";

pub(crate) const OUTPUTS: &[Output] = &[
    output("rank_seconds_min", Unit::Seconds, "time until the first rank has all of its data"),
    output("rank_seconds_median", Unit::Seconds, "time until the median rank has all of its data"),
    output("rank_seconds_mean", Unit::Seconds, "mean time until a rank has all of its data"),
    output("rank_seconds_max", Unit::Seconds, "time until the last rank has all of its data"),
    output("remote_share", Unit::None, "fraction of the accesses that went to another rank's memory"),
    output("requests_served", Unit::None, "requests answered by all ranks"),
    output("requests_served_max", Unit::None, "requests answered by the busiest rank"),
    output(
        "warm_up_accesses",
        Unit::None,
        "accesses of rank 0 in the warm-up, not counting the initial reads of its hot memory",
    ),
    output(
        "drift",
        Unit::None,
        "time of the last quarter of the slowest rank's accesses relative to the first quarter, minus 1; absent below \
         4 accesses",
    ),
    output(
        "steady",
        Unit::None,
        "1 if drift is between -0.1 and 0.1; 0 if not, because caches were not warm or the machine was disturbed",
    ),
    output(
        "clock_ticks",
        Unit::None,
        "time in units of the clock's resolution; below 1,000 the clock is too coarse for the run",
    ),
    PAGE_BYTES,
    HUGE_SHARE,
];

/// M/P.
pub(crate) fn local_words(point: &Point) -> u64 {
    M.of(point) / point.ranks as u64
}

/// If a block is not longer.
const SIMULATED_WORDS: u64 = 1 << 10;

/// Returns the words that a simulated rank stores. Its memory repeats them, because contents take memory but no virtual time: the
/// driver charges the reads of the whole memory. They are whole blocks, so that no block straddles two repetitions.
pub(crate) fn simulated_words(point: &Point) -> u64 {
    let block = L.of(point);
    local_words(point).min((SIMULATED_WORDS / block).max(1) * block)
}

/// Returns the words in addition to the share of the global memory, with one index array for the warm-up.
pub(crate) fn buffer_words(point: &Point, drawn: u64, blocks: u64) -> u64 {
    let indices = I.of(point).saturating_mul(drawn.saturating_add(1));
    indices.saturating_add(L.of(point).saturating_mul(blocks))
}

pub(crate) fn memory<'a>(point: &Point, rank: usize, arena: &'a mut Arena) -> Result<(&'a [u64], GrantedPages)> {
    let pages = PAGES.of(point);
    let words = if arena.is_simulated() { simulated_words(point) } else { local_words(point) };
    let is_warm = arena.repeats_point;
    let (memory, granted) =
        arena.words(pages, words as usize, rank as u64, |word| contents(rank as u64, word as u64))?;
    Ok((memory, GrantedPages { is_warm, ..granted }))
}

pub(crate) fn contents(rank: u64, word: u64) -> u64 {
    potential(rank, word + 1).wrapping_sub(potential(rank, word))
}

pub(crate) fn check(point: &Point) -> Result<(), Refusal> {
    let (memory, block, ranks) = (M.of(point), L.of(point), point.ranks as u64);
    if memory % ranks != 0 {
        return Err(refusal!(
            ["M", "ranks"],
            "M = {} ({memory} words) cannot be divided evenly among {ranks} ranks; use a multiple of {ranks} words",
            size_of_words(memory)
        ));
    }
    let local = memory / ranks;
    if block > local {
        return Err(refusal!(
            ["L", "M", "ranks"],
            "L = {block} words is more than the memory per rank, M/P = {} ({local} words); L must be at most M/P",
            size_of_words(local)
        ));
    }
    if local % block != 0 {
        return Err(refusal!(
            ["L", "M", "ranks"],
            "the memory per rank, M/P = {} ({local} words), is not a multiple of L = {block} words; a block must not \
             straddle two ranks",
            size_of_words(local)
        ));
    }
    // `Location` has 40 bits for the word and 24 for the distance.
    if local > 1 << Location::OFFSET_BITS || ranks > 1 << 24 {
        let [size, most] = [local, 1 << Location::OFFSET_BITS].map(size_of_words);
        return Err(refusal!(
            ["M", "ranks"],
            "M/P = {size} on {ranks} ranks: the maximum is {most} per rank and 2^24 ranks"
        ));
    }
    if I.of(point).checked_mul(N.of(point)).is_none_or(|accesses| accesses > 1 << 36) {
        return Err(refusal!(["I", "N"], "I x N is more than 2^36 accesses per run"));
    }
    Ok(())
}
