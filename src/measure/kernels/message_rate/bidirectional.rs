//! NAME: message_rate.bidirectional. Each rank of the first half and its partner exchange windows of messages.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1 and Figure 6; OSU's bidirectional bandwidth. Rounds are not
//!   acknowledged, as in OSU's program: each side waits for the other's messages instead.

use super::{
    BOTH_WAYS, BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, OPERATION, WINDOW, family, run_both_directions,
};
use crate::kernels::{Kernel, parameters};
use crate::on_transport;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.bidirectional",
    summary: "Message rate in both directions simultaneously between pairs of ranks",
    place: "Section 5.1, Figure 6",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    run: |point, _, world| on_transport!(&world.transport, comm => run_both_directions(*comm, point, world.arena)),
    ..family(BOTH_WAYS)
};
