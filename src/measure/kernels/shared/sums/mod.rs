//! Sums of blocks by the widest instructions that this processor has.

#[cfg(target_arch = "x86_64")]
pub mod lanes;
mod sum;
#[cfg(target_arch = "x86_64")]
pub mod vectors;

pub(in crate::kernels) use sum::{Adder, Sum};

/// How blocks of this length are added.
pub(in crate::kernels) fn adder(block: usize) -> Adder {
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
