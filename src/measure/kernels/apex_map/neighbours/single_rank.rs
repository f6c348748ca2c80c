//! A communicator of a single rank. Its collective operations return immediately.

use crate::comm::{Collectives, Comm};

/// A communicator of one rank that uses the clock of another communicator.
pub(super) struct SingleRank<'a, C>(pub(super) &'a C);

impl<C: Comm> Comm for SingleRank<'_, C> {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn ranks_on_node(&self) -> usize {
        1
    }
    fn first_on_node(&self) -> bool {
        true
    }
    fn is_oversubscribed(&self) -> bool {
        self.0.is_oversubscribed()
    }
    fn wall_time(&self) -> f64 {
        self.0.wall_time()
    }
    fn relax(&self) {
        self.0.relax();
    }
}

impl<C: Comm> Collectives for SingleRank<'_, C> {
    type BarrierRequest = ();

    fn barrier(&self) {}
    fn ibarrier(&self) {}
    fn test(&self, (): &mut ()) -> bool {
        true
    }
    fn broadcast(&self, _: &mut [u64]) {}
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        Some(words.to_vec())
    }
    fn all_reduce_sum(&self, value: u64) -> u64 {
        value
    }
    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        receive.clear();
        receive.extend_from_slice(&send[..counts.iter().sum()]);
    }
}
