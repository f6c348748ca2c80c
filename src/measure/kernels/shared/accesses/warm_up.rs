//! The untimed accesses before a run, which fill the caches as the point's own accesses do.

use super::draw::{Draws, Location};
use super::tally::TimedRank;
use super::*;

/// The number of index arrays doubles from group to group, until two consecutive groups take the same time per array. Groups grow
/// because a cache of n lines needs a number of accesses proportional to n before its hit rate settles.
#[derive(Debug)]
pub struct WarmUp {
    arrays: u64,
    previous: Option<f64>,
    spent: f64,
    most: f64,
    done: bool,
}

impl WarmUp {
    /// Times of two groups that differ by this fraction count as equal.
    pub const TOLERANCE: f64 = 0.05;
    /// Including draws. Two groups with equal times may still be part of a slow decrease.
    pub const MIN_SECONDS: f64 = 0.008;
    /// Including draws. No further group begins after it.
    pub const MAX_SECONDS: f64 = 0.025;
    /// The same after a run of the same point, whose data only the canary and the driver can have displaced.
    pub const MAX_SECONDS_AFTER_SAME: f64 = 0.001;

    pub fn after_same_point() -> Self {
        Self { most: Self::MAX_SECONDS_AFTER_SAME, ..Self::default() }
    }

    pub fn next_group(&self) -> Option<u64> {
        (!self.done).then_some(self.arrays)
    }

    /// Records a group: `seconds` is the time of its accesses, `spent` its time including draws. With `may_end`, the warm-up ends
    /// as soon as two consecutive groups are equal.
    pub fn record(&mut self, seconds: f64, spent: f64, may_end: bool) {
        let seconds_per_array = seconds / self.arrays as f64;
        self.spent += spent;
        let steady =
            self.previous.is_some_and(|previous| (seconds_per_array / previous - 1.0).abs() <= Self::TOLERANCE);
        self.done =
            self.spent >= if steady { self.most.min(Self::MIN_SECONDS) } else { self.most } || (may_end && steady);
        self.previous = Some(seconds_per_array);
        self.arrays *= 2;
    }
}

impl Default for WarmUp {
    fn default() -> Self {
        Self { arrays: 1, previous: None, spent: 0.0, most: Self::MAX_SECONDS, done: false }
    }
}

/// Words of the rank's own memory that are read first, at most: 64 MiB.
const PRIMED_WORDS: usize = 8 << 20;
/// They are read again and again for this time. Several passes are needed because a cache keeps some of its previous data for
/// several passes. If ranks share a core, one pass suffices, because no rank keeps its caches.
const PRIMING_SECONDS: f64 = 0.008;
const MAX_ARRAY_WORDS: usize = 4 << 20;

fn array_length(point: &Point) -> usize {
    let count = |key: Key<u64>| key.of(point) as usize;
    count(I).min((MAX_ARRAY_WORDS / count(L)).max(1))
}

/// Reads one word of each cache line. The hot end comes last, because caches keep the lines that were read last.
pub fn prime(comm: &impl Comm, memory: &[u64]) {
    let start = comm.wall_time();
    loop {
        // The compiler would remove reads without a result.
        black_box(memory.iter().step_by(8).rev().fold(0, |sum: u64, &word| sum.wrapping_add(word)));
        if comm.is_oversubscribed() || comm.wall_time() - start >= PRIMING_SECONDS {
            return;
        }
    }
}

/// Warms up all ranks with the same number of arrays. Returns the accesses of this rank: none if ranks are simulated, because they
/// have no caches. Collective.
pub(crate) fn run<C: Collectives>(
    comm: &C,
    point: &Point,
    mut draws: Draws,
    rank: &mut impl TimedRank,
    is_warm: bool,
) -> u64 {
    if comm.simulated_rank().is_some() {
        return 0;
    }
    let memory = rank.memory();
    if !is_warm {
        prime(comm, &memory[..memory.len().min(PRIMED_WORDS)]);
    }
    let mut array = draws.array(array_length(point));
    // Sums of ranks are whole numbers, so times are rounded to nanoseconds.
    let mean = |seconds: f64| comm.all_reduce_sum((seconds * 1e9) as u64) as f64 * 1e-9 / comm.size() as f64;
    let mut warm_up = if is_warm { WarmUp::after_same_point() } else { WarmUp::default() };
    let mut accesses = 0;
    while let Some(arrays) = warm_up.next_group() {
        let (begin, mut seconds) = (comm.wall_time(), 0.0);
        for _ in 0..arrays {
            draws.fill(&mut array);
            rank.prepare(&array);
            comm.barrier();
            let start = comm.wall_time();
            rank.pass(&array);
            seconds += comm.wall_time() - start;
        }
        accesses += arrays * array.len() as u64;
        // The means are the same on all ranks, so all ranks decide in the same way.
        let words = accesses * L.of(point);
        warm_up.record(mean(seconds), mean(comm.wall_time() - begin), words >= rank.sufficient_words());
    }
    accesses
}

/// Passes the arrays of a warm-up to `pass` again.
pub(crate) fn replay(mut draws: Draws, point: &Point, accesses: u64, pass: &mut impl FnMut(&[Location])) {
    let mut array = draws.array(array_length(point));
    for _ in 0..accesses / array.len() as u64 {
        draws.fill(&mut array);
        pass(&array);
    }
}
