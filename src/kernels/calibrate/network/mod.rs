//! What messages cost: the network's part of the models' inputs.
//!
//! SOURCE: Aggarwal, Sabharwal, Garg and Heidelberger, Section 3.1, Equation (1): ts and tr, "the average send and receive
//!   time per update", top, the "additional overhead involved in performing the send/receive operations", and B, the
//!   bisection bandwidth of one direction; Plimpton and others, Section 3: the copy costs in T_C.
//! Latency, bandwidth and message rate are those of `message_rate.ping_pong` and `message_rate.streaming`.

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
use crate::comm::Comm;
use crate::error::Result;
use crate::kernels::{About, Domain, Outcome, Output, Parameter, Ranks, Work, in_pairs, parameter};
use crate::point::{Point, Value};
use crate::source;
use crate::units::Unit;
use std::collections::BTreeMap;

pub(super) const OUTPUTS: &[Output] = &[Output {
    column: "operation_seconds",
    unit: Unit::Seconds,
    meaning: "time of one operation, on the slowest rank",
}];

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

fn two_or_more(point: &Point) -> std::result::Result<(), String> {
    match point.ranks {
        1 => Err("one rank has nobody to write to; use two or more".into()),
        _ => Ok(()),
    }
}
