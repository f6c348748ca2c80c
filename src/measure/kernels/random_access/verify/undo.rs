//! Applies all updates again by a method different from the algorithm's: each update is sent directly from its generator to the owner
//! of its word.

use super::hash::hash_updates;
use crate::comm::Collectives;
use crate::crew::Crew;
use crate::kernels::random_access::problem::{LOOK_AHEAD_LIMIT, Problem};
use crate::kernels::shared::updates::random_stream::Generator;
use crate::kernels::shared::updates::table::{Table, as_atomic_words};
use crate::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};

/// The correct results for a rank's part of the table, computed from the streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    pub updates: u64,
    pub hash: u64,
    /// Maximum number of updates that go to the same rank, among the first [`LOOK_AHEAD_LIMIT`] of one of the rank's streams.
    pub fullest: u64,
}

/// Number of updates that a rank generates and sends in one round.
pub const CHUNK: usize = 1 << 14;
/// Number of updates that a thread generates and applies at once.
const OWN_CHUNK: usize = 1 << 11;
/// Number of updates in a piece of a stream, the unit of work of a thread.
const SEGMENT: u64 = 1 << 22;
/// Distance in updates of prefetches into the first-level cache.
const NEAR: usize = 16;
/// Distance in updates of prefetches into the second-level cache.
const EARLY: usize = 128;

/// Applies all updates. Calls `note` with the fraction that is complete. Collective.
pub fn undo<C: Collectives>(comm: &C, problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    match problem.nodes.count * problem.nodes.cores {
        1 => undo_locally(problem, crew, table, note),
        ranks => undo_distributed(comm, problem, ranks, table, note),
    }
}

/// Applies all updates if there is only one rank. Threads take segments of the streams; any two threads may update the same word.
fn undo_locally(problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    let first = problem.owners.first(problem.part);
    let (words, updates, hash) = (as_atomic_words(table.words), AtomicU64::new(0), AtomicU64::new(0));
    let segments = |stream: usize| {
        let share = problem.stream_updates(stream);
        let starts = (0..share).step_by(SEGMENT as usize);
        starts.map(move |start| (stream, start, SEGMENT.min(share - start)))
    };
    let count = problem.own_streams.clone().map(|stream| problem.stream_updates(stream).div_ceil(SEGMENT)).sum::<u64>();
    let work = |(stream, start, count): (usize, u64, u64)| {
        let mut generator = problem.generator_after(stream, start);
        let part = RankPart { words, first, problem, exclusive: crew.threads() == 1 };
        hash.fetch_xor(part.undo(&mut generator, count), Ordering::Relaxed);
        updates.fetch_add(count, Ordering::Relaxed);
    };
    crew.for_each(count as usize, problem.own_streams.clone().flat_map(segments), work, note);
    Demand { updates: updates.into_inner(), hash: hash.into_inner(), fullest: 0 }
}

/// A rank's part of the table, for one of its threads.
pub struct RankPart<'a> {
    words: &'a [AtomicU64],
    first: u64,
    problem: &'a Problem,
    /// Whether no other thread applies updates.
    exclusive: bool,
}

impl<'a> RankPart<'a> {
    /// Returns the part of a rank with one thread.
    pub fn exclusive(problem: &'a Problem, table: &'a mut Table) -> Self {
        let words = as_atomic_words(table.words);
        Self { words, first: problem.owners.first(problem.part), problem, exclusive: true }
    }

    /// Applies the next `left` updates of a stream. Returns their hash.
    fn undo(&self, generator: &mut Generator, mut left: u64) -> u64 {
        let (mut values, mut hash) = ([0; OWN_CHUNK], 0);
        while left > 0 {
            let values = &mut values[..left.min(OWN_CHUNK as u64) as usize];
            left -= values.len() as u64;
            generator.fill(values);
            hash ^= hash_updates(values, self.problem.index);
            self.apply(values);
        }
        hash
    }

    fn place(&self, value: u64) -> usize {
        self.problem.index.word(value).wrapping_sub(self.first) as usize
    }

    /// Applies the updates in order. It prefetches each word some updates before it is needed.
    ///
    /// # Panics
    /// If a word is not in this part.
    pub fn apply(&self, values: &[u64]) {
        let word = |value: u64| self.words.as_ptr().wrapping_add(self.place(value)).cast();
        values.iter().take(EARLY).for_each(|&value| prefetch::prefetch_far(word(value)));
        for (number, &value) in values.iter().enumerate() {
            if let Some(&early) = values.get(number + EARLY) {
                prefetch::prefetch_far(word(early));
            }
            if let Some(&near) = values.get(number + NEAR) {
                prefetch::prefetch_near(word(near));
            }
            let word = &self.words[self.place(value)];
            if self.exclusive {
                word.store(word.load(Ordering::Relaxed) ^ value, Ordering::Relaxed);
            } else {
                word.fetch_xor(value, Ordering::Relaxed);
            }
        }
    }
}

/// Applies all updates if several ranks share a table. Every update is sent to its owner, which is computed by division.
fn undo_distributed<C: Collectives>(
    comm: &C,
    problem: &Problem,
    ranks: usize,
    table: &mut Table,
    note: impl Fn(f64),
) -> Demand {
    let part = RankPart::exclusive(problem, table);
    let (mut demands, mut fullest) = (vec![0u64; 2 * ranks], 0);
    deliver(comm, problem, ranks, |delivery| {
        fullest = delivery.fullest.max(fullest);
        for (own, demand) in delivery.sent.owner_lists().zip(demands.chunks_exact_mut(2)) {
            demand[0] += own.len() as u64;
            demand[1] ^= hash_updates(own, problem.index);
        }
        part.apply(delivery.received);
        note(delivery.share_done);
    });
    let mut received = Vec::new();
    comm.all_to_all_v(&demands, &vec![2; ranks], &mut received);
    let sum = |demand: Demand, pair: &[u64]| Demand {
        updates: demand.updates + pair[0],
        hash: demand.hash ^ pair[1],
        ..demand
    };
    received.chunks_exact(2).fold(Demand { fullest, ..Demand::default() }, sum)
}

/// One round of [`deliver`].
pub struct Delivery<'a> {
    /// The updates that this rank generated in the round.
    pub sent: &'a OwnerLists,
    /// The updates of the round whose words this rank owns, from all ranks.
    pub received: &'a [u64],
    /// The same as [`Demand::fullest`] in the first round of a stream, 0 in later rounds.
    pub fullest: u64,
    /// The fraction of all updates that is delivered, from 0 to 1.
    pub share_done: f64,
}

/// Generates all updates in rounds of [`CHUNK`] and sends each to the owner of its word, which is computed by division. Calls
/// `receive` after every round. Collective.
pub fn deliver<C: Collectives>(comm: &C, problem: &Problem, ranks: usize, mut receive: impl FnMut(&Delivery)) {
    let (mut values, mut sent, mut received) = (vec![0; CHUNK], OwnerLists::new(ranks), Vec::new());
    let (streams, rounds) = (problem.streams_per_rank(), problem.rounds(CHUNK));
    for number in 0..streams {
        let stream = problem.own_streams.clone().nth(number);
        let mut generator = stream.map(|stream| problem.generator(stream));
        let mut left = stream.map_or(0, |stream| problem.stream_updates(stream));
        for round in 0..rounds {
            let values = &mut values[..left.min(CHUNK as u64) as usize];
            left -= values.len() as u64;
            if let Some(generator) = &mut generator {
                generator.fill(values);
            }
            sent.sort(problem, values);
            match ranks {
                // Each rank has a separate table.
                1 => received.clone_from(&sent.sorted),
                _ => comm.all_to_all_v(&sent.sorted, &sent.counts, &mut received),
            }
            let fullest = if round == 0 { sent.fullest_of_first() } else { 0 };
            let share_done = (number as f64 + (round + 1) as f64 / rounds as f64) / streams as f64;
            receive(&Delivery { sent: &sent, received: &received, fullest, share_done });
        }
    }
}

/// Updates sorted by their owners.
pub struct OwnerLists {
    owners: Vec<u32>,
    counts: Vec<usize>,
    sorted: Vec<u64>,
    /// The position in `sorted` of each owner's next update.
    ends: Vec<usize>,
}

impl OwnerLists {
    pub fn new(ranks: usize) -> Self {
        Self { owners: Vec::new(), counts: vec![0; ranks], sorted: Vec::new(), ends: vec![0; ranks] }
    }

    fn sort(&mut self, problem: &Problem, values: &[u64]) {
        let owner = |value: u64| problem.nodes.rank(problem.owners.owner_by_division(problem.index.word(value)));
        self.owners.clear();
        self.owners.extend(values.iter().map(|&value| owner(value) as u32));
        self.counts.fill(0);
        self.owners.iter().for_each(|&owner| self.counts[owner as usize] += 1);
        let mut end = 0;
        for (start, count) in self.ends.iter_mut().zip(&self.counts) {
            *start = end;
            end += count;
        }
        self.sorted.resize(values.len(), 0);
        for (&owner, &value) in self.owners.iter().zip(values) {
            let end = &mut self.ends[owner as usize];
            self.sorted[*end] = value;
            *end += 1;
        }
    }

    /// Iterates over the owners and returns the updates of each.
    fn owner_lists(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.iter().zip(&self.ends).map(|(count, &end)| &self.sorted[end - count..end])
    }

    /// Returns the maximum number of the first [`LOOK_AHEAD_LIMIT`] updates that go to the same rank.
    fn fullest_of_first(&self) -> u64 {
        let mut counts = vec![0; self.counts.len()];
        self.owners.iter().take(LOOK_AHEAD_LIMIT).for_each(|&owner| counts[owner as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    }
}
