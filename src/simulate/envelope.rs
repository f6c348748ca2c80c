//! Where simulations were compared with others. tests/simgrid.rs has the comparisons with SimGrid's SMPI, and docs/appendix/simulation.md
//! their figures.

use apexmap_base::point::Point;
use apexmap_measure::comm::UNEXPECTED_MESSAGES;
use apexmap_measure::comm::simulated::{Frame, Machine, Topology};
use apexmap_measure::kernels::keys::{MESSAGE_BYTES, WINDOW};
use apexmap_measure::kernels::{self, Traffic};
use apexmap_theory::models::tested;
use std::ops::RangeInclusive;

/// Compared with SMPI.
pub const MAX_TESTED_RANKS: usize = 256;
/// Compared with SMPI.
pub const TESTED_BYTES: RangeInclusive<u64> = 64..=65536;

/// Whether ranks of a point share a node. For some kernels, [`tested::of_simulation`] says how far such simulations are from
/// measurements.
pub fn share_node(point: &Point, machine: &Machine) -> bool {
    machine.ranks_per_node > 1 && point.ranks > 1
}

/// The reasons why the simulation of a point was not compared with SMPI; none if it was.
pub fn envelope(point: &Point, machine: &Machine) -> Vec<&'static str> {
    let message_bytes = MESSAGE_BYTES.get(point);
    let nodes = point.ranks.div_ceil(machine.ranks_per_node.max(1));
    let shares_links = machine.link.is_contended && machine.topology != Topology::Crossbar && nodes > 1;
    let costs = machine.network.message;
    let kernel = kernels::find(&point.kernel).ok();
    let sends_to = |traffic: Traffic| kernel.is_some_and(|kernel| kernel.traffic == traffic);
    let reasons = [
        (point.ranks > MAX_TESTED_RANKS, "more than 256 ranks"),
        (
            share_node(point, machine) && tested::of_simulation(kernels::family(&point.kernel)).is_none(),
            "several ranks on a node, which share its interface",
        ),
        (
            message_bytes.is_some_and(|bytes| !TESTED_BYTES.contains(&bytes)),
            "messages of fewer than 64 bytes or more than 64 KiB",
        ),
        (
            message_bytes.is_some_and(|bytes| bytes as usize > costs.eager_bytes),
            "messages that wait for their receiver's answer, which takes no time in SMPI",
        ),
        (kernel.is_some_and(|kernel| kernel.windows.carry_operations(point)), "one-sided messages"),
        (
            shares_links && sends_to(Traffic::AllOthers),
            "long messages to all ranks over shared links: 0.5 to 1.16 times the time of SMPI",
        ),
        (
            sends_to(Traffic::RandomOthers),
            "messages from many senders at once, which take turns: 5 % to 36 % faster than in SMPI with eight senders",
        ),
        (
            WINDOW.get(point).is_some_and(|window| window as usize > UNEXPECTED_MESSAGES),
            "more than 128 messages that wait for their receiver: looking through them takes no time here",
        ),
        (
            costs.gap.max(machine.interface.gap) > 0
                || machine.interface.queue_bytes > 0
                || machine.interface.frame != Frame::default()
                || machine.link.frame != Frame::default(),
            "gaps, headers or command queues of interfaces: compared with the equations of their paper instead of SMPI",
        ),
        (
            shares_links && matches!(machine.topology, Topology::Dragonfly { .. }),
            "a dragonfly: 0.58 to 0.8 times the time of SMPI where many nodes share the link of two groups",
        ),
        (
            matches!(machine.topology, Topology::Mesh { .. } | Topology::Grid { .. }) && nodes > 1,
            "a mesh: a torus, a fat tree and a crossbar were compared",
        ),
    ];
    reasons.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| reason).collect()
}
