//! Puts and xors into the memory of other ranks: atomic stores and exclusive ors.

use super::{Memory, ThreadComm};
use crate::measure::comm::{Comm, Opened};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every rank's memory.
pub struct ThreadOpened<'m> {
    pub(super) comm: &'m ThreadComm,
    pub(super) opened: Vec<Memory>,
    /// The own memory is lent for as long.
    pub(super) memory: PhantomData<&'m mut [u64]>,
}

impl ThreadOpened<'_> {
    #[inline]
    fn words(&self, of: usize, offset: usize, words: usize) -> &[AtomicU64] {
        let memory = self.opened[of];
        assert!(offset + words <= memory.words, "{words} words at {offset} of a memory of {}", memory.words);
        // SAFETY: within the memory, which its owner keeps open until all have dropped theirs, and which outside of
        // `settle` everybody touches through atomics only; AtomicU64 has the layout of u64.
        unsafe { std::slice::from_raw_parts(memory.start.add(offset).cast::<AtomicU64>(), words) }
    }
}

impl Opened for ThreadOpened<'_> {
    #[inline]
    fn put(&mut self, to: usize, offset: usize, words: &[u64]) {
        let target = self.words(to, offset, words.len());
        target.iter().zip(words).for_each(|(target, &word)| target.store(word, Ordering::Relaxed));
    }

    #[inline]
    fn xor(&mut self, to: usize, offset: usize, value: u64) {
        self.words(to, offset, 1)[0].fetch_xor(value, Ordering::Relaxed);
    }

    /// `self` is borrowed exclusively: this rank holds no `shared` slice meanwhile; nor do others, as they are in here too.
    fn settle<R>(&mut self, work: impl FnOnce(&mut [u64]) -> R) -> R {
        self.comm.barrier();
        let own = self.opened[self.comm.rank()];
        // SAFETY: it was lent to `open` exclusively, and between the barriers no other rank touches it.
        let result = work(unsafe { std::slice::from_raw_parts_mut(own.start, own.words) });
        self.comm.barrier();
        result
    }
}

impl Drop for ThreadOpened<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.comm.barrier();
        }
    }
}
