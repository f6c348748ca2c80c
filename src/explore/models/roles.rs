//! RandomAccess routed in software over a 3-D torus: on one core a node, or by cores with roles.
//!
//! SOURCE: Blue Gene/P paper, Sections 4.3, 5.1 and 5.2, Equations (1), (6) and (7). Equation (7) as printed, GUPS <= 1 / max(T_i),
//!   lacks the number of nodes that its Table 4 multiplies by.

use super::{About, Domain, Model, Parameter, Prediction, Variable, array, bound, in_parts, least, topology, variable};
use crate::error::{Error, Result};
use crate::explore::machine::Card;
use crate::source::BLUE_GENE_P_RANDOM_ACCESS;
use crate::units::{Unit, WORD_BYTES};

const NODES: Variable = Variable {
    domain: Domain::Ranks,
    ..variable("P", Unit::None, "nodes, a power of two: a 3-D torus, as cubic as possible", None)
};
const LOOK_AHEAD: Variable = variable("Q", Unit::None, "look-ahead, shared by all buckets of a node", Some(1024.0));

/// Updates in a bucket: Q over X + Y + Z + 21 buckets, rounded (Section 4.3.1).
pub fn bucket(nodes: f64, look_ahead: f64) -> f64 {
    let sides: u64 = topology::sides(nodes as u64, 3).iter().sum();
    (look_ahead / (sides as f64 + 21.0)).round().max(1.0)
}

/// Times that an update is routed on average: the sum of (k - 1)/k over the sides (Section 5.2: 2.25 on 4 x 4 x 4).
pub fn hops(nodes: f64) -> f64 {
    topology::sides(nodes as u64, 3).iter().map(|&side| 1.0 - 1.0 / side as f64).sum()
}

/// What the network needs to be known of, at the end of a model's parameters.
const NETWORK: [Parameter; 5] = [
    Parameter::given("link_bandwidth_bytes_per_second", "link", 1e5, 1e13, 1e9),
    Parameter::given("packet_unit_bytes", "unit", 1.0, 4096.0, 32.0),
    Parameter::given("packet_most_bytes", "most", 32.0, 1e6, 256.0),
    Parameter::given("packet_header_bytes", "header", 0.0, 4096.0, 16.0),
    Parameter::given("packet_acknowledgement_bytes", "ack", 0.0, 4096.0, 14.0),
];

/// Bytes of the network per update of a bucket (Section 4.1): packets are multiples of a unit, header included, and are acknowledged.
pub fn wire_bytes(bucket: f64, network: [f64; 5]) -> f64 {
    let [_, unit, most, header, acknowledgement] = network;
    let fit = ((most - header) / WORD_BYTES as f64).floor().max(1.0);
    let packet = |updates: f64| ((updates * WORD_BYTES as f64 + header) / unit).ceil() * unit + acknowledgement;
    let (full, rest) = ((bucket / fit).floor(), bucket % fit);
    (full * packet(fit) + if rest > 0.0 { packet(rest) } else { 0.0 }) / bucket
}

/// The network bottleneck of Equation (1), 4 B / b, with b of updates in buckets; `None` on one node, or if a number is not known.
fn network(nodes: f64, look_ahead: f64, numbers: [f64; 5]) -> Option<Prediction> {
    let torus = topology::NAMES.iter().position(|name| *name == "torus")?;
    let links = topology::bisection_links(torus, nodes, 3).filter(|_| nodes > 1.0)?;
    let rate = 4.0 * links * numbers[0] / wire_bytes(bucket(nodes, look_ahead), numbers);
    rate.is_finite().then(|| bound(rate, "bisection"))
}

/// The parameters of a card; those from the one at `optional` on may be missing.
fn from_card(model: &dyn Model, card: &Card, optional: usize) -> Result<Vec<f64>> {
    let value = |(at, parameter): (usize, &Parameter)| match in_parts(card, parameter.number) {
        Err(_) if at >= optional => Ok(f64::NAN),
        found => found,
    };
    model.about().parameters.iter().enumerate().map(value).collect()
}

/// Four cores with roles: N over the time of the slowest, T_3 = t_r + t_u + t_op3 with t_r amortised over a bucket, or what the
/// middle of the network lets through.
pub struct Roles;

/// How the owner of a word is found: by division only costs every core more, as it is done wherever updates are routed (Section 4.4).
const OWNER_BY: Variable = Variable {
    words: &["cheapest", "shift", "division", "prediction"],
    ..variable("owner_by", Unit::None, "how the owner of a word is found", Some(0.0))
};
const BY_DIVISION: f64 = 2.0;

impl Model for Roles {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.roles",
            summary: "one routing core per dimension and one that updates: the slowest core of a node",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.1, Equations (6) and (7); Section 5.2; Table 3",
            variables: &[NODES, LOOK_AHEAD, OWNER_BY],
            parameters: &[
                Parameter::given("packet_receive_seconds", "t_pkt_rcv", 1e-9, 1e-3, 400e-9),
                Parameter::given("update_seconds", "t_u", 1e-10, 1e-3, 100e-9),
                Parameter::fitted("update_role_seconds", "t_op3", 1e-10, 1e-3, 50e-9),
                Parameter::given("role_0_seconds", "T_0", 1e-10, 1e-3, 100e-9),
                Parameter::given("role_1_seconds", "T_1", 1e-10, 1e-3, 100e-9),
                Parameter::given("role_2_seconds", "T_2", 1e-10, 1e-3, 100e-9),
                Parameter::given("division_seconds", "t_div", 1e-11, 1e-3, 20e-9),
                NETWORK[0],
                NETWORK[1],
                NETWORK[2],
                NETWORK[3],
                NETWORK[4],
            ],
            explains: &["random_access.roles"],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: false,
            design: "several numbers of nodes with three routers of four cores, so that buckets differ",
            assumes: "the routing cores' load as measured on one machine size; every core finds owners; no network bound where the \
                      card does not know link and packets",
        };
        &ABOUT
    }

    /// Measurements count ranks, `cores_per_node` of which are a node.
    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        let (cores, routers) = (given("cores_per_node"), given("routers"));
        if cores.is_some_and(|cores| cores != 4.0) || routers.is_some_and(|routers| routers != 3.0) {
            return Err(Error::input(
                "random_access.roles is about nodes of four cores, three of which route",
                "choose such points with --where 'cores_per_node == 4 && routers == 3', or measure them",
            ));
        }
        if ["disabled", "delay_ns"].into_iter().any(|name| given(name).is_some_and(|value| value > 0.0)) {
            return Err(Error::input(
                "random_access.roles is about cores that do all of their work, and nothing else",
                "choose such points with --where 'disabled == 0 && delay_ns == 0'",
            ));
        }
        let (Some(ranks), q) = (given("P"), given("Q").or(LOOK_AHEAD.default)) else {
            return Err(Error::input("random_access.roles needs P (nodes)", "give it: --set P=..."));
        };
        let owner_by = given("owner_by").or(OWNER_BY.default).unwrap_or(0.0);
        Ok(vec![ranks / cores.unwrap_or(1.0), q.unwrap_or(1024.0), owner_by])
    }

    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        from_card(self, card, 6)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [nodes, look_ahead, owner_by] = array(x);
        let [packet, update, overhead, x_role, y_role, z_role, division, numbers @ ..] = array::<12>(p);
        let division = if owner_by == BY_DIVISION { division } else { 0.0 };
        let cores = [
            bound(packet / bucket(nodes, look_ahead) + update + overhead, "updating core"),
            bound(x_role, "core of X"),
            bound(y_role, "core of Y"),
            bound(z_role, "core of Z"),
        ];
        let slowest = cores.iter().max_by(|a, b| a.value.total_cmp(&b.value)).expect("four cores");
        let processors = bound(nodes / (slowest.value + division), slowest.bottleneck);
        network(nodes, look_ahead, numbers).map_or(processors, |network| least(&[processors, network]))
    }
}

/// One core a node does everything: N / (local + hops x hop), or what the middle of the network lets through.
pub struct Routed;

impl Model for Routed {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.routed",
            summary: "one core per node, updates routed in software over a 3-D torus: local + hops x hop",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.2",
            variables: &[NODES, LOOK_AHEAD],
            parameters: &[
                Parameter::fitted("local_seconds", "t_g + t_u + t_os", 1e-10, 1e-3, 100e-9),
                Parameter::fitted("hop_seconds", "hop", 1e-10, 1.0, 200e-9),
                NETWORK[0],
                NETWORK[1],
                NETWORK[2],
                NETWORK[3],
                NETWORK[4],
            ],
            explains: &["random_access.routed"],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: true,
            design: "tori with few nodes (1, 2, 4) and with many, so that the hops per update differ",
            assumes: "a hop costs the same on any number of nodes, though buckets shrink; no network bound where the card does not know \
                      link and packets",
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [nodes, look_ahead] = array(x);
        let [local, hop, numbers @ ..] = array::<7>(p);
        let routing = hops(nodes) * hop;
        let processor = bound(nodes / (local + routing), if local >= routing { "computation" } else { "routing" });
        network(nodes, look_ahead, numbers).map_or(processor, |network| least(&[processor, network]))
    }

    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        from_card(self, card, 2)
    }
}
