use super::{Channel, MESSAGE_TAG, pool::Buffers};
use crate::comm::{Inbox, Posting};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

/// A persistent receive into a slot.
fn create_receive(channel: &Channel, source: c_int, buffers: &Buffers, slot: usize, start: bool) -> ffi::MPI_Request {
    let mut request = MaybeUninit::uninit();
    // SAFETY: the buffer outlives the request, which its owner cancels and frees.
    unsafe {
        let (buffer, count, word) = (buffers.slot_pointer(slot).cast(), buffers.words as c_int, ffi::RSMPI_UINT64_T);
        let (world, request_pointer) = (channel.comm.as_raw(), request.as_mut_ptr());
        ffi::MPI_Recv_init(buffer, count, word, source, MESSAGE_TAG, world, request_pointer);
        if start {
            ffi::MPI_Start(request_pointer);
        }
        request.assume_init()
    }
}

/// Cancels the receive if it is active.
fn free_receive(request: &mut ffi::MPI_Request, active: bool) {
    // SAFETY: `create_receive` made the request. It is cancelled and waited for only if it is active, as MPI requires, and freed once.
    unsafe {
        if active {
            ffi::MPI_Cancel(request);
            ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
        }
        ffi::MPI_Request_free(request);
    }
}

/// A ring of persistent receives. MPI matches the receives of one source in the order of posting (MPI 4.0, section 3.5). So the
/// oldest posted receive gets the oldest message, and testing it is enough to poll them all.
pub struct Receives {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    /// Sender and number of words of each message that has arrived and is unread, by slot.
    arrived: Vec<Option<(usize, usize)>>,
    oldest: usize,
    posting: Posting,
    /// Whether the oldest receive is started. If receives are posted ahead, all of them are.
    is_started: bool,
    _channel: Rc<Channel>,
}

impl Receives {
    /// `source` may be `MPI_ANY_SOURCE`. Use one receive on demand, or several ahead.
    pub(super) fn post(channel: Rc<Channel>, source: c_int, posting: Posting, receives: usize, words: usize) -> Self {
        let buffers = Buffers::new(receives, words);
        let is_started = posting == Posting::Ahead;
        let requests = (0..receives).map(|slot| create_receive(&channel, source, &buffers, slot, is_started)).collect();
        let arrived = vec![None; receives];
        Self { buffers, requests, arrived, oldest: 0, posting, is_started, _channel: channel }
    }

    /// The oldest receive must be active.
    fn test_oldest(&mut self) {
        let (mut arrived, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: the request is active, so MPI fills the status if it sets `arrived`.
        unsafe {
            ffi::MPI_Test(&mut self.requests[self.oldest], &mut arrived, status.as_mut_ptr());
            if arrived != 0 {
                self.arrived[self.oldest] = Some(message_envelope(status.assume_init_ref()));
            }
        }
    }

    /// Tests up to `max` of the oldest receives with one call, without wrapping around the end of the ring.
    fn test_batch(&mut self, max: usize) {
        let batch = max.min(self.requests.len() - self.oldest).min(MAX_BATCH);
        let (mut arrived, mut indices) = (0, [0; MAX_BATCH]);
        let mut statuses = [MaybeUninit::<ffi::MPI_Status>::uninit(); MAX_BATCH];
        // SAFETY: `batch` requests exist from `oldest` on, and both arrays have room for `batch` entries; inactive requests are
        // skipped.
        unsafe {
            let (requests, statuses) = (self.requests.as_mut_ptr().add(self.oldest), statuses.as_mut_ptr().cast());
            ffi::MPI_Testsome(batch as c_int, requests, &mut arrived, indices.as_mut_ptr(), statuses);
        }
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        for (&slot, status) in indices.iter().zip(&statuses).take(arrived.max(0) as usize) {
            // SAFETY: MPI has filled `count` statuses.
            self.arrived[self.oldest + slot as usize] = Some(message_envelope(unsafe { status.assume_init_ref() }));
        }
    }

    fn read_oldest<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let (sender, words) = self.arrived.get_mut(self.oldest)?.take()?;
        // SAFETY: the receive is complete: MPI does not access its buffer until MPI_Start.
        let result = read(sender, unsafe { self.buffers.read(self.oldest, words) });
        self.is_started = self.posting == Posting::Ahead;
        if self.is_started {
            // SAFETY: a complete persistent request may be started again.
            unsafe { ffi::MPI_Start(&mut self.requests[self.oldest]) };
        }
        self.oldest = if self.oldest + 1 == self.requests.len() { 0 } else { self.oldest + 1 };
        Some(result)
    }

    /// Whether a receive exists whose message may arrive; starts it if it was not posted ahead.
    fn is_ready(&mut self) -> bool {
        let Some(request) = self.requests.get_mut(self.oldest) else { return false };
        if !self.is_started {
            // SAFETY: an inactive persistent request may be started.
            unsafe { ffi::MPI_Start(request) };
            self.is_started = true;
        }
        true
    }
}

/// The largest value of the parameter `packets`.
const MAX_BATCH: usize = 16;

impl Inbox for Receives {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        if self.is_ready() && self.arrived[self.oldest].is_none() {
            self.test_oldest();
        }
        self.read_oldest(read)
    }

    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        if self.is_ready() && self.arrived[self.oldest].is_none() {
            if max == 1 { self.test_oldest() } else { self.test_batch(max) }
        }
        (0..max).take_while(|_| self.read_oldest(&mut read).is_some()).count()
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        // Unless a reader panicked, all receives whose message has not arrived are in the same state as the oldest one.
        for (request, arrived) in self.requests.iter_mut().zip(&self.arrived) {
            free_receive(request, self.is_started && arrived.is_none());
        }
    }
}

/// Messages are read as they complete: one that is matched but late does not delay the others. Usually the oldest receive completes
/// first. Testing it takes 20 to 30 ns; testing 16 receives together takes 40 ns (Open MPI 4.1) to 180 ns (MPICH 4.0). So all
/// receives are tested only once in a while.
pub struct MpiUnorderedInbox {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    /// Slots in the order of posting.
    active: VecDeque<usize>,
    /// Unread: the slot, the sender and the number of words.
    complete: VecDeque<(usize, usize, usize)>,
    /// Failed tests of the oldest receive since the last message.
    misses: u32,
    /// For the test of all receives.
    indices: Vec<c_int>,
    statuses: Vec<MaybeUninit<ffi::MPI_Status>>,
    _channel: Rc<Channel>,
}

/// Then all receives are tested, which adds 3 to 11 ns to each test of the oldest.
const MAX_MISSES: u32 = 16;

fn message_envelope(status: &ffi::MPI_Status) -> (usize, usize) {
    let mut words = 0;
    // SAFETY: the reference is to a filled status; the other arguments are a constant and a reference to a number.
    unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT64_T, &mut words) };
    (status.MPI_SOURCE as usize, words as usize)
}

impl MpiUnorderedInbox {
    pub(super) fn post(channel: Rc<Channel>, receives: usize, words: usize) -> Self {
        let buffers = Buffers::new(receives, words);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let requests = (0..receives).map(|slot| create_receive(&channel, any, &buffers, slot, true)).collect();
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
                let (sender, words) = message_envelope(status.assume_init_ref());
                self.complete.push_back((slot, sender, words));
            }
        }
    }

    fn test_all(&mut self) {
        let (mut count, posted) = (0, self.requests.len() as c_int);
        // SAFETY: `posted` requests exist, and both arrays have room for `posted` entries; inactive requests are skipped.
        unsafe {
            let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr().cast());
            ffi::MPI_Testsome(posted, self.requests.as_mut_ptr(), &mut count, indices, statuses);
        }
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        let arrived = self.indices.iter().zip(&self.statuses).take(count.max(0) as usize);
        self.complete.extend(arrived.map(|(&slot, status)| {
            // SAFETY: MPI has filled `count` statuses.
            let (sender, words) = message_envelope(unsafe { status.assume_init_ref() });
            (slot as usize, sender, words)
        }));
        self.active.retain(|slot| self.complete.iter().all(|(other, ..)| other != slot));
    }
}

impl Inbox for MpiUnorderedInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        if self.complete.is_empty() {
            self.test_oldest();
            self.misses = if self.complete.is_empty() { self.misses + 1 } else { 0 };
            if self.misses == MAX_MISSES {
                self.misses = 0;
                self.test_all();
            }
        }
        let &(slot, sender, words) = self.complete.front()?;
        // SAFETY: the receive is complete: MPI does not access its buffer until MPI_Start.
        let result = read(sender, unsafe { self.buffers.read(slot, words) });
        // SAFETY: a complete persistent request may be started again.
        unsafe { ffi::MPI_Start(&mut self.requests[slot]) };
        self.complete.pop_front();
        self.active.push_back(slot);
        Some(result)
    }
}

impl Drop for MpiUnorderedInbox {
    fn drop(&mut self) {
        if !panicking() {
            for (slot, request) in self.requests.iter_mut().enumerate() {
                free_receive(request, self.active.contains(&slot));
            }
        }
    }
}
