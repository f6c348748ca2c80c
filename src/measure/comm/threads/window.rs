//! Gets from the memory of other ranks.

use super::{Memory, ThreadComm};
use crate::measure::comm::{Comm, Window};
use std::collections::VecDeque;

/// Remote memory is a load away; a get copies it into a local buffer, as the paper's flow chart fetches it.
pub struct ThreadWindow<'m> {
    pub(super) comm: &'m ThreadComm,
    pub(super) opened: Vec<Memory>,
    pub(super) free: Vec<Vec<u64>>,
    pub(super) fetched: VecDeque<(Vec<u64>, usize)>,
}

impl Window for ThreadWindow<'_> {
    #[inline]
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        let Some(mut buffer) = self.free.pop() else { return false };
        let opened = self.opened[from];
        assert!(offset + words <= opened.words && words <= buffer.len(), "a get outside the window");
        // SAFETY: within the opened memory, which its owner keeps unchanged until all ranks have dropped the window.
        unsafe { std::ptr::copy_nonoverlapping(opened.start.add(offset), buffer.as_mut_ptr(), words) };
        self.fetched.push_back((buffer, words));
        true
    }

    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        let (buffer, words) = self.fetched.pop_front()?;
        let result = read(&buffer[..words]);
        self.free.push(buffer);
        Some(result)
    }
}

impl Drop for ThreadWindow<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.comm.barrier();
        }
    }
}
