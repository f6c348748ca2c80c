use super::draw::{Draws, Location};

#[derive(Clone, Copy, Default)]
pub(crate) struct PassTally {
    pub(crate) sum: u64,
    pub(crate) remote: u64,
    pub(crate) served: u64,
    /// The transport's clock after the first quarter of the accesses and before the last, if the pass covers the whole run.
    pub(crate) quarters: Option<(f64, f64)>,
    /// The transport's clock when the rank has summed all data that it reads.
    pub(crate) own_end: f64,
    /// The transport's clock when no other rank needs this rank any more.
    pub(crate) end: f64,
}

pub(crate) trait TimedRank {
    fn memory(&self) -> &[u64];
    /// The number of words after which a steady warm-up may end before [`super::warm_up::WarmUp::MIN_SECONDS`]; the same on all
    /// ranks.
    fn sufficient_words(&self) -> u64 {
        u64::MAX
    }
    /// Called while the clock does not run.
    fn prepare(&mut self, _: &[Location]) {}
    /// Runs the accesses, on all ranks at the same time.
    fn pass(&mut self, locations: &[Location]) -> PassTally;
    fn expected_sum(&self, draws: &Draws, array: &[Location]) -> u64 {
        draws.expected_sum(array)
    }
}
