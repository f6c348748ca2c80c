//! Updates lost on a table that several cores share without locks.
//!
//! SOURCE: Blue Gene/P paper, Section 3.3: if two cores read a word at the same time, the update written first is lost.

use super::{About, Model, Parameter, Prediction, Variable, array, bound, variable};
use crate::source::BLUE_GENE_P_RANDOM_ACCESS;
use crate::units::Unit;

/// Share of updates lost: (cores - 1) x window / update / words.
///
/// While an update is between its read and its write, for `window` seconds, each other core makes window / update updates, and
/// each of these hits the same of N words with probability 1/N. The number of updates made does not appear: this model
/// does not explain Table 2 (a), where the error rate grows 6.6 times over 16 times the updates.
pub struct LostUpdates;

const CORES: Variable = variable("cores", Unit::None, "cores that update the table", Some(4.0));
const WORDS: Variable = variable("N_words", Unit::Words, "words of the table", None);

impl Model for LostUpdates {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.lost_updates",
            summary: "share of updates lost on a shared table without locks",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.3 and Table 2 (a)",
            variables: &[CORES, WORDS],
            parameters: &[
                Parameter::fitted("lost_window_seconds", "window", 1e-12, 1e-3, 10e-9),
                Parameter::given("update_seconds", "t_u", 1e-10, 1e-3, 100e-9),
            ],
            explains: &[],
            column: "error_share",
            unit: Unit::None,
            linear: false,
            design: "several numbers of cores and table sizes",
            assumes: "cores update independently; words are hit evenly",
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [cores, words] = array(x);
        bound((cores - 1.0) * p[0] / p[1] / words, "race")
    }
}
