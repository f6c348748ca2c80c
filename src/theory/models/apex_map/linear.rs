//! Apex-Map as a function of block length alone: a latency per block and a gap per further word.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact model of linear timing; the form is restated here.

use super::compact::{ABOUT, Compact, block_words, near_share, rate, seconds};
use crate::machine::catalogue;
use crate::models::{About, Prediction, array};

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
    predict,
};

fn predict(x: &[f64], p: &[f64]) -> Prediction {
    let ([latency, gap], block) = (array(p), block_words(x));
    // Memory has no influence here. `near_share` only rejects several ranks with `far = "memory"`.
    let validity = if near_share(x, 1.0).is_nan() { f64::NAN } else { 1.0 };
    rate(block, &[(validity * latency, "latency"), (gap * (block - 1.0), "gap")])
}
