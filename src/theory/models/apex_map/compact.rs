//! The compact models of Apex-Map: what they share, which is all but their parameters and their equation.

use super::{ALPHA, BLOCK, WORDS};
use crate::machine::catalogue;
use crate::models::{About, Model, Parameter, Prediction, RANKS, Variable, array, bound, value_of, variable};
use apexmap_base::error::{Error, Result};
use apexmap_base::source;
use apexmap_base::units::{Unit, WORD_BYTES};
use apexmap_measure::numerics::power_law::remote_share;

/// A model with two to five parameters, which only fits give.
pub struct Compact {
    pub about: &'static About,
    /// See [`Model::ascending`].
    pub ascending: &'static [&'static [&'static str]],
    /// See [`Model::predict`].
    pub predict: fn(&[f64], &[f64]) -> Prediction,
}

/// What the descriptions of compact models have in common. They explain kernels of one core and of several, reads as well as writes,
/// each with parameters of their own.
pub const ABOUT: About = About {
    id: "",
    summary: "",
    source: &source::PERFORMANCE_COMPLEXITY,
    place: "",
    variables: VARIABLES,
    parameters: &[],
    explains: &["apex_map.sequential", "apex_map.two_sided", "apex_map.one_sided"],
    column: "bytes_per_second_per_rank",
    unit: Unit::BytesPerSecond,
    linear: false,
    design: "",
    assumes: "",
};

impl Model for Compact {
    fn about(&self) -> &'static About {
        self.about
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        variables(self.about, given)
    }

    /// One core has memory beyond a size, several ranks have each other's memory.
    fn of_kernel(&self, kernel: &str, variable: &str) -> Option<f64> {
        (variable == FAR.name).then_some(if kernel == "apex_map.sequential" { MEMORY } else { RANKS_OWN })
    }

    fn compact(&self) -> bool {
        true
    }

    fn ascending(&self) -> &'static [&'static [&'static str]] {
        self.ascending
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        (self.predict)(x, p)
    }
}

/// In the order of `x`: alpha, L, M, P and the kind of far memory.
const VARIABLES: &[Variable] = &[ALPHA, BLOCK, WORDS, Variable { default: Some(1.0), ..RANKS }, FAR];

const FAR: Variable = Variable {
    words: &["memory", "ranks"],
    ..variable(
        "far",
        Unit::None,
        "far memory: what lies beyond near_bytes, or what other ranks own; by default ranks where P > 1",
        Some(MEMORY),
    )
};
const MEMORY: f64 = 0.0;
const RANKS_OWN: f64 = 1.0;

/// A time of a block or of each of its words.
pub const fn seconds(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    Parameter::fitted(number, symbol, 1e-13, 1.0, first)
}

/// Near memory of one core: a size that the fit finds, between a line and more than any machine has.
pub const NEAR_BYTES: Parameter = Parameter::fitted(catalogue::NEAR_BYTES.name, "c", 64.0, 1e15, 1e6);

/// The variables from what is given by name.
///
/// # Errors
/// If one is missing, or several ranks are to have one memory.
fn variables(about: &About, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
    let x = about.variables.iter().map(|variable| value_of(about, variable, given)).collect::<Result<Vec<f64>>>()?;
    let [alpha, block, words, ranks, far] = array(&x);
    if ranks > 1.0 && far == MEMORY {
        if given(FAR.name).is_some() {
            return Err(Error::input(
                format!("{} has far = \"memory\" for P = 1 only, not for P = {ranks}", about.id),
                "write far=ranks: the near memory of several ranks is the memory that each owns",
            ));
        }
        return Ok(vec![alpha, block, words, ranks, RANKS_OWN]);
    }
    Ok(x)
}

/// Words of a block, L.
pub fn block_words(x: &[f64]) -> f64 {
    let [_, block, ..] = array::<{ VARIABLES.len() }>(x);
    block
}

/// The share of the accesses that near memory serves: (c/M)^alpha, or the P^-alpha that stay on their rank. NaN for several ranks
/// with one memory.
pub fn near_share(x: &[f64], near_bytes: f64) -> f64 {
    let [alpha, _, words, ranks, far] = array(x);
    match far == MEMORY {
        true if ranks > 1.0 => f64::NAN,
        true => (near_bytes / (WORD_BYTES as f64 * words)).min(1.0).powf(alpha),
        false => 1.0 - remote_share(ranks as usize, alpha),
    }
}

/// Bytes per second of a block of L words that takes the sum of these terms.
pub fn rate(block: f64, terms: &[(f64, &'static str)]) -> Prediction {
    let largest = terms.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |term| term.1);
    bound(WORD_BYTES as f64 * block / terms.iter().map(|term| term.0).sum::<f64>(), largest)
}
