//! The tables and figures of the papers: what reproduces them, and the reasons for missing ones.

use super::{Check, Count};
use apexmap_base::source::{
    APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, HPCC_RANDOM_ACCESS, HYPERCUBE_RANDOM_ACCESS, NIC_MESSAGE_RATE,
};
use serde::Serialize;

/// A table, a figure or a statement of a paper.
#[derive(Debug, Serialize)]
pub struct Item {
    pub paper: &'static str,
    /// Place in the paper: `Table 3`.
    pub place: &'static str,
    pub what: &'static str,
    /// Models that predict it.
    pub models: &'static [&'static str],
    /// Sweeps that measure the same on another machine.
    pub sweeps: &'static [&'static str],
    /// Prefixes of the sources of its checks.
    #[serde(skip)]
    pub checks: &'static [&'static str],
    /// Prefixes of the sources of its simulated values.
    #[serde(skip)]
    pub simulated: &'static [&'static str],
    /// Missing parts and the reason; empty if complete.
    pub missing: &'static str,
}

const fn item(paper: &'static str, place: &'static str, subject: &'static str) -> Item {
    Item { paper, place, what: subject, models: &[], sweeps: &[], checks: &[], simulated: &[], missing: "" }
}

impl Item {
    const fn models(self, models: &'static [&'static str]) -> Self {
        Self { models, ..self }
    }
    const fn sweeps(self, sweeps: &'static [&'static str]) -> Self {
        Self { sweeps, ..self }
    }
    const fn checks(self, checks: &'static [&'static str]) -> Self {
        Self { checks, ..self }
    }
    const fn simulations(self, simulated: &'static [&'static str]) -> Self {
        Self { simulated, ..self }
    }
    const fn missing(self, missing: &'static str) -> Self {
        Self { missing, ..self }
    }

    /// Returns whether a check belongs to this item.
    pub fn has(&self, check: &Check) -> bool {
        let sources = if check.is_simulated { self.simulated } else { self.checks };
        sources.iter().any(|source| check.source.starts_with(source))
    }
}

/// An item with the outcomes of its values by kind.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub item: &'static Item,
    pub values: Vec<Count>,
}

/// Returns the table, paper by paper.
pub fn rows(checks: &[Check]) -> Vec<Row> {
    let row = |item| Row { item, values: Count::count_kinds(checks.iter().filter(|check| Item::has(item, check))) };
    ITEMS.iter().map(row).collect()
}

const A: &str = APEX_MAP.short;
const D: &str = HPCC_RANDOM_ACCESS.short;
const H: &str = HYPERCUBE_RANDOM_ACCESS.short;
const B: &str = BLUE_GENE_P_RANDOM_ACCESS.short;
const N: &str = NIC_MESSAGE_RATE.short;

/// Every table and figure of the five papers, and their other quoted numbers.
pub const ITEMS: &[Item] = &[
    item(A, "Section 2", "share of remote accesses")
        .models(&["apex_map.surface"])
        .checks(&["Apex-Map paper, Section 2,"]),
    item(A, "Table 1, Figure 1", "algorithm and distribution of the data")
        .sweeps(&["quickstart"])
        .missing("no numbers: the kernels follow the flowchart"),
    item(A, "Table 2", "three platforms")
        .checks(&["Apex-Map paper, Section 3.3,"])
        .missing("the platforms are cards; their ratios are arithmetic of printed numbers"),
    item(A, "Figure 2", "ratio to ping-pong")
        .models(&["apex_map.surface"])
        .sweeps(&["paper-figure-2", "eager-limit"])
        .checks(&["Apex-Map paper, Section 3.2,"])
        .missing("the values are only drawn, but for 60 % at 1024 words: the report draws the ratio, and this value"),
    item(A, "Figures 3, 4, 7", "surfaces and contours of 256 processes")
        .models(&["apex_map.surface"])
        .sweeps(&["paper-figures-3-to-7", "quickstart"])
        .simulations(&["Apex-Map paper, Figures 3, 4 and 7"])
        .missing(
            "the factors 85, 128 and 16 of Section 3.3 need latencies and caches of the platforms, which are not printed: \
             reports give the same factors for a measured surface, with the paper's",
        ),
    item(A, "Figures 5, 6", "ratios of two platforms")
        .simulations(&["Apex-Map paper, Figures 5 and 6"])
        .sweeps(&["paper-figures-3-to-7"])
        .missing("the ratios 2-4, 6-8 and 12 are read from drawn surfaces; `apexmap compare` makes these figures of two results"),
    item(A, "Section 2.1", "increasing performance up to 1000s of processors")
        .models(&["apex_map.surface"])
        .sweeps(&["apex-map-ranks"])
        .missing("stated without numbers"),
    item(A, "Section 2.1, parameters of MPI", "receive buffers, send handles and served requests: B, SMSG, NSER")
        .missing("the paper has no numbers; `make papers` draws their effect on 256 processes of a hypothetical machine"),
    item(A, "Section 4", "characterising applications by M, alpha and L")
        .missing(
            "announced here; the authors published a method later (Ibrahim, Strohmaier, Characterizing the relation between Apex-Map \
             synthetic probes and reuse distance distributions, ICPP 2010; chapter 8 of Performance Tuning of Scientific Applications, \
             2010), which apexmap does not have. `apexmap locate` and the sites of codes do a part: they give each line of a program M, alpha, L \
             and a rate, by another method",
        ),
    item(D, "Figures 1, 2", "bandwidth over the share of random accesses (MAPS)")
        .sweeps(&["memory-random-share"])
        .missing("the values are only drawn, not printed; the sweep makes the same figure"),
    item(D, "Definition", "polynomial and period of the stream")
        .checks(&["HPCC RandomAccess definition"]),
    item(D, "Figures 3 to 7", "sequential, star and global RandomAccess").sweeps(&["random-access-hpcc"]).missing("no numbers"),
    item(H, "Table 1", "the unoptimised benchmark")
        .models(&["random_access.bottleneck"])
        .sweeps(&["random-access-algorithms"])
        .checks(&["hypercube paper, Table 1"])
        .simulations(&["hypercube paper, Table 1"])
        .missing(
            "the paper gives no cost of its messages, and 1.5 to 10 us per update over P is not Equation (1) of the Blue Gene/P paper",
        ),
    item(H, "Figure 1, Section 2", "messages and volume in d dimensions")
        .models(&["random_access.all_to_all"])
        .sweeps(&["random-access-dimensions"])
        .checks(&["hypercube paper, Section 2"]),
    item(H, "Table 2", "GUPS over processors")
        .models(&["random_access.hypercube"])
        .sweeps(&["random-access-ranks", "random-access-rounds"])
        .checks(&["hypercube paper, Table 2", "hypercube paper, Section 3"])
        .simulations(&["hypercube paper, Table 2", "hypercube paper, Section 3"]),
    item(H, "Table 3", "optimisations")
        .models(&["random_access.hypercube"])
        .sweeps(&["random-access-optimisations"])
        .checks(&["hypercube paper, Table 3", "hypercube paper, Section 4"])
        .simulations(&["hypercube paper, Table 3"])
        .missing("Mod4 to Mod6 are other MPI libraries: run the sweep under each, and compare"),
    item(H, "Table 4", "GUPS over the look-ahead")
        .models(&["random_access.all_to_all"])
        .sweeps(&["random-access-lookahead"])
        .checks(&["hypercube paper, Table 4"])
        .simulations(&["hypercube paper, Table 4"])
        .missing("no model has the drop from Q = 8192 to 32768, which resembles that of a cache; the fit is below"),
    item(H, "Footnote 1", "updates stored beyond the look-ahead").checks(&["hypercube paper, Footnote 1"]),
    item(H, "Section 4", "mapping the hypercube onto the network")
        .missing("the paper has not tried it; `mapping` of simulated ranks does, and `make papers` draws the effect"),
    item(B, "Equation (1), Section 4", "processors or network: crossovers of single updates")
        .models(&["random_access.bottleneck"])
        .checks(&["Blue Gene/P paper, Section 4,"])
        .simulations(&["Blue Gene/P paper, Section 4,"])
        .missing("256K nodes are not simulated; 32K nodes with one rank each are"),
    item(B, "Table 1", "mapping modes")
        .sweeps(&["random-access-modes"])
        .missing("modes 2 to 4 are not meaningful (Section 3.2); the paper has no numbers for the others"),
    item(B, "Table 2 (a)", "error rates")
        .models(&["random_access.lost_updates"])
        .sweeps(&["random-access-locks"])
        .checks(&["Blue Gene/P paper, Table 2 (a)"])
        .missing("the standard deviations use one fitted burst size, which no model derives"),
    item(B, "Table 2 (b)", "locks")
        .models(&["random_access.locks"])
        .sweeps(&["random-access-locks"])
        .checks(&["Blue Gene/P paper, Table 2 (b)", "Blue Gene/P paper, Section 3.3"])
        .missing("the value 2.58 for four cores without locks needs the memory's rate for several cores, which is not printed"),
    item(B, "Section 4.4, Table 3", "numbers of nodes that are no powers of two")
        .models(&["random_access.roles"])
        .sweeps(&["random-access-division"])
        .checks(&["Blue Gene/P paper, Table 3", "Blue Gene/P paper, Section 5.3, "]),
    item(B, "Theorem 4.1", "owners by prediction are at most one too high").checks(&["Blue Gene/P paper, Theorem 4.1"]),
    item(B, "Section 4.3.1", "buckets; packets received four at a time")
        .models(&["random_access.roles"])
        .missing("BktSize is in Table 4; the kernels receive four packets at once (`packets`), and have one full bucket per dimension"),
    item(B, "Section 5.1", "load of the cores")
        .models(&["random_access.roles"])
        .sweeps(&["random-access-loads"])
        .checks(&["Blue Gene/P paper, Sections 5.1 and 5.2"])
        .simulations(&["Blue Gene/P paper, Sections 5.1 and 5.2"])
        .missing("the loads of cores 0 to 2 are inputs of the model"),
    item(B, "Table 4, Blue Gene/P", "bottlenecks and rates over nodes")
        .models(&["random_access.roles", "random_access.routed"])
        .sweeps(&["random-access-roles"])
        .checks(&["Blue Gene/P paper, Table 4", "Blue Gene/P paper, Section 5.2, one core", "Blue Gene/P paper, Section 5.3:"])
        .simulations(&["Blue Gene/P paper, Table 4", "Blue Gene/P paper, Section 5.3"]),
    item(B, "Table 4, Blue Gene/L", "bottlenecks and rates over nodes")
        .missing("send and receive times by packet size are not printed: only that they range from 14 to 70 and from 50 to 190 cycles"),
    item(B, "Section 5.2", "crossovers of updates in buckets")
        .models(&["random_access.roles", "random_access.routed"])
        .checks(&["Blue Gene/P paper, Section 5.2, updates"]),
    item(N, "Tables 1, 2", "commands and messages").missing("sizes are numbers of the card"),
    item(N, "Tables 3, 4", "the simulated machine").missing("it is a card, which `make papers` simulates"),
    item(N, "Section 3.5", "E-registers against commands").checks(&["NIC message-rate paper, Section 3.5"]),
    item(N, "Figure 5", "latency")
        .models(&["message_rate.nic_latency"])
        .sweeps(&["message-rate-sizes"])
        .checks(&["NIC message-rate paper, Section 5.2 and Figure 5 (b)"])
        .simulations(&["NIC message-rate paper, Section 5.2 and Figure 5"])
        .missing("the time of neither bus nor router is not printed: 114 ns from the share of 70 %"),
    item(N, "Figures 3, 4, 7 to 10", "message rates of 1, 2 and 4 cores")
        .models(&["message_rate.nic"])
        .sweeps(&["message-rate-sizes", "message-rate-senders", "message-rate-one-to-n"])
        .checks(&["NIC message-rate paper, Sections 5.2 and 7"])
        .simulations(&["NIC message-rate paper, Sections 5.2 and 7"])
        .missing("the model has one overhead per message, not those of patterns with more work, which the paper does not print"),
    item(N, "Figure 6", "bidirectional bandwidth")
        .simulations(&["NIC message-rate paper, Section 5.2 and Figure 6"])
        .sweeps(&["message-rate-sizes"])
        .checks(&["NIC message-rate paper, Section 5.2 and Figure 6, one core"])
        .missing("the text does not say whether the 2 GB/s of a core's copying count bytes once or twice; Equation (6) has 8 GB/s"),
    item(N, "Sections 1 and 5.2", "quoted latencies and rates of MPI, InfiniPath and ConnectX")
        .models(&["message_rate.nic", "message_rate.nic_latency"])
        .sweeps(&["message-rate-sizes"])
        .checks(&["NIC message-rate paper, Sections 1 and 5.2"]),
    item(N, "Figures 11 to 13", "limits of bandwidth and message rate")
        .models(&["message_rate.nic"])
        .sweeps(&["message-rate-sizes", "message-rate-senders"])
        .checks(&["NIC message-rate paper, Section 6,"])
        .simulations(&["NIC message-rate paper, Section 6,"]),
    item(N, "Figures 14, 15", "RandomAccess by puts, over sockets")
        .models(&["random_access.puts"])
        .sweeps(&["random-access-puts"])
        .checks(&["NIC message-rate paper, Section 7, Figure 15"])
        .simulations(&["NIC message-rate paper, Section 7, Figure 15"])
        .missing("rates over sockets are only drawn"),
];
