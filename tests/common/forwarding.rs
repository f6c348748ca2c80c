//! A transport that forwards to threads, with another clock. Tests add their faults to it.

use apexmap_measure::comm::threads::ThreadComm;
use apexmap_measure::comm::{Collectives, Comm};

/// A clock in place of that of the transport.
pub trait Clock {
    /// Returns the time in seconds.
    fn wall_time(&self, comm: &ThreadComm) -> f64;
}

/// A threads transport with another clock.
pub struct Forwarding<'a, T> {
    pub comm: &'a ThreadComm,
    /// The clock, with what else the test changes.
    pub changes: T,
}

impl<T: Clock> Comm for Forwarding<'_, T> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn ranks_on_node(&self) -> usize {
        self.comm.ranks_on_node()
    }

    fn first_on_node(&self) -> bool {
        self.comm.first_on_node()
    }
    fn is_oversubscribed(&self) -> bool {
        self.comm.is_oversubscribed()
    }
    fn wall_time(&self) -> f64 {
        self.changes.wall_time(self.comm)
    }
    fn relax(&self) {
        self.comm.relax();
    }
}

impl<T: Clock> Collectives for Forwarding<'_, T> {
    type BarrierRequest = <ThreadComm as Collectives>::BarrierRequest;

    fn barrier(&self) {
        self.comm.barrier();
    }
    fn ibarrier(&self) -> Self::BarrierRequest {
        self.comm.ibarrier()
    }
    fn test(&self, request: &mut Self::BarrierRequest) -> bool {
        self.comm.test(request)
    }
    fn broadcast(&self, words: &mut [u64]) {
        self.comm.broadcast(words);
    }
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        self.comm.gather(words)
    }
    fn all_reduce_sum(&self, value: u64) -> u64 {
        self.comm.all_reduce_sum(value)
    }
    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        self.comm.all_to_all_v(send, counts, receive);
    }
}
