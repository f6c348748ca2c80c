//! RandomAccess routed in software over a 3-D torus: on one core a node, or by cores with roles.
//!
//! SOURCE: Blue Gene/P paper, Sections 4.3, 5.1 and 5.2, Equations (6) and (7). Equation (7) as printed, GUPS <= 1 / max(T_i),
//!   lacks the number of nodes that its Table 4 multiplies by.

use super::{About, Domain, Model, Parameter, Prediction, Variable, array, bound, topology, variable};
use crate::error::{Error, Result};
use crate::source::BLUE_GENE_P_RANDOM_ACCESS;
use crate::units::Unit;

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

/// Four cores with roles: N over the time of the slowest, T_3 = t_r + t_u + t_op3 with t_r amortised over a bucket.
pub struct Roles;

impl Model for Roles {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.roles",
            summary: "one routing core per dimension and one that updates: the slowest core of a node",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.1, Equations (6) and (7); Section 5.2",
            variables: &[NODES, LOOK_AHEAD],
            parameters: &[
                Parameter::given("packet_receive_seconds", "t_pkt_rcv", 1e-9, 1e-3, 400e-9),
                Parameter::given("update_seconds", "t_u", 1e-10, 1e-3, 100e-9),
                Parameter::fitted("update_role_seconds", "t_op3", 1e-10, 1e-3, 50e-9),
                Parameter::given("role_0_seconds", "T_0", 1e-10, 1e-3, 100e-9),
                Parameter::given("role_1_seconds", "T_1", 1e-10, 1e-3, 100e-9),
                Parameter::given("role_2_seconds", "T_2", 1e-10, 1e-3, 100e-9),
            ],
            explains: &["random_access.roles"],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: false,
            design: "several numbers of nodes with three routers of four cores, so that buckets differ",
            assumes: "no network bound; the routing cores' load as measured on one machine size",
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
        let (Some(ranks), q) = (given("P"), given("Q").or(LOOK_AHEAD.default)) else {
            return Err(Error::input("random_access.roles needs P (nodes)", "give it: --set P=..."));
        };
        Ok(vec![ranks / cores.unwrap_or(1.0), q.unwrap_or(1024.0)])
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [nodes, look_ahead] = array(x);
        let [packet, update, overhead, x_role, y_role, z_role] = array(p);
        let cores = [
            bound(packet / bucket(nodes, look_ahead) + update + overhead, "updating core"),
            bound(x_role, "core of X"),
            bound(y_role, "core of Y"),
            bound(z_role, "core of Z"),
        ];
        let slowest = cores.iter().max_by(|a, b| a.value.total_cmp(&b.value)).expect("four cores");
        bound(nodes / slowest.value, slowest.bottleneck)
    }
}

/// One core a node does everything: N / (local + hops x hop).
pub struct Routed;

impl Model for Routed {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.routed",
            summary: "one core per node, updates routed in software over a 3-D torus: local + hops x hop",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.2",
            variables: &[NODES],
            parameters: &[
                Parameter::fitted("local_seconds", "t_g + t_u + t_os", 1e-10, 1e-3, 100e-9),
                Parameter::fitted("hop_seconds", "hop", 1e-10, 1.0, 200e-9),
            ],
            explains: &["random_access.routed"],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: true,
            design: "tori with few nodes (1, 2, 4) and with many, so that the hops per update differ",
            assumes: "a hop costs the same on any number of nodes, though buckets shrink; no network bound",
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [local, hop] = array(p);
        let routing = hops(x[0]) * hop;
        bound(x[0] / (local + routing), if local >= routing { "computation" } else { "routing" })
    }
}
