//! A loop of microseconds is timed in parts until two consecutive parts take the same time. The last part counts. The first is
//! often slower: the core's clock is still rising, and caches and predictors have not adapted to the loop.

use super::*;

/// Two parts that differ by at most this fraction take the same time.
pub const MAX_DIFFERENCE: f64 = 0.02;
/// For further parts after the minimum time.
pub const MAX_EXTRA_SECONDS: f64 = 0.1;

pub(super) const OUTPUTS: [Output; 2] = [
    output("parts", Unit::None, "number of timed parts; the last one counts"),
    output(
        "parts_alike",
        Unit::None,
        "1 if the last two parts took the same time, within 2 %; 0 if no two consecutive parts did; absent after a single long part",
    ),
];

#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Minimum duration of all parts together, in seconds. Early parts serve as warm-up.
    min_seconds: f64,
    total_seconds: f64,
    count: u64,
    previous: Option<f64>,
    /// Whether the last two parts took the same time; `None` after the first part.
    converged: Option<bool>,
}

impl Parts {
    pub fn new(min_seconds: f64) -> Self {
        Self { min_seconds, total_seconds: 0.0, count: 0, previous: None, converged: None }
    }

    /// `seconds` is the timed duration of a part, `total_seconds` its total duration. Returns whether another part follows.
    pub fn record_part(&mut self, seconds: f64, total_seconds: f64) -> bool {
        self.count += 1;
        self.total_seconds += total_seconds;
        self.converged = self.previous.map(|previous| (seconds / previous - 1.0).abs() <= MAX_DIFFERENCE);
        self.previous = Some(seconds);
        self.total_seconds < self.min_seconds
            || (self.converged != Some(true) && self.total_seconds < self.min_seconds + MAX_EXTRA_SECONDS)
    }

    /// Like `record_part`, with the mean times of all ranks, so that all decide equally. Collective.
    pub fn record_part_on_all<C: Collectives>(&mut self, comm: &C, seconds: f64, total_seconds: f64) -> bool {
        // The sum uses whole picoseconds, which are negligible relative to a part.
        let mean = |seconds: f64| comm.all_reduce_sum((seconds * 1e12) as u64) as f64 * 1e-12 / comm.size() as f64;
        let (seconds, total_seconds) = (mean(seconds), mean(total_seconds));
        self.record_part(seconds, total_seconds)
    }

    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let converged = self.converged.map(|converged| ("parts_alike", Value::Integer(u64::from(converged))));
        std::iter::once(("parts", Value::Integer(self.count))).chain(converged)
    }
}
