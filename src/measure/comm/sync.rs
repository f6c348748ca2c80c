//! The hand-written synchronisation between threads. `tests/loom` also compiles this file, with loom's atomics, and runs the pieces
//! in all interleavings.

use super::atomics::{AtomicBool, AtomicU64, AtomicUsize, Ordering, UnsafeCell};

/// A member has failed. Every waiting member then gives up.
#[repr(align(256))]
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
#[repr(align(256))]
pub struct Barrier {
    members: usize,
    waiting: AtomicUsize,
    epoch: AtomicUsize,
}

impl Barrier {
    pub fn new(members: usize) -> Self {
        Self { members, waiting: AtomicUsize::new(0), epoch: AtomicUsize::new(0) }
    }

    /// Calls `relax` while it waits for all members. Returns `false` if a member has failed. A failure is permanent, so a member
    /// that gave up is never counted twice.
    #[must_use]
    #[inline]
    pub fn wait(&self, failure: &Failure, mut relax: impl FnMut()) -> bool {
        if failure.is_declared() {
            return false;
        }
        // Read before this arrival counts, because the last member then advances the epoch.
        let epoch = self.epoch.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            // Before the epoch advances, because the other members may then arrive at the next barrier. Its Release publishes this.
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

/// A barrier in two steps: members count their arrivals, and each waits for its own target count.
#[repr(align(256))]
#[derive(Default)]
pub struct Arrivals(AtomicU64);

impl Arrivals {
    #[inline]
    pub fn arrive(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    #[inline]
    pub fn have_reached(&self, target: u64) -> bool {
        self.0.load(Ordering::Acquire) >= target
    }
}

/// The number of members whose memory is lent to the others. After a failure, each member leaves and waits for the rest.
#[derive(Default)]
pub struct Exposure(AtomicUsize);

impl Exposure {
    /// Must be called before a barrier: a member that enters after others have left because of a failure does not pass the barrier.
    pub fn enter(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    /// After a failure, no other member will pass the barrier.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// No other data shares its cache lines. See [`Count`](super::ring::Count) about their size.
#[repr(align(256))]
struct Flag(AtomicBool);

/// For a long message. Its sender owns it, and its receiver reads it in place.
pub struct Slot {
    /// Whose turn it is: clear, the sender may write; set, the receiver may read. The receiver finds the words without waiting for
    /// this line.
    busy: Flag,
    words: UnsafeCell<Box<[u64]>>,
}

// SAFETY: `fill` and `read` require that it is the caller's turn: the slot is free for the sender or filled for the receiver.
// `busy` orders the receiver's reads before the sender's next writes. The notification of the receiver orders the sender's writes
// before the reads.
unsafe impl Sync for Slot {}

impl Slot {
    pub fn new(words: usize) -> Self {
        Self { busy: Flag(AtomicBool::new(false)), words: UnsafeCell::new(vec![0; words].into()) }
    }

    #[inline]
    pub fn is_free(&self) -> bool {
        !self.busy.0.load(Ordering::Acquire)
    }

    /// The slot must be large enough. The notification of the receiver must publish the copy (release ordering).
    ///
    /// # Safety
    /// The slot is free, and no other thread fills it.
    #[inline]
    pub unsafe fn fill(&self, words: &[u64]) {
        // Only the sender looks at `busy` until the notification, which publishes it.
        self.busy.0.store(true, Ordering::Relaxed);
        // SAFETY: the caller has a free slot, which no thread reads, and no other thread fills it.
        self.words.with_mut(|own| unsafe { (&mut *own)[..words.len()].copy_from_slice(words) });
    }

    /// Passes the first `words` words to `read`, then frees the slot.
    ///
    /// # Safety
    /// The slot was filled with this number of words, and the caller has not read them yet.
    #[inline]
    pub unsafe fn read<R>(&self, words: usize, read: impl FnOnce(&[u64]) -> R) -> R {
        // SAFETY: the caller has a filled slot, which its sender leaves unchanged until `busy` is cleared.
        let result = self.words.with(|own| read(unsafe { &(&*own)[..words] }));
        // Pairs with the Acquire in `is_free`: all words are read before the sender writes again.
        self.busy.0.store(false, Ordering::Release);
        result
    }
}

/// Messages that receivers have read in place from their sender's memory, which the sender may reuse afterwards.
#[repr(align(256))]
#[derive(Default)]
pub struct Deliveries(AtomicU64);

impl Deliveries {
    #[inline]
    pub fn count(&self) {
        // Pairs with the Acquire in `all_delivered`: a copy is complete before it is counted.
        self.0.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub fn all_delivered(&self, sent: u64) -> bool {
        self.0.load(Ordering::Acquire) == sent
    }
}
