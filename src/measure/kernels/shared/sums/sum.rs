//! The compute of Table 1: the wrapping sum of all words read.
//!
//! A core waits for as many reads at once as it holds instructions, and as many loads as it has places for. So a block takes as few
//! of both as it can: the widest loads of the processor, a loop for each length of blocks, and one check of four places. Words are
//! added in lanes that last from block to block, each of which waits for its own sum only. What compilers make of such a loop
//! differs from version to version; where AVX2 or AVX-512 is there, its instructions are named.

/// Lanes that are added side by side, and words of the widest.
pub(super) const LANES: usize = 4;
pub(super) const WIDEST: usize = 8;

/// A sum under way, of blocks of one length.
pub(in crate::kernels) struct Sum {
    pub(super) lanes: [[u64; WIDEST]; LANES],
    pub(in crate::kernels) block: usize,
}

/// How blocks of one length are added on this processor: chosen once, before the clock runs.
pub(super) struct Adder {
    /// Adds a block to a sum of blocks of this length.
    ///
    /// # Safety
    /// The sum is of blocks of the length that this was made for.
    pub(super) one: unsafe fn(&mut Sum, &[u64]),
    /// Adds the blocks of a memory at these places.
    ///
    /// # Safety
    /// As of `one`.
    pub(super) all: unsafe fn(&mut Sum, &[u64], &[u64]),
}

impl Sum {
    /// Of blocks of `block` words, at least one.
    pub(in crate::kernels) fn new(block: usize) -> Self {
        Self { lanes: [[0; WIDEST]; LANES], block }
    }

    pub(in crate::kernels) fn total(&self) -> u64 {
        self.lanes.as_flattened().iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
    }

    /// Adds a word, or a sum of some.
    pub(in crate::kernels) fn add_word(&mut self, word: u64) {
        self.lanes[0][0] = self.lanes[0][0].wrapping_add(word);
    }

    /// Adds a block; its length is the one that was announced.
    pub(in crate::kernels) fn add(&mut self, words: &[u64]) {
        let (vectors, rest) = words.as_chunks::<WIDEST>();
        for (number, vector) in vectors.iter().enumerate() {
            let lane = &mut self.lanes[number % LANES];
            lane.iter_mut().zip(vector).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
        }
        let lane = &mut self.lanes[LANES - 1];
        lane.iter_mut().zip(rest).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
    }

    /// Adds the blocks of a memory at these places.
    pub(in crate::kernels) fn add_all(&mut self, memory: &[u64], offsets: &[u64]) {
        for &at in offsets {
            self.add(&memory[at as usize..][..self.block]);
        }
    }
}
