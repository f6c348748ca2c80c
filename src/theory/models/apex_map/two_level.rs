//! Apex-Map from two levels of memory: one time per word for near memory, another for far memory.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact model of two levels of memory; the form is restated here.
//! The power law is that of the Apex-Map paper, Section 2: P(address < c) = (c/M)^alpha.

use super::compact::{ABOUT, Compact, NEAR_BYTES, block_words, near_share, rate, seconds};
use crate::machine::catalogue;
use crate::models::{About, Prediction, array};

/// Bandwidth of a process: 8 L / (L (s t_1 + (1 - s) t_2)), where near memory serves the share s of the accesses.
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
    predict,
};

fn predict(x: &[f64], p: &[f64]) -> Prediction {
    let [near, far, near_bytes] = array(p);
    let (share, block) = (near_share(x, near_bytes), block_words(x));
    rate(block, &[(block * share * near, "near memory"), (block * (1.0 - share) * far, "far memory")])
}
