//! Each rank that shares memory owns one part of it, where the rings to others lie.

use super::ring::{Count, Place, Ring};
use std::marker::PhantomData;

/// Different offsets of the places in their sender's part. All of them together are a page.
pub(super) const SHIFTS: usize = 16;

/// The offset of the places differs between senders: parts may begin at pages, and a receiver polls one cache line of each, which
/// would all be in the same set of its first-level cache.
pub(super) fn shift(sender: usize) -> usize {
    sender % SHIFTS * size_of::<Count>()
}

/// A rank's part begins with the counts that this rank reads: items taken out of the rings from it. Then follow the places of these
/// rings.
pub(super) struct RingLayout<T> {
    pub ranks: usize,
    pub capacity: usize,
    item: PhantomData<T>,
}

impl<T> RingLayout<T> {
    pub fn new(ranks: usize, capacity: usize) -> Self {
        Self { ranks, capacity, item: PhantomData }
    }

    /// Rounded up so that two rings share no pair of cache lines.
    fn ring_bytes(&self) -> usize {
        (self.capacity * size_of::<Place<T>>()).next_multiple_of(size_of::<Count>())
    }

    pub fn count_bytes(&self) -> usize {
        self.ranks * size_of::<Count>()
    }

    pub fn bytes(&self) -> usize {
        self.count_bytes() + self.ranks * self.ring_bytes() + SHIFTS * size_of::<Count>()
    }

    /// `part` returns the start of a rank's part, which is aligned as [`Count`] is.
    pub fn ring(&self, part: impl Fn(usize) -> *const u8, sender: usize, receiver: usize) -> Ring<T> {
        let part = part(sender);
        let places = self.count_bytes() + shift(sender) + receiver * self.ring_bytes();
        Ring {
            taken: part.wrapping_add(receiver * size_of::<Count>()).cast(),
            places: part.wrapping_add(places).cast::<Place<T>>(),
            capacity: self.capacity,
            stride: size_of::<Place<T>>(),
        }
    }
}
