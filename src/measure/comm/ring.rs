//! A ring buffer from one thread to one other thread. `tests/loom` also compiles this file, with loom's atomics, and runs both ends
//! in all interleavings.

use super::atomics::{AtomicUsize, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// Number of items that were taken out of a ring since the beginning. No other data shares its cache lines: x86-64 fetches pairs of
/// 64 bytes, POWER lines of 128 bytes, the A64FX lines of 256 bytes.
#[repr(align(256))]
#[derive(Default)]
pub struct Count(AtomicUsize);

/// One item with its number: 1 for the first that was ever put into the ring. So one cache line can bring a receiver both the item
/// and the news of it. All bytes are zero before the first item.
pub struct Place<T> {
    number: AtomicUsize,
    item: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self { number: AtomicUsize::new(0), item: UnsafeCell::new(MaybeUninit::uninit()) }
    }
}

pub struct Ring<T> {
    /// Written by the receiver.
    pub taken: *const Count,
    /// The first of `capacity` places, written by the sender.
    pub places: *const Place<T>,
    pub capacity: usize,
    /// Bytes from one place to the next. The rest of a place is the payload of its item.
    pub stride: usize,
}

impl<T> Ring<T> {
    #[inline]
    fn index_after(&self, index: usize) -> usize {
        if index + 1 == self.capacity { 0 } else { index + 1 }
    }

    /// `index` is less than the capacity.
    #[inline]
    fn place(&self, index: usize) -> &Place<T> {
        // SAFETY: only the ring's ends own `Ring` values, and they keep the memory alive, as `Producer::new` and `Consumer::new`
        // require. Their indices are less than the capacity.
        unsafe { &*self.places.byte_add(index * self.stride) }
    }

    #[inline]
    fn payload(&self, index: usize) -> *mut u8 {
        self.places.wrapping_byte_add(index * self.stride).wrapping_add(1).cast::<u8>().cast_mut()
    }

    #[inline]
    fn taken_counter(&self) -> &AtomicUsize {
        // SAFETY: as in `place`.
        unsafe { &(*self.taken).0 }
    }
}

/// `K` keeps the ring's memory alive.
pub struct Producer<T, K> {
    ring: Ring<T>,
    put: usize,
    /// The place for the next item.
    index: usize,
    /// Minimum number of items taken out, from the latest read of the count.
    taken: usize,
    _memory: K,
}

/// `K` keeps the ring's memory alive.
pub struct Consumer<T, K> {
    ring: Ring<T>,
    taken: usize,
    /// The place of the next item.
    index: usize,
    _memory: K,
}

// SAFETY: it is the ring's only producer, on whichever thread, and the atomics order the accesses of both ends to the places.
unsafe impl<T: Send, K: Send> Send for Producer<T, K> {}
// SAFETY: it is the ring's only consumer, on whichever thread, and the atomics order the accesses of both ends to the places.
unsafe impl<T: Send, K: Send> Send for Consumer<T, K> {}

impl<T: Copy, K> Producer<T, K> {
    /// # Safety
    /// The ring exists as long as `memory` lives. Its bytes are zero, and the ring has no other producer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, put: 0, index: 0, taken: 0, _memory: memory }
    }

    #[inline]
    pub fn waiting(&mut self) -> usize {
        // The receiver writes the count. Read it only if the ring may hold items.
        if self.put != self.taken {
            // Pairs with the Release in `free`: the receiver has read a place before the sender fills it again.
            self.taken = self.ring.taken_counter().load(Ordering::Acquire);
        }
        self.put.wrapping_sub(self.taken)
    }

    #[inline]
    pub fn is_full(&mut self) -> bool {
        self.put.wrapping_sub(self.taken) == self.ring.capacity && self.waiting() == self.ring.capacity
    }

    /// The start of the next item's payload. While the ring is not full, only this end uses it.
    #[inline]
    pub fn payload(&self) -> *mut u8 {
        self.ring.payload(self.index)
    }

    /// Returns `false` without effect if the ring is full.
    #[inline]
    pub fn push(&mut self, item: T) -> bool {
        if self.is_full() {
            return false;
        }
        self.put = self.put.wrapping_add(1);
        let place = self.ring.place(self.index);
        // SAFETY: the ring is not full, so the receiver has taken the place's previous item.
        place.item.with_mut(|slot| unsafe { (*slot).write(item) });
        // Pairs with the Acquire in `has_item`: the item is in its place before its number.
        place.number.store(self.put, Ordering::Release);
        self.index = self.ring.index_after(self.index);
        true
    }
}

impl<T: Copy, K> Consumer<T, K> {
    /// # Safety
    /// The ring exists as long as `memory` lives. Its bytes are zero, and the ring has no other consumer.
    pub unsafe fn new(ring: Ring<T>, memory: K) -> Self {
        Self { ring, taken: 0, index: 0, _memory: memory }
    }

    #[inline]
    pub fn has_item(&self) -> bool {
        self.ring.place(self.index).number.load(Ordering::Acquire) == self.taken.wrapping_add(1)
    }

    /// The start of the oldest item's payload. The sender leaves it unchanged while the item is in the ring.
    #[inline]
    pub fn payload(&self) -> *const u8 {
        self.ring.payload(self.index)
    }

    /// Passes the oldest item to `read`, then takes it out.
    #[inline]
    pub fn pop<R>(&mut self, read: impl FnOnce(&T) -> R) -> Option<R> {
        if !self.has_item() {
            return None;
        }
        let result = self.read_next(read);
        self.free();
        Some(result)
    }

    /// Passes up to `max` items to `read`, then takes them out with one store. Returns their number.
    #[inline]
    pub fn pop_together(&mut self, max: usize, mut read: impl FnMut(&T)) -> usize {
        let mut count = 0;
        while count < max && self.has_item() {
            self.read_next(&mut read);
            count += 1;
        }
        if count > 0 {
            self.free();
        }
        count
    }

    /// The next item is in the ring. Its place is not freed.
    #[inline]
    fn read_next<R>(&mut self, read: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the callers have seen the item's number, so the sender has put the item into the place, and leaves it there until the
        // count of taken items has advanced.
        let result = self.ring.place(self.index).item.with(|slot| read(unsafe { (*slot).assume_init_ref() }));
        self.index = self.ring.index_after(self.index);
        self.taken = self.taken.wrapping_add(1);
        result
    }

    /// Frees the places of all items read.
    #[inline]
    fn free(&self) {
        // Pairs with the Acquire in `waiting`.
        self.ring.taken_counter().store(self.taken, Ordering::Release);
    }
}
