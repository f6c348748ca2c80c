//! Bounds of Apex-Map, by access.
//!
//! Local addresses of a rank follow P(address < c) = (c / own)^alpha over its own M/P words (Apex-Map paper, Section 2); at best
//! its caches hold the hottest of them. A share 1 - P^(-alpha) goes to other ranks: [`Law`] tells what any cache can hold.

use super::*;
use crate::bounds::limits::LINE_BYTES;
use apexmap_base::source::{APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, NIC_MESSAGE_RATE};
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::apex_map::access::Access;
use apexmap_measure::numerics::power_law::crossing;

/// That one instruction loads or stores.
const MOST_BYTES: f64 = 64.0;

pub const FAMILY: Family = Family {
    name: "apex_map",
    limits: &[
        Limit {
            name: ISSUE,
            formula: "loads per access, one for its index and one per 64 bytes of a block (threads, two_sided: once more for the \
                 remote fraction, with as many stores), at 4 loads, 128 bytes and 2 stores a core cycle",
            source: &APEX_MAP,
            place: "Table 1 (the sum of the words read)",
        },
        Limit {
            name: OUTSTANDING,
            formula: "Little's law: lines per access x mean latency of a line / maximum outstanding lines; and the \
                 fastest random reads of any region beyond L1, for the fraction of the accesses that reach it; between threads \
                 of local and remote accesses, otherwise of local ones",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: WALKS,
            formula: "the fastest random reads on base pages of any region beyond the reach of their translations \
                 (tlb_reach_bytes), for the fraction of the accesses that reach twice as far (neighbouring pages may share a \
                 translation)",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: L2,
            formula: "lines per access x fraction of the words read beyond a region, which holds part of a block where it is \
                 smaller, x minimum time per line from it; between threads of remote blocks as well; on several ranks the lines \
                 of the index arrays, too, 1/8 per access, if 8 N I bytes are more than the region",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit { name: L3, formula: "as L2", source: &APEX_MAP, place: "Section 2 (power law)" },
        Limit {
            name: MEMORY,
            formula: "as L2; and for all ranks of a node, 64 bytes per line beyond all of its caches, local or remote, / \
                 bandwidth of the node",
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
            formula: "two_sided: the sum over distances d of p(d) 2 min(d, P - d) / P crosses it, with p(d) ~ (d + 1)^alpha - \
                 d^alpha, half in each direction: x 8 L bytes / bisection bandwidth",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1)",
        },
        Limit {
            name: POLLS,
            formula: "two_sided: minimum time of a poll that finds nothing / poll_every",
            source: &APEX_MAP,
            place: "Table 1 (serve others after each access)",
        },
    ],
    terms,
};

fn terms(case: &Case, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    // Limits of stores are not known; and the neighbours' first rank is not all ranks.
    if Access::of(point) != Access::Read || point.params.contains_key("neighbours") {
        return;
    }
    let (alpha, ranks) = (point.real("alpha"), point.ranks as f64);
    let bytes = (point.integer("L") * WORD_BYTES) as f64;
    let own = (point.integer("M") * WORD_BYTES) as f64 / ranks;
    // The run's own share: of few remote accesses there may be more or fewer than expected.
    let away = case.output("remote_share").unwrap_or(1.0 - ranks.powf(-alpha));
    let at_once = case.at_once(ranks);
    // At least: a block of three words, say, may lie in two lines.
    let lines = (bytes / LINE_BYTES).max(1.0);
    let threads = case.carrier.0 == "threads";
    let two_sided = point.kernel == "apex_map.two_sided";

    // The words of a block and its index are loaded; who answers loads and stores a long reply as well, and a short one once.
    let loads = (bytes / MOST_BYTES).ceil();
    let copies = if threads && two_sided { away } else { 0.0 };
    let loaded = WORD_BYTES as f64 + (1.0 + copies) * bytes;
    terms.add(ISSUE, at_once, limits.issue(1.0 + (1.0 + copies) * loads, loaded, copies * loads));
    let in_loop = limits.reads.least().zip(limits.byte_seconds).map(|(read, byte)| read.max(bytes * byte));
    terms.set_loop(at_once, in_loop);

    // Between threads some core reads the blocks of others, too; elsewhere an adapter may.
    let law = Law::power(alpha, own).in_blocks(bytes.max(LINE_BYTES));
    let (read, by_cores) = if threads { (1.0, law.with_remote(away)) } else { (1.0 - away, law) };
    let known = !limits.reads.is_empty();
    let latency = limits.outstanding.map(|most| lines * limits.latencies.mean(&by_cores) / most);
    let reads = known.then(|| limits.reads_beyond_first.most(&by_cores));
    terms.add(OUTSTANDING, at_once, reads.map(|reads| read * reads.max(latency.unwrap_or(0.0))));
    if case.on_base_pages() {
        terms.add(WALKS, at_once, (!limits.reads_on_base.is_empty()).then(|| read * limits.walks.most(&by_cores)));
    }
    // One process uses a single array again and again; others stream all N, of which a region holds nothing by the end.
    let array_bytes = (point.integer("N") * point.integer("I") * WORD_BYTES) as f64;
    let streamed = !["apex_map.sequential", "apex_map.chains"].contains(&point.kernel.as_str());
    let indices = |region: f64| if streamed && array_bytes > region { WORD_BYTES as f64 / LINE_BYTES } else { 0.0 };
    for &(region, line) in limits.lines.rungs() {
        if let Some(level) = limits.level(region) {
            let beyond = read * lines * (1.0 - by_cores.below(region));
            terms.add(level, at_once, Some((beyond + indices(region)) * line));
        }
    }
    // Whoever reads a block, it comes from the memory of some node or from its caches.
    let on_node = ranks / case.nodes as f64;
    let cached = limits.cached(on_node) / on_node;
    let from_memory = lines * (1.0 - law.with_remote(away).below(cached)) + indices(cached);
    let node = limits.node_bandwidth.map(|bandwidth| from_memory * LINE_BYTES / bandwidth);
    terms.add(MEMORY, case.nodes as f64, node);
    if two_sided && point.ranks > 1 {
        let poll = limits.poll.filter(|_| case.messages().is_some());
        terms.add(POLLS, at_once, poll.map(|poll| poll / point.integer("poll_every") as f64));
    }
    if point.ranks > 1 {
        remote(case, away, bytes, terms);
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
    // Half of what crosses goes in each direction. Of few remote accesses as large a part is taken to cross as of all.
    let expected = 1.0 - ranks.powf(-case.point.real("alpha"));
    let crossing = || share / expected * crossing(ranks, case.point.real("alpha")) / 2.0;
    terms.add(BISECTION, 1.0, bisection.map(|(bandwidth, _)| crossing() * bytes / bandwidth));
}
