//! Wrong words in a table that several cores share without locks.
//!
//! SOURCE: Blue Gene/P paper, Section 3.3: if two cores read a word at the same time, the update written first is lost. HPCC
//! and the paper's Table 2 (a) count wrong words per word of the table, not lost updates per update.

use super::{About, Model, Parameter, Prediction, ValidNumbers, Variable, array, bound, cores, count, variable};
use crate::machine::catalogue;
use apexmap_base::error::Result;
use apexmap_base::source::BLUE_GENE_P_RANDOM_ACCESS;
use apexmap_base::units::Unit;
use apexmap_measure::kernels::random_access::shared;

/// Fraction of wrong words: e0 + u (k - 1) w / (t N), for u updates per word by k cores on N words.
///
/// An update takes w seconds from its read to its write. During this time, each of the other k - 1 cores makes w / t updates,
/// and each of these hits the same word with probability 1/N. An update is therefore lost with probability (k - 1) w / (t N),
/// and a word receives u updates. A word that loses two updates counts once, which matters only if a large share of the words
/// is wrong.
pub struct LostUpdates;

/// Returns the ratio of standard deviation to mean of the number of wrong words of a run. `burst` is the ratio of variance to
/// mean (the Fano factor): 1 if words go wrong independently, or the number of words per burst for independent bursts of
/// equal size (compound Poisson).
pub fn relative_deviation(wrong_words: f64, burst: f64) -> f64 {
    (burst / wrong_words).sqrt()
}

const CORES: Variable = cores("cores", "cores that update the table", Some(4.0));
const WORDS: Variable = count("N_words", Unit::Words, "words of the table", None);
const UPDATES: Variable = Variable {
    valid: ValidNumbers::Positive,
    ..variable("updates", Unit::None, "updates per word of the table", Some(4.0))
};

/// The only covered way to update.
const UPDATES_BY: Variable = Variable {
    words: &["atomic", "unlocked", "locks", "partitioned"],
    ..variable("updates_by", Unit::None, "how a word is updated: \"unlocked\" only", Some(1.0))
};

impl Model for LostUpdates {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.lost_updates",
            summary: "fraction of wrong words of a table shared without locks: e0 + u (k - 1) w / (t N)",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.3 and Table 2 (a)",
            variables: &[CORES, WORDS, UPDATES, UPDATES_BY],
            parameters: &[
                Parameter::new_fitted(catalogue::WRONG_WORDS_SHARE.name, "e0", 1e-12, 1e-2, 1e-7),
                Parameter::new_fitted(catalogue::LOST_WINDOW_SECONDS.name, "w", 1e-12, 1e-3, 10e-9),
                Parameter::new_given(catalogue::UPDATE_SECONDS.name, "t", 1e-10, 1e-3, 100e-9),
            ],
            explains: &[shared::KERNEL.id],
            column: "error_fraction",
            unit: Unit::None,
            linear: false,
            design: "updates_by = \"unlocked\" with several numbers of updates per word (2 to 32), on tables so small that every run loses \
                     updates (sweeps/random-access-locks.toml)",
            assumes: "cores update independently; words are hit evenly; only the mean is modelled: losses in bursts raise the spread \
                      between runs",
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        super::locks::shared_table_variables(self.about(), &UPDATES_BY, given)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [cores, words, updates, _] = array(x);
        let [floor, window, update] = array(p);
        let lost = updates * (cores - 1.0) * window / (update * words);
        bound(floor + lost, if floor > lost { "floor" } else { "race" })
    }
}
