//! Bounds of message rates, per message.

use super::*;
use apexmap_base::source::NIC_MESSAGE_RATE;
use apexmap_measure::kernels::Pattern;
use apexmap_measure::kernels::keys::{BUFFERS, Buffers, MESSAGE_BYTES, OPERATION, Operation, SENDERS, WINDOW};

pub const FAMILY: Family = Family {
    limits: &[
        Limit {
            name: MESSAGES,
            formula: "minimum time between two messages of a pair of ranks, over all lengths and patterns, with the same \
                 operation",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (4), (5)",
        },
        Limit {
            name: INJECTION,
            formula: "one to many: time that a sender needs to start a send or to put a short message",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equation (6)",
        },
        Limit {
            name: LINK,
            formula: "bytes per message x minimum time per byte of a pair of ranks, over messages of all lengths",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (1) to (3)",
        },
        Limit {
            name: LATENCY,
            formula: "ping-pong: latency of the shortest message",
            source: &NIC_MESSAGE_RATE,
            place: "Section 5.1, Figure 5",
        },
        Limit {
            name: L2,
            formula: "threads, distinct buffers: lines per message x fraction of the window beyond a region x minimum time per \
                 line from it; the messages are read one after the other",
            source: &NIC_MESSAGE_RATE,
            place: "Section 5 (distinct buffers)",
        },
        Limit { name: L3, formula: "as L2", source: &NIC_MESSAGE_RATE, place: "Section 5 (distinct buffers)" },
        Limit { name: MEMORY, formula: "as L2", source: &NIC_MESSAGE_RATE, place: "Section 5 (distinct buffers)" },
    ],
    terms,
};

fn terms(case: &Case, kernel: &Kernel, terms: &mut Terms) {
    let (point, messages) = (case.point, case.messages());
    let (ranks, bytes) = (point.ranks as f64, MESSAGE_BYTES.of(point) as f64);
    let put = OPERATION.of(point) == Operation::Put;
    let cost = |select: fn(&Messages) -> Option<f64>| messages.and_then(select);
    let costs = messages.map(|m| if put { m.put } else { m.send });
    let is_one_buffer = BUFFERS.of(point) == Buffers::One;
    let message = costs.and_then(|c| if is_one_buffer { c.message_one_buffer } else { c.message });
    let byte = costs.and_then(|c| c.byte);
    // Messages in progress at the same time, and ranks that send at the same time.
    let pairs = case.concurrent_ranks(ranks / 2.0);
    let Some(pattern) = kernel.pattern else { return };
    let (flows, sources) = match pattern {
        Pattern::PingPong => {
            terms.add(LATENCY, ranks / 2.0, if put { cost(|m| m.put_latency) } else { cost(|m| m.send_latency) });
            terms.add(LINK, pairs, byte.map(|byte| bytes * byte));
            return add_read_terms(case, pairs, terms);
        }
        Pattern::OneWay => (pairs, pairs),
        Pattern::BothWays => (2.0 * pairs, 2.0 * pairs),
        Pattern::Random => (case.concurrent_ranks(ranks), case.concurrent_ranks(ranks)),
        Pattern::OneToMany => {
            let senders = SENDERS.of(point) as f64;
            // A put costs time on its sender only. A send also costs time on its receiver, one of many.
            (case.concurrent_ranks(if put { senders } else { ranks - senders }), case.concurrent_ranks(senders))
        }
    };
    terms.add(MESSAGES, flows, message);
    terms.add(LINK, flows, byte.map(|byte| bytes * byte));
    if flows != sources || pattern == Pattern::Random {
        terms.add(INJECTION, sources, if put { message } else { cost(|m| m.inject) });
    }
    add_read_terms(case, flows, terms);
}

/// Adds the reads of messages. Between threads, a core reads each message from the memory where it was written.
fn add_read_terms(case: &Case, flows: f64, terms: &mut Terms) {
    if case.carrier.0 != "threads" || BUFFERS.of(case.point) == Buffers::One {
        return;
    }
    let bytes = MESSAGE_BYTES.of(case.point) as f64;
    let window = WINDOW.of(case.point) as f64 * bytes;
    for &(region, line) in case.limits.lines.rungs() {
        if let Some(level) = case.limits.level(region) {
            let beyond = 1.0 - (region / window).min(1.0);
            terms.add(level, flows, Some((bytes / case.limits.line_bytes).max(1.0) * beyond * line));
        }
    }
}
