//! NAME: message_rate.block_cyclic. The ranks of one node send to all other nodes in turn, a block of messages to each.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1, Figures 4 and 9.
//! DIFFERENCES: the loop of Figure 4 ends one message early (`loopSize` is one `size` short); here all messages are
//!   sent. The loop of Figure 4 computes the node by shift and mask, which needs powers of two; here other numbers use
//!   a division.

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, ONE_TO_MANY, OPERATION, Route, SENDERS, Shape, WINDOW,
    family, refuse_uneven_nodes, remote_nodes, run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Domain, Kernel, Key, Outcome, key, parameters};
use crate::on_transport;
use crate::refusal;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.block_cyclic",
    summary: "Message rate from one node to all other nodes in turn, in blocks",
    place: "Section 5.1, Figures 4 and 9",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, BLOCK, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    refuse: |point| {
        let (window, block) = (WINDOW.of(point), BLOCK.of(point));
        if window % block != 0 {
            return Err(refusal!(
                ["window", "block"],
                "window = {window} is not a multiple of block = {block}; use a divisor of the window"
            ));
        }
        refuse_uneven_nodes(point)
    },
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..family(ONE_TO_MANY)
};

const BLOCK: Key<u64> = key(
    "block",
    "block_messages",
    "block: consecutive messages per node, a divisor of the window",
    Domain::Integer { min: 1, max: 1 << 20, default: 8 },
);

/// The route of Figure 4: one loop over all data, with the node computed from the loop variable.
pub struct BlockCyclic {
    pub window: usize,
    pub block: usize,
    pub nodes: usize,
    pub cores: usize,
    pub core: usize,
}

impl Route for BlockCyclic {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        let messages = self.window * self.nodes;
        if self.block.is_power_of_two() && self.nodes.is_power_of_two() {
            let (shift, mask) = (self.block.trailing_zeros(), self.nodes - 1);
            for message in 0..messages {
                to((1 + ((message >> shift) & mask)) * self.cores + self.core);
            }
        } else {
            for message in 0..messages as u32 {
                let node = 1 + message / self.block as u32 % self.nodes as u32;
                to(node as usize * self.cores + self.core);
            }
        }
    }
}

/// Runs the kernel at a point. Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let (window, block) = (Shape::new(point).window, BLOCK.of(point) as usize);
    let route = BlockCyclic { window, block, nodes, cores, core: comm.rank() };
    run_route(comm, point, arena, (comm.rank() < cores).then_some(&route), true)
}
