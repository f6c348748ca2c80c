//! The curves of the page: the lines of each figure, and their origins.

use apexmap_base::error::Result;
use apexmap_base::source::{APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, HYPERCUBE_RANDOM_ACCESS, NIC_MESSAGE_RATE, Source};
use apexmap_base::units::Unit;
use apexmap_study::validate::predict;

/// A figure with curves.
pub struct CurveFigure {
    pub paper: &'static Source,
    pub name: &'static str,
    pub title: &'static str,
    pub subtitle: &'static str,
    pub caption: &'static str,
    /// Label, unit, and whether the axis is logarithmic.
    pub x: (&'static str, Unit, bool),
    pub y: (&'static str, Unit, bool),
    pub lines: &'static [Line],
}

/// A curve.
pub struct Line {
    pub label: &'static str,
    pub origin: Origin,
    pub form: Form,
}

/// The origin of a curve's values.
pub enum Origin {
    /// Columns of a paper's table.
    Printed { table: &'static str, x: &'static str, y: &'static str },
    /// Columns of a simulated sweep, under a condition.
    Simulated { sweep: &'static str, condition: &'static str, x: &'static str, y: &'static str },
    /// The updates per second by which longer runs of simulated sweeps exceed shorter ones, under a condition.
    Marginal { sweeps: &'static [&'static str], condition: &'static str, x: &'static str },
    /// A model at powers of two.
    Predicted { powers: (u32, u32), value: fn(f64) -> Result<f64> },
}

/// How values are drawn.
pub enum Form {
    /// Times a factor.
    Plain(f64),
    TimesX,
    OverFirst,
}

const fn printed_line(label: &'static str, table: &'static str, x: &'static str, y: &'static str, form: Form) -> Line {
    Line { label, origin: Origin::Printed { table, x, y }, form }
}

const fn simulated_line(
    label: &'static str,
    sweep: &'static str,
    condition: &'static str,
    [x, y]: [&'static str; 2],
    form: Form,
) -> Line {
    Line { label, origin: Origin::Simulated { sweep, condition, x, y }, form }
}

const fn predicted_line(label: &'static str, powers: (u32, u32), value: fn(f64) -> Result<f64>, form: Form) -> Line {
    Line { label, origin: Origin::Predicted { powers, value }, form }
}

const STEADY: [&str; 2] = ["nodes", "steady_operations_per_second"];

/// Marginal rates over nodes.
const fn marginal_line(label: &'static str, sweeps: &'static [&'static str], condition: &'static str) -> Line {
    Line { label, origin: Origin::Marginal { sweeps, condition, x: "nodes" }, form: PLAIN }
}

fn bottleneck(nodes: f64, ranks_per_node: f64) -> Result<f64> {
    let given = [("P", nodes * ranks_per_node), ("ranks_per_node", ranks_per_node), ("sending", 1.0)];
    rate("random_access.bottleneck", "bluegene-p", &given)
}

const A: &Source = &APEX_MAP;
const H: &Source = &HYPERCUBE_RANDOM_ACCESS;
const B: &Source = &BLUE_GENE_P_RANDOM_ACCESS;
const N: &Source = &NIC_MESSAGE_RATE;
/// The papers print GUPS.
const GUPS: Form = Form::Plain(1e9);
const PLAIN: Form = Form::Plain(1.0);
const RATE_OVER_RANKS: [&str; 2] = ["ranks", "operations_per_second"];
const RATE_OVER_NODES: [&str; 2] = ["nodes", "operations_per_second"];
const BANDWIDTH_OVER_SIZE: [&str; 2] = ["message_bytes", "bytes_per_second"];
const UPDATES: (&str, Unit, bool) = ("updates", Unit::PerSecond, true);
const PROCESSORS: (&str, Unit, bool) = ("P (processors)", Unit::None, true);
const NODES: (&str, Unit, bool) = ("nodes", Unit::None, true);
const SIZE: (&str, Unit, bool) = ("payload of a message", Unit::Bytes, true);
const BANDWIDTH: (&str, Unit, bool) = ("bandwidth of a node", Unit::BytesPerSecond, true);

fn rate(model: &str, card: &str, given: &[(&str, f64)]) -> Result<f64> {
    Ok(predict(model, card, given)?.value)
}

/// The lines of 1, 2 and 4 cores in a sweep of the NIC, and the limits of bus and link.
const fn cores(sweep: &'static str, conditions: [&'static str; 3]) -> [Line; 4] {
    let [first, second, third] = conditions;
    [
        simulated_line("1 core, simulated", sweep, first, BANDWIDTH_OVER_SIZE, PLAIN),
        simulated_line("2 cores, simulated", sweep, second, BANDWIDTH_OVER_SIZE, PLAIN),
        simulated_line("4 cores, simulated", sweep, third, BANDWIDTH_OVER_SIZE, PLAIN),
        predicted_line(
            "Equations (1) and (2)",
            (2, 16),
            |bytes| rate("message_rate.nic", "simulated-nic", &[("message_bytes", bytes), ("senders", 1e6)]),
            Form::TimesX,
        ),
    ]
}

/// The conditions of 1, 2 and 4 cores with a kernel.
macro_rules! on_cores {
    ($kernel:literal) => {
        [
            concat!("kernel == \"", $kernel, "\" && ranks_per_node == 1"),
            concat!("kernel == \"", $kernel, "\" && ranks_per_node == 2"),
            concat!("kernel == \"", $kernel, "\" && ranks_per_node == 4"),
        ]
    };
}

const STREAMING: [Line; 4] = cores("nic-pairs", on_cores!("message_rate.streaming"));
const BIDIRECTIONAL: [Line; 4] = cores("nic-pairs", on_cores!("message_rate.bidirectional"));
const CYCLIC: [Line; 4] = cores("nic-cyclic", on_cores!("message_rate.cyclic"));
const INDIRECT: [Line; 4] = cores("nic-cyclic", on_cores!("message_rate.indirect"));
const BLOCKS: [Line; 4] = cores("nic-blocks", ["ranks_per_node == 1", "ranks_per_node == 2", "ranks_per_node == 4"]);

const fn nic(name: &'static str, title: &'static str, caption: &'static str, lines: &'static [Line]) -> CurveFigure {
    let subtitle = "the paper's simulated machine; puts, simulated";
    CurveFigure { paper: N, name, title, subtitle, caption, x: SIZE, y: BANDWIDTH, lines }
}

/// The hypercube under a mapping onto the network of a machine.
const fn mapping_line(label: &'static str, sweep: &'static str) -> Line {
    simulated_line(label, sweep, "", RATE_OVER_RANKS, PLAIN)
}

const fn mappings(
    name: &'static str,
    title: &'static str,
    subtitle: &'static str,
    lines: &'static [Line],
) -> CurveFigure {
    let caption = "Section 4 proposes to map the hypercube onto the network; the paper has no numbers. Q = 1024, links are shared.";
    CurveFigure { paper: H, name, title, subtitle, caption, x: PROCESSORS, y: UPDATES, lines }
}

/// Apex-Map over receive buffers, under a condition.
const fn buffers(label: &'static str, condition: &'static str) -> Line {
    simulated_line(label, "apex-map-buffers", condition, ["B", "bytes_per_second_per_rank"], PLAIN)
}

/// All figures with curves, in the order of the papers.
pub const FIGURES: &[CurveFigure] = &[
    CurveFigure {
        paper: H,
        name: "hypercube-over-p",
        title: "RandomAccess over processors of Red Storm",
        subtitle: "hypercube paper, Tables 1 and 2; Q = 1024",
        caption: "Tables 1 and 2: measured, by the paper's model, and simulated; and the algorithms of HPCC and of MPI_Alltoallv.",
        x: PROCESSORS,
        y: UPDATES,
        lines: &[
            printed_line("hypercube, measured", "hypercube-table-2", "processors", "gups", GUPS),
            printed_line("hypercube, the paper's model", "hypercube-table-2", "processors", "gups_model", GUPS),
            simulated_line("hypercube, simulated", "hypercube-ranks", "", RATE_OVER_RANKS, PLAIN),
            printed_line("HPCC, measured", "hypercube-table-1", "processors", "gups", GUPS),
            simulated_line(
                "HPCC, simulated",
                "hypercube-others",
                "kernel == \"random_access.base\"",
                RATE_OVER_RANKS,
                PLAIN,
            ),
            simulated_line(
                "MPI_Alltoallv, simulated",
                "hypercube-others",
                "kernel == \"random_access.alltoallv\"",
                RATE_OVER_RANKS,
                PLAIN,
            ),
        ],
    },
    CurveFigure {
        paper: H,
        name: "hypercube-over-q",
        title: "RandomAccess over the look-ahead",
        subtitle: "hypercube paper, Table 4; 32 processors of Red Storm",
        caption: "Table 4: measured and simulated.",
        x: ("Q (look-ahead)", Unit::None, true),
        y: UPDATES,
        lines: &[
            printed_line("measured", "hypercube-table-4", "look_ahead", "gups", GUPS),
            simulated_line("simulated", "hypercube-look-ahead", "", ["Q", "operations_per_second"], PLAIN),
        ],
    },
    CurveFigure {
        paper: H,
        name: "hypercube-optimisations",
        title: "Improvements of the hypercube algorithm",
        subtitle: "hypercube paper, Table 3; Red Storm; time relative to one processor",
        caption: "Table 3: the original, Mod3 and, on 32 processors, Mod7, measured and simulated.",
        x: PROCESSORS,
        y: ("time relative to one processor", Unit::None, false),
        lines: &[
            printed_line("original, measured", "hypercube-table-3", "processors", "original", Form::OverFirst),
            printed_line("Mod3, measured", "hypercube-table-3", "processors", "mod3", Form::OverFirst),
            printed_line("Mod7, measured", "hypercube-table-3", "processors", "mod7", Form::Plain(1.0 / 7.033)),
            simulated_line(
                "original, simulated",
                "hypercube-optimisations",
                "receives == \"on_demand\"",
                ["ranks", "seconds"],
                Form::OverFirst,
            ),
            simulated_line(
                "Mod3, simulated",
                "hypercube-optimisations",
                "waits == \"late\" && SMSG == 1",
                ["ranks", "seconds"],
                Form::OverFirst,
            ),
            simulated_line(
                "Mod7, simulated",
                "hypercube-optimisations",
                "SMSG == 2",
                ["ranks", "seconds"],
                Form::OverFirst,
            ),
        ],
    },
    CurveFigure {
        paper: H,
        name: "hypercube-bluegene-l",
        title: "The hypercube on Blue Gene/L",
        subtitle: "hypercube paper, Section 3; Q = 1024",
        caption: "Section 3: the paper estimates 44 GUPS on 128K processors, and warns of limited bisection bandwidth.",
        x: PROCESSORS,
        y: UPDATES,
        lines: &[
            predicted_line(
                "T_1 + T_C log2 P",
                (0, 17),
                |ranks| rate("random_access.hypercube", "bluegene-l", &[("P", ranks)]),
                PLAIN,
            ),
            simulated_line("simulated", "hypercube-bluegene-l", "", RATE_OVER_RANKS, PLAIN),
            simulated_line(
                "simulated, with links of a torus",
                "hypercube-bluegene-l-links",
                "",
                RATE_OVER_RANKS,
                PLAIN,
            ),
        ],
    },
    mappings(
        "hypercube-mapping-red-storm",
        "Mappings of the hypercube onto Red Storm",
        "a mesh of 27 x 16 x 24 nodes, rings in Z",
        &[
            mapping_line("row-major", "hypercube-red-storm-row-major"),
            mapping_line("sub-cube", "hypercube-red-storm-sub-cube"),
            mapping_line("Gray code", "hypercube-red-storm-gray-code"),
            mapping_line("random", "hypercube-red-storm-random"),
        ],
    ),
    mappings(
        "hypercube-mapping-bluegene-l",
        "Mappings of the hypercube onto Blue Gene/L",
        "a torus of 8 x 8 x 8 to 16 x 16 x 16 nodes; the bandwidth of its links is assumed",
        &[
            mapping_line("row-major, which is also the sub-cube", "hypercube-bluegene-l-row-major"),
            mapping_line("Gray code", "hypercube-bluegene-l-gray-code"),
            mapping_line("random", "hypercube-bluegene-l-random"),
        ],
    ),
    CurveFigure {
        paper: B,
        name: "bluegene-over-nodes",
        title: "RandomAccess over nodes of Blue Gene/P",
        subtitle: "Blue Gene/P paper, Table 4",
        caption: "Table 4: measured, the printed bottleneck, and simulated, for four cores with different roles and for one core.",
        x: NODES,
        y: UPDATES,
        lines: &[
            printed_line("four cores, measured", "bluegene-table-4", "nodes", "bgp_multi_gups", GUPS),
            printed_line("four cores, bottleneck", "bluegene-table-4", "nodes", "bgp_multi_bottleneck", GUPS),
            simulated_line("four cores, simulated", "bluegene-roles", "", STEADY, PLAIN),
            simulated_line("four cores, simulated, large", "bluegene-roles-large", "", STEADY, PLAIN),
            printed_line("one core, measured", "bluegene-table-4", "nodes", "bgp_single_gups", GUPS),
            printed_line("one core, bottleneck", "bluegene-table-4", "nodes", "bgp_single_bottleneck", GUPS),
            marginal_line("one core, simulated", &["bluegene-routed"], ""),
        ],
    },
    CurveFigure {
        paper: B,
        name: "bluegene-crossover",
        title: "Single updates on Blue Gene/P",
        subtitle: "Blue Gene/P paper, Section 4 and Equation (1)",
        caption: "Section 4: with four ranks on each node, the network limits the rate from 8K nodes on; with one rank, beyond 256K \
                  nodes. Each update is a message. The simulated rate leaves out begin and end of a run.",
        x: NODES,
        y: UPDATES,
        lines: &[
            predicted_line("four ranks, Equation (1)", (6, 18), |nodes| bottleneck(nodes, 4.0), PLAIN),
            marginal_line("four ranks, simulated", &["bluegene-single-updates"], "ranks_per_node == 4"),
            predicted_line("one rank, Equation (1)", (6, 18), |nodes| bottleneck(nodes, 1.0), PLAIN),
            marginal_line("one rank, simulated", &["bluegene-single-updates"], "ranks_per_node == 1"),
        ],
    },
    CurveFigure {
        y: ("latency", Unit::Seconds, true),
        ..nic(
            "nic-latency",
            "Latency of puts",
            "Figure 5 (a), and (b) with a coherent HyperTransport of 25 ns.",
            &[
                simulated_line(
                    "HyperTransport of 250 ns",
                    "nic-latency",
                    "",
                    ["message_bytes", "message_seconds_p50"],
                    PLAIN,
                ),
                simulated_line(
                    "HyperTransport of 25 ns",
                    "nic-coherent",
                    "",
                    ["message_bytes", "message_seconds_p50"],
                    PLAIN,
                ),
            ],
        )
    },
    nic(
        "nic-bidirectional",
        "Both directions between two nodes",
        "Figure 6, the sum of both directions.",
        &BIDIRECTIONAL,
    ),
    nic("nic-streaming", "One direction between two nodes", "Figures 7 and 11.", &STREAMING),
    nic("nic-cyclic", "Cyclic distribution over 32 sockets", "Figure 8.", &CYCLIC),
    nic("nic-blocks", "Block-cyclic distribution over 32 sockets", "Figure 9.", &BLOCKS),
    nic("nic-indirect", "Indirection vector over 32 sockets", "Figure 10.", &INDIRECT),
    CurveFigure {
        x: ("sockets", Unit::None, true),
        y: UPDATES,
        ..nic(
            "nic-random-access",
            "RandomAccess by puts over sockets",
            "Figure 15: 512 updates of each rank between barriers.",
            &[
                simulated_line("1 core", "nic-random-access", "ranks_per_node == 1", RATE_OVER_NODES, PLAIN),
                simulated_line("2 cores", "nic-random-access", "ranks_per_node == 2", RATE_OVER_NODES, PLAIN),
                simulated_line("4 cores", "nic-random-access", "ranks_per_node == 4", RATE_OVER_NODES, PLAIN),
            ],
        )
    },
    CurveFigure {
        paper: A,
        name: "apex-map-buffers",
        title: "Receive buffers, send handles and served requests",
        subtitle: "256 processes of a hypothetical SMP, alpha = 1; simulated",
        caption: "Section 2.1: B, SMSG and NSER. No process gets stuck in serving, because the requests of Apex-Map are balanced.",
        x: ("B (receive buffers)", Unit::None, true),
        y: ("bandwidth of a process", Unit::BytesPerSecond, true),
        lines: &[
            buffers("1 word, NSER = 1", "L == 1 && SMSG == 16 && NSER == 1"),
            buffers("1 word, NSER = 256", "L == 1 && SMSG == 16 && NSER == 256"),
            buffers("1024 words, NSER = 1", "L == 1024 && SMSG == 16 && NSER == 1"),
            buffers("1024 words, NSER = 256", "L == 1024 && SMSG == 16 && NSER == 256"),
            buffers("1024 words, SMSG = 1", "L == 1024 && SMSG == 1 && NSER == 16"),
        ],
    },
];
