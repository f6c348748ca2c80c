//! Updates of a shared table whose words are protected by locks.
//!
//! SOURCE: Blue Gene/P paper, Section 3.3 and Table 2 (b). The paper has no model. This is the standard model of a closed
//! queueing network: Reiser, Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks, JACM 1980.

use super::{About, Model, Parameter, Prediction, Variable, array, bound, cores, count, variable};
use crate::machine::catalogue;
use apexmap_base::error::Result;
use apexmap_base::source::BLUE_GENE_P_RANDOM_ACCESS;
use apexmap_base::units::Unit;
use apexmap_measure::kernels::random_access::shared;

/// Updates per second of k cores. Each core works for z seconds without a lock, waits for one of n locks drawn uniformly, and
/// holds it for s seconds. One core makes 1 / (z + s) updates per second; many cores with one lock make 1 / s.
pub struct Locks;

const CORES: Variable = cores("cores", "cores that update the table", Some(4.0));
const LOCKS: Variable = count("locks", Unit::None, "locks of the table", Some(16.0));

/// The only covered way to update.
const UPDATES_BY: Variable = Variable {
    words: &["atomic", "unlocked", "locks", "partitioned"],
    ..variable("updates_by", Unit::None, "how a word is updated: \"locks\" only", Some(2.0))
};

impl Model for Locks {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.locks",
            summary: "updates of a shared table under locks: cores queue for the lock of their word",
            source: &BLUE_GENE_P_RANDOM_ACCESS,
            place: "Section 3.3 and Table 2 (b)",
            variables: &[CORES, LOCKS, UPDATES_BY],
            parameters: &[
                Parameter::new_fitted(catalogue::LOCK_HOLD_SECONDS.name, "s", 1e-10, 1e-3, 50e-9),
                Parameter::new_fitted(catalogue::LOCK_FREE_SECONDS.name, "z", 1e-10, 1e-3, 50e-9),
            ],
            explains: &[shared::KERNEL.id],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: false,
            design: "updates_by = \"locks\" with 1 lock and with many, on all cores (sweeps/random-access-locks.toml)",
            assumes: "exponentially distributed times; a lock is passed on without delay; memory is as fast for all cores as for one",
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        shared_table_variables(self.about(), &UPDATES_BY, given)
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

/// Returns the variables of a model of shared tables that covers one way of updating. A point may request all cores without
/// their number; its result has the number.
pub(super) fn shared_table_variables(
    about: &About,
    updates_by: &Variable,
    given: &dyn Fn(&str) -> Option<f64>,
) -> Result<Vec<f64>> {
    let value = |name: &str| if name == "cores" { given("cores_used").or_else(|| given(name)) } else { given(name) };
    super::single_choice(about, updates_by, &value)
}
