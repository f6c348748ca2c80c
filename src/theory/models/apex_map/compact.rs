//! Common part of the compact models of Apex-Map. Each model adds its parameters and its equation.

use super::{ALPHA, BLOCK, WORDS};
use crate::machine::catalogue;
use crate::models::{About, Model, Parameter, Prediction, RANKS, Variable, array, bound, variable, variable_value};
use apexmap_base::error::{Error, Result};
use apexmap_base::source;
use apexmap_base::units::{Unit, WORD_BYTES};
use apexmap_measure::kernels::{self, Ranks};
use apexmap_measure::numerics::power_law::remote_share;

/// A model with two to five parameters, all from fits.
pub struct Compact {
    pub about: &'static About,
    /// Numbers in ascending order, see [`Model::ascending_numbers`].
    pub ascending: &'static [&'static [&'static str]],
    /// Equation, see [`Model::predict`].
    pub predict: fn(&[f64], &[f64]) -> Prediction,
}

/// Common description of the compact models. They explain kernels on one core and on several ranks, for reads and writes.
/// Each kind has separate parameter values.
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

    /// On one core, far memory lies beyond a size. With several ranks, it is the memory of the other ranks.
    fn kernel_value(&self, kernel: &str, variable: &str) -> Option<f64> {
        let kernel = kernels::find(kernel).ok().filter(|_| variable == FAR.name)?;
        Some(match kernel.ranks {
            Ranks::One => MEMORY,
            Ranks::Any => RANKS_OWN,
        })
    }

    fn is_compact(&self) -> bool {
        true
    }

    fn ascending_numbers(&self) -> &'static [&'static [&'static str]] {
        self.ascending
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        (self.predict)(x, p)
    }
}

/// Variables in the order of `x`: alpha, L, M, P and the kind of far memory.
const VARIABLES: &[Variable] = &[ALPHA, BLOCK, WORDS, Variable { default: Some(1.0), ..RANKS }, FAR];

const FAR: Variable = Variable {
    words: &["memory", "ranks"],
    ..variable(
        "far",
        Unit::None,
        "far memory: memory beyond near_bytes, or memory of other ranks; default ranks if P > 1",
        Some(MEMORY),
    )
};
const MEMORY: f64 = 0.0;
const RANKS_OWN: f64 = 1.0;

/// Creates a parameter for the time of a block or of each of its words.
pub const fn seconds(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    Parameter::new_fitted(number, symbol, 1e-13, 1.0, first)
}

/// Near memory of one core: a size that the fit estimates, between one line and more than any machine has.
pub const NEAR_BYTES: Parameter = Parameter::new_fitted(catalogue::NEAR_BYTES.name, "c", 64.0, 1e15, 1e6);

fn variables(about: &About, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
    let x =
        about.variables.iter().map(|variable| variable_value(about, variable, given)).collect::<Result<Vec<f64>>>()?;
    let [alpha, block, words, ranks, far] = array(&x);
    if ranks > 1.0 && far == MEMORY {
        if given(FAR.name).is_some() {
            return Err(Error::input(
                format!("{} has far = \"memory\" for P = 1 only, not for P = {ranks}", about.id),
                "write far=ranks: with several ranks, near memory is the memory that each rank owns",
            ));
        }
        return Ok(vec![alpha, block, words, ranks, RANKS_OWN]);
    }
    Ok(x)
}

pub fn block_words(x: &[f64]) -> f64 {
    let [_, block, ..] = array::<{ VARIABLES.len() }>(x);
    block
}

/// Returns the share of the accesses that near memory serves: (c/M)^alpha on one core, or the share P^-alpha that stays on
/// its rank. NaN for several ranks with `far = "memory"`.
pub fn near_share(x: &[f64], near_bytes: f64) -> f64 {
    let [alpha, _, words, ranks, far] = array(x);
    match far == MEMORY {
        true if ranks > 1.0 => f64::NAN,
        true => (near_bytes / (WORD_BYTES as f64 * words)).min(1.0).powf(alpha),
        false => 1.0 - remote_share(ranks as usize, alpha),
    }
}

/// Returns the bytes per second if a block of L words takes the sum of these terms.
pub fn rate(block: f64, terms: &[(f64, &'static str)]) -> Prediction {
    let largest = terms.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |term| term.1);
    bound(WORD_BYTES as f64 * block / terms.iter().map(|term| term.0).sum::<f64>(), largest)
}
