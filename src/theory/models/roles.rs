//! RandomAccess routed in software over a 3-D torus: by one core per node, or by cores with roles.
//!
//! SOURCE: Blue Gene/P paper, Sections 4.3, 5.1 and 5.2, Equations (1), (6) and (7); Section 6 for k cores, where k' cores
//! route along d dimensions. Equation (7) as printed, GUPS <= 1 / max(T_i), omits the number of nodes, by which Table 4
//! multiplies.

use super::topology;
use crate::models::prelude::*;
use apexmap_measure::kernels::random_access::{roles, routed};
use apexmap_measure::numerics::join;
use std::ops::Range;

const NODES: Variable = Variable {
    valid: ValidNumbers::Ranks,
    ..variable("P", Unit::None, "nodes, a power of two: a 3-D torus, as cubic as possible", None)
};
const LOOK_AHEAD: Variable = count("Q", Unit::None, "look-ahead, shared by all buckets of a node", Some(1024.0));

/// Division of work among the cores of a node: k' of k cores route along d dimensions, the others update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub cores: usize,
    pub routers: usize,
    pub dimensions: usize,
}

/// Packets that a node can have received along a dimension: one receive takes up to four (Section 4.3.1).
const RECEIVED_PACKETS: usize = 4;

/// Maximum number of dimensions, more than any network has.
const MAX_DIMENSIONS: usize = 64;

impl Division {
    pub const PAPER: Self = Self { cores: 4, routers: 3, dimensions: 3 };

    /// Returns `None` unless some cores route and some update.
    fn new(cores: f64, routers: f64, dimensions: f64) -> Option<Self> {
        let [cores, routers, dimensions] = [cores, routers, dimensions].map(|number| number as usize);
        let possible = (1..cores).contains(&routers) && (1..=MAX_DIMENSIONS).contains(&dimensions);
        possible.then_some(Self { cores, routers, dimensions })
    }

    fn updaters(self) -> usize {
        self.cores - self.routers
    }

    /// Returns the core that routes along a dimension: "each core routing along d/k' of the dimensions" (Section 6).
    fn router(self, dimension: usize) -> usize {
        dimension * self.routers / self.dimensions.max(self.routers)
    }

    fn dimensions_of(self, core: usize) -> Range<usize> {
        let first = (0..self.dimensions).find(|&dimension| self.router(dimension) == core).unwrap_or(self.dimensions);
        let own = (first..self.dimensions).take_while(|&dimension| self.router(dimension) == core).count();
        first..first + own
    }

    /// Returns the buckets for other nodes: one per node of a dimension, but for all updating cores in the last.
    fn remote_buckets(self, nodes: f64) -> usize {
        let sides = topology::sides(nodes as u64, self.dimensions);
        let cores_at = |dimension: usize| if dimension + 1 == self.dimensions { self.updaters() } else { 1 };
        sides.iter().enumerate().map(|(dimension, &side)| (side as usize - 1) * cores_at(dimension)).sum()
    }

    /// Returns the buckets of a node as in Section 4.3.1 (X + Y + Z + 21), with four received packets per dimension. A bucket
    /// to another core of the node counts at both ends.
    pub fn buckets(self, nodes: f64) -> f64 {
        let later = |core: usize| self.dimensions - self.dimensions_of(core).end + self.updaters();
        let local: usize = (0..self.routers.min(self.dimensions)).map(later).sum();
        (self.remote_buckets(nodes) + RECEIVED_PACKETS * self.dimensions + 2 * local) as f64
    }

    /// Returns the updates in a bucket: Q over the buckets. One bucket of each dimension is full at any time, so that the
    /// others for other nodes need one update less (Section 4.3.1).
    pub fn bucket(self, nodes: f64, look_ahead: f64) -> f64 {
        let unfilled = self.remote_buckets(nodes).saturating_sub(self.dimensions) as f64;
        ((look_ahead + unfilled) / self.buckets(nodes)).floor().max(1.0)
    }
}

pub fn bucket(nodes: f64, look_ahead: f64) -> f64 {
    Division::PAPER.bucket(nodes, look_ahead)
}

/// Returns the average number of hops of an update: the sum of (k - 1)/k over the sides (Section 5.2: 2.25 on 4 x 4 x 4).
pub fn hops(nodes: f64) -> f64 {
    topology::sides(nodes as u64, 3).iter().map(|&side| 1.0 - 1.0 / side as f64).sum()
}

const fn optional(number: &'static str, symbol: &'static str, min: f64, max: f64, first: f64) -> Parameter {
    Parameter::new_given(number, symbol, min, max, first).with_value_if_missing(f64::NAN)
}

/// Numbers of the network, the last parameters of a model.
const NETWORK: [Parameter; 5] = [
    optional(catalogue::LINK_BANDWIDTH_BYTES_PER_SECOND.name, "link", 1e5, 1e13, 1e9),
    optional(catalogue::PACKET_UNIT_BYTES.name, "unit", 1.0, 4096.0, 32.0),
    optional(catalogue::PACKET_MOST_BYTES.name, "most", 32.0, 1e6, 256.0),
    optional(catalogue::PACKET_HEADER_BYTES.name, "header", 0.0, 4096.0, 16.0),
    optional(catalogue::PACKET_ACKNOWLEDGEMENT_BYTES.name, "ack", 0.0, 4096.0, 14.0),
];

/// Returns the bytes per update of a bucket (Section 4.1), in acknowledged packets, multiples of a unit with their header.
pub fn wire_bytes(bucket: f64, network: [f64; 5]) -> f64 {
    let [_, unit, most, header, acknowledgement] = network;
    let fit = ((most - header) / WORD_BYTES as f64).floor().max(1.0);
    let packet = |updates: f64| ((updates * WORD_BYTES as f64 + header) / unit).ceil() * unit + acknowledgement;
    let (full, rest) = ((bucket / fit).floor(), bucket % fit);
    (full * packet(fit) + if rest > 0.0 { packet(rest) } else { 0.0 }) / bucket
}

/// Returns the network bound of Equation (1), 4 B / b, for updates in buckets; `None` on one node or with an unknown number.
fn network_bound(nodes: f64, dimensions: usize, bucket: f64, numbers: [f64; 5]) -> Option<Prediction> {
    let torus = topology::NAMES.iter().position(|name| *name == "torus")?;
    let links = topology::bisection_links(torus, nodes, dimensions).filter(|_| nodes > 1.0)?;
    let rate = 4.0 * links * numbers[0] / wire_bytes(bucket, numbers);
    rate.is_finite().then(|| bound(rate, "bisection"))
}

/// The time to find an owner by division, the paper's t_div.
const DIVISION: Parameter = optional(catalogue::DIVISION_SECONDS.name, "t_div", 1e-11, 1e-3, 20e-9);

/// Cores with roles: N divided by the time of the slowest core, or the network bound. A core that updates takes its part of
/// t_r + t_u + t_op3, with t_r amortised over a bucket. A core that routes takes the loads of its dimensions.
pub struct Roles;

const CORES: Variable = cores("cores_per_node", "cores of a node, the paper's k", Some(4.0));
const ROUTERS: Variable = Variable {
    valid: ValidNumbers::CountOrZero,
    ..variable(
        "routers",
        Unit::None,
        "cores of a node that route, the paper's k'; 0 selects the best number by the model",
        Some(3.0),
    )
};
const DIMENSIONS: Variable = dimensions("dimensions", "dimensions of the torus of nodes, the paper's d", Some(3.0));

/// Name of the bottleneck if the model chooses the number of routers.
const BEST: [&str; 9] = [
    "no router",
    "best: 1 router",
    "best: 2 routers",
    "best: 3 routers",
    "best: 4 routers",
    "best: 5 routers",
    "best: 6 routers",
    "best: 7 routers",
    "best: 8 routers or more",
];

/// How the owner of a word is found. Only division adds time, wherever updates are routed (Section 4.4).
const OWNER_BY: Variable = Variable {
    words: &["cheapest", "shift", "division", "prediction"],
    ..variable("owner_by", Unit::None, "how the owner of a word is found", Some(0.0))
};
const BY_DIVISION: f64 = 2.0;

impl Model for Roles {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.roles",
            summary: "k' of k cores route along d dimensions, the others update: the slowest core of a node, an upper limit",
            source: &source::BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.1, Equations (6) and (7); Section 5.2; Table 3; Section 6",
            variables: &[NODES, LOOK_AHEAD, OWNER_BY, CORES, ROUTERS, DIMENSIONS],
            parameters: &join::<_, 12>(
                &[
                    Parameter::new_given(catalogue::PACKET_RECEIVE_SECONDS.name, "t_pkt_rcv", 1e-9, 1e-3, 400e-9),
                    Parameter::new_given(catalogue::UPDATE_SECONDS.name, "t_u", 1e-10, 1e-3, 100e-9),
                    Parameter::new_fitted(catalogue::UPDATE_ROLE_SECONDS.name, "t_op3", 1e-10, 1e-3, 50e-9),
                    Parameter::new_given(catalogue::ROLE_0_SECONDS.name, "T_0", 1e-10, 1e-3, 100e-9),
                    Parameter::new_given(catalogue::ROLE_1_SECONDS.name, "T_1", 1e-10, 1e-3, 100e-9),
                    Parameter::new_given(catalogue::ROLE_2_SECONDS.name, "T_2", 1e-10, 1e-3, 100e-9),
                    DIVISION,
                ],
                &NETWORK,
            ),
            explains: &[roles::KERNEL.id],
            design: "several numbers of nodes with three routers of four cores, so that buckets differ; other numbers of routers are \
                     predicted from the loads of these",
            assumes: "an upper limit: no core waits for another, and a receive finds four packets; the load of the routing cores is that of one machine size; a core that routes along several dimensions has the sum \
                      of their loads, each further one that of Z; updates are spread evenly over the cores that update; every core \
                      finds owners; no network bound if the card has no numbers of link and packets",
            ..RATES
        };
        &ABOUT
    }

    /// Measurements count ranks; `cores_per_node` ranks form a node.
    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        if ["disabled", "delay_ns"].into_iter().any(|name| given(name).is_some_and(|value| value > 0.0)) {
            return Err(Error::input(
                "random_access.roles covers only cores that do all of their work without delay",
                "select these points with --where 'disabled == 0 && delay_ns == 0'",
            ));
        }
        let about = self.about();
        let x = about
            .variables
            .iter()
            .map(|variable| variable_value(about, variable, given))
            .collect::<Result<Vec<f64>>>()?;
        let [ranks, look_ahead, owner_by, cores, routers, dimensions] = array(&x);
        if routers != 0.0 && Division::new(cores, routers, dimensions).is_none() {
            return Err(Error::input(
                format!(
                    "random_access.roles has no division of {cores} cores into {routers} that route along {dimensions} dimensions"
                ),
                format!(
                    "give fewer routers than cores, so that one updates, or routers=0 for the best number, and at most \
                     {MAX_DIMENSIONS} dimensions"
                ),
            ));
        }
        // Measurements count ranks and give the ranks per node.
        if given("cores_per_node").is_some() && given("ranks").is_some() {
            return Ok(vec![ranks / cores, look_ahead, owner_by, cores, routers, dimensions]);
        }
        Ok(x)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [nodes, look_ahead, owner_by, cores, routers, dimensions] = array(x);
        let rate_with = |routers: f64| {
            let division = Division::new(cores, routers, dimensions)?;
            Some(slowest_core(division, [nodes, look_ahead, owner_by], p))
        };
        if routers != 0.0 {
            return rate_with(routers).unwrap_or(bound(f64::NAN, "no division of the cores"));
        }
        // Routers beyond the number of dimensions are idle.
        let most = (cores - 1.0).min(dimensions).min(MAX_DIMENSIONS as f64) as usize;
        let choices = (1..=most).filter_map(|routers| Some((routers, rate_with(routers as f64)?)));
        let best = choices.reduce(|best, other| if other.1.value > best.1.value { other } else { best });
        best.map_or(bound(f64::NAN, BEST[0]), |(routers, prediction)| {
            bound(prediction.value, BEST[routers.min(BEST.len() - 1)])
        })
    }
}

/// Returns the rate of the slowest core of a node, or of the network if it is lower.
fn slowest_core(division: Division, [nodes, look_ahead, owner_by]: [f64; 3], p: &[f64]) -> Prediction {
    let [packet, update, overhead, x_role, y_role, z_role, by_division, numbers @ ..] = array::<12>(p);
    let owner = if owner_by == BY_DIVISION { by_division } else { 0.0 };
    let bucket = division.bucket(nodes, look_ahead);
    let updating = (packet / bucket + update + overhead + owner) / division.updaters() as f64;
    let router = |core: usize| {
        let own = division.dimensions_of(core);
        let load: f64 = own.clone().map(|dimension| [x_role, y_role, z_role][dimension.min(2)] + owner).sum();
        let name = match (own.len(), own.start) {
            (2.., _) => "core of several dimensions",
            (_, 0) => "core of X",
            (_, 1) => "core of Y",
            (_, 2) => "core of Z",
            _ => "core of a further dimension",
        };
        bound(load, name)
    };
    let routers = (0..division.routers.min(division.dimensions)).map(router);
    let slower = |a: Prediction, b: Prediction| if b.value > a.value { b } else { a };
    let slowest = routers.fold(bound(updating, "updating core"), slower);
    let processors = bound(nodes / slowest.value, slowest.bottleneck);
    let network = network_bound(nodes, division.dimensions, bucket, numbers);
    network.map_or(processors, |network| tightest_bound(&[processors, network]))
}

/// One core per node does all work: N / (local + hops x hop), or the network bound.
pub struct Routed;

impl Model for Routed {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.routed",
            summary: "one core per node, updates routed in software over a 3-D torus: local + hops x hop",
            source: &source::BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 5.2",
            variables: &[NODES, LOOK_AHEAD],
            parameters: &join::<_, 7>(
                &[
                    Parameter::new_fitted(catalogue::LOCAL_SECONDS.name, "t_g + t_u + t_os", 1e-10, 1e-3, 100e-9),
                    Parameter::new_fitted(catalogue::HOP_SECONDS.name, "hop", 1e-10, 1.0, 200e-9),
                ],
                &NETWORK,
            ),
            explains: &[routed::KERNEL.id],
            linear: true,
            design: "tori with few nodes (1, 2, 4) and with many, so that the hops per update differ",
            assumes: "a hop costs the same on any number of nodes, though buckets shrink; no network bound if the card has no numbers of \
                      link and packets",
            ..RATES
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [nodes, look_ahead] = array(x);
        let [local, hop, numbers @ ..] = array::<7>(p);
        let routing = hops(nodes) * hop;
        let processor = bound(nodes / (local + routing), if local >= routing { "computation" } else { "routing" });
        network_bound(nodes, 3, bucket(nodes, look_ahead), numbers)
            .map_or(processor, |network| tightest_bound(&[processor, network]))
    }
}
