//! Where the rings between ranks that share memory lie: each rank owns one part of the memory.

use super::ring::{Count, Ring, RingSlot};
use std::marker::PhantomData;

/// The layout of a rank's part. It begins with the counts that this rank reads: items put into the rings to it, and items taken out
/// of the rings from it. Then follow the places of the rings from it.
pub(super) struct RingLayout<T> {
    pub ranks: usize,
    /// Places of a ring.
    pub capacity: usize,
    item: PhantomData<T>,
}

impl<T> RingLayout<T> {
    pub fn new(ranks: usize, capacity: usize) -> Self {
        Self { ranks, capacity, item: PhantomData }
    }

    /// Returns the size of a ring's places in bytes, rounded up so that two rings share no pair of cache lines.
    fn ring_bytes(&self) -> usize {
        (self.capacity * size_of::<T>()).next_multiple_of(size_of::<Count>())
    }

    /// Returns the size of the counts at the beginning of a part. They must be zero before the first use of a ring.
    pub fn count_bytes(&self) -> usize {
        2 * self.ranks * size_of::<Count>()
    }

    /// Returns the size of a part.
    pub fn bytes(&self) -> usize {
        self.count_bytes() + self.ranks * self.ring_bytes()
    }

    /// Returns the ring from a rank to another. `part` returns the start of a rank's part, which is aligned as [`Count`] is.
    pub fn ring(&self, part: impl Fn(usize) -> *const u8, sender: usize, receiver: usize) -> Ring<T> {
        let count = size_of::<Count>();
        Ring {
            put: part(receiver).wrapping_add(sender * count).cast(),
            taken: part(sender).wrapping_add((self.ranks + receiver) * count).cast(),
            places: part(sender).wrapping_add(self.count_bytes() + receiver * self.ring_bytes()).cast::<RingSlot<T>>(),
            capacity: self.capacity,
        }
    }
}
