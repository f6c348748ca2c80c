//! Sums of blocks by the widest instructions that this processor has.

use super::sum::{Adder, Sum};

/// How blocks of this length are added.
pub(super) fn adder(block: usize) -> Adder {
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = super::vectors::Kind::best() {
        return super::lanes::adder(kind, block);
    }
    Adder { one: Sum::add, all: Sum::add_all }
}

/// The timed loop of one rank: the wrapping sum of the `block` words at each of `offsets`.
///
/// # Panics
/// If a block does not lie within `memory`.
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = super::vectors::Kind::best() {
        return super::lanes::sum_all(kind, memory, offsets, block);
    }
    let mut sum = Sum::new(block);
    sum.add_all(memory, offsets);
    sum.total()
}
