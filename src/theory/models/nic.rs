//! Message rate of a node: limited by its cores, its I/O bus or its link; and RandomAccess in rounds of such messages.
//!
//! SOURCE: NIC message-rate paper, Section 6, Equations (1) to (6), and Section 7, Figure 14.

use crate::models::prelude::*;
use apexmap_measure::kernels::message_rate::patterns::{BLOCK_CYCLIC, CYCLIC, INDIRECT, RANDOM, STREAMING};
use apexmap_measure::kernels::random_access::one_sided;
use apexmap_measure::numerics::join;

/// Equations (4), (5) and (6): messages per second.
pub struct Nic;

const BYTES: Variable = variable("message_bytes", Unit::Bytes, "payload of a message", None);
const CORES: Variable = cores("senders", "cores of the node that send", Some(1.0));
const PATTERN: Variable = Variable {
    words: EXPLAINS,
    ..variable("kernel", Unit::None, "the pattern: destination of each message, and how it is found", Some(0.0))
};

const EXPLAINS: &[&str] = &[STREAMING.id, CYCLIC.id, BLOCK_CYCLIC.id, INDIRECT.id, RANDOM.id];

/// Index of the processor time per message, by pattern: streaming, block-cyclic, or a new destination for each message.
const INJECT: [usize; EXPLAINS.len()] = [0, 8, 9, 8, 8];

/// Minimum bytes of a payload on the I/O bus: "accesses to the command queue have to be 8-byte aligned" (Section 6).
const IO_WORD: f64 = 8.0;

/// Numbers of the messages of a node. The bandwidth of the I/O bus is given, unless it is to be fitted.
const fn messages(fits_bus: bool) -> [Parameter; 8] {
    let bus = Parameter::new_given(catalogue::IO_BANDWIDTH_BYTES_PER_SECOND.name, "I/O bus", 1e6, 1e13, 5e9);
    [
        Parameter::new_fitted(catalogue::INJECT_SECONDS.name, "N", 1e-10, 1e-3, 50e-9),
        Parameter::new_given(catalogue::STORE_SECONDS_PER_BYTE.name, "store", 1e-13, 1e-6, 1e-10),
        Parameter { is_given: !fits_bus, ..bus },
        Parameter::new_given(catalogue::IO_EFFICIENCY.name, "64/72", 0.0, 1.0, 0.9),
        Parameter::new_given(catalogue::IO_COMMAND_BYTES.name, "command", 0.0, 4096.0, 16.0),
        Parameter::new_given(catalogue::LINK_BANDWIDTH_BYTES_PER_SECOND.name, "link", 1e6, 1e13, 5e9),
        Parameter::new_given(catalogue::LINK_EFFICIENCY.name, "64/72 x 16/21", 0.0, 1.0, 0.7),
        Parameter::new_given(catalogue::MESSAGE_HEADER_BYTES.name, "header", 0.0, 4096.0, 28.0),
    ]
}

impl Model for Nic {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "message_rate.nic",
            summary: "messages of a node: the lowest of the bounds set by cores, I/O bus and link",
            source: &source::NIC_MESSAGE_RATE,
            place: "Section 6, Equations (1) to (6)",
            variables: &[BYTES, CORES, PATTERN],
            parameters: &join::<_, 10>(
                &messages(true),
                &[
                    Parameter::new_fitted(catalogue::SCATTERED_INJECT_SECONDS.name, "N_s", 1e-10, 1e-3, 55e-9),
                    Parameter::new_fitted(catalogue::BLOCK_INJECT_SECONDS.name, "N_b", 1e-10, 1e-3, 52e-9),
                ],
            ),
            explains: EXPLAINS,
            design: "messages of 8 bytes to some KiB on one core and on all cores, in each pattern of interest",
            assumes: "the bounds do not interact; cores do not slow each other down; cyclic, indirect and random destinations cost \
                      the same",
            ..RATES
        };
        &ABOUT
    }

    /// A card with only one processor time per message uses it for all patterns.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        parameter_values(self.about().parameters, card, |parameter| {
            let is_pattern_time = ["N_s", "N_b"].contains(&parameter.symbol);
            card_number(card, parameter.number)
                .or_else(|| card_number(card, catalogue::INJECT_SECONDS.name).filter(|_| is_pattern_time))
        })
    }

    fn kernel_value(&self, kernel: &str, variable: &str) -> Option<f64> {
        let pattern = EXPLAINS.iter().position(|id| *id == kernel);
        pattern.filter(|_| variable == PATTERN.name).map(|pattern| pattern as f64)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        tightest_bound(&bounds(x, p))
    }
}

/// Returns the bounds in messages per second: cores (6), I/O bus (4), link (5); times the bytes, Equations (1) and (2).
pub fn bounds(x: &[f64], p: &[f64]) -> [Prediction; 3] {
    let [bytes, cores, pattern] = array(x);
    let [_, store, io, io_efficiency, command, link, link_efficiency, header, _, _] = array(p);
    let inject = p[INJECT[pattern as usize]];
    let aligned = (bytes / IO_WORD).ceil().max(1.0) * IO_WORD;
    [
        bound(cores / (inject + bytes * store), "cores"),
        bound(io * io_efficiency / (aligned + command), "I/O bus"),
        bound(link * link_efficiency / (bytes + header), "link"),
    ]
}

/// Returns Equation (3): bytes per second over the I/O bus if a command added only an address of 8 bytes.
pub fn potential_io_bandwidth(bytes: f64, p: &[f64]) -> f64 {
    let [_, _, io, efficiency, ..] = array::<10>(p);
    bytes / (bytes + IO_WORD) * efficiency * io
}

/// Returns the bytes of a message with half of the bandwidth of long messages: N 1/2 of Figure 7; 16 by Equation (1).
pub fn half_bandwidth_bytes(cores: f64, p: &[f64]) -> f64 {
    let bandwidth = |bytes: f64| bytes * tightest_bound(&bounds(&[bytes, cores, 0.0], p)).value;
    // So long that neither header nor injection counts.
    let longest = bandwidth(2f64.powi(40));
    let mut below = (0.0, IO_WORD);
    while 2.0 * bandwidth(below.1) < longest {
        below = (below.1, 2.0 * below.1);
    }
    let (mut short, mut long) = below;
    // Each step halves the interval. A double has fewer than 60 digits.
    for _ in 0..60 {
        let middle = (short + long) / 2.0;
        if 2.0 * bandwidth(middle) < longest { short = middle } else { long = middle }
    }
    long
}

/// RandomAccess by puts: in a round, each core puts Q updates of a word into the owners' buffers, and all ranks meet in two
/// barriers. A node with c cores makes c Q updates in c Q / rate + 2 barriers, at the message rate of [`Nic`] for 8 bytes.
pub struct Rounds;

impl Model for Rounds {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.puts",
            summary: "rounds of Q puts of each core between barriers: c Q updates of a node in c Q / message rate + 2 barriers",
            source: &source::NIC_MESSAGE_RATE,
            place: "Section 7, Figures 14 and 15; Section 6, Equations (4) to (6)",
            variables: &[RANKS, RANKS_PER_NODE, LOOK_AHEAD],
            parameters: &join::<_, 9>(
                &messages(false),
                &[Parameter::new_fitted(catalogue::BARRIER_SECONDS.name, "barrier", 1e-9, 1.0, 2e-6)
                    .preferring("barrier_seconds--many")],
            ),
            explains: &[one_sided::KERNEL.id],
            design: "access = \"buffers\" at two Q, with one rank and with all ranks on each of several nodes",
            assumes: "all updates go to other nodes; scanning the buffers, applying the updates and the latency of the last put take \
                      no time, because the paper prints none; a barrier takes the same time on any number of ranks",
            ..RATES
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [ranks, cores, updates] = array(x);
        let [messages @ .., barrier]: [f64; 9] = array(p);
        let (messages, streaming) = ([messages.as_slice(), &[messages[0]; 2]].concat(), 0.0);
        let limit = tightest_bound(&bounds(&[WORD_BYTES as f64, cores, streaming], &messages));
        let puts = cores * updates / limit.value;
        let bottleneck = if 2.0 * barrier > puts { "barriers" } else { limit.bottleneck };
        bound(ranks * updates / (puts + 2.0 * barrier), bottleneck)
    }
}

/// Latency of a short message that a core puts into another node's memory: two crossings of the I/O bus, the routers, whose
/// number Figure 5 (b) varies, and the rest. The rate is that of messages one after another.
pub struct Latency;

const ROUTERS: Variable =
    Variable { valid: ValidNumbers::CountOrZero, ..variable("routers", Unit::None, "routers on the path", Some(2.0)) };

impl Model for Latency {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "message_rate.nic_latency",
            summary: "latency of a short message: I/O buses, routers, the rest",
            source: &source::NIC_MESSAGE_RATE,
            place: "Section 5.2 and Figure 5 (b)",
            variables: &[ROUTERS],
            parameters: &[
                Parameter::new_given(catalogue::IO_LATENCY_SECONDS.name, "HT", 1e-10, 1e-3, 250e-9),
                Parameter::new_given(catalogue::ROUTER_LATENCY_SECONDS.name, "router", 1e-10, 1e-3, 50e-9),
                Parameter::new_fitted(catalogue::INTERFACE_SECONDS.name, "rest", 1e-10, 1e-2, 100e-9),
            ],
            explains: &[],
            linear: true,
            design: "ping-pong of short messages between nodes that are several distances apart",
            assumes: "short messages, whose bytes take no time; no contention",
            ..RATES
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [io, routers, rest] = latency_parts(x, p);
        let time = sum(&[bound(io, "I/O bus"), bound(routers, "routers"), bound(rest, "interfaces and cores")]);
        bound(1.0 / time.value, time.bottleneck)
    }
}

/// Returns the seconds of a message in the I/O buses, in the routers, and elsewhere.
pub fn latency_parts(x: &[f64], p: &[f64]) -> [f64; 3] {
    let [routers] = array(x);
    let [io, router, rest] = array(p);
    [2.0 * io, routers * router, rest]
}
