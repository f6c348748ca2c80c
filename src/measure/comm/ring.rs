//! A ring carries items from one thread to one other.
//!
//! `tests/loom` compiles this very file with loom's atomics and runs both ends in all interleavings.

use super::atomics::{AtomicUsize, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// How many items have been put into a ring, or taken out, since the beginning. It is on cache lines of its own: processors fetch
/// pairs of them.
#[repr(align(128))]
#[derive(Default)]
pub struct Count(AtomicUsize);

/// Of one item.
pub type Place<T> = UnsafeCell<MaybeUninit<T>>;

/// Where a ring stands in memory.
pub struct Ring<T> {
    /// Written by the sender.
    pub put: *const Count,
    /// Written by the receiver.
    pub taken: *const Count,
    /// The first of `capacity` places.
    pub places: *const Place<T>,
    pub capacity: usize,
}

impl<T> Ring<T> {
    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.capacity { 0 } else { at + 1 }
    }

    #[inline]
    fn put(&self) -> &AtomicUsize {
        // SAFETY: only ends have rings, which keep the memory, as `Producer::new` and `Consumer::new` require.
        unsafe { &(*self.put).0 }
    }

    #[inline]
    fn taken(&self) -> &AtomicUsize {
        // SAFETY: only ends have rings, which keep the memory, as `Producer::new` and `Consumer::new` require.
        unsafe { &(*self.taken).0 }
    }
}

/// The end that puts items in. `K` keeps the ring's memory.
pub struct Producer<T, K> {
    ring: Ring<T>,
    put: usize,
    /// The place of the next item.
    at: usize,
    /// As many have been taken at least.
    taken: usize,
    _memory: K,
}

/// The end that takes items out. `K` keeps the ring's memory.
pub struct Consumer<T, K> {
    ring: Ring<T>,
    taken: usize,
    /// The place of the next item.
    at: usize,
    /// As many have been put in at least.
    put: usize,
    _memory: K,
}

// SAFETY: it is the only producer of its ring, wherever it is, and the counts order what both ends do with places.
unsafe impl<T: Send, K: Send> Send for Producer<T, K> {}
// SAFETY: it is the only consumer of its ring, wherever it is, and the counts order what both ends do with places.
unsafe impl<T: Send, K: Send> Send for Consumer<T, K> {}

impl<T: Copy, K> Producer<T, K> {
    /// # Safety
    /// As long as `memory` lives, the ring is there. Both counts are zero, and it has no other producer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, put: 0, at: 0, taken: 0, _memory: memory }
    }

    /// Items on their way.
    #[inline]
    pub fn waiting(&mut self) -> usize {
        self.taken = self.ring.taken().load(Ordering::Acquire);
        self.put.wrapping_sub(self.taken)
    }

    #[inline]
    pub fn is_full(&mut self) -> bool {
        // The receiver writes its count: look only if there seems to be no room.
        self.put.wrapping_sub(self.taken) == self.ring.capacity && self.waiting() == self.ring.capacity
    }

    /// `false`, and nothing put in, if the ring is full.
    #[inline]
    pub fn push(&mut self, item: T) -> bool {
        if self.is_full() {
            return false;
        }
        // SAFETY: `at` is less than the capacity. The ring is not full, so that the receiver has taken what was there.
        unsafe { (*self.ring.places.add(self.at)).with_mut(|place| (*place).write(item)) };
        self.at = self.ring.after(self.at);
        self.put = self.put.wrapping_add(1);
        self.ring.put().store(self.put, Ordering::Release);
        true
    }
}

impl<T: Copy, K> Consumer<T, K> {
    /// # Safety
    /// As long as `memory` lives, the ring is there. Both counts are zero, and it has no other consumer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, taken: 0, at: 0, put: 0, _memory: memory }
    }

    /// The oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.put == self.taken {
            self.put = self.ring.put().load(Ordering::Acquire);
            if self.put == self.taken {
                return None;
            }
        }
        let item = self.read();
        self.ring.taken().store(self.taken, Ordering::Release);
        Some(item)
    }

    /// Takes up to `most` items, whose places are given back together, and returns how many.
    #[inline]
    pub fn pop_together(&mut self, most: usize, mut take: impl FnMut(T)) -> usize {
        self.put = self.ring.put().load(Ordering::Acquire);
        let count = self.put.wrapping_sub(self.taken).min(most);
        if count > 0 {
            (0..count).for_each(|_| take(self.read()));
            self.ring.taken().store(self.taken, Ordering::Release);
        }
        count
    }

    /// An item that is there; its place is not given back yet.
    #[inline]
    fn read(&mut self) -> T {
        // SAFETY: `at` is less than the capacity. Callers have seen that fewer items were taken than put in, so that the sender has
        // put one there, which it leaves until the count of those taken says otherwise.
        let item = unsafe { (*self.ring.places.add(self.at)).with(|place| (*place).assume_init_read()) };
        self.at = self.ring.after(self.at);
        self.taken = self.taken.wrapping_add(1);
        item
    }
}
