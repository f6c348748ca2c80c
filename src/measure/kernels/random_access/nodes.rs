//! The mapping modes with one table per node, on more than one node (Blue Gene/P paper, Section 3.2, Table 1). The letters of a
//! mode are table, generation and look-ahead limit, each per core (C) or per node (N): modes 5 (NCC), 6 (NCN), 7 (NNC) and 8 (NNN).
//! Mode 1 is any other kernel with a rank per core; modes 2 to 4 are not meaningful. The limit of a generating core is Q in modes 5
//! and 8, an equal part of Q in mode 6, and Q times the cores of the node in mode 7. The rank's first thread exchanges the lists
//! with the other nodes, as in Plimpton et al., Section 2. Then all cores apply equal parts of the received updates, while the next
//! lists are filled. With `unlocked`, up to 1 % of the words may be wrong. On the threads transport, nodes are threads of one
//! process, each with its own team; use a number of ranks whose product with `cores` is the number of cores.

use super::layout::Owners;
use super::random_stream::Generator;
use super::shared::team::{self, Gate};
use super::shared::words::{Locking, Words, as_atomic_words};
use super::shared::{CORES, measure_team, refuse_small_limit, sources};
use super::table::Table;
use super::verify::Clock;
use super::*;
use crate::kernels::shared::updates::round_lists::RoundLists;

use crate::hardware::Hardware;
use std::sync::{Mutex, PoisonError, RwLock};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.nodes",
    summary: "RandomAccess on several nodes, each a rank whose threads share its part of the table",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "Section 3.2, Table 1",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, CORES, MODE, UPDATES_BY, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES,
        SEED,
    ],
    is_threaded: true,
    simulation: None,
    refuse,
    buffer_bytes: |point| {
        let plan = Plan::new(point);
        // Per list: values, sorted values, owners in half a word each, room for received values, two numbers per rank. Then the values
        // sent and received in a round.
        let lists = plan.sources * (5 * plan.limit + 2 * point.ranks);
        bytes((lists + 3 * plan.sources * plan.limit + 2 * point.ranks) as u64)
    },
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const MODE: Key<u64> =
    key("mode", "mapping mode with one table per node: 5 to 8 as in the paper's Table 1", integers(5..=8, 6))
        .in_column("mapping_mode", Unit::None);
const UPDATES_BY: Key<UpdatesBy> =
    choice_key("updates_by", "update method: atomic (an atomic xor) or unlocked (unprotected load and store)");
choice! { enum UpdatesBy { Atomic = "atomic", Unlocked = "unlocked" } }

fn refuse(point: &Point) -> Result<(), Refusal> {
    let (plan, look_ahead) = (Plan::new(point), Q.of(point));
    refuse_small_limit(plan.mode, plan.cores, look_ahead)?;
    let streams = (plan.sources * point.ranks) as u64;
    if streams > N_WORDS.of(point) {
        return Err(refusal!(
            ["cores", "mode", "N_words", "ranks"],
            "{streams} streams are more than the words of the table; use a larger N_words, or fewer cores"
        ));
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Plan {
    mode: u64,
    cores: usize,
    /// Cores that generate updates.
    sources: usize,
    /// Most updates in the list of one source.
    limit: usize,
}

impl Plan {
    fn new(point: &Point) -> Self {
        let (mode, look_ahead) = (MODE.of(point), Q.of(point) as usize);
        let cores = match CORES.of(point) {
            0 => (Hardware::this_machine().cores_or_threads() / point.ranks).max(1),
            cores => cores as usize,
        };
        let (sources, limit) = sources(mode, cores, look_ahead);
        Self { mode, cores, sources, limit }
    }

    /// Per core or per node, as the look-ahead limit of the mode counts updates. Considers the list and the updates received by the
    /// node.
    fn max_stored(&self, received: usize) -> usize {
        match self.mode {
            5 => self.limit.max(received.div_ceil(self.cores)),
            7 => (self.limit / self.cores).max(received.div_ceil(self.cores)),
            _ => (self.limit * self.sources).max(received),
        }
    }
}

fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let plan = Plan::new(point);
    let problem = Problem::with_streams(point, comm.rank(), comm.size(), plan.sources);
    let (races, locking) = match UPDATES_BY.of(point) {
        UpdatesBy::Unlocked => (true, Locking::Unlocked),
        UpdatesBy::Atomic => (false, Locking::Atomic),
    };
    let rules = Rules { races, conformant: matches!(plan.mode, 6 | 8), ..Rules::STRICT };
    measure_team(comm, &problem, arena, rules, plan.cores, |table, clock| {
        Ok(Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), ..pass(&plan, &problem, locking, table, clock)? })
    })
}

struct Node {
    lists: Vec<Mutex<RoundLists>>,
    received: RwLock<Vec<u64>>,
    rounds: u64,
    cores: usize,
    owners: Owners,
}

struct Core<'a> {
    number: usize,
    words: Words<'a>,
    /// The stream that this thread generates, and the number of its remaining updates.
    source: Option<(Generator, u64)>,
}

fn pass<C: Collectives>(
    plan: &Plan,
    problem: &Problem,
    locking: Locking,
    table: &mut Table,
    clock: &mut Clock<C>,
) -> Result<Tally> {
    let comm = clock.comm;
    let first = problem.owners.first(problem.part);
    let node = Node {
        lists: (0..plan.sources).map(|_| Mutex::new(RoundLists::new(plan.limit, comm.size()))).collect(),
        received: RwLock::new(Vec::with_capacity(2 * plan.sources * plan.limit)),
        rounds: problem.rounds(plan.limit),
        cores: plan.cores,
        owners: Owners::cheapest(problem.owners),
    };
    let words = as_atomic_words(table.words);
    let core = |number: usize| Core {
        number,
        words: Words::Shared { words, first, index: problem.index, locking, operation: problem.operation },
        source: (number < plan.sources).then(|| {
            let stream = problem.own_streams.start + number;
            (problem.generator(stream), problem.stream_updates(stream))
        }),
    };
    let mut tally = Tally::default();
    let lead = |core: Core, gate: &Gate| {
        let (mut send, mut counts) = (Vec::with_capacity(plan.sources * plan.limit), vec![0; comm.size()]);
        node.work(core, problem, gate, || {
            let lists: Vec<_> =
                node.lists.iter().map(|list| list.lock().unwrap_or_else(PoisonError::into_inner)).collect();
            send.clear();
            for (rank, count) in counts.iter_mut().enumerate() {
                *count = lists.iter().map(|list| list.counts[rank]).sum();
                for list in &lists {
                    let start: usize = list.counts[..rank].iter().sum();
                    send.extend_from_slice(&list.sorted[start..][..list.counts[rank]]);
                }
            }
            let mut received = node.received.write().unwrap_or_else(PoisonError::into_inner);
            comm.all_to_all_v(&send, &counts, &mut received);
            tally.messages += comm.size() as u64 - 1;
            tally.hops += (send.len() - counts[comm.rank()]) as u64;
            tally.store(plan.max_stored(received.len()));
        })
    };
    let applied = team::run_led(clock, (0..plan.cores).map(core).collect(), lead, |core, gate| {
        node.work(core, problem, gate, || ())
    })?;
    Ok(Tally { applied: applied.into_iter().sum(), ..tally })
}

impl Node {
    /// Returns the number of updates that the core applied. All other cores wait while `exchange` runs.
    fn work(&self, mut core: Core, problem: &Problem, gate: &Gate, mut exchange: impl FnMut()) -> u64 {
        let mut applied = 0;
        for _ in 0..self.rounds {
            self.fill(&mut core, problem);
            if !gate.pass() {
                break;
            }
            exchange();
            if !gate.pass() {
                break;
            }
            let received = self.received.read().unwrap_or_else(PoisonError::into_inner);
            let end = |core: usize| received.len() * core / self.cores;
            let own = &received[end(core.number)..end(core.number + 1)];
            core.words.apply(own);
            applied += own.len() as u64;
        }
        applied
    }

    fn fill(&self, core: &mut Core, problem: &Problem) {
        let Some((generator, left)) = &mut core.source else { return };
        let mut list = self.lists[core.number].lock().unwrap_or_else(PoisonError::into_inner);
        let size = (*left).min(list.values.len() as u64) as usize;
        *left -= size as u64;
        generator.fill(&mut list.values[..size]);
        list.sort(size, |value| self.owners.owner(problem.index.word(value)));
    }
}
