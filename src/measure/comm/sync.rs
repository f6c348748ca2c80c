//! The synchronisation between threads that is made by hand, each piece apart from what uses it.
//!
//! `tests/loom` compiles this very file with loom's atomics and runs the pieces in all interleavings.

use super::atomics::{AtomicBool, AtomicU64, AtomicUsize, Ordering, UnsafeCell};

/// That a member has failed: every waiting member gives up.
#[repr(align(128))]
#[derive(Default)]
pub struct Failure(AtomicBool);

impl Failure {
    pub fn declare(&self) {
        self.0.store(true, Ordering::Release);
    }

    #[inline]
    pub fn is_declared(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A barrier whose members may fail.
#[repr(align(128))]
pub struct Barrier {
    members: usize,
    waiting: AtomicUsize,
    epoch: AtomicUsize,
}

impl Barrier {
    pub fn new(members: usize) -> Self {
        Self { members, waiting: AtomicUsize::new(0), epoch: AtomicUsize::new(0) }
    }

    /// Returns when all members have called it, calling `relax` meanwhile; `false` if one has failed. A failure is for good, so
    /// that nobody who gave up is counted twice.
    #[must_use]
    #[inline]
    pub fn wait(&self, failure: &Failure, mut relax: impl FnMut()) -> bool {
        if failure.is_declared() {
            return false;
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.waiting.store(0, Ordering::Relaxed);
            self.epoch.store(epoch.wrapping_add(1), Ordering::Release);
            return true;
        }
        while self.epoch.load(Ordering::Acquire) == epoch {
            if failure.is_declared() {
                return false;
            }
            relax();
        }
        true
    }
}

/// A barrier in two steps: arrivals are counted, and each waits for a count of its own.
#[repr(align(128))]
#[derive(Default)]
pub struct Arrivals(AtomicU64);

impl Arrivals {
    #[inline]
    pub fn arrive(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    #[inline]
    pub fn reached(&self, target: u64) -> bool {
        self.0.load(Ordering::Acquire) >= target
    }
}

/// How many members have lent memory to the others. After a failure, each leaves, and waits for the rest.
#[derive(Default)]
pub struct Exposure(AtomicUsize);

impl Exposure {
    /// Goes before a barrier: who comes after others have left because of a failure does not pass it.
    pub fn enter(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    /// Nobody is left; nor will anybody pass the barrier, after a failure.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// Room for a long message, which its sender owns and its receiver reads in place.
#[repr(align(128))]
pub struct Slot {
    /// Whose turn it is: clear, the sender writes; set, the receiver reads.
    busy: AtomicBool,
    words: UnsafeCell<Box<[u64]>>,
}

// SAFETY: `fill` and `read` require that the slot is the caller's: free for the sender, filled for the receiver. `busy` orders the
// receiver's reads before the sender's next writes, and what tells the receiver of a message orders its writes before the reads.
unsafe impl Sync for Slot {}

impl Slot {
    pub fn new(words: usize) -> Self {
        Self { busy: AtomicBool::new(false), words: UnsafeCell::new(vec![0; words].into()) }
    }

    #[inline]
    pub fn is_free(&self) -> bool {
        !self.busy.load(Ordering::Acquire)
    }

    /// Copies a message that fits. What tells the receiver of it must publish this.
    ///
    /// # Safety
    /// The slot is free, and no other thread fills it.
    #[inline]
    pub unsafe fn fill(&self, words: &[u64]) {
        self.busy.store(true, Ordering::Relaxed);
        // SAFETY: the caller has a free slot, which nobody reads, and no other thread fills it.
        self.words.with_mut(|own| unsafe { (&mut *own)[..words.len()].copy_from_slice(words) });
    }

    /// Lends the first `words` words to `read`, and gives the slot back.
    ///
    /// # Safety
    /// The slot was filled with this many words, and the caller has not read them yet.
    #[inline]
    pub unsafe fn read<R>(&self, words: usize, read: impl FnOnce(&[u64]) -> R) -> R {
        // SAFETY: the caller has a filled slot, which its sender leaves alone until `busy` is cleared.
        let result = self.words.with(|own| read(unsafe { &(&*own)[..words] }));
        self.busy.store(false, Ordering::Release);
        result
    }
}

/// Messages that were read where they stand at their sender, which may then change what stands there.
#[repr(align(128))]
#[derive(Default)]
pub struct Deliveries(AtomicU64);

impl Deliveries {
    #[inline]
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub fn are(&self, sent: u64) -> bool {
        self.0.load(Ordering::Acquire) == sent
    }
}
