//! Message rates: what the patterns share, besides the [messages](crate::kernels::shared::messages).
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5 and Figures 3, 4; the OSU micro-benchmarks that it follows
//!   (latency, bandwidth, bidirectional bandwidth, multiple pairs).
//! PURPOSE: how many messages and bytes per second leave a node, by pattern of destinations and message size.
//! WORK: rounds of `window` messages to each destination; bytes are the messages' content, each message counted once.
//! DIFFERENCES from the paper: messages go only to other nodes, not to the sender's own; each message has its own
//!   buffer instead of one for all (`buffers = "one"` gives that); every message is stamped, not only in Figure 3 (b).

pub mod bidirectional;
pub mod block_cyclic;
pub mod cyclic;
pub mod indirect;
pub mod ping_pong;
pub mod random;
pub mod streaming;

use super::shared::messages::route::{Route, Stream};
use super::shared::messages::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, OPERATION, OUTPUTS, Pattern, SEED, Shape, WINDOW, content,
    measure, run_both_directions, run_route,
};
use super::{About, Domain, Parameter, Ranks, parameter};
use apexmap_base::point::Point;
use apexmap_base::source;

const SENDERS: Parameter = parameter(
    "senders",
    "senders_per_node",
    "senders: ranks per node; those of the first node send, each to its counterparts on the other nodes",
    Domain::Integer { least: 1, most: 1 << 16, default: 1 },
);

/// What the paper's figures show over message size.
const HEADLINE: &str = "bytes_per_second";

const METHOD: &str = "Senders write messages in rounds: a window of messages to each destination, each in its own \
    buffer, then a wait until all of them have arrived. Two-sided: receives are posted at the start of a round, and \
    a receiver acknowledges its round with 4 bytes. One-sided: the sender waits until its puts are complete at \
    their targets. One sample is one run of all rounds, from a common start; its time is that of the slowest rank. \
    Before the clock starts, rounds are run until no rank runs a quarter of a run 5 % faster than its fastest \
    before; with cold caches, each round is timed by itself after every rank has read as much other memory as the \
    largest cache holds. Every message carries its sender, receiver, number and round: its last 4 bytes are checked \
    after each round, and all of its content after each run. The stamps and the checks of each round are measured alone, \
    without messages, and subtracted from the times: at most half of them. Bytes are those of the messages' content, each message \
    counted once, at its sender.";

/// What a pattern is; the rest is the same for all.
const fn about(
    id: &'static str,
    summary: &'static str,
    place: &'static str,
    parameters: &'static [Parameter],
) -> About {
    About {
        id,
        summary,
        source: &source::NIC_MESSAGE_RATE,
        place,
        parameters,
        outputs: OUTPUTS,
        ranks: Ranks::Any,
        headline: HEADLINE,
        method: METHOD,
    }
}

/// Ranks of one node after another.
fn in_nodes(point: &Point) -> std::result::Result<(), String> {
    let (ranks, senders) = (point.ranks as u64, point.integer("senders"));
    if ranks % senders != 0 || ranks / senders < 2 {
        return Err(format!(
            "{ranks} ranks do not make two or more nodes of senders = {senders} ranks; use {} or another multiple",
            2 * senders
        ));
    }
    Ok(())
}

/// The paper's `numNids`: nodes that are not the senders' own.
fn remote_nodes(point: &Point) -> u64 {
    point.ranks as u64 / point.integer("senders") - 1
}
