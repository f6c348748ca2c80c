//! Gets from the memory of other ranks: MPI's passive one-sided communication.

use super::MpiComm;
use super::pool::Pool;
use crate::measure::comm::Window;
use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::traits::{AsRaw, CommunicatorCollectives};
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::thread::panicking;

/// Every rank's memory, and a pool of gets. The own rank's memory is read without MPI.
///
/// Dropping it is collective.
pub struct MpiWindow<'m> {
    memory: &'m [u64],
    /// Words of the shortest memory of all ranks: what may be read anywhere.
    shared: usize,
    rank: usize,
    /// Gets under way; dropped, and so waited for, before the window is closed.
    pool: Pool,
    under_way: usize,
    /// Words asked for, by slot.
    lengths: Vec<usize>,
    free: Vec<usize>,
    arrived: VecDeque<usize>,
    /// None in a world of one rank, where Open MPI 4.1 cannot create a window.
    window: Option<Lock>,
    _comm: &'m MpiComm,
}

impl<'m> MpiWindow<'m> {
    pub(super) fn open(comm: &'m MpiComm, memory: &'m [u64], slots: usize, words: usize) -> Self {
        // A type said: rsmpi does not compare those of the two buffers.
        let mut shared = 0_u64;
        comm.world.all_reduce_into(&(memory.len() as u64), &mut shared, SystemOperation::min());
        Self {
            memory,
            shared: shared as usize,
            rank: comm.rank,
            pool: Pool::new(slots, words),
            under_way: 0,
            lengths: vec![0; slots],
            free: (0..slots).collect(),
            arrived: VecDeque::with_capacity(slots),
            window: (comm.size > 1).then(|| Lock::all(comm, memory)),
            _comm: comm,
        }
    }
}

impl Window for MpiWindow<'_> {
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        assert!(offset + words <= self.shared, "{words} words at {offset} of a memory of {}", self.shared);
        assert!(words <= self.pool.buffers.words, "a get of {words} words in slots of {}", self.pool.buffers.words);
        let Some(slot) = self.free.pop() else { return false };
        self.lengths[slot] = words;
        match &self.window {
            Some(Lock(window)) if from != self.rank => {
                // SAFETY: the slot was free, so its buffer is MPI's until the request completes; the range was checked.
                unsafe {
                    let (at, word) = (self.pool.buffers.at(slot).cast(), ffi::RSMPI_UINT64_T);
                    let (count, from, offset) = (words as c_int, from as c_int, offset as ffi::MPI_Aint);
                    let request = &mut self.pool.requests[slot];
                    ffi::MPI_Rget(at, count, word, from, offset, count, word, *window, request);
                }
                self.under_way += 1;
            }
            _ => {
                assert_eq!(from, self.rank, "there is no such rank");
                // SAFETY: the slot was free.
                unsafe { self.pool.buffers.write(slot, &self.memory[offset..offset + words]) };
                self.arrived.push_back(slot);
            }
        }
        true
    }

    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        if self.arrived.is_empty() && self.under_way > 0 {
            self.arrived.extend(self.pool.completed());
            self.under_way -= self.arrived.len();
        }
        let slot = self.arrived.pop_front()?;
        // SAFETY: its get is complete.
        let result = read(unsafe { self.pool.buffers.read(slot, self.lengths[slot]) });
        self.free.push(slot);
        Some(result)
    }
}

/// A window locked by everybody until it is dropped.
pub(super) struct Lock(pub(super) ffi::MPI_Win);

impl Lock {
    pub(super) fn all<T>(comm: &MpiComm, memory: &[T]) -> Self {
        let mut window = MaybeUninit::uninit();
        let bytes = size_of_val(memory) as ffi::MPI_Aint;
        // SAFETY: the memory is borrowed for as long as the window is open, exclusively if it is written through it.
        unsafe {
            let base = memory.as_ptr().cast_mut().cast();
            let unit = size_of::<T>() as c_int;
            ffi::MPI_Win_create(base, bytes, unit, ffi::RSMPI_INFO_NULL, comm.world.as_raw(), window.as_mut_ptr());
            let window = window.assume_init();
            ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, window);
            Self(window)
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: opened and locked by `all`. Collective.
            unsafe {
                ffi::MPI_Win_unlock_all(self.0);
                ffi::MPI_Win_free(&mut self.0);
            }
        }
    }
}
