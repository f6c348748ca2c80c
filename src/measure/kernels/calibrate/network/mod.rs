//! The network inputs of the models, after Aggarwal, Sabharwal, Garg and Heidelberger, Section 3.1, Equation (1): ts and tr, "the
//! average send and receive time per update", top, the "additional overhead involved in performing the send/receive operations",
//! and B, the bisection bandwidth in one direction; Plimpton and others, Section 3: the copy costs in T_C. `message_rate.ping_pong`
//! and `message_rate.streaming` measure latency, bandwidth and message rate.

pub mod barrier;
pub mod bisection;
pub mod copy;
pub mod get;
pub mod mailbox;
pub mod pair;
pub mod poll;
pub mod request;

use super::*;
use crate::kernels::shared::messages::{MESSAGE_BYTES, MESSAGES};
use crate::observer;

/// Messages have whole items of `item` bytes.
fn require_pairs(point: &Point, item: u64) -> Result<(), Refusal> {
    require_even_ranks(point)?;
    match MESSAGE_BYTES.of(point) {
        bytes if bytes % item != 0 => {
            Err(refusal!(["message_bytes"], "message_bytes = {bytes} is not a multiple of {item}"))
        }
        _ => Ok(()),
    }
}

fn work_per_rank(point: &Point, operation: &'static str, byte_definition: &'static str) -> Work {
    Work::new(
        MESSAGES.of(point) as f64 * point.ranks as f64,
        operation,
        MESSAGE_BYTES.of(point) as f64,
        byte_definition,
    )
}

fn partner<C: Collectives>(comm: &C) -> usize {
    (comm.rank() + comm.size() / 2) % comm.size()
}

fn contents(rank: usize) -> impl Iterator<Item = u64> {
    (0..).map(move |place| mix((rank as u64) << 32 ^ place))
}

fn wrapping_sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))
}

/// Times a pass of `count` operations from a common start, after half a pass as warm-up. Collective.
fn time_pass<C: Collectives, T>(comm: &C, count: u64, mut pass: impl FnMut(u64) -> T) -> (T, f64) {
    pass(count.div_ceil(2));
    observer::clock_starts();
    comm.barrier();
    let start = comm.wall_time();
    let result = pass(count);
    let seconds = comm.wall_time() - start;
    observer::clock_stops();
    comm.barrier();
    (result, seconds)
}
