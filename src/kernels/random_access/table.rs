//! A rank's part of the table, and its updates.

use super::stream::Index;

/// Words `first` to `first + words.len() - 1` of the table.
pub struct Table<'a> {
    pub words: &'a mut [u64],
    first: u64,
    index: Index,
}

/// Updates prefetched in front of the one that is made: more than the lines that a core fetches at once.
pub const AHEAD: usize = 32;

impl<'a> Table<'a> {
    pub fn new(words: &'a mut [u64], first: u64, index: Index) -> Self {
        Self { words, first, index }
    }

    /// Where in `words` a value belongs.
    #[inline(always)]
    pub fn place(&self, value: u64) -> usize {
        self.index.of(value).wrapping_sub(self.first) as usize
    }

    /// One update.
    ///
    /// # Panics
    /// If the word is not in this part.
    #[inline(always)]
    pub fn update(&mut self, value: u64) {
        let place = self.place(value);
        self.words[place] ^= value;
    }

    /// Asks the memory for the word of a value.
    #[inline(always)]
    pub fn prefetch(&self, value: u64) {
        prefetch(self.words.as_ptr().wrapping_add(self.place(value)));
    }

    /// Updates in this order, with all of them known: their words are asked for some time before.
    pub fn apply(&mut self, values: &[u64]) {
        let (first, later) = values.split_at(values.len().min(AHEAD));
        first.iter().for_each(|&value| self.prefetch(value));
        for (&value, &ahead) in values.iter().zip(later) {
            self.prefetch(ahead);
            self.update(value);
        }
        values[later.len()..].iter().for_each(|&value| self.update(value));
    }
}

/// A hint to fetch a word that will be read and written; processors without one ignore it.
#[inline(always)]
pub(super) fn prefetch(word: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(word.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) word, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}
