use super::{Channel, MESSAGE_TAG, MpiComm};
use crate::comm::{Buffer, Collectives, Comm, Messages, PointToPoint, Tag};
use apexmap_base::error::Result;
use mpi::ffi;
use mpi::traits::AsRaw;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

impl PointToPoint for MpiComm {
    type Messages<'m> = MpiMessages<'m>;

    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<MpiMessages<'_>> {
        let channel = self.channel(tag);
        let [outgoing, incoming] = [Buffer::new(outgoing)?, Buffer::new(incoming)?];
        self.barrier();
        Ok(MpiMessages { comm: self, channel, outgoing, incoming, requests: Vec::new() })
    }
}

pub struct MpiMessages<'m> {
    comm: &'m MpiComm,
    channel: Rc<Channel>,
    /// If the rank panics, the buffers are leaked, because messages may be outstanding.
    outgoing: Buffer,
    incoming: Buffer,
    requests: Vec<ffi::MPI_Request>,
}

impl Messages for MpiMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.wait_all();
        self.outgoing.items_mut()
    }

    fn incoming(&mut self) -> &mut [u32] {
        self.wait_all();
        self.incoming.items_mut()
    }

    #[inline]
    fn isend(&mut self, offset: usize, items: usize, receiver: usize) {
        let start = self.outgoing.item_pointer(offset, items).cast();
        let mut request = MaybeUninit::uninit();
        // SAFETY: `item_pointer` has checked the range; `outgoing` and `drop` wait for the request before the items are changed
        // or freed.
        self.requests.push(unsafe {
            let (item, world) = (ffi::RSMPI_UINT32_T, self.channel.comm.as_raw());
            ffi::MPI_Isend(start, items as c_int, item, receiver as c_int, MESSAGE_TAG, world, request.as_mut_ptr());
            request.assume_init()
        });
    }

    #[inline]
    fn irecv(&mut self, offset: usize, items: usize, sender: usize) {
        let start = self.incoming.item_pointer(offset, items).cast();
        let mut request = MaybeUninit::uninit();
        // SAFETY: `item_pointer` has checked the range; `incoming` and `drop` wait for the request before the items are read or
        // freed.
        self.requests.push(unsafe {
            let (item, world) = (ffi::RSMPI_UINT32_T, self.channel.comm.as_raw());
            ffi::MPI_Irecv(start, items as c_int, item, sender as c_int, MESSAGE_TAG, world, request.as_mut_ptr());
            request.assume_init()
        });
    }

    #[inline]
    fn wait_all(&mut self) {
        let (count, requests) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
        // SAFETY: a constant of the library.
        let (mut done, ignored) = (c_int::from(count == 0), unsafe { ffi::RSMPI_STATUSES_IGNORE });
        if done == 0 && !self.comm.oversubscribed {
            // SAFETY: `isend` and `irecv` made the `count` requests; none of them has been waited for since.
            unsafe { ffi::MPI_Waitall(count, requests, ignored) };
            done = 1;
        }
        // MPI libraries spin while they wait. Ranks that share a hardware thread poll instead and yield it to each other.
        while done == 0 {
            // SAFETY: the requests are live, or null after completion.
            unsafe { ffi::MPI_Testall(count, requests, &mut done, ignored) };
            if done == 0 {
                self.comm.relax();
            }
        }
        self.requests.clear();
    }
}

impl Drop for MpiMessages<'_> {
    fn drop(&mut self) {
        if !panicking() {
            self.wait_all();
        }
    }
}
