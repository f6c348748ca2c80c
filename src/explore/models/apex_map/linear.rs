//! Apex-Map from the length of its blocks alone: a latency for each block and a gap for each further word.
//!
//! SOURCE: after Strohmaier, CTWatch Quarterly 2006, the compact model of linear timing; the form is restated here.

use super::compact::{EXPLAINS, VARIABLES, near_share, of_kernel, rate, seconds, variables};
use crate::error::Result;
use crate::explore::models::{About, Model, Prediction, array};
use crate::source;
use crate::units::Unit;

/// Bandwidth of a process: 8 L over l + g (L - 1).
pub struct Linear;

impl Model for Linear {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.linear",
            summary: "compact: a latency per block and a gap per word, l + g (L - 1); two numbers",
            source: &source::PERFORMANCE_COMPLEXITY,
            place: "compact model of linear timing, restated here",
            variables: VARIABLES,
            parameters: &[seconds("block_seconds", "l", 2e-8), seconds("word_gap_seconds", "g", 1e-9)],
            explains: EXPLAINS,
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: true,
            design: "L = 1 and L of hundreds of words",
            assumes: "alpha, M and P change nothing: all memory is equally far",
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

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let ([latency, gap], block) = (array(p), x[1]);
        // Only that several ranks cannot have one memory matters here.
        let all = if near_share(x, 1.0).is_nan() { f64::NAN } else { 1.0 };
        rate(block, &[(all * latency, "latency"), (gap * (block - 1.0), "gap")])
    }
}
