//! Apex-Map from two levels of memory: words in near memory cost one time, all others another.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact model of two levels of memory; the form is restated here. The power
//!   law is that of the Apex-Map paper, Section 2: P(address < c) = (c/M)^alpha.

use super::compact::{EXPLAINS, NEAR_BYTES, VARIABLES, near_share, of_kernel, rate, seconds, variables};
use crate::error::Result;
use crate::explore::models::{About, Model, Prediction, array};
use crate::source;
use crate::units::Unit;

/// Bandwidth of a process: 8 L over L (s t_1 + (1 - s) t_2), with the share s of the accesses that near memory serves.
pub struct TwoLevel;

impl Model for TwoLevel {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.two_level",
            summary: "compact: two levels of memory, a time per word in each; three numbers",
            source: &source::PERFORMANCE_COMPLEXITY,
            place: "compact model of two levels of memory, restated here",
            variables: VARIABLES,
            parameters: &[
                seconds("near_word_seconds", "t_1", 1e-9),
                seconds("far_word_seconds", "t_2", 1e-8),
                NEAR_BYTES,
            ],
            explains: EXPLAINS,
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: false,
            design: "at least four values of alpha from 0.001 to 1, with M several times the last cache",
            assumes: "a word costs the same in blocks of any length; one size separates fast from slow memory; several ranks have \
                      their own memory near and all other memory far",
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        variables(self.about(), given)
    }

    fn of_kernel(&self, kernel: &str, variable: &str) -> Option<f64> {
        of_kernel(kernel, variable)
    }

    fn compact(&self) -> bool {
        true
    }

    fn ascending(&self) -> &'static [&'static [&'static str]] {
        &[&["near_word_seconds", "far_word_seconds"]]
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [near, far, near_bytes] = array(p);
        let (share, block) = (near_share(x, near_bytes), x[1]);
        rate(block, &[(block * share * near, "near memory"), (block * (1.0 - share) * far, "far memory")])
    }
}
