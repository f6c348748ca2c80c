//! Messages in place: MPI's non-blocking sends and receives, waited for together.

use super::{Channel, MpiComm};
use crate::error::Result;
use crate::measure::comm::items::Items;
use crate::measure::comm::{Comm, Messages, Tag};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

/// The tag of all messages: each kind has a communicator of its own.
const MESSAGE: c_int = 0;

pub struct MpiMessages<'m> {
    comm: &'m MpiComm,
    channel: Rc<Channel>,
    outgoing: ManuallyDrop<Items>,
    incoming: ManuallyDrop<Items>,
    /// On their way.
    requests: Vec<ffi::MPI_Request>,
}

impl<'m> MpiMessages<'m> {
    /// Collective.
    pub(super) fn new(comm: &'m MpiComm, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self> {
        let channel = comm.channel(tag);
        let [outgoing, incoming] = [Items::new(outgoing)?, Items::new(incoming)?].map(ManuallyDrop::new);
        comm.barrier();
        Ok(Self { comm, channel, outgoing, incoming, requests: Vec::new() })
    }
}

impl Messages for MpiMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.complete();
        // SAFETY: nothing is on its way.
        unsafe { self.outgoing.all() }
    }

    fn incoming(&mut self) -> &mut [u32] {
        self.complete();
        // SAFETY: nothing is on its way.
        unsafe { self.incoming.all() }
    }

    #[inline]
    fn send(&mut self, at: usize, items: usize, to: usize) {
        let place = self.outgoing.at(at, items).cast();
        let mut request = MaybeUninit::uninit();
        // SAFETY: the items are left alone until the request completes.
        self.requests.push(unsafe {
            let (item, world) = (ffi::RSMPI_UINT32_T, self.channel.comm.as_raw());
            ffi::MPI_Isend(place, items as c_int, item, to as c_int, MESSAGE, world, request.as_mut_ptr());
            request.assume_init()
        });
    }

    #[inline]
    fn receive(&mut self, at: usize, items: usize, from: usize) {
        let place = self.incoming.at(at, items).cast();
        let mut request = MaybeUninit::uninit();
        // SAFETY: as in `send`.
        self.requests.push(unsafe {
            let (item, world) = (ffi::RSMPI_UINT32_T, self.channel.comm.as_raw());
            ffi::MPI_Irecv(place, items as c_int, item, from as c_int, MESSAGE, world, request.as_mut_ptr());
            request.assume_init()
        });
    }

    #[inline]
    fn complete(&mut self) {
        let (count, requests) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
        // SAFETY: it is a constant of the library.
        let (mut done, ignored) = (c_int::from(count == 0), unsafe { ffi::RSMPI_STATUSES_IGNORE });
        if done == 0 && !self.comm.oversubscribed {
            // SAFETY: the requests are live.
            unsafe { ffi::MPI_Waitall(count, requests, ignored) };
            done = 1;
        }
        // MPI libraries spin while they wait: ranks that share a processor poll, and leave it to each other.
        while done == 0 {
            // SAFETY: the requests are live, or null once they are complete.
            unsafe { ffi::MPI_Testall(count, requests, &mut done, ignored) };
            if done == 0 {
                self.comm.idle();
            }
        }
        self.requests.clear();
    }
}

impl Drop for MpiMessages<'_> {
    fn drop(&mut self) {
        if !panicking() {
            self.complete();
            // SAFETY: nothing is on its way, and they are not used again.
            unsafe {
                ManuallyDrop::drop(&mut self.outgoing);
                ManuallyDrop::drop(&mut self.incoming);
            }
        }
    }
}
