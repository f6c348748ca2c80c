//! Messages: receives posted ahead, and sends in flight.

use super::pool::{Buffers, Pool};
use super::{Channel, MpiComm};
use crate::comm::{Collectives, Inbox, Limits, Mailboxes, MemoryOutbox, Outbox, Posting, Tag};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

/// The tag of all messages: each kind has a communicator of its own.
const MESSAGE: c_int = 0;

impl Mailboxes for MpiComm {
    type Inbox = MpiInbox;
    type Outbox = MpiOutbox;
    type UnorderedInbox = MpiUnorderedInbox;
    type MemoryOutbox<'m> = MpiMemoryOutbox<'m>;

    /// At most one mailbox of a tag may exist at a time. Ends with a barrier: nobody sends before all receives are
    /// posted, and none of its messages finds the receives of an earlier mailbox.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (MpiInbox, MpiOutbox) {
        let channel = self.channel(tag);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let inbox = MpiInbox::post(channel.clone(), any, Posting::Ahead, receives, words);
        let outbox = MpiOutbox(Sends::new(channel, sends, words));
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
        let outbox = MpiOutbox(Sends::new(channel, sends, words));
        self.barrier();
        (inboxes, outbox)
    }

    /// As `mailbox`.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        Limits { receives, sends, words }: Limits,
        memory: &[u64],
        work: impl FnOnce(&mut MpiUnorderedInbox, &mut MpiMemoryOutbox<'_>) -> R,
    ) -> R {
        let channel = self.channel(tag);
        let mut inbox = MpiUnorderedInbox::post(channel.clone(), receives, words);
        let mut outbox = MpiMemoryOutbox { memory, longest: words, sends: Sends::new(channel, sends, 0) };
        self.barrier();
        work(&mut inbox, &mut outbox)
    }
}

/// A persistent receive into a slot, started or not.
fn receive(channel: &Channel, source: c_int, buffers: &Buffers, slot: usize, start: bool) -> ffi::MPI_Request {
    let mut request = MaybeUninit::uninit();
    // SAFETY: the buffer outlives the request, which its owner cancels and frees.
    unsafe {
        let (at, count, word) = (buffers.at(slot).cast(), buffers.words as c_int, ffi::RSMPI_UINT64_T);
        let (world, request_at) = (channel.comm.as_raw(), request.as_mut_ptr());
        ffi::MPI_Recv_init(at, count, word, source, MESSAGE, world, request_at);
        if start {
            ffi::MPI_Start(request_at);
        }
        request.assume_init()
    }
}

/// Ends a receive, which is cancelled if it is active.
fn free(request: &mut ffi::MPI_Request, active: bool) {
    // SAFETY: `receive` made the request; it is cancelled and waited for only if it is active, as MPI asks, and freed once.
    unsafe {
        if active {
            ffi::MPI_Cancel(request);
            ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
        }
        ffi::MPI_Request_free(request);
    }
}

/// A ring of persistent receives.
///
/// MPI matches the receives of one source in the order in which they were posted (MPI 4.0, section 3.5), so the oldest
/// posted one holds the oldest message, and one test of it polls them all.
pub struct MpiInbox {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    /// By slot: the sender and the words of a message that has arrived and was not read.
    arrived: Vec<Option<(usize, usize)>>,
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
        let requests = (0..receives).map(|slot| receive(&channel, source, &buffers, slot, started)).collect();
        Self { buffers, requests, arrived: vec![None; receives], oldest: 0, posted, started, _channel: channel }
    }

    /// Tests the oldest receive, which is posted.
    fn test_oldest(&mut self) {
        let (mut arrived, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: the request is active, so MPI fills the status if it sets `arrived`.
        unsafe {
            ffi::MPI_Test(&mut self.requests[self.oldest], &mut arrived, status.as_mut_ptr());
            if arrived != 0 {
                self.arrived[self.oldest] = Some(sent(status.assume_init_ref()));
            }
        }
    }

    /// Tests up to `most` of the oldest receives together, those before the end of the ring.
    fn test_together(&mut self, most: usize) {
        let together = most.min(self.requests.len() - self.oldest).min(MOST_TOGETHER);
        let (mut count, mut indices) = (0, [0; MOST_TOGETHER]);
        let mut statuses = [MaybeUninit::<ffi::MPI_Status>::uninit(); MOST_TOGETHER];
        // SAFETY: there are `together` requests from `oldest` on, and as many places; inactive ones are skipped.
        unsafe {
            let (requests, statuses) = (self.requests.as_mut_ptr().add(self.oldest), statuses.as_mut_ptr().cast());
            ffi::MPI_Testsome(together as c_int, requests, &mut count, indices.as_mut_ptr(), statuses);
        }
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        for (&slot, status) in indices.iter().zip(&statuses).take(count.max(0) as usize) {
            // SAFETY: MPI has filled as many statuses as it found.
            self.arrived[self.oldest + slot as usize] = Some(sent(unsafe { status.assume_init_ref() }));
        }
    }

    /// Reads the oldest message, if it has arrived.
    fn read<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let (from, words) = self.arrived.get_mut(self.oldest)?.take()?;
        // SAFETY: the receive is complete: its buffer is ours until MPI_Start gives it back.
        let result = read(from, unsafe { self.buffers.read(self.oldest, words) });
        self.started = self.posted == Posting::Ahead;
        if self.started {
            // SAFETY: a complete persistent request may be started again.
            unsafe { ffi::MPI_Start(&mut self.requests[self.oldest]) };
        }
        self.oldest = if self.oldest + 1 == self.requests.len() { 0 } else { self.oldest + 1 };
        Some(result)
    }

    /// Whether a message has arrived or may arrive; posts the receive that waits for this.
    fn ready(&mut self) -> bool {
        let Some(request) = self.requests.get_mut(self.oldest) else { return false };
        if !self.started {
            // SAFETY: an inactive persistent request may be started.
            unsafe { ffi::MPI_Start(request) };
            self.started = true;
        }
        true
    }
}

/// Receives that are tested together at most.
const MOST_TOGETHER: usize = 16;

impl Inbox for MpiInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        if self.ready() && self.arrived[self.oldest].is_none() {
            self.test_oldest();
        }
        self.read(read)
    }

    fn take_together(&mut self, most: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        if self.ready() && self.arrived[self.oldest].is_none() {
            if most == 1 { self.test_oldest() } else { self.test_together(most) }
        }
        (0..most).take_while(|_| self.read(&mut read).is_some()).count()
    }
}

impl Drop for MpiInbox {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        // All that have not arrived are active if one is, unless a reader panicked.
        for (request, arrived) in self.requests.iter_mut().zip(&self.arrived) {
            free(request, self.started && arrived.is_none());
        }
    }
}

/// Receives whose messages are taken as they complete: a message that is matched but late holds up nobody.
///
/// Mostly the oldest receive completes first. A test of it costs 20 to 30 ns, of 16 receives together 40 (Open MPI 4.1) to 180
/// (MPICH 4.0), which is why all are tested only now and then.
pub struct MpiUnorderedInbox {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    /// The slots of active receives, in the order in which they were posted.
    active: VecDeque<usize>,
    /// Complete receives that have not been read: the slot, the sender and the words.
    complete: VecDeque<(usize, usize, usize)>,
    /// Tests of the oldest since something came.
    misses: u32,
    /// For tests of all.
    indices: Vec<c_int>,
    statuses: Vec<MaybeUninit<ffi::MPI_Status>>,
    _channel: Rc<Channel>,
}

/// Tests of the oldest receive in vain before all are tested.
const MISSES: u32 = 16;

/// Who sent a message, and how many words.
fn sent(status: &ffi::MPI_Status) -> (usize, usize) {
    let mut words = 0;
    // SAFETY: a reference is to a status that is filled; the others are to a constant and a number.
    unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT64_T, &mut words) };
    (status.MPI_SOURCE as usize, words as usize)
}

impl MpiUnorderedInbox {
    fn post(channel: Rc<Channel>, receives: usize, words: usize) -> Self {
        let buffers = Buffers::new(receives, words);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let requests = (0..receives).map(|slot| receive(&channel, any, &buffers, slot, true)).collect();
        Self {
            buffers,
            requests,
            active: (0..receives).collect(),
            complete: VecDeque::with_capacity(receives),
            misses: 0,
            indices: vec![0; receives],
            statuses: vec![MaybeUninit::uninit(); receives],
            _channel: channel,
        }
    }

    fn test_oldest(&mut self) {
        let Some(&slot) = self.active.front() else { return };
        let (mut arrived, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: the request is active, so MPI fills the status if it sets `arrived`.
        unsafe {
            ffi::MPI_Test(&mut self.requests[slot], &mut arrived, status.as_mut_ptr());
            if arrived != 0 {
                self.active.pop_front();
                let (from, words) = sent(status.assume_init_ref());
                self.complete.push_back((slot, from, words));
            }
        }
    }

    fn test_all(&mut self) {
        let (mut count, posted) = (0, self.requests.len() as c_int);
        // SAFETY: there are `posted` requests, and as many places; inactive ones are skipped.
        unsafe {
            let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr().cast());
            ffi::MPI_Testsome(posted, self.requests.as_mut_ptr(), &mut count, indices, statuses);
        }
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        let found = self.indices.iter().zip(&self.statuses).take(count.max(0) as usize);
        self.complete.extend(found.map(|(&slot, status)| {
            // SAFETY: MPI has filled as many statuses as it found.
            let (from, words) = sent(unsafe { status.assume_init_ref() });
            (slot as usize, from, words)
        }));
        self.active.retain(|slot| self.complete.iter().all(|(other, ..)| other != slot));
    }
}

impl Inbox for MpiUnorderedInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        if self.complete.is_empty() {
            self.test_oldest();
            self.misses = if self.complete.is_empty() { self.misses + 1 } else { 0 };
            if self.misses == MISSES {
                self.misses = 0;
                self.test_all();
            }
        }
        let &(slot, from, words) = self.complete.front()?;
        // SAFETY: the receive is complete: its buffer is ours until MPI_Start gives it back.
        let result = read(from, unsafe { self.buffers.read(slot, words) });
        // SAFETY: a complete persistent request may be started again.
        unsafe { ffi::MPI_Start(&mut self.requests[slot]) };
        self.complete.pop_front();
        self.active.push_back(slot);
        Some(result)
    }

    fn take_together(&mut self, most: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        (0..most).take_while(|_| self.take(&mut read).is_some()).count()
    }
}

impl Drop for MpiUnorderedInbox {
    fn drop(&mut self) {
        if !panicking() {
            for (slot, request) in self.requests.iter_mut().enumerate() {
                free(request, self.active.contains(&slot));
            }
        }
    }
}

/// A pool of sends, of buffers that are kept elsewhere.
struct Sends {
    pool: Pool,
    free: Vec<usize>,
    channel: Rc<Channel>,
}

impl Sends {
    /// With a buffer of `words` words each, which may be none.
    fn new(channel: Rc<Channel>, sends: usize, words: usize) -> Self {
        Self { pool: Pool::new(sends, words), free: (0..sends).collect(), channel }
    }

    fn ready(&mut self) -> bool {
        if self.free.is_empty() {
            self.free.extend(self.pool.completed());
        }
        !self.free.is_empty()
    }

    /// # Safety
    /// The words at `at` stay as they are until the slot, which was free, is free again.
    unsafe fn start(&mut self, slot: usize, to: usize, at: *const u64, words: usize) {
        // SAFETY: a free slot has no active request; the caller leaves the words as they are until it is free again.
        unsafe {
            let (word, count) = (ffi::RSMPI_UINT64_T, words as c_int);
            let (request, world) = (&mut self.pool.requests[slot], self.channel.comm.as_raw());
            ffi::MPI_Isend(at.cast(), count, word, to as c_int, MESSAGE, world, request);
        }
    }
}

/// Sends of copies.
pub struct MpiOutbox(Sends);

impl Outbox for MpiOutbox {
    fn ready(&mut self) -> bool {
        self.0.ready()
    }

    fn send(&mut self, to: usize, words: &[u64]) -> bool {
        if !self.0.ready() {
            return false;
        }
        let Some(slot) = self.0.free.pop() else { return false };
        // SAFETY: a free slot has no active request; its buffer is left alone until the send completes.
        unsafe {
            self.0.pool.buffers.write(slot, words);
            let at = self.0.pool.buffers.at(slot);
            self.0.start(slot, to, at, words.len());
        }
        true
    }
}

/// Sends of parts of a memory that is lent for longer than they take.
pub struct MpiMemoryOutbox<'m> {
    memory: &'m [u64],
    longest: usize,
    sends: Sends,
}

impl MemoryOutbox for MpiMemoryOutbox<'_> {
    fn ready(&mut self) -> bool {
        self.sends.ready()
    }

    fn send(&mut self, to: usize, offset: usize, words: usize) -> bool {
        assert!(words <= self.longest, "a message longer than its mailbox was made for");
        if !self.sends.ready() {
            return false;
        }
        let Some(slot) = self.sends.free.pop() else { return false };
        let at = self.memory[offset..][..words].as_ptr();
        // SAFETY: the memory is lent until `memory_mailbox` has waited for all sends, which `work` cannot prevent.
        unsafe { self.sends.start(slot, to, at, words) };
        true
    }
}
