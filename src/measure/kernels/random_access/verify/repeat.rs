//! Applies all updates again by a method different from the algorithm's: each update is sent directly from its generator to the
//! owner of its word.

use super::hash::{hash_updates, table_hash};
use super::{UNDO_END, report};
use crate::crew::Crew;
use crate::kernels::prelude::*;
use crate::kernels::random_access::problem::{LOOK_AHEAD_LIMIT, Problem};
use crate::kernels::shared::updates::random_stream::Generator;
use crate::kernels::shared::updates::round_lists::RoundLists;
use crate::kernels::shared::updates::table::{Table, as_atomic_words};
use crate::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};

/// For a rank's part of the table, computed from the streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    pub updates: u64,
    pub hash: u64,
    /// Maximum number of updates that go to the same rank, among the first [`LOOK_AHEAD_LIMIT`] of one of the rank's streams.
    pub fullest: u64,
}

impl Demand {
    fn add(&mut self, updates: &[u64], problem: &Problem) {
        self.updates += updates.len() as u64;
        self.hash ^= hash_updates(updates, problem.index);
    }
}

/// Updates that a rank generates and sends in one round. Their lists take less than a MiB.
pub const CHUNK: usize = 1 << 14;
/// Updates that all simulated ranks together send in one round, because they share one memory.
const SIMULATED_CHUNKS: usize = 1 << 21;
/// Updates that a simulated rank sends in one round, at least.
const MIN_CHUNK: usize = 64;
/// Updates that a thread generates and applies at once.
const OWN_CHUNK: usize = 1 << 11;
/// Updates in a piece of a stream, the unit of work of a thread. Jumping to its start takes far less time than its updates.
const SEGMENT: u64 = 1 << 22;
/// Distance of prefetches into the first-level cache, in updates.
const NEAR: usize = 16;
/// Distance of prefetches into the second-level cache.
const EARLY: usize = 128;

/// Applies all updates to the table again: they are xors. Calls `note` with the fraction that is complete. Collective.
pub fn undo<C: Collectives>(comm: &C, problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    if problem.nodes.ranks() == 1 {
        return undo_locally(problem, crew, table, note);
    }
    let part = RankPart::new(problem, table, true);
    deliver(comm, problem, |updates, share| {
        part.apply(updates);
        note(share);
    })
}

/// Operations other than xor cannot be undone, because the new word does not determine the old one.
pub fn replay<C: Collectives>(
    comm: &C,
    problem: &Problem,
    crew: &Crew,
    run_table: &Table,
    note: impl Fn(f64),
) -> (Demand, u64) {
    let first = problem.owners.first(problem.part);
    let mut words: Vec<u64> = (first..).take(run_table.words.len()).collect();
    let mut table = Table::new(&mut words, first, problem.index).with_operation(problem.operation);
    let demand = deliver(comm, problem, |updates, share| {
        updates.iter().for_each(|&value| table.update(value));
        note(share);
    });
    let wrong = run_table.words.iter().zip(table.words.iter()).filter(|(made, right)| made != right).count();
    (Demand { hash: table_hash(crew, &table, first, report(UNDO_END..1.0)), ..demand }, wrong as u64)
}

/// For only one rank. Threads take segments of the streams; any two threads may update the same word.
fn undo_locally(problem: &Problem, crew: &Crew, table: &mut Table, note: impl Fn(f64)) -> Demand {
    let part = RankPart::new(problem, table, crew.threads() == 1);
    let (updates, hash) = (AtomicU64::new(0), AtomicU64::new(0));
    let segments = |stream: usize| {
        let share = problem.stream_updates(stream);
        let starts = (0..share).step_by(SEGMENT as usize);
        starts.map(move |start| (stream, start, SEGMENT.min(share - start)))
    };
    let count = problem.own_streams.clone().map(|stream| problem.stream_updates(stream).div_ceil(SEGMENT)).sum::<u64>();
    let work = |(stream, start, count): (usize, u64, u64)| {
        let mut generator = problem.generator_after(stream, start);
        hash.fetch_xor(part.undo(&mut generator, count), Ordering::Relaxed);
        updates.fetch_add(count, Ordering::Relaxed);
    };
    crew.for_each(count as usize, problem.own_streams.clone().flat_map(segments), work, note);
    Demand { updates: updates.into_inner(), hash: hash.into_inner(), fullest: 0 }
}

struct RankPart<'a> {
    words: &'a [AtomicU64],
    first: u64,
    problem: &'a Problem,
    /// Whether no other thread applies updates.
    exclusive: bool,
}

impl<'a> RankPart<'a> {
    fn new(problem: &'a Problem, table: &'a mut Table, exclusive: bool) -> Self {
        let words = as_atomic_words(table.words);
        Self { words, first: problem.owners.first(problem.part), problem, exclusive }
    }

    /// Applies the next `left` updates of a stream. Returns their hash.
    fn undo(&self, generator: &mut Generator, mut left: u64) -> u64 {
        let (mut values, mut hash) = (vec![0; OWN_CHUNK], 0);
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

    /// Prefetches each word some updates before it is needed. Panics if a word is not in this part.
    fn apply(&self, values: &[u64]) {
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
            // An atomic xor takes longer than a load and a store.
            if self.exclusive {
                word.store(word.load(Ordering::Relaxed) ^ value, Ordering::Relaxed);
            } else {
                word.fetch_xor(value, Ordering::Relaxed);
            }
        }
    }
}

/// Generates all updates and sends each to the owner of its word, which is computed by division. Calls `receive` after every round
/// with the updates that this rank receives, and with the fraction of all updates that is delivered. Collective.
fn deliver<C: Collectives>(comm: &C, problem: &Problem, mut receive: impl FnMut(&[u64], f64)) -> Demand {
    let owner = |value| owner(problem, value);
    if let Some(comm) = comm.simulated_rank() {
        // Without lists of values by owner, whose memory grows with the square of the number of ranks.
        let (mut demand, chunk) = (Demand::default(), (SIMULATED_CHUNKS / comm.size()).clamp(MIN_CHUNK, CHUNK));
        let fullest = generate(problem, chunk, |values, share| {
            comm.hand_over(std::mem::take(values), owner, |updates| {
                demand.add(updates, problem);
                receive(updates, share);
            });
        });
        return Demand { fullest, ..demand };
    }
    let ranks = problem.nodes.ranks();
    let exchange = |words: &[u64], counts: &[usize], received: &mut Vec<u64>| match ranks {
        // Each rank has a separate table.
        1 => words.clone_into(received),
        _ => comm.all_to_all_v(words, counts, received),
    };
    // Generators compute the demand. An error of the exchange that is the same in the run therefore changes only the table.
    let (mut lists, mut demands) = (RoundLists::new(CHUNK, ranks), vec![Demand::default(); ranks]);
    let fullest = generate(problem, CHUNK, |values, share| {
        std::mem::swap(&mut lists.values, values);
        let size = lists.values.len();
        lists.sort(size, owner);
        let mut rest = &lists.sorted[..size];
        for (demand, &count) in demands.iter_mut().zip(&lists.counts) {
            let (own, others) = rest.split_at(count);
            demand.add(own, problem);
            rest = others;
        }
        exchange(&lists.sorted[..size], &lists.counts, &mut lists.received);
        receive(&lists.received, share);
    });
    let demands: Vec<u64> = demands.iter().flat_map(|demand| [demand.updates, demand.hash]).collect();
    exchange(&demands, &vec![2; ranks], &mut lists.received);
    let pairs = lists.received.as_chunks().0.iter();
    pairs.fold(Demand { fullest, ..Demand::default() }, |sum, &[updates, hash]| Demand {
        updates: sum.updates + updates,
        hash: sum.hash ^ hash,
        ..sum
    })
}

/// Generates the updates of this rank's streams in rounds of at most `chunk`. Calls `send` in every round with its updates and with
/// the fraction that is then sent. The number of rounds is the same on all ranks. Returns [`Demand::fullest`].
fn generate(problem: &Problem, chunk: usize, mut send: impl FnMut(&mut Vec<u64>, f64)) -> u64 {
    let (streams, rounds) = (problem.streams_per_rank(), problem.rounds(chunk));
    let (mut values, mut fullest) = (Vec::new(), 0);
    for number in 0..streams {
        // A rank with fewer streams sends nothing, but takes part in all rounds: they are collective.
        let stream = problem.own_streams.clone().nth(number);
        let mut source = stream.map(|stream| (problem.generator(stream), problem.stream_updates(stream)));
        // A copy, so that the rounds still begin at the first update.
        take_next(&mut source.clone(), LOOK_AHEAD_LIMIT, &mut values);
        fullest = fullest.max(most_frequent(values.iter().map(|&value| owner(problem, value)).collect()));
        for round in 0..rounds {
            take_next(&mut source, chunk, &mut values);
            send(&mut values, (number as f64 + (round + 1) as f64 / rounds as f64) / streams as f64);
        }
    }
    fullest
}

/// The next `most` updates of a stream, or all that are left. Ranks without a stream have none.
fn take_next(source: &mut Option<(Generator, u64)>, most: usize, values: &mut Vec<u64>) {
    let Some((generator, left)) = source else { return values.clear() };
    values.resize((*left).min(most as u64) as usize, 0);
    *left -= values.len() as u64;
    generator.fill(values);
}

fn owner(problem: &Problem, value: u64) -> usize {
    problem.nodes.rank(problem.owners.owner_by_division(problem.index.word(value)))
}

fn most_frequent(mut owners: Vec<usize>) -> u64 {
    owners.sort_unstable();
    owners.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap_or(0) as u64
}
