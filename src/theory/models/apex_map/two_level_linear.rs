//! Apex-Map from two levels of memory, each with a latency per block and a gap per further word.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact model of two levels of memory with linear timing; the form
//! is restated here. The power law is that of the Apex-Map paper, Section 2: P(address < c) = (c/M)^alpha.

use super::compact::{ABOUT, Compact, NEAR_BYTES, block_words, near_share, rate, seconds};
use crate::machine::catalogue;
use crate::models::{About, Prediction, array};

/// Bandwidth of a process: 8 L / (s (l_1 + g_1 (L - 1)) + (1 - s) (l_2 + g_2 (L - 1))), where near memory serves the share s
/// of the accesses.
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
    predict,
};

fn predict(x: &[f64], p: &[f64]) -> Prediction {
    let [near_block, near_gap, far_block, far_gap, near_bytes] = array(p);
    let (near, block) = (near_share(x, near_bytes), block_words(x));
    let (far, further) = (1.0 - near, block - 1.0);
    rate(
        block,
        &[
            (near * near_block, "near latency"),
            (near * near_gap * further, "near gap"),
            (far * far_block, "far latency"),
            (far * far_gap * further, "far gap"),
        ],
    )
}
