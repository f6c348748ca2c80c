//! Sums of blocks by the widest instructions that this processor has.

#[cfg(target_arch = "x86_64")]
pub mod lanes;
mod sum;
#[cfg(target_arch = "x86_64")]
pub mod vectors;

pub(in crate::kernels) use sum::Sum;

use sum::Adder;

/// A sum under way, with the way to add to it.
pub(in crate::kernels) struct Accumulator {
    sum: Sum,
    /// Made for the sum's blocks.
    adder: Adder,
}

impl Accumulator {
    /// Of blocks of `block` words, at least one.
    pub(in crate::kernels) fn new(block: usize) -> Self {
        Self { sum: Sum::new(block), adder: adder(block) }
    }

    pub(in crate::kernels) fn clear(&mut self) {
        self.sum = Sum::new(self.sum.block);
    }

    pub(in crate::kernels) fn total(&self) -> u64 {
        self.sum.total()
    }

    /// Adds a block; its length is the one that was announced.
    #[inline(always)]
    pub(in crate::kernels) fn add(&mut self, words: &[u64]) {
        // SAFETY: `new` made the adder for the sum's blocks, and nothing changes their length.
        unsafe { (self.adder.one)(&mut self.sum, words) };
    }

    /// Adds the blocks of a memory at these places.
    #[inline(always)]
    pub(in crate::kernels) fn add_all(&mut self, memory: &[u64], offsets: &[u64]) {
        // SAFETY: as in `add`: `new` made the adder for the sum's blocks.
        unsafe { (self.adder.all)(&mut self.sum, memory, offsets) };
    }
}

/// How blocks of this length are added.
fn adder(block: usize) -> Adder {
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = vectors::Kind::best() {
        return lanes::adder(kind, block);
    }
    Adder { one: Sum::add, all: Sum::add_all }
}

/// The timed loop of one rank: the wrapping sum of the `block` words at each of `offsets`.
///
/// # Panics
/// If a block does not lie within `memory`.
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = vectors::Kind::best() {
        return lanes::sum_all(kind, memory, offsets, block);
    }
    let mut sum = Sum::new(block);
    sum.add_all(memory, offsets);
    sum.total()
}
