//! The cost of messages: the network inputs of the models.
//!
//! SOURCE: Aggarwal, Sabharwal, Garg and Heidelberger, Section 3.1, Equation (1): ts and tr, "the average send and
//!   receive time per update", top, the "additional overhead involved in performing the send/receive operations", and
//!   B, the bisection bandwidth in one direction; Plimpton and others, Section 3: the copy costs in T_C.
//! `message_rate.ping_pong` and `message_rate.streaming` measure latency, bandwidth and message rate.

pub mod barrier;
pub mod bisection;
pub mod copy;
pub mod get;
pub mod line;
pub mod mailbox;
pub mod poll;
pub mod receive;
pub mod send;

use super::Probe;
use crate::error::Result;
use crate::measure::comm::Comm;
use crate::measure::kernels::{About, Domain, Outcome, Output, Parameter, Ranks, Work, in_pairs, parameter};
use crate::measure::numerics::mix::mix;
use crate::point::{Point, Value};
use crate::source;
use crate::units::Unit;
use std::collections::BTreeMap;

pub(super) const OUTPUTS: &[Output] =
    &[Output { column: "operation_seconds", unit: Unit::Seconds, meaning: "time per operation, on the slowest rank" }];

pub(super) const HEADLINE: &str = "operation_seconds";

const fn about(
    id: &'static str,
    summary: &'static str,
    place: &'static str,
    parameters: &'static [Parameter],
    ranks: Ranks,
    method: &'static str,
) -> About {
    let source = &source::BLUE_GENE_P_RANDOM_ACCESS;
    About { id, summary, source, place, parameters, outputs: OUTPUTS, ranks, headline: HEADLINE, method }
}

/// What came of a run: the slowest rank's time of its `operations`, and what is wrong, on any rank. Collective.
pub(super) fn outcome<C: Comm>(comm: &C, seconds: f64, operations: f64, wrong: u64, what: &str) -> Outcome {
    let report = [seconds.to_bits(), wrong];
    let all = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let seconds = all.chunks_exact(2).map(|row| f64::from_bits(row[0])).fold(0.0, f64::max);
    let wrong: u64 = all.chunks_exact(2).map(|row| row[1]).sum();
    Outcome {
        seconds,
        outputs: BTreeMap::from([("operation_seconds", Value::Real(seconds / operations))]),
        verdict: if wrong == 0 { Ok(()) } else { Err(format!("{wrong} {what}")) },
    }
}

/// For messages between the halves of the ranks, of whole items of `item` bytes.
fn in_pairs_of(point: &Point, item: u64) -> std::result::Result<(), String> {
    in_pairs(point)?;
    match point.integer("message_bytes") {
        bytes if bytes % item != 0 => Err(format!("message_bytes = {bytes} is not a multiple of {item}")),
        _ => Ok(()),
    }
}

/// Of `messages` of every rank.
fn of_each(point: &Point, operation: &'static str, byte_definition: &'static str) -> Work {
    let operations = (point.integer("messages") * point.ranks as u64) as f64;
    Work { operations, operation, bytes: operations * point.integer("message_bytes") as f64, byte_definition }
}

/// The rank of the other half that this one works with.
fn partner<C: Comm>(comm: &C) -> usize {
    (comm.rank() + comm.size() / 2) % comm.size()
}

/// The words that a rank offers, in order.
fn contents(rank: usize) -> impl Iterator<Item = u64> {
    (0..).map(move |place| mix((rank as u64) << 32 ^ place))
}

/// A sum that no number of words can be too many for.
fn total(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))
}

/// What a pass of `count` operations returns, and its time from a common start; half a pass goes before. Collective.
fn timed<C: Comm, T>(comm: &C, count: u64, mut pass: impl FnMut(u64) -> T) -> (T, f64) {
    pass(count.div_ceil(2));
    comm.barrier();
    let start = comm.now();
    let found = pass(count);
    let seconds = comm.now() - start;
    comm.barrier();
    (found, seconds)
}

fn two_or_more(point: &Point) -> std::result::Result<(), String> {
    match point.ranks {
        1 => Err("needs at least two ranks".into()),
        _ => Ok(()),
    }
}
