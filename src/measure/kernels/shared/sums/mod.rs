//! Sums of blocks, computed with the widest vector instructions of this processor. The number of outstanding reads of a core is
//! limited by its instruction window and its load buffer. The loops therefore use few instructions and few loads per block: the
//! widest loads, a separate loop for each length of blocks, and one bounds check for four offsets. Words are added into independent
//! lanes that persist from block to block, so each addition waits only for the previous one in its lane. The machine code of such a
//! loop differs between versions of the compiler; on x86-64 with AVX2 or AVX-512 the code therefore uses intrinsics.

pub mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(target_arch = "aarch64"))]
mod plain;
pub mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Plain;
#[cfg(not(target_arch = "aarch64"))]
pub(crate) use plain::Plain;

pub(crate) struct Accumulator {
    sum: Sum,
    adder: Adder,
}

impl Accumulator {
    /// `block` is at least 1.
    pub(crate) fn new(block: usize) -> Self {
        Self { sum: Sum::new(block), adder: lanes::adder(vectors::Kind::best(), block) }
    }

    pub(crate) fn clear(&mut self) {
        self.sum = Sum::new(self.sum.block);
    }

    pub(crate) fn total(&self) -> u64 {
        self.sum.total()
    }

    /// A block has the length given to [`Self::new`].
    #[inline(always)]
    pub(crate) fn add(&mut self, words: &[u64]) {
        // SAFETY: `new` created the adder for the sum's block length, which never changes.
        unsafe { (self.adder.one)(&mut self.sum, words) };
    }

    #[inline(always)]
    pub(crate) fn add_all(&mut self, memory: &[u64], offsets: &[u64]) {
        // SAFETY: `new` created the adder for the sum's block length, which never changes.
        unsafe { (self.adder.all)(&mut self.sum, memory, offsets) };
    }
}

/// Returns the wrapping sum of the `block` words at each of `offsets`, and panics if a block is not inside `memory`. This is the
/// timed loop of one rank.
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    lanes::sum_all(vectors::Kind::best(), memory, offsets, block)
}

pub(super) const LANES: usize = 4;
/// Words of the widest vector.
pub(super) const WIDEST: usize = 8;

pub(crate) struct Sum {
    pub(super) lanes: [[u64; WIDEST]; LANES],
    pub(crate) block: usize,
}

/// Chosen once, before the clock runs.
pub(super) struct Adder {
    /// # Safety
    /// The block length of the sum is the one that this adder was created for.
    pub(super) one: unsafe fn(&mut Sum, &[u64]),
    /// # Safety
    /// The same as for `one`.
    pub(super) all: unsafe fn(&mut Sum, &[u64], &[u64]),
}

impl Sum {
    /// `block` is at least 1.
    pub(crate) fn new(block: usize) -> Self {
        Self { lanes: [[0; WIDEST]; LANES], block }
    }

    pub(crate) fn total(&self) -> u64 {
        self.lanes.as_flattened().iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
    }

    /// A word may be the sum of several.
    pub(crate) fn add_word(&mut self, word: u64) {
        self.lanes[0][0] = self.lanes[0][0].wrapping_add(word);
    }

    /// A block has the length given to [`Self::new`].
    pub(crate) fn add(&mut self, words: &[u64]) {
        let (vectors, rest) = words.as_chunks::<WIDEST>();
        for (number, vector) in vectors.iter().enumerate() {
            let lane = &mut self.lanes[number % LANES];
            lane.iter_mut().zip(vector).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
        }
        let lane = &mut self.lanes[LANES - 1];
        lane.iter_mut().zip(rest).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
    }
}
