//! A ring buffer that carries items from one thread to one other thread.
//!
//! `tests/loom` also compiles this file, with loom's atomics, and runs both ends in all interleavings.

use super::atomics::{AtomicUsize, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// Number of items that were put into a ring, or taken out, since the beginning. Its alignment gives it cache lines of its
/// own: x86-64 fetches pairs of 64 bytes, POWER lines of 128 bytes, the A64FX lines of 256 bytes.
#[repr(align(256))]
#[derive(Default)]
pub struct Count(AtomicUsize);

/// Storage for one item.
pub type RingSlot<T> = UnsafeCell<MaybeUninit<T>>;

/// The location of a ring in memory.
pub struct Ring<T> {
    /// Written by the sender.
    pub put: *const Count,
    /// Written by the receiver.
    pub taken: *const Count,
    /// The first of `capacity` places.
    pub places: *const RingSlot<T>,
    pub capacity: usize,
}

impl<T> Ring<T> {
    #[inline]
    fn index_after(&self, index: usize) -> usize {
        if index + 1 == self.capacity { 0 } else { index + 1 }
    }

    #[inline]
    fn put_counter(&self) -> &AtomicUsize {
        // SAFETY: only the ring's ends own `Ring` values, and they keep the memory alive, as `Producer::new` and `Consumer::new`
        // require.
        unsafe { &(*self.put).0 }
    }

    #[inline]
    fn taken_counter(&self) -> &AtomicUsize {
        // SAFETY: only the ring's ends own `Ring` values, and they keep the memory alive, as `Producer::new` and `Consumer::new`
        // require.
        unsafe { &(*self.taken).0 }
    }
}

/// The end that puts items in. `K` keeps the ring's memory alive.
pub struct Producer<T, K> {
    ring: Ring<T>,
    put: usize,
    /// Index of the place for the next item.
    index: usize,
    /// Minimum number of items taken out, from the latest read of the count.
    taken: usize,
    _memory: K,
}

/// The end that takes items out. `K` keeps the ring's memory alive.
pub struct Consumer<T, K> {
    ring: Ring<T>,
    taken: usize,
    /// Index of the place of the next item.
    index: usize,
    /// Minimum number of items put in, from the latest read of the count.
    put: usize,
    _memory: K,
}

// SAFETY: it is the ring's only producer, on whichever thread, and the counts order the accesses of both ends to the places.
unsafe impl<T: Send, K: Send> Send for Producer<T, K> {}
// SAFETY: it is the ring's only consumer, on whichever thread, and the counts order the accesses of both ends to the places.
unsafe impl<T: Send, K: Send> Send for Consumer<T, K> {}

impl<T: Copy, K> Producer<T, K> {
    /// # Safety
    /// The ring exists as long as `memory` lives. Both counts are zero, and the ring has no other producer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, put: 0, index: 0, taken: 0, _memory: memory }
    }

    /// Returns the number of items in the ring.
    #[inline]
    pub fn waiting(&mut self) -> usize {
        // Pairs with the Release in `pop`: the receiver has read a place before the sender fills it again.
        self.taken = self.ring.taken_counter().load(Ordering::Acquire);
        self.put.wrapping_sub(self.taken)
    }

    #[inline]
    pub fn is_full(&mut self) -> bool {
        // The receiver writes the count that `waiting` reads. Read it only if the ring seems full.
        self.put.wrapping_sub(self.taken) == self.ring.capacity && self.waiting() == self.ring.capacity
    }

    /// Puts an item in. Returns `false` without effect if the ring is full.
    #[inline]
    pub fn push(&mut self, item: T) -> bool {
        if self.is_full() {
            return false;
        }
        // SAFETY: `index` is less than the capacity. The ring is not full, so the receiver has taken the place's previous item.
        unsafe { (*self.ring.places.add(self.index)).with_mut(|slot| (*slot).write(item)) };
        self.index = self.ring.index_after(self.index);
        self.put = self.put.wrapping_add(1);
        // Pairs with the Acquire in `pop`: the item is in its place before it is counted.
        self.ring.put_counter().store(self.put, Ordering::Release);
        true
    }
}

impl<T: Copy, K> Consumer<T, K> {
    /// # Safety
    /// The ring exists as long as `memory` lives. Both counts are zero, and the ring has no other consumer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, taken: 0, index: 0, put: 0, _memory: memory }
    }

    /// Takes the oldest item out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        // The sender writes the count. Read it only if the ring seems empty.
        if self.put == self.taken {
            self.put = self.ring.put_counter().load(Ordering::Acquire);
            if self.put == self.taken {
                return None;
            }
        }
        let item = self.read();
        // Pairs with the Acquire in `waiting`.
        self.ring.taken_counter().store(self.taken, Ordering::Release);
        Some(item)
    }

    /// Takes up to `max` items out, frees their places with one store, and returns their number.
    #[inline]
    pub fn pop_together(&mut self, max: usize, mut take: impl FnMut(T)) -> usize {
        self.put = self.ring.put_counter().load(Ordering::Acquire);
        let count = self.put.wrapping_sub(self.taken).min(max);
        if count > 0 {
            (0..count).for_each(|_| take(self.read()));
            self.ring.taken_counter().store(self.taken, Ordering::Release);
        }
        count
    }

    /// Reads an item that is in the ring, without freeing its place.
    #[inline]
    fn read(&mut self) -> T {
        // SAFETY: `index` is less than the capacity. The callers have checked that fewer items were taken out than put in. So the
        // sender has put an item into this place, and leaves it there until the count of taken items has advanced.
        let item = unsafe { (*self.ring.places.add(self.index)).with(|slot| (*slot).assume_init_read()) };
        self.index = self.ring.index_after(self.index);
        self.taken = self.taken.wrapping_add(1);
        item
    }
}
