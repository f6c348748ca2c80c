//! Messages: receives posted ahead, and sends in flight.

use super::pool::{Buffers, Pool};
use super::{Channel, MpiComm};
use crate::measure::comm::{Collectives, Inbox, Mailboxes, Outbox, Posting, Tag};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

/// The tag of all messages: each kind has a communicator of its own.
const MESSAGE: c_int = 0;

impl Mailboxes for MpiComm {
    type Inbox = MpiInbox;
    type Outbox = MpiOutbox;

    /// At most one mailbox of a tag may exist at a time. Ends with a barrier: nobody sends before all receives are
    /// posted, and none of its messages finds the receives of an earlier mailbox.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (MpiInbox, MpiOutbox) {
        let channel = self.channel(tag);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let inbox = MpiInbox::post(channel.clone(), any, Posting::Ahead, receives, words);
        let outbox = MpiOutbox::new(channel, sends, words);
        self.barrier();
        (inbox, outbox)
    }

    /// As `mailbox`. The posted receives of a communicator are as many as there are peers.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: Posting,
        sends: usize,
        words: usize,
    ) -> (Vec<MpiInbox>, MpiOutbox) {
        let channel = self.channel(tag);
        let inbox = |&peer: &usize| MpiInbox::post(channel.clone(), peer as c_int, posted, 1, words);
        let inboxes = peers.iter().map(inbox).collect();
        let outbox = MpiOutbox::new(channel, sends, words);
        self.barrier();
        (inboxes, outbox)
    }
}

/// A ring of persistent receives.
///
/// MPI matches the receives of one source in the order in which they were posted (MPI 4.0, section 3.5), so the oldest
/// posted one holds the oldest message, and one test of it polls them all.
pub struct MpiInbox {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    oldest: usize,
    posted: Posting,
    /// Whether the oldest receive is posted; all are if they are posted ahead.
    started: bool,
    _channel: Rc<Channel>,
}

impl MpiInbox {
    /// `source` may be any; one receive on demand, or several ahead.
    fn post(channel: Rc<Channel>, source: c_int, posted: Posting, receives: usize, words: usize) -> Self {
        let buffers = Buffers::new(receives, words);
        let started = posted == Posting::Ahead;
        let post = |slot| {
            let mut request = MaybeUninit::uninit();
            // SAFETY: the buffer outlives the request, which `drop` cancels and frees.
            unsafe {
                let (at, count, word) = (buffers.at(slot).cast(), words as c_int, ffi::RSMPI_UINT64_T);
                let (world, request_at) = (channel.comm.as_raw(), request.as_mut_ptr());
                ffi::MPI_Recv_init(at, count, word, source, MESSAGE, world, request_at);
                if started {
                    ffi::MPI_Start(request_at);
                }
                request.assume_init()
            }
        };
        let requests = (0..receives).map(post).collect();
        Self { buffers, requests, oldest: 0, posted, started, _channel: channel }
    }
}

impl Inbox for MpiInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let request = self.requests.get_mut(self.oldest)?;
        if !self.started {
            // SAFETY: an inactive persistent request may be started.
            unsafe { ffi::MPI_Start(request) };
            self.started = true;
        }
        let (mut arrived, mut status, mut words) = (0, MaybeUninit::<ffi::MPI_Status>::uninit(), 0);
        // SAFETY: the request is active, so MPI fills the status if it sets `arrived`.
        let status = unsafe {
            ffi::MPI_Test(request, &mut arrived, status.as_mut_ptr());
            if arrived == 0 {
                return None;
            }
            status.assume_init()
        };
        // SAFETY: the receive is complete: its buffer is ours until MPI_Start gives it back.
        let result = unsafe {
            ffi::MPI_Get_count(&status, ffi::RSMPI_UINT64_T, &mut words);
            read(status.MPI_SOURCE as usize, self.buffers.read(self.oldest, words as usize))
        };
        self.started = self.posted == Posting::Ahead;
        if self.started {
            // SAFETY: a complete persistent request may be started again.
            unsafe { ffi::MPI_Start(request) };
        }
        self.oldest = if self.oldest + 1 == self.requests.len() { 0 } else { self.oldest + 1 };
        Some(result)
    }
}

impl Drop for MpiInbox {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        for request in &mut self.requests {
            // SAFETY: only an active receive is cancelled; all are if one is, unless a reader panicked.
            unsafe {
                if self.started {
                    ffi::MPI_Cancel(request);
                    ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
                }
                ffi::MPI_Request_free(request);
            }
        }
    }
}

/// A pool of sends.
pub struct MpiOutbox {
    pool: Pool,
    free: Vec<usize>,
    channel: Rc<Channel>,
}

impl MpiOutbox {
    fn new(channel: Rc<Channel>, sends: usize, words: usize) -> Self {
        Self { pool: Pool::new(sends, words), free: (0..sends).collect(), channel }
    }
}

impl Outbox for MpiOutbox {
    fn ready(&mut self) -> bool {
        if self.free.is_empty() {
            self.free.extend(self.pool.completed());
        }
        !self.free.is_empty()
    }

    fn send(&mut self, to: usize, words: &[u64]) -> bool {
        if !self.ready() {
            return false;
        }
        let Some(slot) = self.free.pop() else { return false };
        // SAFETY: a free slot has no active request; its buffer is left alone until the send completes.
        unsafe {
            self.pool.buffers.write(slot, words);
            let (at, word) = (self.pool.buffers.at(slot).cast(), ffi::RSMPI_UINT64_T);
            let (request, world) = (&mut self.pool.requests[slot], self.channel.comm.as_raw());
            ffi::MPI_Isend(at, words.len() as c_int, word, to as c_int, MESSAGE, world, request);
        }
        true
    }
}
