//! Puts of threads: atomic stores into the other rank's buffer.

use super::ThreadComm;
use crate::comm::items::Items;
use crate::comm::{Comm, Puts};
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
        // SAFETY: both ranges exist, and outside of `settle` all ranks touch the target through atomics only. The last
        // item, which is what others may look at meanwhile, is stored by itself.
        unsafe {
            let source = std::slice::from_raw_parts(source.cast_const(), items);
            let target = std::slice::from_raw_parts(target.cast::<AtomicU32>(), items);
            let (Some((last, source)), Some((end, target))) = (source.split_last(), target.split_last()) else {
                return;
            };
            let pairs = if target.as_ptr().addr().is_multiple_of(8) { source.len() / 2 } else { 0 };
            let wide = std::slice::from_raw_parts(target.as_ptr().cast::<AtomicU64>(), pairs);
            for (target, source) in wide.iter().zip(source.chunks_exact(2)) {
                target.store(source.as_ptr().cast::<u64>().read_unaligned(), Ordering::Relaxed);
            }
            for (target, &source) in target[2 * pairs..].iter().zip(&source[2 * pairs..]) {
                target.store(source, Ordering::Relaxed);
            }
            end.store(*last, Ordering::Release);
        }
    }

    /// A put is complete when it returns.
    #[inline]
    fn complete(&mut self) {}

    #[inline]
    fn peek(&mut self, place: usize) -> u32 {
        let item = self.incoming[self.comm.rank].at(place, 1).cast::<AtomicU32>();
        // SAFETY: it exists, and is touched through atomics only.
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
