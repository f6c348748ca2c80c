//! P processes that read the memory of one node.
//!
//! SOURCE: none; an example of a model.

use apexmap_base::source::Source;
use apexmap_base::units::Unit;
use apexmap_theory::models::{About, Model, Parameter, Prediction, ValidNumbers, Variable};

const SOURCE: Source =
    Source { authors: "The apexmap developers", title: "Contributing to apexmap", short: "an example" };

/// A byte costs time in its process, where P bytes proceed at once, and time in the node's memory, which is shared.
pub struct SharedMemory;

const fn fitted_parameter(number: &'static str, symbol: &'static str) -> Parameter {
    Parameter::new_fitted(number, symbol, 1e-14, 1e-6, 1e-10)
}

const ABOUT: About = About {
    id: "example.shared_memory",
    summary: "1/bandwidth = s/P + m",
    source: &SOURCE,
    place: "Add a model",
    variables: &[Variable {
        name: "P",
        unit: Unit::None,
        meaning: "ranks",
        default: None,
        words: &[],
        valid: ValidNumbers::Ranks,
    }],
    // Numbers of machine cards: the inverse of a bandwidth has the bandwidth's name with seconds_per_byte.
    parameters: &[fitted_parameter("memory_seconds_per_byte", "s"), fitted_parameter("node_seconds_per_byte", "m")],
    explains: &["calibrate.stream"],
    column: "bytes_per_second",
    unit: Unit::BytesPerSecond,
    linear: true,
    design: "one process, a few, and all cores of a node",
    assumes: "the processes are alike, and their data are in main memory",
};

impl Model for SharedMemory {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let (process, node) = (p[0] / x[0], p[1]);
        let bottleneck = if process > node { "processes" } else { "memory of the node" };
        Prediction { value: 1.0 / (process + node), bottleneck }
    }
}
