//! The compact models of Apex-Map: two to five numbers, all from fits.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact models of two levels of memory and of linear timing; the forms are
//! restated here. The power law is that of the Apex-Map paper, Section 2: P(address < c) = (c/M)^alpha.

use super::{ALPHA, BLOCK, WORDS};
use crate::models::prelude::*;
use apexmap_measure::kernels::apex_map::{one_sided, sequential, two_sided};
use apexmap_measure::kernels::{self, Ranks};
use apexmap_measure::numerics::power_law::remote_share;

pub struct Compact {
    pub about: &'static About,
    /// Numbers in ascending order, see [`Model::ascending_numbers`].
    pub ascending: &'static [&'static [&'static str]],
    /// Equation, see [`Model::predict`].
    pub predict: fn(&[f64], &[f64]) -> Prediction,
}

/// Common description of the compact models. Reads and writes, on one core or on several ranks, each have their own values.
pub const ABOUT: About = About {
    id: "",
    summary: "",
    source: &source::PERFORMANCE_COMPLEXITY,
    place: "",
    variables: VARIABLES,
    parameters: &[],
    explains: &[sequential::KERNEL.id, two_sided::KERNEL.id, one_sided::KERNEL.id],
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

/// Returns the near share of the accesses: (c/M)^alpha on one core, P^-alpha on several ranks; NaN with `far = "memory"`.
pub fn near_share(x: &[f64], near_bytes: f64) -> f64 {
    let [alpha, _, words, ranks, far] = array(x);
    match far == MEMORY {
        true if ranks > 1.0 => f64::NAN,
        true => (near_bytes / (WORD_BYTES as f64 * words)).min(1.0).powf(alpha),
        false => 1.0 - remote_share(ranks as usize, alpha),
    }
}

/// Returns the bytes per second if a block of L words takes the sum of these terms.
pub fn rate(block: f64, terms: &[Prediction]) -> Prediction {
    let time = sum(terms);
    bound(WORD_BYTES as f64 * block / time.value, time.bottleneck)
}

/// Bandwidth of a process: 8 L / (l + g (L - 1)).
pub static LINEAR: Compact = Compact {
    about: &About {
        id: "apex_map.linear",
        summary: "compact: a latency per block and a gap per word, l + g (L - 1); two numbers",
        place: "compact model of linear timing, restated here",
        parameters: &[
            seconds(catalogue::BLOCK_SECONDS.name, "l", 2e-8),
            seconds(catalogue::WORD_GAP_SECONDS.name, "g", 1e-9),
        ],
        linear: true,
        design: "L = 1 and L of hundreds of words",
        assumes: "no effect of alpha, M and P: all memory is equally far",
        ..ABOUT
    },
    ascending: &[],
    predict: predict_linear,
};

fn predict_linear(x: &[f64], p: &[f64]) -> Prediction {
    let ([latency, gap], block) = (array(p), block_words(x));
    // Memory has no influence here. `near_share` only rejects several ranks with `far = "memory"`.
    let validity = if near_share(x, 1.0).is_nan() { f64::NAN } else { 1.0 };
    rate(block, &[bound(validity * latency, "latency"), bound(gap * (block - 1.0), "gap")])
}

/// Bandwidth of a process: 8 L / (L (s t_1 + (1 - s) t_2)), with the near share s.
pub static TWO_LEVEL: Compact = Compact {
    about: &About {
        id: "apex_map.two_level",
        summary: "compact: two levels of memory, a time per word in each; three numbers",
        place: "compact model of two levels of memory, restated here",
        parameters: &[
            seconds(catalogue::NEAR_WORD_SECONDS.name, "t_1", 1e-9),
            seconds(catalogue::FAR_WORD_SECONDS.name, "t_2", 1e-8),
            NEAR_BYTES,
        ],
        design: "at least four values of alpha from 0.001 to 1, with M several times the last cache",
        assumes: "a word costs the same in blocks of any length; one size separates fast from slow memory; with several ranks, near \
                      memory is the rank's own and far memory all other",
        ..ABOUT
    },
    ascending: &[&[catalogue::NEAR_WORD_SECONDS.name, catalogue::FAR_WORD_SECONDS.name]],
    predict: predict_two_level,
};

fn predict_two_level(x: &[f64], p: &[f64]) -> Prediction {
    let [near, far, near_bytes] = array(p);
    let (share, block) = (near_share(x, near_bytes), block_words(x));
    rate(block, &[bound(block * share * near, "near memory"), bound(block * (1.0 - share) * far, "far memory")])
}

/// Bandwidth of a process: 8 L / (s (l_1 + g_1 (L - 1)) + (1 - s) (l_2 + g_2 (L - 1))), with the near share s.
pub static TWO_LEVEL_LINEAR: Compact = Compact {
    about: &About {
        id: "apex_map.two_level_linear",
        summary: "compact: two levels of memory, a latency per block and a gap per word in each; five numbers",
        place: "compact model of two levels of memory with linear timing, restated here",
        parameters: &[
            seconds(catalogue::NEAR_BLOCK_SECONDS.name, "l_1", 2e-9),
            seconds(catalogue::NEAR_GAP_SECONDS.name, "g_1", 2e-10),
            seconds(catalogue::FAR_BLOCK_SECONDS.name, "l_2", 5e-8),
            seconds(catalogue::FAR_GAP_SECONDS.name, "g_2", 1e-9),
            NEAR_BYTES,
        ],
        design: "at least four values of alpha from 0.001 to 1 and four of L from 1 to thousands, with M several times the last \
                     cache",
        assumes: "one size separates fast from slow memory, for blocks of any length; with several ranks, near memory is the rank's \
                      own and far memory all other",
        ..ABOUT
    },
    ascending: &[
        &[catalogue::NEAR_BLOCK_SECONDS.name, catalogue::FAR_BLOCK_SECONDS.name],
        &[catalogue::NEAR_GAP_SECONDS.name, catalogue::FAR_GAP_SECONDS.name],
    ],
    predict: predict_two_level_linear,
};

fn predict_two_level_linear(x: &[f64], p: &[f64]) -> Prediction {
    let [near_block, near_gap, far_block, far_gap, near_bytes] = array(p);
    let (near, block) = (near_share(x, near_bytes), block_words(x));
    let (far, further) = (1.0 - near, block - 1.0);
    rate(
        block,
        &[
            bound(near * near_block, "near latency"),
            bound(near * near_gap * further, "near gap"),
            bound(far * far_block, "far latency"),
            bound(far * far_gap * further, "far gap"),
        ],
    )
}
