//! Sums of blocks, computed with the widest vector instructions of this processor.

pub mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(target_arch = "aarch64"))]
mod plain;
mod sum;
pub mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(in crate::kernels) use neon::Plain;
#[cfg(not(target_arch = "aarch64"))]
pub(in crate::kernels) use plain::Plain;
pub(in crate::kernels) use sum::Sum;

use sum::Adder;

/// A running sum and the functions that add to it.
pub(in crate::kernels) struct Accumulator {
    sum: Sum,
    /// Has the block length of `sum`.
    adder: Adder,
}

impl Accumulator {
    /// Starts a sum of blocks of `block` words; `block` is at least 1.
    pub(in crate::kernels) fn new(block: usize) -> Self {
        Self { sum: Sum::new(block), adder: lanes::adder(vectors::Kind::best(), block) }
    }

    pub(in crate::kernels) fn clear(&mut self) {
        self.sum = Sum::new(self.sum.block);
    }

    pub(in crate::kernels) fn total(&self) -> u64 {
        self.sum.total()
    }

    /// Adds a block. Its length is the one given to [`Self::new`].
    #[inline(always)]
    pub(in crate::kernels) fn add(&mut self, words: &[u64]) {
        // SAFETY: `new` created the adder for the sum's block length, which never changes.
        unsafe { (self.adder.one)(&mut self.sum, words) };
    }

    /// Adds the blocks of `memory` that start at `offsets`.
    #[inline(always)]
    pub(in crate::kernels) fn add_all(&mut self, memory: &[u64], offsets: &[u64]) {
        // SAFETY: `new` created the adder for the sum's block length, which never changes.
        unsafe { (self.adder.all)(&mut self.sum, memory, offsets) };
    }
}

/// Returns the wrapping sum of the `block` words at each of `offsets`. This is the timed loop of one rank.
///
/// # Panics
/// If a block is not inside `memory`.
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    lanes::sum_all(vectors::Kind::best(), memory, offsets, block)
}
