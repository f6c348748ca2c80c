//! The course of every run: the table is filled, the algorithm runs between two clock readings, and the result is
//! verified.
//!
//! After the run the number of updates and a hash of the table must match what the streams imply; then all updates are
//! applied again, by other means than the algorithm's, which must restore `T[i] = i`.

use super::problem::{LOOK_AHEAD_LIMIT, Problem};
use super::table::Table;
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::{Arena, Granted};
use crate::measure::hardware::Hardware;
use crate::measure::kernels::Outcome;
use crate::measure::numerics::mix::{mix, seed};
use crate::measure::observer;
use crate::point::Value;
use std::collections::BTreeMap;

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
    /// Words of buffers.
    pub buffers: u64,
}

impl Tally {
    pub fn store(&mut self, updates: usize) {
        self.stored = self.stored.max(updates as u64);
    }
}

/// What is allowed of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether updates may get lost, 1 % of the words at most.
    pub races: bool,
    /// Whether the algorithm itself keeps to the definition's rules.
    pub conformant: bool,
}

impl Rules {
    pub const STRICT: Rules = Rules { races: false, conformant: true };
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
    let mut table = Table::new(words, first, problem.index);

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
    let demanded = undo(comm, problem, &mut table);
    let errors = table.words.iter().zip(first..).filter(|&(&word, place)| word != place).count() as u64;
    if errors == 0 {
        arena.restored(problem.pages);
    }
    let report = Report {
        seconds: seconds.to_bits(),
        tally,
        demanded: demanded.updates,
        generated: problem.own_updates(),
        unlike: u64::from(found != demanded.hash),
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
    let mut generator = (!problem.mine.is_empty()).then(|| problem.own_generator());
    let mut left = problem.own_updates();
    let (mut values, mut sorted, mut received) = (vec![0; CHUNK], Vec::new(), Vec::new());
    let mut demands = vec![0u64; 2 * ranks];
    let mut fullest = 0;
    for round in 0..problem.rounds(CHUNK) {
        let values = &mut values[..left.min(CHUNK as u64) as usize];
        left -= values.len() as u64;
        if let Some(generator) = &mut generator {
            generator.fill(values);
        }
        let owner = |value: u64| problem.nodes.rank(problem.owners.by_division(problem.index.of(value)));
        let mut tagged: Vec<(usize, u64)> = values.iter().map(|&value| (owner(value), value)).collect();
        if round == 0 {
            fullest = fullest_of(tagged.iter().take(LOOK_AHEAD_LIMIT).map(|(owner, _)| *owner), ranks);
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

/// What the fullest of `parts` destinations of the first updates of any of `parts` ranks gets if all destinations are as
/// likely: mean, plus the tail of a Poisson distribution that one of parts^2 draws reaches (leading terms).
fn fair_fullest(updates: f64, parts: f64) -> f64 {
    if parts == 1.0 {
        return updates;
    }
    let (mean, tail) = (updates / parts, 2.0 * parts.ln());
    mean + (2.0 * mean * tail).sqrt() + tail / 3.0
}

/// A rank's account.
#[derive(Clone, Copy)]
struct Report {
    seconds: u64,
    tally: Tally,
    demanded: u64,
    generated: u64,
    unlike: u64,
    errors: u64,
    words: u64,
    fullest: u64,
    hash: u64,
}

impl Report {
    fn gather<C: Collectives>(&self, comm: &C) -> Reports {
        let Tally { applied, messages, hops, stored, buffers } = self.tally;
        let row = [
            self.seconds,
            applied,
            messages,
            hops,
            stored,
            buffers,
            self.demanded,
            self.generated,
            self.unlike,
            self.errors,
            self.words,
            self.fullest,
            self.hash,
        ];
        let all = comm.gather(&row).unwrap_or_else(|| row.to_vec());
        let read = |row: &[u64]| Report {
            seconds: row[0],
            tally: Tally { applied: row[1], messages: row[2], hops: row[3], stored: row[4], buffers: row[5] },
            demanded: row[6],
            generated: row[7],
            unlike: row[8],
            errors: row[9],
            words: row[10],
            fullest: row[11],
            hash: row[12],
        };
        Reports(all.chunks_exact(row.len()).map(read).collect())
    }
}

/// All ranks' accounts.
struct Reports(Vec<Report>);

impl Reports {
    fn sum(&self, of: impl Fn(&Report) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    fn most(&self, of: impl Fn(&Report) -> u64) -> u64 {
        self.0.iter().map(of).max().unwrap_or(0)
    }

    /// `memory` in words, of all nodes.
    fn outcome(&self, problem: &Problem, rules: Rules, granted: Granted, memory: u64) -> Outcome {
        let mut seconds: Vec<f64> = self.0.iter().map(|rank| f64::from_bits(rank.seconds)).collect();
        seconds.sort_by(f64::total_cmp);
        let slowest = seconds[seconds.len() - 1];
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let (errors, generated) = (self.sum(|rank| rank.errors), self.sum(|rank| rank.generated));
        let error_fraction = errors as f64 / self.sum(|rank| rank.words) as f64;
        let an_update = |count: u64| Value::Real(count as f64 / generated.max(1) as f64);
        let hops = self.sum(|rank| rank.tally.hops);
        let stored = self.most(|rank| rank.tally.stored);
        let flag = |set: bool| Value::Integer(u64::from(set));
        let memory_share = self.sum(|rank| rank.words) as f64 / memory as f64;
        let mut broken = problem.rules_broken();
        let others = [
            (rules.conformant, "algorithm"),
            (error_fraction <= MOST_ERRORS, "errors"),
            // The largest power of two that fits into half of the memory.
            (0.25 < memory_share && memory_share <= 0.5, "table size"),
        ];
        broken.extend(others.into_iter().filter(|(kept, _)| !kept).map(|(_, rule)| rule));
        let mut outputs = BTreeMap::from([
            ("rank_seconds_min", Value::Real(seconds[0])),
            ("rank_seconds_mean", Value::Real(mean)),
            ("imbalance", Value::Real(if mean > 0.0 { slowest / mean } else { 1.0 })),
            ("messages_per_update", an_update(self.sum(|rank| rank.tally.messages))),
            ("hops_per_update", an_update(hops)),
            ("bytes_sent_per_update", an_update(hops * crate::units::WORD_BYTES)),
            ("stored_max", Value::Integer(stored)),
            ("stored_over_limit", flag(stored > problem.look_ahead as u64)),
            ("buffer_bytes", Value::Integer(self.most(|rank| rank.tally.buffers) * crate::units::WORD_BYTES)),
            ("errors", Value::Integer(errors)),
            ("error_fraction", Value::Real(error_fraction)),
            ("table_hash", Value::Text(format!("{:016x}", self.0.iter().fold(0, |hash, rank| hash ^ rank.hash)))),
            ("updates_made", Value::Integer(generated)),
            ("memory_share", Value::Real(memory_share)),
            ("conformant", flag(broken.is_empty())),
            ("rules_broken", Value::Text(if broken.is_empty() { "none".into() } else { broken.join(", ") })),
        ]);
        outputs.extend(self.skew(problem));
        outputs.extend(granted.page_bytes.map(|bytes| ("page_bytes", Value::Integer(bytes))));
        outputs.extend(granted.huge_share.map(|share| ("huge_share", Value::Real(share))));
        Outcome { seconds: slowest, outputs, verdict: self.verdict(rules, error_fraction) }
    }

    /// How far the first updates are from going to all ranks alike.
    fn skew(&self, problem: &Problem) -> Vec<(&'static str, Value)> {
        let parts = problem.owners.parts();
        if parts == 1 {
            return Vec::new();
        }
        let counted = problem.share(0).min(LOOK_AHEAD_LIMIT as u64) as f64;
        let (fullest, fair) = (self.most(|rank| rank.fullest), fair_fullest(counted, parts as f64));
        // Successive values are shifts of one another, so that even good starts are less even than fair draws.
        let weak = fullest as f64 > fair + 8.0 * fair.sqrt();
        vec![
            ("fullest_destination", Value::Integer(fullest)),
            ("fullest_fair", Value::Real(fair)),
            ("weak_starts", Value::Integer(u64::from(weak))),
        ]
    }

    fn verdict(&self, rules: Rules, error_fraction: f64) -> std::result::Result<(), String> {
        let ranks = self.0.len();
        let (applied, generated) = (self.sum(|rank| rank.tally.applied), self.sum(|rank| rank.generated));
        if applied != generated {
            return Err(format!("{applied} updates were applied instead of {generated}"));
        }
        if let Some(rank) = self.0.iter().position(|rank| rank.tally.applied != rank.demanded) {
            let Report { tally, demanded, .. } = self.0[rank];
            return Err(format!("rank {rank} applied {} updates, but {demanded} belong to it", tally.applied));
        }
        if rules.races {
            return match error_fraction {
                share if share <= MOST_ERRORS => Ok(()),
                share => Err(format!("{:.3} % of the words are wrong; the maximum is 1 %", 100.0 * share)),
            };
        }
        match (self.sum(|rank| rank.unlike), self.sum(|rank| rank.errors)) {
            (0, 0) => Ok(()),
            (0, errors) => Err(format!("{errors} words of the table are wrong")),
            (unlike, errors) => Err(format!(
                "the hash of the table is wrong on {unlike} of {ranks} ranks, and {errors} of its words are wrong"
            )),
        }
    }
}

/// The definition: at most 1 %; of the table's words, as the reference implementation counts them.
const MOST_ERRORS: f64 = 0.01;

/// Words that the verification needs besides the table.
pub(super) const WORDS: u64 = 6 * CHUNK as u64;
