//! NAME: message_rate.bidirectional. Windows of messages in both directions between each rank of the first half and its
//!   partner.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1 and Figure 6; OSU's bidirectional bandwidth, whose rounds
//!   are not acknowledged either: each side waits for the other's messages instead.

use super::streaming::Stream;
use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, OPERATION, Pattern, Shape, WINDOW, about, run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Outcome, in_pairs};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub const KERNEL: Pattern = Pattern {
    about: &about(
        "message_rate.bidirectional",
        "Message rate in both directions simultaneously between pairs of ranks",
        "Section 5.1, Figure 6",
        &[MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    ),
    refuse: in_pairs,
    fan_out: |point| (point.ranks as u64, 1),
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

/// Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let partner = (comm.rank() + comm.size() / 2) % comm.size();
    run_route(comm, point, arena, Some(&Stream { window: Shape::new(point).window, partner }), false)
}
