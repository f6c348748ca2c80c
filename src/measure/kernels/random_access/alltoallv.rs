//! NAME: random_access.alltoallv. Rounds: generate Q updates, exchange them in one all-to-all, apply those received.
//!
//! SOURCE: Plimpton et al., Section 2, the loop with "Q' datums = all2all(Q datums)" as a traditional 1-d exchange.
//! DIFFERENCES: none. Updates for the rank itself also go through the exchange.

use super::layout::Owners;
use super::table::Table;
use super::{
    Algorithm, Division, INDEX, N_WORDS, OFFSET, OPERATION, OWNER_BY, PAGES, Problem, Q, Rules, SEED, STARTS, STREAM,
    TIME_BOUND, Tally, UPDATES, about, measure, refuse_unusable_shift,
};

use crate::comm::arena::Arena;
use crate::comm::{Collectives, Computation};
use crate::kernels::{Outcome, Ranks, no_rings};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::source;

pub const KERNEL: Algorithm = Algorithm {
    about: &about(
        "random_access.alltoallv",
        "RandomAccess in rounds: one all-to-all exchange of Q updates per rank",
        &source::HYPERCUBE_RANDOM_ACCESS,
        "Section 2, Figure 1 (1d)",
        Ranks::Any,
        &[N_WORDS, UPDATES, TIME_BOUND, Q, OWNER_BY, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES, SEED],
    ),
    table: Division::OverRanks,
    refuse: refuse_unusable_shift,
    buffers: |point| 4 * point.integer("Q") + 2 * point.ranks as u64,
    rings: no_rings,
    is_simulatable: true,
    run: |point, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let owners = problem.find_owners(point.text("owner_by"));
    let mut lists = RoundLists::new(problem.look_ahead, comm.size());
    measure(comm, &problem, arena, Rules::STRICT, |table| lists.pass(comm, &problem, owners, table))
}

/// The updates of a round.
pub(in crate::kernels) struct RoundLists {
    pub values: Vec<u64>,
    owners: Vec<u32>,
    /// The values, sorted by owner.
    pub sorted: Vec<u64>,
    pub received: Vec<u64>,
    /// Number of values of each owner.
    pub counts: Vec<usize>,
    ends: Vec<usize>,
}

impl RoundLists {
    pub fn new(size: usize, parts: usize) -> Self {
        Self {
            values: vec![0; size],
            owners: vec![0; size],
            sorted: vec![0; size],
            received: Vec::with_capacity(2 * size),
            counts: vec![0; parts],
            ends: vec![0; parts],
        }
    }

    fn pass<C: Collectives>(&mut self, comm: &C, problem: &Problem, owners: Owners, table: &mut Table) -> Tally {
        let mut tally = Tally::default();
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        for _ in 0..problem.rounds(self.values.len()) {
            let size = left.min(self.values.len() as u64) as usize;
            left -= size as u64;
            generator.fill(&mut self.values[..size]);
            comm.charge(Computation::Generate, size);
            self.sort(size, |value| owners.owner(problem.index.word(value)));
            comm.charge(Computation::Divide, size);
            comm.all_to_all_v(&self.sorted[..size], &self.counts, &mut self.received);
            table.apply(&self.received);
            comm.charge(Computation::Update, self.received.len());

            tally.applied += self.received.len() as u64;
            tally.messages += comm.size() as u64 - 1;
            tally.hops += (size - self.counts[comm.rank()]) as u64;
            tally.store(size.max(self.received.len()));
            tally.end_round(self.received.len(), problem.look_ahead);
        }
        let words = self.values.len() + self.owners.len() / 2 + self.sorted.len() + self.received.capacity();
        Tally { buffers: (words + 2 * self.counts.len()) as u64, ..tally }
    }

    /// Sorts the first `size` values by owner. The sort is stable.
    pub fn sort(&mut self, size: usize, owner: impl Fn(u64) -> usize) {
        self.counts.fill(0);
        for (&value, slot) in self.values[..size].iter().zip(&mut self.owners) {
            let owner = owner(value);
            *slot = owner as u32;
            self.counts[owner] += 1;
        }
        let mut start = 0;
        for (end, &count) in self.ends.iter_mut().zip(&self.counts) {
            *end = start;
            start += count;
        }
        for (&value, &owner) in self.values[..size].iter().zip(&self.owners) {
            let end = &mut self.ends[owner as usize];
            self.sorted[*end] = value;
            *end += 1;
        }
    }
}
