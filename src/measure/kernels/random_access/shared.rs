//! The costs and gains of a shared table (Blue Gene/P paper, Sections 3.2 and 3.3, Tables 1 and 2). `mode` assigns table,
//! generation and look-ahead limit to each core (C) or to the node (N): 1 CCC, 5 NCC, 6 NCN, 7 NNC, 8 NNN. If cores generate, each
//! core applies the updates that it generates. If the node generates, the first core generates and all cores share the updates.
//! With `unlocked`, up to 1 % of the words may be wrong. The paper does not specify the words of a lock; here each lock protects a
//! contiguous part of the table. Mode 1 is one process per core in the paper; here a core's table is the part that only this core
//! accesses. With `partitioned`, modes 1 and 5 therefore differ only in name. Updates are handed over in steps of half the limit:
//! one half is generated while the other is applied. Loads and stores are relaxed atomics, so that the races are defined behaviour;
//! on today's processors these are plain moves. If a launcher binds the rank to one core, its threads share this core (see the
//! column `hardware_threads`); use the threads transport.

pub mod team;
pub(super) mod words;

use super::layout::{Layout, Owners};
use super::random_stream::{Generator, Index};
use super::table::Table;
use super::verify::{Clock, measure_timed};
use super::*;
use crate::kernels::shared::updates::round_lists::RoundLists;

use crate::hardware::Hardware;
use std::sync::{PoisonError, RwLock};
use team::Gate;
use words::{Lock, Locking, Words};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.shared",
    summary: "RandomAccess with the threads of one rank on one table: locked, atomic, partitioned or unprotected",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "Sections 3.2 and 3.3, Tables 1 and 2",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, CORES, MODE, UPDATES_BY, LOCKS, STREAM, INDEX, OPERATION, STARTS, OFFSET,
        PAGES, SEED,
    ],
    ranks: Ranks::One,
    is_threaded: true,
    simulation: None,
    refuse,
    buffer_bytes: |point| bytes(NodePlan::new(point).buffers(point)),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

pub(super) const CORES: Key<u64> = key(
    "cores",
    "threads of the rank that share the table; 0 means one per core available to the process",
    integers(0..=1 << 12, 0),
);
const MODE: Key<u64> = key(
    "mode",
    "mapping mode: table, generation and look-ahead limit per core or per node, 1 to 8 as in the paper's Table 1",
    integers(1..=8, 6),
)
.in_column("mapping_mode", Unit::None);
const UPDATES_BY: Key<UpdatesBy> = choice_key(
    "updates_by",
    "update method: atomic (an atomic xor), unlocked (unprotected load and store), locks (load and store under a lock), or \
     partitioned (only by the word's owner)",
);
choice! {
    enum UpdatesBy {
        Atomic = "atomic",
        Unlocked = "unlocked",
        Locks = "locks",
        Partitioned = "partitioned",
    }
}
const LOCKS: Key<u64> = key("locks", "number of locks of the table, if updates use locks", integers(1..=1 << 20, 16));

fn refuse(point: &Point) -> Result<(), Refusal> {
    let (words, NodePlan { mode, cores, partitioned, .. }) = (N_WORDS.of(point), NodePlan::new(point));
    let (locks, look_ahead) = (LOCKS.of(point), Q.of(point));
    if (2..=4).contains(&mode) {
        return Err(refusal!(
            ["mode"],
            "mode {mode} is not meaningful: a table per core requires generation and look-ahead limit per core \
             (Blue Gene/P paper, Section 3.2); use mode 1, 5, 6, 7 or 8"
        ));
    }
    if mode == 1 && !partitioned {
        return Err(refusal!(
            ["mode", "updates_by"],
            "mode 1 gives every core a table that no other core updates; use updates_by = \"partitioned\""
        ));
    }
    if cores as u64 > words {
        return Err(refusal!(
            ["cores", "N_words"],
            "{cores} cores are more than the {words} words of the table; use a larger N_words"
        ));
    }
    if UPDATES_BY.of(point) == UpdatesBy::Locks && locks > words {
        return Err(refusal!(
            ["locks", "N_words", "updates_by"],
            "{locks} locks are more than the {words} words of the table; use fewer"
        ));
    }
    refuse_small_limit(mode, cores, look_ahead)
}

pub(super) fn refuse_small_limit(mode: u64, cores: usize, look_ahead: u64) -> Result<(), Refusal> {
    if mode == 6 && (cores as u64) > look_ahead {
        return Err(refusal!(
            ["Q", "cores", "mode"],
            "Q = {look_ahead} is less than one update for each of the {cores} cores, which share the look-ahead limit of the node \
             in mode 6; use a larger Q or fewer cores"
        ));
    }
    Ok(())
}

/// Returns the number of cores of a node that generate updates, and the maximum number of updates that each of them stores.
pub(super) fn sources(mode: u64, cores: usize, look_ahead: usize) -> (usize, usize) {
    match mode {
        6 => (cores, (look_ahead / cores).max(1)),
        7 => (1, look_ahead * cores),
        8 => (1, look_ahead),
        _ => (cores, look_ahead),
    }
}

#[derive(Clone, Copy)]
struct NodePlan {
    mode: u64,
    cores: usize,
    partitioned: bool,
    /// Cores that generate updates, one stream each.
    sources: usize,
    /// Most updates that each source stores.
    limit: usize,
}

impl NodePlan {
    fn new(point: &Point) -> Self {
        let (mode, look_ahead) = (MODE.of(point), Q.of(point) as usize);
        let cores = match CORES.of(point) {
            0 => Hardware::this_machine().cores_or_threads(),
            cores => cores as usize,
        };
        let (sources, limit) = sources(mode, cores, look_ahead);
        Self { mode, cores, partitioned: UPDATES_BY.of(point) == UpdatesBy::Partitioned, sources, limit }
    }

    fn hands_over(&self) -> bool {
        self.partitioned || self.sources < self.cores
    }

    /// Lists per source. With two, one is filled while the other is emptied; a limit of 1 allows only one.
    fn slots(&self) -> usize {
        if self.hands_over() { self.limit.min(2) } else { 1 }
    }

    fn size(&self) -> usize {
        self.limit / self.slots()
    }

    /// Per core or per node, as the look-ahead limit of the mode counts updates.
    fn max_stored(&self, largest_share: usize) -> usize {
        match self.mode {
            6 => self.slots() * self.size() * self.cores,
            7 => self.slots() * largest_share,
            _ => self.slots() * self.size(),
        }
    }

    fn buffers(&self, point: &Point) -> u64 {
        // Per list: values, sorted values, their owners in half a word each, room for received values, two numbers per core.
        let list = if self.hands_over() { 5 * self.size() + 2 * self.cores } else { self.size() };
        let locks = if UPDATES_BY.of(point) == UpdatesBy::Locks { LOCKS.of(point) as usize } else { 0 };
        (self.sources * self.slots() * list + locks * size_of::<Lock>() / size_of::<u64>()) as u64
    }
}

fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let plan = NodePlan::new(point);
    let problem = Problem::with_local_table(point, plan.sources);
    let locks: Vec<Lock> = (0..LOCKS.of(point)).map(|_| Lock::default()).collect();
    let locking = match UPDATES_BY.of(point) {
        UpdatesBy::Unlocked => Locking::Unlocked,
        UpdatesBy::Locks => Locking::Locks(&locks, Layout::new(N_WORDS.of(point).trailing_zeros(), locks.len())),
        // `Partitioned` does not use it, because each part has a single owner.
        UpdatesBy::Atomic | UpdatesBy::Partitioned => Locking::Atomic,
    };
    let rules = Rules {
        races: matches!(locking, Locking::Unlocked),
        conformant: matches!(plan.mode, 1 | 6 | 8),
        ..Rules::STRICT
    };
    measure_team(comm, &problem, arena, rules, plan.cores, |table, clock| {
        Ok(Tally { buffer_bytes: bytes(plan.buffers(point)), ..pass(&plan, &problem, locking, table, clock)? })
    })
}

/// Measures a pass of a team of `cores` threads. The pass fails if a thread cannot be started.
pub(super) fn measure_team<C: Collectives>(
    comm: &C,
    problem: &Problem,
    arena: &mut Arena,
    rules: Rules,
    cores: usize,
    pass: impl FnOnce(&mut Table, &mut Clock<C>) -> Result<Tally>,
) -> Result<Outcome> {
    let mut failure = None;
    let outcome = measure_timed(comm, problem, arena, rules, |table, clock| {
        pass(table, clock).unwrap_or_else(|error| {
            failure = Some(error);
            Tally::default()
        })
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let mut outcome = outcome?;
    outcome.outputs.insert("cores_used", Value::Integer(cores as u64));
    outcome.outputs.insert("hardware_threads", Value::Integer(Hardware::this_machine().hardware_threads() as u64));
    Ok(outcome)
}

fn pass<C: Collectives>(
    plan: &NodePlan,
    problem: &Problem,
    locking: Locking,
    table: &mut Table,
    clock: &mut Clock<C>,
) -> Result<Tally> {
    let parts = Layout::new(problem.owners.words().trailing_zeros(), plan.cores);
    let words = if plan.partitioned {
        words::divide(table.words, parts, problem.index, problem.operation)
    } else {
        let words = words::as_atomic_words(table.words);
        let (index, operation) = (problem.index, problem.operation);
        (0..plan.cores).map(|_| Words::Shared { words, first: 0, index, locking, operation }).collect()
    };
    let core = |(number, words)| {
        let source = (number < plan.sources).then(|| (problem.generator(number), problem.stream_updates(number)));
        Core { number, words, source, applied: 0, largest_share: 0 }
    };
    let cores: Vec<Core> = words.into_iter().enumerate().map(core).collect();
    let done = if plan.hands_over() {
        let rounds = Rounds::new(plan, problem, parts);
        team::run(clock, cores, |core, gate| rounds.work(core, gate))?
    } else {
        team::run(clock, cores, |core, _| core.work_alone(vec![0; plan.limit]))?
    };
    let applied = done.iter().map(|core| core.applied).sum();
    let largest_share = done.iter().map(|core| core.largest_share).max().unwrap_or(0);
    Ok(Tally { applied, stored: plan.max_stored(largest_share) as u64, ..Tally::default() })
}

struct Core<'a> {
    number: usize,
    words: Words<'a>,
    /// The stream that this thread generates, and the number of its remaining updates.
    source: Option<(Generator, u64)>,
    applied: u64,
    /// Most updates that this thread received at once.
    largest_share: usize,
}

struct CoreTotals {
    applied: u64,
    largest_share: usize,
}

impl Core<'_> {
    /// Applies all updates of the core's stream, to any part of the table.
    fn work_alone(mut self, mut values: Vec<u64>) -> CoreTotals {
        loop {
            let size = self.generate(&mut values);
            if size == 0 {
                return CoreTotals { applied: self.applied, largest_share: self.largest_share };
            }
            self.apply(&values[..size]);
        }
    }

    /// Returns the number of new values.
    fn generate(&mut self, values: &mut [u64]) -> usize {
        let Some((generator, left)) = &mut self.source else { return 0 };
        let size = (*left).min(values.len() as u64) as usize;
        *left -= size as u64;
        generator.fill(&mut values[..size]);
        size
    }

    fn apply(&mut self, values: &[u64]) {
        self.words.apply(values);
        self.applied += values.len() as u64;
    }
}

/// The sources fill the lists and all cores empty them.
struct Rounds {
    lists: Vec<Vec<RwLock<RoundLists>>>,
    rounds: u64,
    /// If only the owner applies an update.
    owners: Option<Owners>,
    index: Index,
}

impl Rounds {
    fn new(plan: &NodePlan, problem: &Problem, parts: Layout) -> Self {
        let list = |_| RwLock::new(RoundLists::new(plan.size(), plan.cores));
        Self {
            lists: (0..plan.slots()).map(|_| (0..plan.sources).map(list).collect()).collect(),
            rounds: problem.rounds(plan.size()),
            owners: plan.partitioned.then(|| Owners::cheapest(parts)),
            index: problem.index,
        }
    }

    /// With two slots, one list is filled while the other is emptied. With one slot, all cores wait between filling and emptying.
    fn work(&self, mut core: Core, gate: &Gate) -> CoreTotals {
        let slots = self.lists.len() as u64;
        let slot = |round: u64| &self.lists[(round % slots) as usize];
        // With two slots, a list is emptied one round after it is filled.
        for round in 0..self.rounds + slots - 1 {
            if round < self.rounds && core.source.is_some() {
                let own = &slot(round)[core.number];
                self.fill(&mut core, own);
            }
            if slots == 1 && !gate.pass() {
                break;
            }
            if let Some(full) = (round + 1).checked_sub(slots) {
                self.empty(&mut core, slot(full));
            }
            if !gate.pass() {
                break;
            }
        }
        CoreTotals { applied: core.applied, largest_share: core.largest_share }
    }

    fn fill(&self, core: &mut Core, list: &RwLock<RoundLists>) {
        // A panic of another member is noticed at the gate.
        let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
        let list = &mut *list;
        if let Some(owners) = self.owners {
            let size = core.generate(&mut list.values);
            list.sort(size, |value| owners.owner(self.index.word(value)));
        } else {
            // Any core may apply any update, so each gets an equal part.
            let (size, cores) = (core.generate(&mut list.sorted), list.counts.len());
            let end = |core: usize| size * core / cores;
            list.counts.iter_mut().enumerate().for_each(|(core, count)| *count = end(core + 1) - end(core));
        }
    }

    fn empty(&self, core: &mut Core, lists: &[RwLock<RoundLists>]) {
        for list in lists {
            let list = list.read().unwrap_or_else(PoisonError::into_inner);
            let start: usize = list.counts[..core.number].iter().sum();
            let share = &list.sorted[start..][..list.counts[core.number]];
            core.largest_share = core.largest_share.max(share.len());
            core.apply(share);
        }
    }
}
