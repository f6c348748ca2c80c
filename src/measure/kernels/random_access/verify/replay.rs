//! Checks operations that cannot be undone: applies all updates again, to a second table.

use super::undo::{Delivery, Demand, deliver};
use super::{Problem, Table, UNDO_END, UNDO_START, report_progress, simulated, table_hash};
use crate::comm::Collectives;
use crate::crew::Crew;

/// Returns the demand of the streams and the number of wrong words on this rank. `run_table` is the table after the run. Collective.
pub fn replay<C: Collectives>(
    comm: &C,
    problem: &Problem,
    crew: &Crew,
    run_table: &Table,
    first: u64,
) -> (Demand, u64) {
    let ranks = problem.nodes.count * problem.nodes.cores;
    let mut words: Vec<u64> = (first..).take(run_table.words.len()).collect();
    let mut table = Table::new(&mut words, first, problem.index).with_operation(problem.operation);
    let mut demand = Demand::default();
    let receive = |delivery: &Delivery| {
        demand.fullest = delivery.fullest.max(demand.fullest);
        demand.updates += delivery.received.len() as u64;
        delivery.received.iter().for_each(|&value| table.update(value));
        report_progress(UNDO_START + (UNDO_END - UNDO_START) * delivery.share_done);
    };
    match comm.simulated_rank() {
        Some(comm) => simulated::deliver(comm, problem, receive),
        None => deliver(comm, problem, ranks, receive),
    }
    demand.hash = table_hash(crew, &table, first, UNDO_END..1.0);
    let wrong = run_table.words.iter().zip(table.words.iter()).filter(|(made, right)| made != right).count();
    (demand, wrong as u64)
}
