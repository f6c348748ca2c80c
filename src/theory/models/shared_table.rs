//! Updates of a shared table by the cores of a node: wrong words without locks, and rates with locks.
//!
//! SOURCE: Blue Gene/P paper, Section 3.3 and Table 2: if two cores read a word at the same time, the update written first is
//! lost. HPCC and the paper's Table 2 (a) count wrong words per word of the table, not lost updates per update. The paper has no
//! model of locks. This is the standard model of a closed queueing network: Reiser, Lavenberg, Mean-Value Analysis of Closed
//! Multichain Queuing Networks, JACM 1980.

use crate::models::prelude::*;
use apexmap_measure::kernels::random_access::shared;

/// Fraction of wrong words: e0 + u (k - 1) w / (t N), for u updates per word by k cores on N words.
///
/// In the w seconds from the read to the write of an update, each of the other k - 1 cores makes w / t updates, each on the
/// same word with probability 1/N. An update is lost with probability (k - 1) w / (t N), and a word receives u updates. One
/// that loses two counts once, which matters only if many words are wrong.
pub struct LostUpdates;

/// Returns the standard deviation of the wrong words of a run relative to their mean. `burst`, variance over mean (the Fano
/// factor), is 1 if words go wrong independently, or the words per burst for bursts of equal size (compound Poisson).
pub fn relative_deviation(wrong_words: f64, burst: f64) -> f64 {
    (burst / wrong_words).sqrt()
}

const CORES: Variable = cores("cores", "cores that update the table", Some(4.0));
const WORDS: Variable = count("N_words", Unit::Words, "words of the table", None);
const UPDATES: Variable = Variable {
    valid: ValidNumbers::Positive,
    ..variable("updates", Unit::None, "updates per word of the table", Some(4.0))
};

/// The only way to update that a model covers.
const fn updates_by(meaning: &'static str, way: f64) -> Variable {
    Variable {
        words: &["atomic", "unlocked", "locks", "partitioned"],
        ..variable("updates_by", Unit::None, meaning, Some(way))
    }
}
const UNLOCKED: Variable = updates_by("how a word is updated: \"unlocked\" only", 1.0);
const LOCKED: Variable = updates_by("how a word is updated: \"locks\" only", 2.0);

impl Model for LostUpdates {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.lost_updates",
            summary: "fraction of wrong words of a table shared without locks: e0 + u (k - 1) w / (t N)",
            source: &source::BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.3 and Table 2 (a)",
            variables: &[CORES, WORDS, UPDATES, UNLOCKED],
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
        shared_table_variables(self.about(), &UNLOCKED, given)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [cores, words, updates, _] = array(x);
        let [floor, window, update] = array(p);
        let lost = updates * (cores - 1.0) * window / (update * words);
        bound(floor + lost, if floor > lost { "floor" } else { "race" })
    }
}

/// Updates per second of k cores. Each core works for z seconds without a lock, waits for one of n locks drawn uniformly, and
/// holds it for s seconds. One core makes 1 / (z + s) updates per second; many cores with one lock make 1 / s.
pub struct Locks;

const LOCKS: Variable = count("locks", Unit::None, "locks of the table", Some(16.0));

impl Model for Locks {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.locks",
            summary: "updates of a shared table under locks: cores queue for the lock of their word",
            source: &source::BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.3 and Table 2 (b)",
            variables: &[CORES, LOCKS, LOCKED],
            parameters: &[
                Parameter::new_fitted(catalogue::LOCK_HOLD_SECONDS.name, "s", 1e-10, 1e-3, 50e-9),
                Parameter::new_fitted(catalogue::LOCK_FREE_SECONDS.name, "z", 1e-10, 1e-3, 50e-9),
            ],
            explains: &[shared::KERNEL.id],
            design: "updates_by = \"locks\" with 1 lock and with many, on all cores (sweeps/random-access-locks.toml)",
            assumes: "exponentially distributed times; a lock is passed on without delay; memory is as fast for all cores as for one",
            ..RATES
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        shared_table_variables(self.about(), &LOCKED, given)
    }

    /// Mean-value analysis: a core that arrives at a lock finds the average queue of the network with one core less.
    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [cores, locks, _] = array(x);
        let [hold, free] = array(p);
        let (mut waiting, mut rate, mut served) = (0.0, 0.0, hold);
        for present in 1..=(cores.max(1.0) as u64) {
            served = hold * (1.0 + waiting);
            rate = present as f64 / (free + served);
            waiting = rate / locks * served;
        }
        // The locks limit if a core waits longer than it holds one.
        bound(rate, if served > 2.0 * hold { "locks" } else { "cores" })
    }
}

/// Returns the variables of a model of one way of updating. The result of a point with all cores has their number.
fn shared_table_variables(
    about: &About,
    updates_by: &Variable,
    given: &dyn Fn(&str) -> Option<f64>,
) -> Result<Vec<f64>> {
    let value = |name: &str| if name == "cores" { given("cores_used").or_else(|| given(name)) } else { given(name) };
    single_choice(about, updates_by, &value)
}
