//! What is run before the clock: until the caches hold what the point keeps in them.

use super::draw::{Draws, Location};
use super::tally::Accesses;
use crate::comm::{Collectives, Comm};
use apexmap_base::point::Point;
use std::hint::black_box;

/// Groups of index arrays, each twice as long as the one before, until one takes as long per array as the one before: a
/// cache that holds n lines needs accesses in proportion to n before its hits settle.
#[derive(Debug)]
pub struct WarmUp {
    arrays: u64,
    before: Option<f64>,
    spent: f64,
    done: bool,
}

impl WarmUp {
    /// Two groups are alike if they differ by at most this fraction.
    pub const ALIKE: f64 = 0.05;
    /// Time for which arrays are run at least, draws included: groups that are alike may still be part of a slow descent.
    pub const LEAST: f64 = 0.008;
    /// No further group begins after this time, draws included: seconds.
    pub const BUDGET: f64 = 0.025;

    /// Arrays of the next group; `None` at the end.
    pub fn next_group(&self) -> Option<u64> {
        (!self.done).then_some(self.arrays)
    }

    /// Takes note of a group: seconds that its accesses took, and seconds spent in all. With `enough` no group follows one that
    /// was as the one before.
    pub fn note(&mut self, seconds: f64, spent: f64, enough: bool) {
        let each = seconds / self.arrays as f64;
        self.spent += spent;
        let alike = self.before.is_some_and(|before| (each / before - 1.0).abs() <= Self::ALIKE);
        self.done = self.spent >= if alike { Self::LEAST } else { Self::BUDGET } || (enough && alike);
        self.before = Some(each);
        self.arrays *= 2;
    }
}

impl Default for WarmUp {
    fn default() -> Self {
        Self { arrays: 1, before: None, spent: 0.0, done: false }
    }
}

/// Words of the rank's own memory that are read first, at most: 64 MiB.
const PRIMED: usize = 8 << 20;
/// For so long they are read, in seconds, and once at least: a cache that held other data keeps some of them for several passes.
/// Where ranks take turns on a core, once: no rank keeps its caches.
const PRIMING: f64 = 0.008;
/// Words that an index array of the warm-up reads, at most.
const ARRAY_WORDS: usize = 4 << 20;

/// Accesses of an index array of the warm-up.
fn array_length(point: &Point) -> usize {
    let count = |name| point.integer(name) as usize;
    count("I").min((ARRAY_WORDS / count("L")).max(1))
}

/// Into the caches what fits there: one word of each line, the hot end last, as caches keep what was read last.
pub fn prime(comm: &impl Comm, memory: &[u64]) {
    let start = comm.now();
    loop {
        black_box(memory.iter().step_by(8).rev().fold(0, |sum: u64, &word| sum.wrapping_add(word)));
        if comm.oversubscribed() || comm.now() - start >= PRIMING {
            return;
        }
    }
}

/// Warms up, on all ranks alike, and returns the accesses of this rank.
pub(in crate::kernels) fn run<C: Collectives>(
    comm: &C,
    point: &Point,
    mut draws: Draws,
    rank: &mut impl Accesses,
) -> u64 {
    let memory = rank.memory();
    prime(comm, &memory[..memory.len().min(PRIMED)]);
    let mut array = draws.array(array_length(point));
    let mean = |seconds: f64| comm.all_reduce_sum((seconds * 1e9) as u64) as f64 * 1e-9 / comm.size() as f64;
    let (mut warm_up, mut accesses) = (WarmUp::default(), 0);
    while let Some(arrays) = warm_up.next_group() {
        let (begin, mut seconds) = (comm.now(), 0.0);
        for _ in 0..arrays {
            draws.fill(&mut array);
            rank.prepare(&array);
            comm.barrier();
            let start = comm.now();
            rank.pass(&array);
            seconds += comm.now() - start;
        }
        accesses += arrays * array.len() as u64;
        // The means are the same on all ranks, and so is what follows from them.
        let words = accesses * point.integer("L");
        warm_up.note(mean(seconds), mean(comm.now() - begin), words >= rank.enough_words());
    }
    accesses
}

/// The arrays of a warm-up of `accesses` again.
pub(in crate::kernels) fn replay(mut draws: Draws, point: &Point, accesses: u64, pass: &mut impl FnMut(&[Location])) {
    let mut array = draws.array(array_length(point));
    for _ in 0..accesses / array.len() as u64 {
        draws.fill(&mut array);
        pass(&array);
    }
}
