//! Runs of microseconds: the timed loop is repeated in parts until two in a row take the same time, and the last of them counts.
//!
//! The first part of a run is often slower: the clock of the core rises, and caches and predictors do not know the loop yet.

use crate::comm::Collectives;
use crate::kernels::{Output, output};
use apexmap_base::point::Value;
use apexmap_base::units::Unit;

/// Two parts are alike if they differ by at most this fraction.
pub const ALIKE: f64 = 0.02;
/// No further part begins this time after parts may end: seconds.
pub const BUDGET: f64 = 0.1;

/// What a run in parts reports besides.
pub(super) const OUTPUTS: [Output; 2] = [
    output("parts", Unit::None, "timed parts of the run, of which the last one counts"),
    output(
        "parts_alike",
        Unit::None,
        "1 if the last two parts took the same time, within 2 %; 0 if no two in a row did; absent after a single long part",
    ),
];

/// The parts of a run so far.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Parts run for this time at least, in seconds: those before warm up.
    least: f64,
    spent: f64,
    count: u64,
    before: Option<f64>,
    /// Whether the last two are; unknown after the first.
    alike: Option<bool>,
}

impl Parts {
    /// Of a run whose parts take this time at least, in seconds.
    pub fn new(least: f64) -> Self {
        Self { least, spent: 0.0, count: 0, before: None, alike: None }
    }

    /// Takes note of a part: seconds that it took, and seconds spent on it in all. Whether another one follows.
    pub fn note(&mut self, seconds: f64, spent: f64) -> bool {
        self.count += 1;
        self.spent += spent;
        self.alike = self.before.map(|before| (seconds / before - 1.0).abs() <= ALIKE);
        self.before = Some(seconds);
        self.spent < self.least || (self.alike != Some(true) && self.spent < self.least + BUDGET)
    }

    /// As `note`, with the mean of all ranks' seconds, so that all decide the same. Collective.
    pub fn note_all<C: Collectives>(&mut self, comm: &C, seconds: f64, spent: f64) -> bool {
        // In picoseconds; as a fraction of a part they are nothing.
        let mean = |seconds: f64| comm.all_reduce_sum((seconds * 1e12) as u64) as f64 * 1e-12 / comm.size() as f64;
        let (seconds, spent) = (mean(seconds), mean(spent));
        self.note(seconds, spent)
    }

    /// Values of [`OUTPUTS`].
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let alike = self.alike.map(|alike| ("parts_alike", Value::Integer(u64::from(alike))));
        std::iter::once(("parts", Value::Integer(self.count))).chain(alike)
    }
}
