//! Puts and xors into the memory of other ranks: MPI's passive one-sided communication.

use super::MpiComm;
use super::pool::Buffers;
use super::window::Lock;
use crate::measure::comm::{Comm, Opened};
use mpi::ffi;
use mpi::traits::CommunicatorCollectives;
use std::os::raw::c_int;

/// Words that may be on their way before they must be waited for.
const STAGED: usize = 4096;

/// Every rank's memory, and copies of what is on its way there.
pub struct MpiOpened<'m> {
    memory: &'m mut [u64],
    /// Words of each rank's memory.
    words: Vec<u64>,
    /// None in a world of one rank, where Open MPI 4.1 cannot create a window. Closed, and so complete, before `staged`.
    window: Option<Lock>,
    staged: Buffers,
    used: usize,
    comm: &'m MpiComm,
}

impl<'m> MpiOpened<'m> {
    pub(super) fn open(comm: &'m MpiComm, memory: &'m mut [u64]) -> Self {
        let mut words = vec![0; comm.size];
        comm.world.all_gather_into(&(memory.len() as u64), &mut words[..]);
        let window = (comm.size > 1).then(|| Lock::all(comm, memory));
        Self { memory, words, window, staged: Buffers::new(STAGED, 1), used: 0, comm }
    }

    fn check(&self, to: usize, offset: usize, words: usize) {
        assert!(
            offset + words <= self.words[to] as usize,
            "{words} words at {offset} of a memory of {}",
            self.words[to]
        );
    }

    /// A place for a word that stays as it is until its message has left.
    fn stage(&mut self, window: ffi::MPI_Win, word: u64) -> *mut u64 {
        if self.used == STAGED {
            // SAFETY: the window is locked.
            unsafe { ffi::MPI_Win_flush_local_all(window) };
            self.used = 0;
        }
        self.used += 1;
        // SAFETY: nothing on its way uses this slot.
        unsafe { self.staged.write(self.used - 1, &[word]) };
        self.staged.at(self.used - 1)
    }
}

impl Opened for MpiOpened<'_> {
    fn put(&mut self, to: usize, offset: usize, words: &[u64]) {
        self.check(to, offset, words.len());
        let Some(window) = self.window.as_ref().map(|lock| lock.0) else {
            return self.memory[offset..][..words.len()].copy_from_slice(words);
        };
        for (place, &word) in (offset..).zip(words) {
            let at = self.stage(window, word).cast();
            // SAFETY: the target was checked; the origin stays until it is flushed.
            unsafe {
                let kind = ffi::RSMPI_UINT64_T;
                ffi::MPI_Put(at, 1, kind, to as c_int, place as ffi::MPI_Aint, 1, kind, window);
            }
        }
    }

    fn xor(&mut self, to: usize, offset: usize, value: u64) {
        self.check(to, offset, 1);
        let Some(window) = self.window.as_ref().map(|lock| lock.0) else {
            self.memory[offset] ^= value;
            return;
        };
        let at = self.stage(window, value).cast();
        // SAFETY: as in `put`; accumulates are atomic, each word by itself.
        unsafe {
            let (kind, xor) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_BXOR);
            ffi::MPI_Accumulate(at, 1, kind, to as c_int, offset as ffi::MPI_Aint, 1, kind, xor, window);
        }
    }

    fn settle<R>(&mut self, work: impl FnOnce(&mut [u64]) -> R) -> R {
        if let Some(Lock(window)) = &self.window {
            // SAFETY: the window is locked. The second call makes what others wrote visible to loads.
            unsafe { ffi::MPI_Win_flush_all(*window) };
            self.comm.barrier();
            // SAFETY: as above.
            unsafe { ffi::MPI_Win_sync(*window) };
        }
        self.used = 0;
        let result = work(self.memory);
        if let Some(Lock(window)) = &self.window {
            // SAFETY: as above, for what this rank stored.
            // SAFETY: as above.
            unsafe { ffi::MPI_Win_sync(*window) };
        }
        self.comm.barrier();
        result
    }
}
