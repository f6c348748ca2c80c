use super::draw::{Draws, Location};

#[derive(Clone, Copy, Default)]
pub(in crate::kernels) struct PassTally {
    pub(in crate::kernels) sum: u64,
    pub(in crate::kernels) remote: u64,
    pub(in crate::kernels) served: u64,
    /// The transport's clock after the first quarter of the accesses and before the last, if the pass covers the whole run.
    pub(in crate::kernels) quarters: Option<(f64, f64)>,
    /// The transport's clock when the rank has summed all data that it reads.
    pub(in crate::kernels) own_end: f64,
    /// The transport's clock when no other rank needs this rank any more.
    pub(in crate::kernels) end: f64,
}

pub(in crate::kernels) trait TimedRank {
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
