use mpi::ffi;
use std::os::raw::c_int;
use std::ptr::NonNull;
use std::thread::panicking;

/// MPI reads and writes them while a request is active. They are kept behind a raw pointer, so that the compiler does not assume
/// exclusive access.
pub(super) struct Buffers {
    base: NonNull<[u64]>,
    pub(super) words: usize,
}

impl Buffers {
    pub(super) fn new(count: usize, words: usize) -> Self {
        assert!(words <= c_int::MAX as usize, "MPI cannot send {words} words in one message");
        Self { base: NonNull::from(Box::leak(vec![0; count * words].into_boxed_slice())), words }
    }

    pub(super) fn slot_pointer(&self, slot: usize) -> *mut u64 {
        let start = slot * self.words;
        assert!(start + self.words <= self.base.len());
        self.base.cast::<u64>().as_ptr().wrapping_add(start)
    }

    /// # Safety
    /// No request on this slot may be active.
    pub(super) unsafe fn read(&self, slot: usize, words: usize) -> &[u64] {
        assert!(words <= self.words);
        // SAFETY: `slot_pointer` has checked the slot, and the assertion its length; by the caller's promise no request is active
        // on it.
        unsafe { std::slice::from_raw_parts(self.slot_pointer(slot), words) }
    }

    /// # Safety
    /// No request on this slot may be active.
    pub(super) unsafe fn write(&mut self, slot: usize, words: &[u64]) {
        assert!(words.len() <= self.words, "a message of {} words in a pool of {}", words.len(), self.words);
        // SAFETY: as in `read`, `slot_pointer` has checked the slot, and no request is active on it.
        unsafe { self.slot_pointer(slot).copy_from_nonoverlapping(words.as_ptr(), words.len()) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: allocated by `new`; the owners wait for or cancel their requests before.
            drop(unsafe { Box::from_raw(self.base.as_ptr()) });
        }
    }
}

/// Buffers with one request each. Any number of the requests may be active.
pub(super) struct Pool {
    pub(super) buffers: Buffers,
    /// For each slot; the null request if none is active.
    pub(super) requests: Vec<ffi::MPI_Request>,
    done: Vec<c_int>,
}

impl Pool {
    pub(super) fn new(slots: usize, words: usize) -> Self {
        // SAFETY: a constant of the library.
        let null_request = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { buffers: Buffers::new(slots, words), requests: vec![null_request; slots], done: vec![0; slots] }
    }

    /// The slots whose requests have completed since the last call. The call also lets MPI make progress.
    pub(super) fn completed_slots(&mut self) -> impl Iterator<Item = usize> {
        let mut count = 0;
        // SAFETY: all requests are live or null, and `done` has room for all.
        unsafe {
            ffi::MPI_Testsome(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                &mut count,
                self.done.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        self.done[..count.max(0) as usize].iter().map(|&slot| slot as usize)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !panicking() {
            let count = self.requests.len() as c_int;
            // SAFETY: all `count` requests are live or null.
            unsafe { ffi::MPI_Waitall(count, self.requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
        }
    }
}
