//! Bounds of Apex-Map, by access.
//!
//! Local addresses of a rank follow P(address < c) = (c / own)^alpha over its own M/P words (Apex-Map paper, Section 2); at best
//! its caches hold the hottest of them. A share 1 - P^(-alpha) goes to other ranks.

use super::*;
use crate::explore::bounds::limits::LINE_BYTES;
use crate::source::{APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, NIC_MESSAGE_RATE};
use crate::units::WORD_BYTES;

pub const FAMILY: Family = Family {
    name: "apex_map",
    limits: &[
        Limit {
            name: ISSUE,
            formula: "time per access: a random read in the smallest region, or 8 L bytes in the fastest stream",
            source: &APEX_MAP,
            place: "Table 1 (the sum of the words read)",
        },
        Limit {
            name: OUTSTANDING,
            formula: "Little's law: lines per access x mean latency of a line / maximum outstanding lines; and the \
                 fastest random reads of any region, for the fraction of the accesses that reach it",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: WALKS,
            formula: "the fastest random reads on base pages of any region, for the fraction of the accesses that \
                 reach it",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: L2,
            formula: "lines per access x fraction of addresses beyond a region x minimum time per line from it; on several \
                 ranks the lines of the index arrays as well, 1/8 per access, if 8 N I bytes are more than the region",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit { name: L3, formula: "as L2", source: &APEX_MAP, place: "Section 2 (power law)" },
        Limit {
            name: MEMORY,
            formula: "as L2; and for all ranks of a node, 64 bytes per line beyond all of its caches / bandwidth of \
                 the node",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: MESSAGES,
            formula: "remote fraction x minimum time: two_sided of 2 messages (a request and a reply sent, as many \
                 received), one_sided of a get",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (4) to (6)",
        },
        Limit {
            name: LINK,
            formula: "remote fraction x 8 L bytes x minimum time per byte, sent or fetched",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (1), (2)",
        },
        Limit {
            name: LATENCY,
            formula: "remote fraction x round trip of two short messages, or of a short get / B outstanding",
            source: &APEX_MAP,
            place: "Section 2.1 (B)",
        },
        Limit {
            name: BISECTION,
            formula: "two_sided: remote fraction x P / (2 (P - 1)) cross it, half of them in each direction: x 8 L \
                 bytes / bisection bandwidth",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1)",
        },
    ],
    terms,
};

fn terms(case: &Case, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    let (alpha, ranks) = (point.real("alpha"), point.ranks as f64);
    let bytes = (point.integer("L") * WORD_BYTES) as f64;
    let own = (point.integer("M") * WORD_BYTES) as f64 / ranks;
    let local = ranks.powf(-alpha);
    let at_once = case.at_once(ranks);
    // A block begins at a multiple of its length: a short one lies within a line.
    let lines = (bytes / LINE_BYTES).max(1.0);

    let issue = limits.reads.least().zip(limits.byte_seconds).map(|(read, byte)| read.max(bytes * byte));
    terms.add(ISSUE, at_once, issue);
    let known = !limits.reads.is_empty();
    let latency = limits.outstanding.map(|most| lines * limits.latencies.mean(alpha, own) / most);
    let reads = known.then(|| limits.reads.most(alpha, own));
    terms.add(OUTSTANDING, at_once, reads.map(|reads| local * reads.max(latency.unwrap_or(0.0))));
    if case.on_base_pages() {
        let reads = &limits.reads_on_base;
        terms.add(WALKS, at_once, (!reads.is_empty()).then(|| local * reads.most(alpha, own)));
    }
    let beyond = |region: f64| 1.0 - (region / own).min(1.0).powf(alpha);
    // One process uses a single array again and again; others stream all N, of which a region holds nothing by the end.
    let array_bytes = (point.integer("N") * point.integer("I") * WORD_BYTES) as f64;
    let streamed = point.kernel != "apex_map.sequential";
    let indices = |region: f64| if streamed && array_bytes > region { WORD_BYTES as f64 / LINE_BYTES } else { 0.0 };
    for &(region, line) in limits.lines.rungs() {
        if let Some(level) = limits.level(region) {
            terms.add(level, at_once, Some((local * lines * beyond(region) + indices(region)) * line));
        }
    }
    let on_node = ranks / case.nodes as f64;
    let cached = limits.cached(on_node) / on_node;
    let from_memory = local * lines * beyond(cached) + indices(cached);
    let node = limits.node_bandwidth.map(|bandwidth| from_memory * LINE_BYTES / bandwidth);
    terms.add(MEMORY, case.nodes as f64, node);
    if point.ranks > 1 {
        remote(case, 1.0 - local, bytes, terms);
    }
}

fn remote(case: &Case, share: f64, bytes: f64, terms: &mut Terms) {
    let (ranks, messages) = (case.point.ranks as f64, case.messages());
    let cost = |of: fn(&Messages) -> Option<f64>| messages.and_then(of);
    let gets = case.point.kernel == "apex_map.one_sided";
    let costs = messages.map(|m| if gets { m.get } else { m.send });
    let (of_an_access, latency) = match gets {
        true => (1.0, cost(|m| m.get_latency)),
        // A put is seen sooner than any other message.
        false => (2.0, cost(|m| m.send_latency.into_iter().chain(m.put_latency).reduce(f64::min)).map(|one| 2.0 * one)),
    };
    let at_once = case.at_once(ranks);
    let message = costs.and_then(|c| c.message);
    terms.add(MESSAGES, at_once, message.map(|message| share * of_an_access * message));
    terms.add(LINK, at_once, costs.and_then(|c| c.byte).map(|byte| share * bytes * byte));
    let outstanding = case.point.integer("B") as f64;
    terms.add(LATENCY, ranks, latency.map(|latency| share * latency / outstanding));
    if gets {
        // The halves exchange sends, and gets may go another way.
        return;
    }
    let bisection = messages.and_then(|m| m.bisection).filter(|(_, over)| *over == case.point.ranks);
    let crossing = share * ranks / (2.0 * (ranks - 1.0)) / 2.0;
    terms.add(BISECTION, 1.0, bisection.map(|(bandwidth, _)| crossing * bytes / bandwidth));
}
