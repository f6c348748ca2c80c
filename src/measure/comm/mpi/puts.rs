//! Puts in place: MPI's passive one-sided communication.

use super::MpiComm;
use super::window::Lock;
use crate::error::Result;
use crate::measure::comm::items::Items;
use crate::measure::comm::{Comm, Puts};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::mem::ManuallyDrop;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::panicking;

pub struct MpiPuts<'m> {
    comm: &'m MpiComm,
    outgoing: ManuallyDrop<Items>,
    incoming: ManuallyDrop<Items>,
    /// None in a world of one rank, where Open MPI 4.1 cannot create a window.
    window: Option<Lock>,
    under_way: bool,
}

impl<'m> MpiPuts<'m> {
    /// Collective.
    pub(super) fn new(comm: &'m MpiComm, outgoing: usize, incoming: usize) -> Result<Self> {
        let [outgoing, mut incoming] = [Items::new(outgoing)?, Items::new(incoming)?].map(ManuallyDrop::new);
        // SAFETY: nobody else knows the memory yet.
        let window = (comm.size > 1).then(|| Lock::all(comm, unsafe { incoming.all() }));
        Ok(Self { comm, outgoing, incoming, window, under_way: false })
    }
}

impl Puts for MpiPuts<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.complete();
        // SAFETY: nothing is on its way.
        unsafe { self.outgoing.all() }
    }

    fn put(&mut self, at: usize, items: usize, to: usize, place: usize) {
        assert_ne!(to, self.comm.rank, "puts go to other ranks");
        let source = self.outgoing.at(at, items).cast();
        let Some(Lock(window)) = &self.window else { unreachable!("there is no other rank") };
        // SAFETY: the items are left alone until the put completes; MPI checks the target.
        unsafe {
            let (item, count) = (ffi::RSMPI_UINT32_T, items as c_int);
            ffi::MPI_Put(source, count, item, to as c_int, place as ffi::MPI_Aint, count, item, *window);
        }
        self.under_way = true;
    }

    fn complete(&mut self) {
        if let (true, Some(Lock(window))) = (self.under_way, &self.window) {
            // SAFETY: the window is locked.
            unsafe { ffi::MPI_Win_flush_all(*window) };
        }
        self.under_way = false;
    }

    /// Lets MPI make progress: some puts need the target's help.
    fn peek(&mut self, place: usize) -> u32 {
        let item = self.incoming.at(place, 1).cast::<AtomicU32>();
        if let Some(Lock(window)) = &self.window {
            let mut arrived = 0;
            // SAFETY: the window is locked; no message is taken.
            unsafe {
                let (any, world) = (ffi::RSMPI_ANY_SOURCE, self.comm.world.as_raw());
                ffi::MPI_Iprobe(any, 0, world, &mut arrived, ffi::RSMPI_STATUS_IGNORE);
                ffi::MPI_Win_sync(*window);
            }
        }
        // SAFETY: the item exists, and may change under us.
        unsafe { &*item }.load(Ordering::Acquire)
    }

    fn settle<R>(&mut self, work: impl FnOnce(&mut [u32]) -> R) -> R {
        self.complete();
        self.comm.barrier();
        let sync = |window: &Option<Lock>| {
            if let Some(Lock(window)) = window {
                // SAFETY: the window is locked.
                unsafe { ffi::MPI_Win_sync(*window) };
            }
        };
        sync(&self.window);
        // SAFETY: all puts of all ranks are complete, and none begins before the barrier.
        let result = work(unsafe { self.incoming.all() });
        sync(&self.window);
        self.comm.barrier();
        result
    }
}

impl Drop for MpiPuts<'_> {
    fn drop(&mut self) {
        if !panicking() {
            self.complete();
            drop(self.window.take());
            // SAFETY: the window is closed, collectively, and they are not used again.
            unsafe {
                ManuallyDrop::drop(&mut self.outgoing);
                ManuallyDrop::drop(&mut self.incoming);
            }
        }
    }
}
