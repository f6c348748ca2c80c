//! RandomAccess with one message per update: limited by the processors or by the bisection of the network.
//!
//! SOURCE: Blue Gene/P paper, Equation (1): GUPS <= min(N / (t_g + t_u + t_os + (N-1)/N (t_s + t_r + t_op)), 4 B / b). B is
//! the bisection bandwidth in one direction. Half of the updates cross the bisection, half of these in each direction.

use super::topology;
use crate::models::prelude::*;
use apexmap_measure::kernels::random_access::{base, one_sided};

/// Equation (1).
pub struct Bottleneck;

const TOPOLOGY: Variable = Variable {
    words: topology::NAMES,
    ..variable("topology", Unit::None, "topology of the nodes; given: B is bisection_bytes_per_second", Some(0.0))
};
const DIMENSIONS: Variable = dimensions("dimensions", "dimensions of a torus or mesh", Some(3.0));

/// The only covered way to send: a bucket would share a message among hundreds of updates.
const SENDING: Variable = Variable {
    words: &["bucketed", "immediate", "reference"],
    ..variable("sending", Unit::None, "how updates are sent: \"immediate\" only, one per message", Some(1.0))
};

impl Model for Bottleneck {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.bottleneck",
            summary: "one update per message: processors against the bisection of the network",
            source: &source::BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.1, Equation (1)",
            variables: &[RANKS, RANKS_PER_NODE, TOPOLOGY, DIMENSIONS, SENDING],
            parameters: &[
                Parameter::new_fitted(catalogue::LOCAL_SECONDS.name, "t_g + t_u + t_os", 1e-10, 1e-3, 50e-9),
                Parameter::new_fitted(catalogue::REMOTE_SECONDS.name, "t_s + t_r + t_op", 1e-10, 1.0, 500e-9),
                Parameter::new_given(catalogue::LINK_BANDWIDTH_BYTES_PER_SECOND.name, "link", 1e5, 1e13, 1e9),
                Parameter::new_given(catalogue::BISECTION_BYTES_PER_SECOND.name, "B", 1e5, 1e17, 1e12),
                Parameter::new_given(catalogue::UPDATE_WIRE_BYTES.name, "b", 1.0, 4096.0, 46.0)
                    .with_value_if_missing(WORD_BYTES as f64),
            ],
            explains: &[base::KERNEL.id, one_sided::KERNEL.id],
            linear: true,
            design: "sending = \"immediate\" at P = 1, 2, 4 with one rank per node: large rank counts alone cannot separate the cost of \
                     an update from that of its message",
            assumes: "perfect overlap of processors and network; an even load of the links across the bisection; 8 bytes per update on the \
                      wire if the card has no number",
            ..RATES
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        single_choice(self.about(), &SENDING, given)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [ranks, per_node, topology, dimensions, _] = array(x);
        let [local, remote, link, given, wire] = array(p);
        let processors = bound(ranks / (local + (ranks - 1.0) / ranks * remote), "processors");
        let nodes = (ranks / per_node).ceil();
        if nodes <= 1.0 {
            return processors;
        }
        let links = topology::bisection_links(topology as usize, nodes, dimensions as usize);
        let bisection = links.map(|links| links * link).filter(|sum| sum.is_finite()).unwrap_or(given);
        tightest_bound(&[processors, bound(4.0 * bisection / wire, "bisection")])
    }

    /// A card needs the link bandwidth or the bisection bandwidth, depending on the topology. Parts of a time, as on
    /// calibrated cards, are summed. Without b, an update takes at least its word on the wire.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        let either = card
            .get(catalogue::LINK_BANDWIDTH_BYTES_PER_SECOND.name)
            .or(card.get(catalogue::BISECTION_BYTES_PER_SECOND.name));
        let value = |parameter: &Parameter| match (card.get(parameter.number), either) {
            (None, Some(_)) if parameter.symbol == "link" || parameter.symbol == "B" => Some(f64::NAN),
            _ => card_number(card, parameter.number),
        };
        parameter_values(self.about().parameters, card, value)
    }
}
