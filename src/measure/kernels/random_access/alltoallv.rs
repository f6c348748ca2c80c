//! Updates for the rank itself also go through the exchange.

use super::layout::Owners;
use super::table::Table;
use super::*;

use crate::kernels::shared::updates::round_lists::RoundLists;

pub static KERNEL: Kernel = Kernel {
    id: "random_access.alltoallv",
    summary: "RandomAccess in rounds: one all-to-all exchange of Q updates per rank",
    source: &source::HYPERCUBE_RANDOM_ACCESS,
    place: "Section 2, Figure 1 (1d)",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, OWNER_BY, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES, SEED
    ],
    traffic: Traffic::AllOthers,
    // Simulated ranks exchange with one rank after the other.
    waits_for_each_message: |_| true,
    stages: |_| Some(1),
    refuse: refuse_unusable_shift,
    buffer_bytes: |point| bytes(4 * Q.of(point) + 2 * point.ranks as u64),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let owners = problem.find_owners(point);
    let mut lists = RoundLists::new(problem.look_ahead, comm.size());
    measure(comm, &problem, arena, Rules::STRICT, |table| pass(&mut lists, comm, &problem, owners, table))
}

fn pass<C: Collectives>(
    lists: &mut RoundLists,
    comm: &C,
    problem: &Problem,
    owners: Owners,
    table: &mut Table,
) -> Tally {
    let mut tally = Tally::default();
    let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
    for _ in 0..problem.rounds(lists.values.len()) {
        let size = left.min(lists.values.len() as u64) as usize;
        left -= size as u64;
        generator.fill(&mut lists.values[..size]);
        comm.charge(Computation::Generate, size);
        lists.sort(size, |value| owners.owner(problem.index.word(value)));
        comm.charge(Computation::Divide, size);
        comm.all_to_all_v(&lists.sorted[..size], &lists.counts, &mut lists.received);
        table.apply(&lists.received);
        comm.charge(Computation::Update, lists.received.len());

        tally.applied += lists.received.len() as u64;
        tally.messages += comm.size() as u64 - 1;
        tally.hops += (size - lists.counts[comm.rank()]) as u64;
        tally.store(size.max(lists.received.len()));
        tally.end_round(lists.received.len(), problem.look_ahead);
    }
    let words = lists.values.len() + lists.owners.len() / 2 + lists.sorted.len() + lists.received.capacity();
    Tally { buffer_bytes: bytes((words + 2 * lists.counts.len()) as u64), ..tally }
}
