//! The course of every run: the table is filled, the algorithm runs between two clock readings, and the result is
//! verified.
//!
//! After the run the number of updates and a hash of the table must match what the streams imply; then all updates are
//! applied again, by other means than the algorithm's, which must restore `T[i] = i`.

mod replay;
mod reports;

use super::operation::Operation;
use super::problem::{LOOK_AHEAD_LIMIT, Problem};
use super::table::Table;
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::Arena;
use crate::measure::hardware::Hardware;
use crate::measure::kernels::Outcome;
use crate::measure::numerics::mix::{mix, seed};
use crate::measure::observer;
use reports::Report;

/// What a rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Updates made to the rank's part of the table.
    pub applied: u64,
    pub messages: u64,
    /// Updates sent, each counted whenever it is sent.
    pub hops: u64,
    /// The most updates stored at once.
    pub stored: u64,
    /// Updates made in rounds beyond the look-ahead of each round; `None` of algorithms without rounds.
    pub excess: Option<u64>,
    /// Words of buffers.
    pub buffers: u64,
    /// Updates that the rank was asked to discard, and their hash.
    pub discarded: u64,
    pub discarded_hash: u64,
}

impl Tally {
    pub fn store(&mut self, updates: usize) {
        self.stored = self.stored.max(updates as u64);
    }

    /// Counts what a round made beyond its look-ahead.
    pub fn end_round(&mut self, made: usize, look_ahead: usize) {
        *self.excess.get_or_insert(0) += made.saturating_sub(look_ahead) as u64;
    }

    /// Discards an update of a word.
    #[inline]
    pub fn discard(&mut self, word: u64, value: u64) {
        self.discarded += 1;
        self.discarded_hash ^= turn(word, value);
    }
}

/// What is allowed of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether updates may get lost, 1 % of the words at most.
    pub races: bool,
    /// Whether updates may be discarded, if they are accounted for.
    pub discards: bool,
    /// Whether the algorithm itself keeps to the definition's rules.
    pub conformant: bool,
}

impl Rules {
    pub const STRICT: Rules = Rules { races: false, discards: false, conformant: true };
}

/// The timed interval. By default it lasts from the call of `pass` until it returns.
pub struct Clock<'a, C: Collectives> {
    pub(super) comm: &'a C,
    started: f64,
    stopped: Option<f64>,
}

impl<C: Collectives> Clock<'_, C> {
    /// Collective: what was done up to here does not count.
    pub fn start(&mut self) {
        observer::clock_starts();
        self.comm.barrier();
        self.started = self.comm.now();
    }

    /// What is done from here on does not count.
    pub fn stop(&mut self) {
        self.stopped = Some(self.comm.now());
        observer::clock_stops();
    }
}

/// Runs `pass` once on a table of `T[i] = i`, and verifies what it did. Collective.
pub fn measure<C: Collectives>(
    comm: &C,
    problem: &Problem,
    arena: &mut Arena,
    rules: Rules,
    pass: impl FnOnce(&mut Table) -> Tally,
) -> Result<Outcome> {
    measure_timed(comm, problem, arena, rules, |table, _| pass(table))
}

/// As [`measure`], for what has to be prepared with the table at hand.
pub fn measure_timed<C: Collectives>(
    comm: &C,
    problem: &Problem,
    arena: &mut Arena,
    rules: Rules,
    pass: impl FnOnce(&mut Table, &mut Clock<C>) -> Tally,
) -> Result<Outcome> {
    let first = problem.owners.first(problem.part);
    let contents = seed(&[u64::from_be_bytes(*b"T[i] = i"), first]);
    let (words, granted) = arena.words_mut(problem.pages, problem.own_words, contents, |place| first + place as u64)?;
    let mut table = Table::new(words, first, problem.index).with(problem.operation);

    let mut clock = Clock { comm, started: 0.0, stopped: None };
    clock.start();
    let tally = pass(&mut table, &mut clock);
    if clock.stopped.is_none() {
        clock.stop();
    }
    let seconds = clock.stopped.unwrap_or(f64::NAN) - clock.started;
    comm.barrier();

    // A rank's part of its node's memory: the sum is that of all nodes.
    let memory = Hardware::here().usable_memory_bytes().unwrap_or(0) / comm.ranks_on_node() as u64;
    let memory = comm.all_reduce_sum(memory / crate::units::WORD_BYTES);

    let found = hash(&table, first);
    let (demanded, errors) = match problem.operation {
        Operation::Xor => {
            let demanded = undo(comm, problem, &mut table);
            let errors = table.words.iter().zip(first..).filter(|&(&word, place)| word != place).count() as u64;
            if errors == 0 {
                arena.restored(problem.pages);
            }
            (demanded, errors)
        }
        // What they make of a word does not tell what it was.
        Operation::Add | Operation::And | Operation::Or => replay::replay(comm, problem, &table, first),
    };
    let report = Report {
        seconds: seconds.to_bits(),
        tally,
        demanded: demanded.updates,
        generated: problem.own_updates(),
        demanded_hash: demanded.hash,
        errors,
        words: problem.own_words as u64,
        fullest: demanded.fullest,
        hash: found,
    };
    Ok(report.gather(comm).outcome(problem, rules, granted, memory))
}

/// A map of a value that is linear over GF(2), so that the table's hash follows from the updates in any order, and
/// that differs from word to word, so that it is another one if an update goes astray.
fn turn(word: u64, value: u64) -> u64 {
    let turns = mix(word);
    value.rotate_left(turns as u32 & 63) ^ (value & turns)
}

fn hash(table: &Table, first: u64) -> u64 {
    table.words.iter().zip(first..).fold(0, |hash, (&word, place)| hash ^ turn(place, word ^ place))
}

/// What the streams demand of a rank's part of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    updates: u64,
    hash: u64,
    /// Updates among the first [`LOOK_AHEAD_LIMIT`] of one of the rank's streams that go to the same rank.
    fullest: u64,
}

/// Updates that are generated and handed over at once.
const CHUNK: usize = 1 << 14;

/// Makes all updates, every one straight from the rank that generates it to its owner, which is found by division.
fn undo<C: Collectives>(comm: &C, problem: &Problem, table: &mut Table) -> Demand {
    let ranks = problem.nodes.count * problem.nodes.cores;
    if ranks == 1 {
        return undo_alone(problem, table);
    }
    let (mut values, mut sorted, mut received) = (vec![0; CHUNK], Vec::new(), Vec::new());
    let mut demands = vec![0u64; 2 * ranks];
    let mut fullest = 0;
    for number in 0..problem.streams_per_rank() {
        let stream = problem.mine.clone().nth(number);
        let mut generator = stream.map(|stream| problem.generator(stream));
        let mut left = stream.map_or(0, |stream| problem.share(stream));
        for round in 0..problem.rounds(CHUNK) {
            let values = &mut values[..left.min(CHUNK as u64) as usize];
            left -= values.len() as u64;
            if let Some(generator) = &mut generator {
                generator.fill(values);
            }
            let owner = |value: u64| problem.nodes.rank(problem.owners.by_division(problem.index.of(value)));
            let mut tagged: Vec<(usize, u64)> = values.iter().map(|&value| (owner(value), value)).collect();
            if round == 0 {
                let first = tagged.iter().take(LOOK_AHEAD_LIMIT).map(|(owner, _)| *owner);
                fullest = fullest_of(first, ranks).max(fullest);
            }
            tagged.sort_by_key(|(owner, _)| *owner);
            let mut counts = vec![0; ranks];
            for &(owner, value) in &tagged {
                counts[owner] += 1;
                demands[2 * owner] += 1;
                demands[2 * owner + 1] ^= turn(problem.index.of(value), value);
            }
            sorted.clear();
            sorted.extend(tagged.iter().map(|(_, value)| value));
            comm.all_to_all_v(&sorted, &counts, &mut received);
            received.iter().for_each(|&value| table.update(value));
        }
    }
    comm.all_to_all_v(&demands, &vec![2; ranks], &mut received);
    let sum = |demand: Demand, pair: &[u64]| Demand {
        updates: demand.updates + pair[0],
        hash: demand.hash ^ pair[1],
        ..demand
    };
    received.chunks_exact(2).fold(Demand { fullest, ..Demand::default() }, sum)
}

/// The same where all updates stay on the rank.
fn undo_alone(problem: &Problem, table: &mut Table) -> Demand {
    let mut demand = Demand::default();
    let mut values = vec![0; CHUNK];
    for stream in problem.mine.clone() {
        let mut generator = problem.generator(stream);
        let mut left = problem.share(stream);
        while left > 0 {
            let values = &mut values[..left.min(CHUNK as u64) as usize];
            left -= values.len() as u64;
            demand.updates += values.len() as u64;
            generator.fill(values);
            for &value in values.iter() {
                demand.hash ^= turn(problem.index.of(value), value);
                table.update(value);
            }
        }
    }
    demand
}

fn fullest_of(owners: impl Iterator<Item = usize>, parts: usize) -> u64 {
    let mut counts = vec![0; parts];
    owners.for_each(|owner| counts[owner] += 1);
    counts.into_iter().max().unwrap_or(0)
}

/// Words that the verification needs besides the table.
pub(super) const WORDS: u64 = 6 * CHUNK as u64;
