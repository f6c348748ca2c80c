//! NAME: random_access.shared. The cores of a node on one table in shared memory, every rank a core.
//!
//! SOURCE: Blue Gene/P paper, Section 3.2 (mapping modes, Table 1) and Section 3.3 (errors and locks, Table 2).
//! WORK: `mode` says whether table, generation and look-ahead limit are a core's (C) or the node's (N): 1 CCC, 5 NCC, 6
//!   NCN, 7 NNC, 8 NNN. `protection` says how two cores are kept from losing each other's updates: not at all, by so many
//!   `locks`, by an atomic xor, or as every core updates its own part of the table only.
//! CHECK: unprotected updates may get lost, in at most 1 % of the words; how many words are wrong is in `errors`.
//! DIFFERENCES: locks spin; the definition allows modes 1, 6 and 8, the others are marked as not conformant. In modes
//!   7 and 8 the first core generates and all cores, itself among them, update.

use super::alltoallv::Lists;
use super::stream::Index;
use super::table::{self, AHEAD};
use super::verify::measure_timed;
use super::*;
use crate::comm::arena::Arena;
use crate::comm::{Comm, Opened};
use crate::error::Error;
use crate::on_transport;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

pub const KERNEL: Algorithm = Algorithm {
    about: &about(
        "random_access.shared",
        "RandomAccess of the cores of a node on one table in shared memory, locked or not",
        &source::BLUE_GENE_P_RANDOM_ACCESS,
        "Sections 3.2 and 3.3, Tables 1 and 2",
        Ranks::Any,
        &[N_WORDS, UPDATES, Q, MODE, PROTECTION, LOCKS, STREAM, STARTS, OFFSET, PAGES, SEED],
    ),
    shared: true,
    refuse,
    buffers: |point| 6 * limit(point) as u64 + WORDS_OF_LOCK as u64 * point.integer("locks"),
    run: |point, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

const MODE: Parameter = parameter(
    "mode",
    "mapping_mode",
    "mode: of mapping table, generation and look-ahead limit to cores or node, 1 to 8 as in the paper's Table 1",
    Domain::Integer { least: 1, most: 8, default: 6 },
);
const PROTECTION: Parameter = parameter(
    "protection",
    "protection",
    "protection: of updates against each other",
    Domain::Choice(&["atomic", "none", "locks", "partitioned"]),
);
const LOCKS: Parameter = parameter(
    "locks",
    "locks",
    "locks: of the table, if they protect it",
    Domain::Integer { least: 1, most: 1 << 20, default: 16 },
);

/// A lock has a cache line and its neighbour to itself.
const WORDS_OF_LOCK: usize = 16;

fn refuse(point: &Point) -> std::result::Result<(), String> {
    match point.integer("mode") {
        mode @ 2..=4 => Err(format!(
            "mode {mode} is not meaningful: if the table is a core's, generation and limit are a core's too (Blue Gene/P \
             paper, Section 3.2); use mode 1"
        )),
        1 if point.text("protection") != "partitioned" => {
            Err("mode 1 gives every core a table of its own; use protection = \"partitioned\"".into())
        }
        _ => Ok(()),
    }
}

fn node_generates(point: &Point) -> bool {
    point.integer("mode") >= 7
}

/// Updates stored at once by whoever generates.
fn limit(point: &Point) -> usize {
    let (look_ahead, cores) = (point.integer("Q") as usize, point.ranks);
    match point.integer("mode") {
        6 => (look_ahead / cores).max(1),
        7 => look_ahead * cores,
        _ => look_ahead,
    }
}

fn run<C: Comm>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (rank, cores) = (comm.rank(), comm.size());
    let streams = if node_generates(point) { 1 } else { cores };
    let mut problem = Problem::local(point, streams);
    if rank > 0 {
        problem.leave_to_others();
    }
    let mut memory = vec![0; if rank == 0 { WORDS_OF_LOCK * point.integer("locks") as usize } else { 0 }];
    let locks = comm.open(&mut memory);
    let locks = locks.shared(0).ok_or_else(|| {
        Error::input(
            "random_access.shared needs ranks that share their memory",
            "use the transport threads; over messages, run another RandomAccess algorithm with a rank a core",
        )
    })?;
    let protection = match point.text("protection") {
        "none" => Protection::None,
        "locks" => Protection::Locks(locks),
        "atomic" => Protection::Atomic,
        _ => Protection::Partitioned,
    };
    let rules =
        Rules { races: matches!(protection, Protection::None), conformant: matches!(point.integer("mode"), 1 | 6 | 8) };
    measure_timed(comm, &problem, arena, rules, |table, clock| {
        let opened = comm.open(table.words);
        let Some(words) = opened.shared(0) else { return Tally::default() };
        let streams = Problem::distributed(point, rank, cores);
        let mut core = Core { comm, words, index: problem.index, limit: limit(point), protection, updates: 0 };
        clock.start();
        match (node_generates(point), protection) {
            (true, _) => core.share_out(&Problem::local(point, 1)),
            (false, Protection::Partitioned) => core.hand_over(&streams),
            (false, _) => core.work_alone(&streams),
        }
        comm.barrier();
        clock.stop();
        let updates = comm.sum(core.updates);
        let applied = if rank == 0 { updates } else { 0 };
        Tally { applied, stored: core.limit as u64, buffers: (KERNEL.buffers)(point), ..Tally::default() }
    })
}

#[derive(Clone, Copy)]
enum Protection<'a> {
    None,
    Locks(&'a [AtomicU64]),
    Atomic,
    /// Nobody else updates these words.
    Partitioned,
}

struct Core<'a, C: Comm> {
    comm: &'a C,
    /// The whole table.
    words: &'a [AtomicU64],
    index: Index,
    limit: usize,
    protection: Protection<'a>,
    updates: u64,
}

impl<C: Comm> Core<'_, C> {
    /// Every core makes the updates of its own stream, wherever in the table they are.
    fn work_alone(&mut self, problem: &Problem) {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        let mut values = vec![0; self.limit];
        while left > 0 {
            let values = &mut values[..left.min(self.limit as u64) as usize];
            left -= values.len() as u64;
            generator.fill(values);
            self.apply(values);
        }
    }

    /// Every core generates updates and hands them to the cores whose parts of the table they are in.
    fn hand_over(&mut self, problem: &Problem) {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        let owners = problem.find_owners("cheapest");
        let mut lists = Lists::new(self.limit, self.comm.size());
        for _ in 0..problem.rounds(self.limit) {
            let size = left.min(self.limit as u64) as usize;
            left -= size as u64;
            generator.fill(&mut lists.values[..size]);
            lists.sort(size, |value| owners.of(problem.index.of(value)));
            self.comm.all_to_all(&lists.sorted[..size], &lists.counts, &mut lists.received);
            self.apply(&lists.received);
        }
    }

    /// The first core generates; every core makes an equal share of the updates, or those in its part of the table.
    fn share_out(&mut self, problem: &Problem) {
        let (rank, cores) = (self.comm.rank(), self.comm.size());
        let (mut generator, mut left) = (problem.generator(0), problem.updates);
        let mut values = vec![0; self.limit];
        let part = |of: usize| of * rank / cores..of * (rank + 1) / cores;
        let own: Range<usize> = part(self.words.len());
        let mut inside = Vec::with_capacity(self.limit);
        while left > 0 {
            let values = &mut values[..left.min(self.limit as u64) as usize];
            left -= values.len() as u64;
            if rank == 0 {
                generator.fill(values);
            }
            self.comm.broadcast(values);
            if matches!(self.protection, Protection::Partitioned) {
                inside.clear();
                let index = self.index;
                inside.extend(values.iter().copied().filter(|&value| own.contains(&(index.of(value) as usize))));
                self.apply(&inside);
            } else {
                self.apply(&values[part(values.len())]);
            }
        }
    }

    fn apply(&mut self, values: &[u64]) {
        self.updates += values.len() as u64;
        let comm = self.comm;
        match self.protection {
            Protection::None | Protection::Partitioned => self.each(values, |_, word, value| plain(word, value)),
            Protection::Atomic => self.each(values, |_, word, value| {
                word.fetch_xor(value, Ordering::Relaxed);
            }),
            Protection::Locks(locks) => self.each(values, |place, word, value| {
                let lock = &locks[place % (locks.len() / WORDS_OF_LOCK) * WORDS_OF_LOCK];
                while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                    comm.idle();
                }
                plain(word, value);
                lock.store(0, Ordering::Release);
            }),
        }
    }

    /// Updates in this order, their words asked for some time before.
    #[inline(always)]
    fn each(&self, values: &[u64], update: impl Fn(usize, &AtomicU64, u64)) {
        let place = |value: u64| self.index.of(value) as usize;
        let prefetch = |value: u64| table::prefetch(self.words.as_ptr().wrapping_add(place(value)).cast());
        values.iter().take(AHEAD).for_each(|&value| prefetch(value));
        for (i, &value) in values.iter().enumerate() {
            if let Some(&ahead) = values.get(i + AHEAD) {
                prefetch(ahead);
            }
            update(place(value), &self.words[place(value)], value);
        }
    }
}

/// Load, xor, store: another core's store in between is lost.
#[inline(always)]
fn plain(word: &AtomicU64, value: u64) {
    word.store(word.load(Ordering::Relaxed) ^ value, Ordering::Relaxed);
}
