//! Puts of threads: copies into the other rank's buffer, whose last item is stored atomically.

use super::ThreadComm;
use crate::error::Result;
use crate::measure::comm::items::Items;
use crate::measure::comm::{Comm, Puts};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct ThreadPuts<'m> {
    comm: &'m ThreadComm,
    outgoing: Items,
    /// Every rank's incoming buffer.
    incoming: Vec<Arc<Items>>,
}

impl<'m> ThreadPuts<'m> {
    /// Collective.
    pub(super) fn new(comm: &'m ThreadComm, outgoing: usize, incoming: usize) -> Result<Self> {
        let (outgoing, incoming) = (Items::new(outgoing)?, Arc::new(Items::new(incoming)?));
        let incoming = comm.swap(vec![incoming; comm.size()]);
        Ok(Self { comm, outgoing, incoming })
    }
}

impl Puts for ThreadPuts<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        // SAFETY: only this rank touches it.
        unsafe { self.outgoing.all() }
    }

    #[inline]
    fn put(&mut self, at: usize, items: usize, to: usize, place: usize) {
        assert_ne!(to, self.comm.rank, "puts go to other ranks");
        let (source, target) = (self.outgoing.at(at, items), self.incoming[to].at(place, items));
        let Some(before) = items.checked_sub(1) else { return };
        // SAFETY: both ranges exist, and outside of `settle` nobody but this rank touches the target, except for the last
        // item of a message: others may look at it meanwhile, so that it is stored by itself, and last.
        unsafe {
            target.copy_from_nonoverlapping(source, before);
            (*target.add(before).cast::<AtomicU32>()).store(*source.add(before), Ordering::Release);
        }
    }

    /// A put is complete when it returns.
    #[inline]
    fn complete(&mut self) {}

    #[inline]
    fn peek(&mut self, place: usize) -> u32 {
        let item = self.incoming[self.comm.rank].at(place, 1).cast::<AtomicU32>();
        // SAFETY: it exists, and as the last item of a message is touched through atomics only.
        unsafe { &*item }.load(Ordering::Acquire)
    }

    fn settle<R>(&mut self, work: impl FnOnce(&mut [u32]) -> R) -> R {
        self.comm.barrier();
        let own = &self.incoming[self.comm.rank];
        // SAFETY: between the barriers no other rank touches it.
        let result = work(unsafe { std::slice::from_raw_parts_mut(own.at(0, 0), own.count()) });
        self.comm.barrier();
        result
    }
}

impl Drop for ThreadPuts<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.comm.barrier();
        }
    }
}
