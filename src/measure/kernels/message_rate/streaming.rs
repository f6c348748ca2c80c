//! NAME: message_rate.streaming. Each rank of the first half sends windows of messages to its partner in the second half.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1 and Figure 7: "the streaming message benchmark closely
//!   matches the Ohio State University (OSU) streaming message benchmark". With several pairs it corresponds to OSU's
//!   multiple-pair message rate.

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, ONE_WAY, OPERATION, Shape, Stream, WINDOW, family, run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Kernel, Outcome, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.streaming",
    summary: "Message rate in one direction: windows of messages between pairs of ranks",
    place: "Section 5.1, Figure 7",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..family(ONE_WAY)
};

/// Runs the kernel at a point. Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let half = comm.size() / 2;
    let stream = Stream { window: Shape::new(point).window, partner: comm.rank() + half };
    run_route(comm, point, arena, (comm.rank() < half).then_some(&stream), true)
}
