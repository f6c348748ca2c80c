//! NAME: message_rate.bidirectional. Each rank of the first half and its partner exchange windows of messages.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1 and Figure 6; OSU's bidirectional bandwidth. Rounds are not
//!   acknowledged, as in OSU's program: each side waits for the other's messages instead.

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, MessagePattern, OPERATION, WINDOW, about,
    run_both_directions,
};
use crate::kernels::require_even_ranks;
use crate::on_transport;

pub const KERNEL: MessagePattern = MessagePattern {
    about: &about(
        "message_rate.bidirectional",
        "Message rate in both directions simultaneously between pairs of ranks",
        "Section 5.1, Figure 6",
        &[MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    ),
    refuse: require_even_ranks,
    fan_out: |point| (point.ranks as u64, 1),
    run: |point, _, world| on_transport!(&world.transport, comm => run_both_directions(*comm, point, world.arena)),
};
