//! Bounds of Apex-Map, per access. [`Law`] gives the share of a rank's accesses that a cache of any size can hold.

use super::*;
use apexmap_base::source::{APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, NIC_MESSAGE_RATE};
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::Ranks;
use apexmap_measure::kernels::keys::{ALPHA, Access, B, I, L, M, N, NEIGHBOURS, POLL_EVERY};
use apexmap_measure::numerics::power_law::crossing_share;

/// Bytes that one instruction loads or stores, at most.
const MAX_BYTES_PER_INSTRUCTION: f64 = 64.0;

pub const FAMILY: Family = Family {
    limits: &[
        Limit {
            name: ISSUE,
            formula: "loads per access (one for the index, one per 64 bytes of the block) at 4 loads, 128 bytes and 2 stores per \
                 core cycle; with threads and two_sided, the remote fraction of the blocks is loaded once more and stored",
            source: &APEX_MAP,
            place: "Table 1 (the sum of the words read)",
        },
        Limit {
            name: OUTSTANDING,
            formula: "the larger of two times: lines per access x mean latency of a line / maximum outstanding lines \
                 (Little's law); or, for any region beyond L1, the fraction of the accesses that reach it x its fastest \
                 random read. Between threads, local and remote accesses count, otherwise only local ones",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: WALKS,
            formula: "for any region beyond the reach of the translations (tlb_reach_bytes): the fraction of the accesses beyond \
                 twice the region x its fastest random read on base pages. Twice, because neighbouring pages may share a \
                 translation",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: L2,
            formula: "lines per access x fraction of the words read from beyond a region x minimum time per line from it. A region \
                 that is smaller than a block holds part of the block. Between threads, remote blocks count too. On several \
                 ranks, an index costs 1/8 line per access more if the index arrays (8 N I bytes) exceed the region",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit { name: L3, formula: "as L2", source: &APEX_MAP, place: "Section 2 (power law)" },
        Limit {
            name: MEMORY,
            formula: "as L2; and for all ranks of a node: lines beyond all of its caches, local or remote, x 64 bytes / \
                 bandwidth of the node",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: MESSAGES,
            formula: "remote fraction x minimum time: of 2 messages for two_sided (a rank sends a request and a reply and \
                 receives the same number), of a get for one_sided",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (4) to (6)",
        },
        Limit {
            name: LINK,
            formula: "remote fraction x 8 L bytes x minimum time per byte sent or fetched",
            source: &NIC_MESSAGE_RATE,
            place: "Section 6, Equations (1), (2)",
        },
        Limit {
            name: LATENCY,
            formula: "remote fraction x latency / B outstanding; the latency is a round trip of two short messages, or a short get",
            source: &APEX_MAP,
            place: "Section 2.1 (B)",
        },
        Limit {
            name: BISECTION,
            formula: "two_sided: sum over distances d of p(d) 2 min(d, P - d) / P, the fraction of the accesses that cross it, with \
                 p(d) ~ (d + 1)^alpha - d^alpha; half of it in each direction, x 8 L bytes / bisection bandwidth",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1)",
        },
        Limit {
            name: POLLS,
            formula: "two_sided: minimum time of a poll without a message / poll_every",
            source: &APEX_MAP,
            place: "Table 1 (serve others after each access)",
        },
    ],
    terms,
};

fn terms(case: &Case, kernel: &Kernel, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    // A card has no limits of stores. With neighbours, the rate is that of the first rank, not of all ranks.
    if Access::of(point) != Access::Read || NEIGHBOURS.get(point).is_some() {
        return;
    }
    let (alpha, ranks) = (ALPHA.of(point), point.ranks as f64);
    let bytes = (L.of(point) * WORD_BYTES) as f64;
    let own = (M.of(point) * WORD_BYTES) as f64 / ranks;
    // The remote share of this run. With few remote accesses it differs from the expected value.
    let remote_share = case.output("remote_share").unwrap_or(1.0 - ranks.powf(-alpha));
    let concurrency = case.concurrent_ranks(ranks);
    // A minimum: a block of three words, for example, may lie in two lines.
    let lines = (bytes / limits.line_bytes).max(1.0);
    let threads = case.carrier.0 == "threads";
    let has_remote_accesses = kernel.ranks == Ranks::Any;
    let gets = kernel.windows.carry_operations(point);
    let two_sided = has_remote_accesses && !gets;

    // An access loads its index and the words of the block. Between threads, the rank that answers a request copies the
    // block: it loads and stores the block once more.
    let loads = (bytes / MAX_BYTES_PER_INSTRUCTION).ceil();
    let copies = if threads && two_sided { remote_share } else { 0.0 };
    let loaded = WORD_BYTES as f64 + (1.0 + copies) * bytes;
    terms.add(ISSUE, concurrency, limits.issue_seconds(1.0 + (1.0 + copies) * loads, loaded, copies * loads));
    let in_loop = limits.reads.min_cost().zip(limits.byte_seconds).map(|(read, byte)| read.max(bytes * byte));
    terms.set_loop(concurrency, in_loop);

    // Between threads, a core reads remote blocks too. Between processes, a network adapter may read them.
    let law = Law::from_alpha(alpha, own).in_blocks(bytes.max(limits.line_bytes));
    let (read, by_cores) = if threads { (1.0, law.with_remote(remote_share)) } else { (1.0 - remote_share, law) };
    let has_reads = !limits.reads.is_empty();
    let latency = limits.outstanding.map(|max_lines| lines * limits.latencies.mean_cost(&by_cores) / max_lines);
    let reads = has_reads.then(|| limits.reads_beyond_first.max_rung_cost(&by_cores));
    terms.add(OUTSTANDING, concurrency, reads.map(|reads| read * reads.max(latency.unwrap_or(0.0))));
    if case.on_base_pages() {
        terms.add(
            WALKS,
            concurrency,
            (!limits.reads_on_base.is_empty()).then(|| read * limits.walks.max_rung_cost(&by_cores)),
        );
    }
    // Kernels of one rank use a single index array repeatedly. All others stream through N arrays, so a region that is smaller
    // than the arrays holds none of the indices to come.
    let array_bytes = (N.of(point) * I.of(point) * WORD_BYTES) as f64;
    let indices = |region: f64| {
        if has_remote_accesses && array_bytes > region { WORD_BYTES as f64 / limits.line_bytes } else { 0.0 }
    };
    for &(region, line) in limits.lines.rungs() {
        if let Some(level) = limits.level(region) {
            let beyond = read * lines * (1.0 - by_cores.max_share_within(region));
            terms.add(level, concurrency, Some((beyond + indices(region)) * line));
        }
    }
    // A block comes from the memory or the caches of some node, whichever rank reads it.
    let on_node = ranks / case.nodes as f64;
    let cached = limits.cached_bytes(on_node) / on_node;
    let from_memory = lines * (1.0 - law.with_remote(remote_share).max_share_within(cached)) + indices(cached);
    let node = limits.node_bandwidth.map(|bandwidth| from_memory * limits.line_bytes / bandwidth);
    terms.add(MEMORY, case.nodes as f64, node);
    if two_sided && point.ranks > 1 {
        let poll = limits.poll.filter(|_| case.messages().is_some());
        terms.add(POLLS, concurrency, poll.map(|poll| poll / POLL_EVERY.of(point) as f64));
    }
    if point.ranks > 1 {
        add_remote_terms(case, gets, remote_share, bytes, terms);
    }
}

fn add_remote_terms(case: &Case, gets: bool, share: f64, bytes: f64, terms: &mut Terms) {
    let (ranks, messages) = (case.point.ranks as f64, case.messages());
    let cost = |select: fn(&Messages) -> Option<f64>| messages.and_then(select);
    let costs = messages.map(|m| if gets { m.get } else { m.send });
    let (operations_per_access, latency) = match gets {
        true => (1.0, cost(|m| m.get_latency)),
        // The receiver can see a put earlier than a sent message.
        false => (
            2.0,
            cost(|m| m.send_latency.into_iter().chain(m.put_latency).reduce(f64::min)).map(|one_way| 2.0 * one_way),
        ),
    };
    let concurrency = case.concurrent_ranks(ranks);
    let message = costs.and_then(|c| c.message);
    terms.add(MESSAGES, concurrency, message.map(|message| share * operations_per_access * message));
    terms.add(LINK, concurrency, costs.and_then(|c| c.byte).map(|byte| share * bytes * byte));
    let outstanding = B.of(case.point) as f64;
    terms.add(LATENCY, ranks, latency.map(|latency| share * latency / outstanding));
    if gets {
        // The bisection bandwidth was measured with sends. Gets may take another path.
        return;
    }
    let bisection = messages.and_then(|m| m.bisection).filter(|(_, halved_ranks)| *halved_ranks == case.point.ranks);
    // Half of the crossing traffic goes in each direction. The fraction of the remote accesses that cross is taken from the
    // law, however large the remote share of this run is.
    let expected = 1.0 - ranks.powf(-ALPHA.of(case.point));
    let crossing = || share / expected * crossing_share(ranks, ALPHA.of(case.point)) / 2.0;
    terms.add(BISECTION, 1.0, bisection.map(|(bandwidth, _)| crossing() * bytes / bandwidth));
}

/// Bounds on a device, per access. Each device reads its own memory.
pub const ON_DEVICE: Family = Family {
    limits: &[
        Limit {
            name: OUTSTANDING,
            formula: "words of a block x mean latency beyond the nearest level / (work items x loads in flight of each) (Little's law)",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: MEMORY,
            formula: "bytes of a block, at least a sector, x fraction of the words beyond the largest cache, which holds the hottest \
                 ones / bandwidth of the device. If more accesses are in flight than a pass has (I), some are the same ones",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
    ],
    terms: add_device_terms,
};

fn add_device_terms(case: &Case, _: &Kernel, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    // A card of another device says nothing.
    if case.outputs.get(DEVICE_NAME) != limits.device.as_deref().map(Value::from).as_ref() {
        return;
    }
    let (devices, words) = (point.ranks as f64, L.of(point) as f64);
    let read = limits.sector.map(|sector| sector.max(words * WORD_BYTES as f64));
    let law = Law::from_alpha(ALPHA.of(point), (M.of(point) * WORD_BYTES) as f64).in_blocks(read.unwrap_or_default());
    let number = |name: &str| point.params.get(name).and_then(Value::as_f64);
    let in_flight = number("in_flight");
    let loads = case.output("items_used").zip(in_flight).map(|(items, each)| items * each);
    terms.add(OUTSTANDING, devices, loads.map(|loads| words * limits.latencies.mean_cost(&law) / loads));
    // Without the size of a cache, all accesses could hit one.
    let beyond = limits.caches.last().map(|cache| 1.0 - law.max_share_within(*cache));
    // The next pass begins before this one ends: in_flight accesses of each group of lanes are on their way at once.
    let at_once = loads.zip(number("lanes")).map_or(0.0, |(loads, lanes)| loads / lanes);
    let distinct = number("I").map_or(1.0, |pass| (pass / at_once).min(1.0));
    let bytes = read.zip(beyond).map(|(read, beyond)| read * beyond * distinct);
    terms.add(MEMORY, devices, bytes.zip(limits.node_bandwidth).map(|(bytes, rate)| bytes / rate));
}
