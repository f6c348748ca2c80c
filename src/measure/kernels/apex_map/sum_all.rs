//! Sums of blocks by the widest instructions that this processor has.

use super::sum::Sum;

/// How a block is added on this processor: chosen once, before the clock runs.
pub(super) fn adder() -> fn(&mut Sum, &[u64]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = super::vectors::Kind::best() {
        return super::lanes::adder(kind);
    }
    Sum::add
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
    for &at in offsets {
        sum.add(&memory[at as usize..][..block]);
    }
    sum.total()
}
