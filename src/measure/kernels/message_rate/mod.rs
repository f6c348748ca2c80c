//! Message rates by pattern of destinations and message size (Underwood, Levenhagen and Brightwell, Section 5 and Figures 3, 4; the
//! OSU micro-benchmarks). Unlike in the paper, messages go only to other nodes, not to the sender's own node; each message has its
//! own buffer, unless `buffers = "one"`; and every message is stamped, not only in Figure 3 (b).

pub mod patterns;
pub mod ping_pong;

use super::shared::messages::route::{Route, Stream};
use super::shared::messages::{
    BOTH_WAYS, BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, ONE_TO_MANY, ONE_WAY, OPERATION, PING_PONG,
    RANDOM, SEED, SENDERS, Shape, WINDOW, content, is_put, measure, remote_nodes, run_both_directions, run_route,
};
use crate::kernels::prelude::*;

const METHOD: &str = "Senders write messages in rounds. In a round, a sender sends a window of messages to each destination, \
    each from its own buffer, and waits until all of them have arrived. Two-sided: receives are posted at the start of a \
    round, and a receiver acknowledges its round with 4 bytes. One-sided: the sender waits until its puts are complete at \
    their targets. One sample is one run of all rounds, from a common start; its time is that of the slowest rank. \
    Before the clock starts, rounds are run until no rank runs a quarter of a run 5 % faster than its fastest \
    before. With cold caches, every rank reads other memory of the size of the largest cache before each round, and each round is \
    timed separately. Every message carries its sender, receiver, number and round. Its last 4 bytes are checked \
    after each round, its whole content after each run. The stamps and checks of a round are measured separately, \
    without messages, and subtracted from the times, but at most half of a round. Bytes are those of the messages' content; each \
    message is counted once, at its sender.";

const fn family(pattern: Kernel) -> Kernel {
    // The headline is the column that the paper's figures show over message size.
    Kernel {
        source: &source::NIC_MESSAGE_RATE,
        parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
        headline: "bytes_per_second",
        method: METHOD,
        bounded: Some(Bounded::Messages),
        ..pattern
    }
}

fn refuse_uneven_nodes(point: &Point) -> Result<(), Refusal> {
    let (ranks, senders) = (point.ranks as u64, SENDERS.of(point));
    if ranks % senders != 0 || ranks / senders < 2 {
        return Err(refusal!(
            ["ranks", "senders"],
            "{ranks} ranks are not two or more nodes of senders = {senders} ranks; use {} or a larger multiple of {senders}",
            2 * senders
        ));
    }
    Ok(())
}
