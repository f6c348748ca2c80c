//! The delivery of all updates to the owners of their words among simulated ranks. It needs little memory per rank and no network.

use super::hash::hash_updates;
use super::undo::{CHUNK, Delivery, Demand, OwnerLists, RankPart};
use crate::comm::Comm;
use crate::comm::simulated::SimulatedComm;
use crate::kernels::random_access::problem::{LOOK_AHEAD_LIMIT, Problem};
use crate::kernels::shared::updates::table::Table;

/// Number of values that all ranks together hand over in one round. Each hands over [`MIN_CHUNK`] or more.
const VALUES_PER_ROUND: usize = 1 << 21;
/// Minimum number of values of a rank in one round.
const MIN_CHUNK: usize = 64;

/// Does the same as [`super::undo::deliver`], but lists no updates by owner for their generator. Collective.
pub fn deliver(comm: &SimulatedComm, problem: &Problem, mut receive: impl FnMut(&Delivery)) {
    let chunk = (VALUES_PER_ROUND / comm.size()).clamp(MIN_CHUNK, CHUNK);
    let owner = |value: u64| problem.nodes.rank(problem.owners.owner_by_division(problem.index.word(value)));
    let (streams, rounds) = (problem.streams_per_rank(), problem.rounds(chunk));
    let sent = OwnerLists::new(0);
    for number in 0..streams {
        let stream = problem.own_streams.clone().nth(number);
        let mut generator = stream.map(|stream| problem.generator(stream));
        let mut left = stream.map_or(0, |stream| problem.stream_updates(stream));
        let mut fullest = 0;
        if let Some(generator) = &generator {
            let mut first = vec![0; left.min(LOOK_AHEAD_LIMIT as u64) as usize];
            generator.clone().fill(&mut first);
            fullest = most_frequent(first.iter().map(|&value| owner(value)).collect());
        }
        for round in 0..rounds {
            let mut values = vec![0; left.min(chunk as u64) as usize];
            left -= values.len() as u64;
            if let Some(generator) = &mut generator {
                generator.fill(&mut values);
            }
            let share_done = (number as f64 + (round + 1) as f64 / rounds as f64) / streams as f64;
            comm.hand_over(values, owner, |received| {
                receive(&Delivery { sent: &sent, received, fullest: std::mem::take(&mut fullest), share_done });
            });
        }
    }
}

/// Applies all updates. Collective.
pub fn undo(comm: &SimulatedComm, problem: &Problem, table: &mut Table, note: impl Fn(f64)) -> Demand {
    let (mut demand, part) = (Demand::default(), RankPart::exclusive(problem, table));
    deliver(comm, problem, |delivery| {
        demand.fullest = delivery.fullest.max(demand.fullest);
        demand.updates += delivery.received.len() as u64;
        demand.hash ^= hash_updates(delivery.received, problem.index);
        part.apply(delivery.received);
        note(delivery.share_done);
    });
    demand
}

/// Returns how often the most frequent owner occurs.
fn most_frequent(mut owners: Vec<usize>) -> u64 {
    owners.sort_unstable();
    owners.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap_or(0) as u64
}
