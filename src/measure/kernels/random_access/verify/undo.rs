//! All updates once more, by other means than the algorithm's: each goes straight from where it is generated to its word.

use super::hash::hash_of_updates;
use crate::comm::Collectives;
use crate::crew::Crew;
use crate::kernels::random_access::problem::{LOOK_AHEAD_LIMIT, Problem};
use crate::kernels::shared::updates::random_stream::Generator;
use crate::kernels::shared::updates::table::{Table, share};
use crate::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the streams demand of a rank's part of the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    pub updates: u64,
    pub hash: u64,
    /// Updates among the first [`LOOK_AHEAD_LIMIT`] of one of the rank's streams that go to the same rank.
    pub fullest: u64,
}

/// Updates that a rank generates and sends in one round.
pub const CHUNK: usize = 1 << 14;
/// Updates that one of several threads generates and makes at once.
const OWN_CHUNK: usize = 1 << 11;
/// Updates of a stream that a thread takes over at once.
const SEGMENT: u64 = 1 << 22;
/// Updates in front of the one that is made whose words are asked for, into the first and the second cache.
const NEAR: usize = 16;
const EARLY: usize = 128;

/// Makes all updates; `note` hears which share of them is made. Collective.
pub fn undo<C: Collectives>(comm: &C, problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    match problem.nodes.count * problem.nodes.cores {
        1 => undo_alone(problem, crew, table, note),
        ranks => undo_together(comm, problem, ranks, table, note),
    }
}

/// Where all updates stay on the rank: threads take segments of the streams, and may meet in any word.
fn undo_alone(problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    let first = problem.owners.first(problem.part);
    let (words, updates, hash) = (share(table.words), AtomicU64::new(0), AtomicU64::new(0));
    let segments = |stream: usize| {
        let share = problem.share(stream);
        let starts = (0..share).step_by(SEGMENT as usize);
        starts.map(move |start| (stream, start, SEGMENT.min(share - start)))
    };
    let count = problem.mine.clone().map(|stream| problem.share(stream).div_ceil(SEGMENT)).sum::<u64>();
    let work = |(stream, start, count): (usize, u64, u64)| {
        let mut generator = problem.generator_after(stream, start);
        let part = Part { words, first, problem, alone: crew.threads() == 1 };
        hash.fetch_xor(part.undo(&mut generator, count), Ordering::Relaxed);
        updates.fetch_add(count, Ordering::Relaxed);
    };
    crew.each(count as usize, problem.mine.clone().flat_map(segments), work, note);
    Demand { updates: updates.into_inner(), hash: hash.into_inner(), fullest: 0 }
}

/// A rank's words, as each of its threads sees them.
struct Part<'a> {
    words: &'a [AtomicU64],
    first: u64,
    problem: &'a Problem,
    /// No other thread makes updates.
    alone: bool,
}

impl Part<'_> {
    /// Makes the next updates of a stream, and returns their hash.
    fn undo(&self, generator: &mut Generator, mut left: u64) -> u64 {
        let (mut values, mut hash) = ([0; OWN_CHUNK], 0);
        while left > 0 {
            let values = &mut values[..left.min(OWN_CHUNK as u64) as usize];
            left -= values.len() as u64;
            generator.fill(values);
            hash ^= hash_of_updates(values, self.problem.index);
            self.apply(values);
        }
        hash
    }

    fn place(&self, value: u64) -> usize {
        self.problem.index.of(value).wrapping_sub(self.first) as usize
    }

    /// Updates in this order, their words asked for some time before.
    ///
    /// # Panics
    /// If a word is not in this part.
    fn apply(&self, values: &[u64]) {
        let word = |value: u64| self.words.as_ptr().wrapping_add(self.place(value)).cast();
        values.iter().take(EARLY).for_each(|&value| prefetch::early(word(value)));
        for (number, &value) in values.iter().enumerate() {
            if let Some(&early) = values.get(number + EARLY) {
                prefetch::early(word(early));
            }
            if let Some(&near) = values.get(number + NEAR) {
                prefetch::near(word(near));
            }
            let word = &self.words[self.place(value)];
            if self.alone {
                word.store(word.load(Ordering::Relaxed) ^ value, Ordering::Relaxed);
            } else {
                word.fetch_xor(value, Ordering::Relaxed);
            }
        }
    }
}

/// Where the ranks share a table: every update goes to its owner, which is found by division.
fn undo_together<C: Collectives>(
    comm: &C,
    problem: &Problem,
    ranks: usize,
    table: &mut Table,
    note: impl Fn(f64),
) -> Demand {
    let first = problem.owners.first(problem.part);
    let part = Part { words: share(table.words), first, problem, alone: true };
    let (mut demands, mut fullest) = (vec![0u64; 2 * ranks], 0);
    deliver(comm, problem, ranks, |delivery| {
        fullest = delivery.fullest.max(fullest);
        for (own, demand) in delivery.sent.each().zip(demands.chunks_exact_mut(2)) {
            demand[0] += own.len() as u64;
            demand[1] ^= hash_of_updates(own, problem.index);
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
    pub sent: &'a Lists,
    /// The updates of the round whose words this rank owns, from all ranks.
    pub received: &'a [u64],
    /// See [`Demand::fullest`]; 0 after the first round of a stream.
    pub fullest: u64,
    /// The share of all updates that is delivered, from 0 to 1.
    pub share_done: f64,
}

/// Generates all updates in rounds of [`CHUNK`] and sends each to the rank that owns its word, which is found by division. Calls `each`
/// after every round. Collective.
pub fn deliver<C: Collectives>(comm: &C, problem: &Problem, ranks: usize, mut each: impl FnMut(&Delivery)) {
    let (mut values, mut sent, mut received) = (vec![0; CHUNK], Lists::new(ranks), Vec::new());
    let (streams, rounds) = (problem.streams_per_rank(), problem.rounds(CHUNK));
    for number in 0..streams {
        let stream = problem.mine.clone().nth(number);
        let mut generator = stream.map(|stream| problem.generator(stream));
        let mut left = stream.map_or(0, |stream| problem.share(stream));
        for round in 0..rounds {
            let values = &mut values[..left.min(CHUNK as u64) as usize];
            left -= values.len() as u64;
            if let Some(generator) = &mut generator {
                generator.fill(values);
            }
            sent.sort(problem, values);
            match ranks {
                // Each rank has a table of its own.
                1 => received.clone_from(&sent.sorted),
                _ => comm.all_to_all_v(&sent.sorted, &sent.counts, &mut received),
            }
            let fullest = if round == 0 { sent.fullest_of_first() } else { 0 };
            let share_done = (number as f64 + (round + 1) as f64 / rounds as f64) / streams as f64;
            each(&Delivery { sent: &sent, received: &received, fullest, share_done });
        }
    }
}

/// Updates in the order of their owners.
pub struct Lists {
    owners: Vec<u32>,
    counts: Vec<usize>,
    sorted: Vec<u64>,
    /// Where the next update of each owner goes.
    ends: Vec<usize>,
}

impl Lists {
    fn new(ranks: usize) -> Self {
        Self { owners: Vec::new(), counts: vec![0; ranks], sorted: Vec::new(), ends: vec![0; ranks] }
    }

    fn sort(&mut self, problem: &Problem, values: &[u64]) {
        let owner = |value: u64| problem.nodes.rank(problem.owners.by_division(problem.index.of(value)));
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

    /// The updates of each owner.
    fn each(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.iter().zip(&self.ends).map(|(count, &end)| &self.sorted[end - count..end])
    }

    fn fullest_of_first(&self) -> u64 {
        let mut counts = vec![0; self.counts.len()];
        self.owners.iter().take(LOOK_AHEAD_LIMIT).for_each(|&owner| counts[owner as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    }
}
