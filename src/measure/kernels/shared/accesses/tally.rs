//! What the clock asks of a rank.

use super::draw::{Draws, Location};

/// What a rank did in a pass over accesses.
#[derive(Clone, Copy, Default)]
pub(in crate::kernels) struct Tally {
    pub(in crate::kernels) sum: u64,
    pub(in crate::kernels) remote: u64,
    pub(in crate::kernels) served: u64,
    /// The transport's clock after the first quarter of the accesses, and before the last, if the pass is all of the run.
    pub(in crate::kernels) quarters: Option<(f64, f64)>,
    /// The transport's clock when all of the rank's own data had been summed.
    pub(in crate::kernels) own_end: f64,
    /// The same when no rank needed this one any more.
    pub(in crate::kernels) end: f64,
}

/// A rank's memory, and what the rank does with accesses.
pub(in crate::kernels) trait Accesses {
    /// What is read before the clock runs.
    fn memory(&self) -> &[u64];
    /// After so many words the warm-up may end before its time, if nothing changes any more; as many on all ranks.
    fn enough_words(&self) -> u64 {
        u64::MAX
    }
    /// What is done with accesses before they are run, off the clock.
    fn prepare(&mut self, _: &[Location]) {}
    /// Runs accesses, of all ranks at once.
    fn pass(&mut self, locations: &[Location]) -> Tally;
    /// What the words read by a pass over `array` must sum to.
    fn expected(&self, draws: &Draws, array: &[Location]) -> u64 {
        draws.expected(array)
    }
}
