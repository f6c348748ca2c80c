//! NAME: message_rate.cyclic. The ranks of one node send to all other nodes in turn, as in writes to a cyclically
//!   distributed array.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1, Figures 3 (a) and 8.

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, ONE_TO_MANY, OPERATION, Route, SENDERS, Shape, WINDOW,
    family, refuse_uneven_nodes, remote_nodes, run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Kernel, Outcome, Traffic, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.cyclic",
    summary: "Message rate from one node to all other nodes in turn",
    place: "Section 5.1, Figures 3 (a) and 8",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    refuse: refuse_uneven_nodes,
    traffic: Traffic::AllOthers,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..family(ONE_TO_MANY)
};

/// The route of Figure 3 (a): an outer loop over the window and an inner loop over the remote nodes.
pub struct Cyclic {
    pub window: usize,
    /// Number of remote nodes.
    pub nodes: usize,
    /// Number of ranks per node.
    pub cores: usize,
    /// The number of the sender in its node. Its counterparts have the same number in their nodes.
    pub core: usize,
}

impl Route for Cyclic {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        for _ in 0..self.window {
            for node in 1..=self.nodes {
                to(node * self.cores + self.core);
            }
        }
    }
}

/// Runs the kernel at a point. Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let route = Cyclic { window: Shape::new(point).window, nodes, cores, core: comm.rank() };
    run_route(comm, point, arena, (comm.rank() < cores).then_some(&route), true)
}
