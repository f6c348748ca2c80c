//! Bounds of RandomAccess, per update. Updates are uniformly distributed over the words of a rank's part of the table.

use super::*;
use apexmap_base::source::{BLUE_GENE_P_RANDOM_ACCESS, HYPERCUBE_RANDOM_ACCESS, NIC_MESSAGE_RATE};
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::Division;
use apexmap_measure::kernels::keys::{N_WORDS, Q, STREAM, StreamKind};

pub const FAMILY: Family = Family {
    limits: &[
        Limit {
            name: ISSUE,
            formula: "one load and one store per update, at 4 loads and 2 stores per core cycle",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1), tg",
        },
        Limit {
            name: OUTSTANDING,
            formula: "the fastest random read of a region as large as a rank's part of the table, beyond L1: maximum \
                 outstanding lines / latency",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1), tu",
        },
        Limit {
            name: WALKS,
            formula: "the fastest random read on base pages of a region half as large as the part of the table, beyond the reach of \
                 the translations (tlb_reach_bytes). Half, because neighbouring pages may share a translation",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1), tu",
        },
        Limit {
            name: MEMORY,
            formula: "128 bytes per update (a line read, a line written back) beyond the caches of a node / \
                 bandwidth of the node",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1), tu",
        },
        Limit {
            name: MESSAGES,
            formula: "messages per update, counted in the run, x minimum time per message of a rank",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (4) to (6)",
        },
        Limit {
            name: LATENCY,
            formula: "kernels with rounds: stages of a round x latency of a short message / Q; each stage waits for the messages \
                 of the stage before",
            source: &HYPERCUBE_RANDOM_ACCESS,
            place: "Section 2, Figures 1 and 2",
        },
        Limit {
            name: LINK,
            formula: "bytes sent per update, counted in the run, x minimum time per byte of a rank",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (1), (2)",
        },
        Limit {
            name: BISECTION,
            formula: "4 B / b, with b = 8 bytes",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1)",
        },
    ],
    terms,
};

fn terms(case: &Case, kernel: &Kernel, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    let (ranks, table) = (point.ranks as f64, (N_WORDS.of(point) * WORD_BYTES) as f64);
    let on_node = ranks / case.nodes as f64;
    let threads = if kernel.is_threaded { case.output("cores_used").unwrap_or(1.0) } else { 1.0 };
    let has_parts = !matches!(kernel.division, Division::EachRank);
    let (part, on_each_node) =
        if has_parts { (table / ranks, table / case.nodes as f64) } else { (table, table * on_node) };
    let concurrency = case.concurrent_ranks(ranks * threads);

    let generate = limits.generate.filter(|_| STREAM.of(point) == StreamKind::Lfsr);
    terms.add(ISSUE, concurrency, limits.issue_seconds(1.0, WORD_BYTES as f64, 1.0));
    terms.set_loop(concurrency, limits.reads.min_cost().map(|read| read.max(generate.unwrap_or(0.0))));
    // Reads within the first-level cache do not wait.
    let reads = |ladder: &Ladder, beyond: &Ladder| (!ladder.is_empty()).then(|| beyond.cost_at(part).unwrap_or(0.0));
    terms.add(OUTSTANDING, concurrency, reads(&limits.reads, &limits.reads_beyond_first));
    if case.on_base_pages() {
        terms.add(WALKS, concurrency, reads(&limits.reads_on_base, &limits.walks));
    }
    let from_memory = 1.0 - (limits.cached_bytes(on_node) / on_each_node).min(1.0);
    let node = limits.node_bandwidth.map(|bandwidth| 2.0 * limits.line_bytes * from_memory / bandwidth);
    terms.add(MEMORY, case.nodes as f64, node);
    if point.ranks > 1 && has_parts {
        add_remote_terms(case, kernel, terms);
    }
}

fn add_remote_terms(case: &Case, kernel: &Kernel, terms: &mut Terms) {
    let ranks = case.point.ranks as f64;
    let (concurrency, messages) = (case.concurrent_ranks(ranks), case.messages());
    let costs = messages.map(|m| if kernel.windows.carry_operations(case.point) { m.put } else { m.send });
    let (message, byte) = (costs.and_then(|c| c.message), costs.and_then(|c| c.byte));
    let output = |name: &str| case.output(name).unwrap_or(0.0);
    // Between threads, the card's messages are those through memory.
    let in_memory = if case.carrier.0 == "threads" { 0.0 } else { output("memory_share_of_messages") };
    let by_messages = 1.0 - in_memory;
    terms.add(MESSAGES, concurrency, message.map(|message| by_messages * output("messages_per_update") * message));
    // All ranks wait at the same time, even if they share cores.
    if let Some(stages) = (kernel.stages)(case.point) {
        let latency = messages.and_then(|m| m.send_latency.into_iter().chain(m.put_latency).reduce(f64::min));
        let stages = by_messages * stages as f64;
        terms.add(LATENCY, ranks, latency.map(|latency| stages * latency / Q.of(case.point) as f64));
    }
    terms.add(LINK, concurrency, byte.map(|byte| by_messages * output("bytes_sent_per_update") * byte));
    let is_halved = |(_, ranks): &(f64, usize)| *ranks == case.point.ranks && in_memory < 1.0;
    let bisection = messages.and_then(|m| m.bisection).filter(is_halved);
    terms.add(BISECTION, 1.0, bisection.map(|(bandwidth, _)| WORD_BYTES as f64 / (4.0 * bandwidth)));
}
