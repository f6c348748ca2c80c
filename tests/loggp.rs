//! Simulated ranks against the LogGP model: an interpreter of schedules gives the times of their patterns.

use super::simgrid::{machine, simulate_pattern};
use apexmap_measure::comm::simulated::{Machine, Time, Topology};
use std::collections::HashMap;

/// A send or a receive of a rank, and the numbers of the rank's operations that it waits for.
struct Operation {
    is_send: bool,
    peer: usize,
    tag: usize,
    after: Vec<usize>,
}

/// Returns the operations of a rank in steps, each with the rank that it sends to and the one that it receives from. A step begins when
/// both messages of the step before it are complete.
fn exchanges(steps: impl Iterator<Item = (usize, usize)>) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (tag, (to, from)) in steps.enumerate() {
        for (is_send, peer) in [(true, to), (false, from)] {
            let after = if tag == 0 { Vec::new() } else { vec![2 * tag - 2, 2 * tag - 1] };
            operations.push(Operation { is_send, peer, tag, after });
        }
    }
    operations
}

/// Returns the operations of each rank in a pattern of `tests/simgrid/patterns.c`.
fn schedule(pattern: &str, ranks: usize) -> Vec<Vec<Operation>> {
    let rank_schedule = |rank: usize| match pattern {
        "ping-pong" => [(rank == 0, vec![]), (rank == 1, vec![0])]
            .map(|(is_send, after)| Operation { is_send, peer: 1 - rank, tag: 0, after })
            .into(),
        "shifts" => exchanges((1..ranks).map(|step| ((rank + step) % ranks, (rank + ranks - step) % ranks))),
        _ => exchanges((0..ranks.ilog2()).map(|bit| (rank ^ (1 << bit), rank ^ (1 << bit)))),
    };
    (0..ranks).map(rank_schedule).collect()
}

/// Returns when the last operation of a schedule ends in the LogGP model. The operations of a rank are executed in their order.
fn execute(schedule: &[Vec<Operation>], machine: &Machine, bytes: usize) -> Time {
    let costs = machine.network.message;
    let mut ends: Vec<Vec<Time>> = schedule.iter().map(|_| Vec::new()).collect();
    let mut interfaces = vec![0; schedule.len()];
    let mut arrivals: HashMap<(usize, usize, usize), Time> = HashMap::new();
    let total: usize = schedule.iter().map(Vec::len).sum();
    for _ in 0..=total {
        for (rank, operations) in schedule.iter().enumerate() {
            let Some(next) = operations.get(ends[rank].len()) else { continue };
            let ready = next.after.iter().map(|&other| ends[rank][other]).max().unwrap_or(0);
            let ready = ready.max(ends[rank].last().copied().unwrap_or(0));
            if next.is_send {
                let begins = interfaces[rank].max(ready + costs.send);
                interfaces[rank] = begins + costs.channel_time(bytes);
                arrivals.insert((rank, next.peer, next.tag), begins + costs.latency + costs.on_the_way(bytes));
                ends[rank].push(ready + costs.send);
            } else if let Some(arrived) = arrivals.remove(&(next.peer, rank, next.tag)) {
                ends[rank].push(ready.max(arrived) + costs.receive);
            }
        }
    }
    assert!(
        ends.iter().zip(schedule).all(|(ends, operations)| ends.len() == operations.len()),
        "each receive has its send"
    );
    assert!(arrivals.is_empty(), "each send has its receive");
    ends.into_iter().flatten().max().unwrap_or(0)
}

#[test]
fn simulated_ranks_take_the_times_of_loggp() {
    let machine = machine("crossbar", Topology::Crossbar);
    for (pattern, ranks) in
        [("ping-pong", 2), ("hypercube", 2), ("hypercube", 16), ("shifts", 2), ("shifts", 16), ("shifts", 20)]
    {
        for bytes in [64, 65536] {
            let simulated = simulate_pattern(&machine, ranks, pattern, bytes, 1);
            let expected = execute(&schedule(pattern, ranks), &machine, bytes);
            assert_eq!((simulated * 1e12).round() as Time, expected, "{pattern} {ranks} {bytes}");
        }
    }
}
