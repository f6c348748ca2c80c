//! Measures a run and verifies it. The number of updates and a hash of the table must match those that the streams imply. Then all
//! updates are applied again by a different method, which must restore `T[i] = i`.

mod hash;
mod repeat;
mod reports;

use super::operation::Operation;
use super::problem::Problem;
use super::table::{Prefetches, Table};
use super::*;
use crate::comm::Path;
use crate::crew::Crew;
use crate::hardware::Hardware;
use crate::{observer, progress};
use apexmap_base::sample::Phase;
use hash::{table_hash, update_hash, wrong_words};
use repeat::{replay, undo};
use reports::Report;
use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// To the rank's part of the table.
    pub applied: u64,
    pub messages: u64,
    /// Messages through memory that ranks share; `None` for algorithms without a choice.
    pub in_memory: Option<u64>,
    /// An update counts each time it is sent.
    pub hops: u64,
    /// Maximum number of updates stored at the same time.
    pub stored: u64,
    /// Sum over rounds of the updates that exceed the look-ahead; `None` for algorithms without rounds.
    pub excess: Option<u64>,
    pub buffer_bytes: u64,
    /// As the point requests.
    pub discarded: u64,
    pub discarded_hash: u64,
}

impl Tally {
    #[inline]
    pub fn count_message(&mut self, updates: usize, path: Path) {
        self.messages += 1;
        *self.in_memory.get_or_insert(0) += u64::from(path == Path::Memory);
        self.hops += updates as u64;
    }

    pub fn store(&mut self, updates: usize) {
        self.stored = self.stored.max(updates as u64);
    }

    /// Counts the updates of a round that exceed its look-ahead.
    pub fn end_round(&mut self, made: usize, look_ahead: usize) {
        *self.excess.get_or_insert(0) += made.saturating_sub(look_ahead) as u64;
    }

    #[inline]
    pub fn discard(&mut self, word: u64, value: u64) {
        self.discarded += 1;
        self.discarded_hash ^= update_hash(word, value);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// At most 1 % of the words are wrong.
    pub races: bool,
    /// If they are counted and hashed.
    pub discards: bool,
    /// Whether the algorithm itself follows the rules of the definition.
    pub conformant: bool,
}

impl Rules {
    pub const STRICT: Rules = Rules { races: false, discards: false, conformant: true };
}

/// The timed interval. It lasts from the call of `pass` until its return, unless `pass` starts or stops the clock itself.
pub struct Clock<'a, C: Collectives> {
    pub(super) comm: &'a C,
    started: f64,
    stopped: Option<f64>,
}

impl<C: Collectives> Clock<'_, C> {
    /// Starts the interval, or starts it again. Collective.
    pub fn start(&mut self) {
        observer::clock_starts();
        self.comm.barrier();
        self.started = self.comm.wall_time();
    }

    pub fn stop(&mut self) {
        self.stopped = Some(self.comm.wall_time());
        observer::clock_stops();
    }
}

/// Runs `pass` once on a table of `T[i] = i`, and verifies the result. Collective.
pub fn measure<C: Collectives>(
    comm: &C,
    problem: &Problem,
    arena: &mut Arena,
    rules: Rules,
    pass: impl FnOnce(&mut Table) -> Tally,
) -> Result<Outcome> {
    measure_timed(comm, problem, arena, rules, |table, _| pass(table))
}

/// For algorithms that prepare something with the table before the clock starts. Collective.
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
    let mut table = Table::new(words, first, problem.index).with_operation(problem.operation);
    table.prefetches = choose_prefetches(comm, problem, &mut table);
    let prefetches = table.prefetches;

    progress::clock_starts();
    let mut clock = Clock { comm, started: 0.0, stopped: None };
    clock.start();
    let tally = pass(&mut table, &mut clock);
    if clock.stopped.is_none() {
        clock.stop();
    }
    let seconds = clock.stopped.unwrap_or(f64::NAN) - clock.started;
    comm.barrier();

    // Each rank contributes its part of its node's memory, so the sum is the memory of all nodes.
    let memory = Hardware::this_machine().usable_memory_bytes().unwrap_or(0) / comm.ranks_on_node() as u64;
    let memory = comm.all_reduce_sum(memory / WORD_BYTES);

    // The clock has stopped on all ranks, so helper threads disturb no rank.
    let crew = if comm.simulated_rank().is_some() { Crew::default() } else { Crew::new(comm.ranks_on_node()) };
    let run_hash = table_hash(&crew, &table, first, report(0.0..UNDO_START));
    let repeating = report(UNDO_START..UNDO_END);
    let (demanded, errors) = match problem.operation {
        Operation::Xor => {
            let demanded = undo(comm, problem, &crew, &mut table, repeating);
            let errors = wrong_words(&crew, &table, first, report(UNDO_END..1.0));
            // The table has its first contents again, so the next run need not fill it.
            if errors == 0 {
                arena.mark_restored(problem.pages);
            }
            (demanded, errors)
        }
        Operation::Add | Operation::And | Operation::Or => replay(comm, problem, &crew, &table, repeating),
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
        hash: run_hash,
    };
    let mut outcome = report.gather(comm).outcome(problem, rules, granted, memory);
    outcome.outputs.insert("updates_prefetched", Value::Integer(prefetches.distance() as u64));
    Ok(outcome)
}

/// Prefetches make some processors slower on base pages: there, all ranks time the loops unless their parts of the table are in caches. On
/// huge pages so short a time chose a loop with 0.6 times the updates per second (Zen 5, 2^24 words).
fn choose_prefetches<C: Collectives>(comm: &C, problem: &Problem, table: &mut Table) -> Prefetches {
    if problem.pages != Pages::Base || comm.simulated_rank().is_some() {
        return Prefetches::Both;
    }
    let seconds = if table.words.len() < 1 << 20 { [0.0; 3] } else { table.time_loops(problem.pages) };
    let nanoseconds = seconds.map(|seconds| comm.all_reduce_sum((1e9 * seconds) as u64));
    // The last of equals: the loop for data in caches.
    let fastest = Prefetches::ALL.into_iter().zip(nanoseconds).rev().min_by_key(|&(_, time)| time);
    fastest.map_or(Prefetches::Both, |(prefetches, _)| prefetches)
}

/// Fraction of a verification, roughly, that is complete when undoing the updates begins.
const UNDO_START: f64 = 0.1;
/// When all updates are undone.
const UNDO_END: f64 = 0.9;

fn report(shares: Range<f64>) -> impl Fn(f64) {
    move |share| progress::report_share(Phase::Verifying, shares.start + (shares.end - shares.start) * share)
}

/// In addition to the table.
pub(super) const VERIFICATION_WORDS: u64 = 6 * repeat::CHUNK as u64;
