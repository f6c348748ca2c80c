//! Windows of MPI: its passive one-sided communication.

use super::MpiComm;
use super::pool::{Buffers, Pool};
use crate::comm::{Collectives, GetWindow, Item, Rma, RmaWindow, check_range};
use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::traits::{AsRaw, CommunicatorCollectives};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::sync::atomic::Ordering;
use std::thread::panicking;

impl Rma for MpiComm {
    type GetWindow<'m> = MpiGetWindow<'m>;
    type RmaWindow<'m, T: Item> = MpiRmaWindow<'m, T>;

    /// Every rank opens equally many words, or the shortest memory bounds all gets.
    fn get_window<R>(&self, memory: &[u64], slots: usize, words: usize, work: impl FnOnce(MpiGetWindow) -> R) -> R {
        // A type said: rsmpi does not compare those of the two buffers.
        let mut shared = 0_u64;
        self.world.all_reduce_into(&(memory.len() as u64), &mut shared, SystemOperation::min());
        // Through this window MPI only reads.
        let window = Lock::all(self, memory.as_ptr().cast_mut(), memory.len());
        work(MpiGetWindow {
            memory,
            shared: shared as usize,
            rank: self.rank,
            pool: Pool::new(slots, words),
            under_way: 0,
            lengths: vec![0; slots],
            free: (0..slots).collect(),
            arrived: VecDeque::with_capacity(slots),
            window: window.as_ref().map(|lock| lock.0),
        })
    }

    fn rma_window<T: Item, R>(&self, origin: &mut [T], memory: &mut [T], work: impl FnOnce(MpiRmaWindow<T>) -> R) -> R {
        let mut lengths = vec![0; self.size];
        self.world.all_gather_into(&(memory.len() as u64), &mut lengths[..]);
        let (origin, memory) = (LentMemory::new(origin), LentMemory::new(memory));
        let window = Lock::all(self, memory.start, memory.length);
        work(MpiRmaWindow {
            comm: self,
            origin,
            memory,
            lengths,
            window: window.as_ref().map(|lock| lock.0),
            under_way: false,
            staged: Buffers::new(STAGED, 1),
            used: 0,
        })
    }
}

/// A window locked by everybody until it is dropped, which completes all that is on its way and is collective.
struct Lock(ffi::MPI_Win);

impl Lock {
    /// None in a world of one rank, where Open MPI 4.1 cannot create a window.
    fn all<T>(comm: &MpiComm, start: *mut T, length: usize) -> Option<Self> {
        if comm.size == 1 {
            return None;
        }
        let mut window = MaybeUninit::uninit();
        let (bytes, unit) = ((length * size_of::<T>()) as ffi::MPI_Aint, size_of::<T>() as c_int);
        // SAFETY: the callers have borrowed the memory for longer than the window is open, exclusively if MPI writes it.
        unsafe {
            let world = comm.world.as_raw();
            // An error would end all ranks before any could say what is to be done.
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN);
            let code = ffi::MPI_Win_create(start.cast(), bytes, unit, ffi::RSMPI_INFO_NULL, world, window.as_mut_ptr());
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_ARE_FATAL);
            assert!(code == ffi::MPI_SUCCESS as c_int, "{}", no_window(code));
            let window = window.assume_init();
            ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, window);
            Some(Self(window))
        }
    }
}

/// Why one-sided communication is not to be had, and what may help.
fn no_window(code: c_int) -> String {
    let mut text = [0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: the text is as long as MPI may write.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = String::from_utf8_lossy(&text[..length.max(0) as usize]).into_owned();
    let library = mpi::environment::library_version().unwrap_or_default();
    // Over TCP its default needs what only networks with remote memory have.
    let next = if library.starts_with("Open MPI v5") {
        "this Open MPI has no component for one-sided operations on this network"
    } else if library.starts_with("Open MPI") {
        "set OMPI_MCA_osc=pt2pt in the environment: that component of Open MPI needs messages only"
    } else {
        "see which one-sided communication this MPI has on this network"
    };
    format!("MPI_Win_create: {text}; {next}")
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: `all` has opened and locked the window, which nothing uses after.
            unsafe {
                ffi::MPI_Win_unlock_all(self.0);
                ffi::MPI_Win_free(&mut self.0);
            }
        }
    }
}

/// A pool of gets. The own rank's memory is read without MPI.
pub struct MpiGetWindow<'m> {
    memory: &'m [u64],
    /// Words of the shortest memory of all ranks: what may be read anywhere.
    shared: usize,
    rank: usize,
    /// Gets under way, waited for when it is dropped.
    pool: Pool,
    under_way: usize,
    /// Words asked for, by slot.
    lengths: Vec<usize>,
    free: Vec<usize>,
    arrived: VecDeque<usize>,
    /// Open for as long as this.
    window: Option<ffi::MPI_Win>,
}

impl GetWindow for MpiGetWindow<'_> {
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        check_range(offset, words, self.shared);
        check_range(0, words, self.pool.buffers.words);
        let Some(slot) = self.free.pop() else { return false };
        self.lengths[slot] = words;
        match self.window {
            Some(window) if from != self.rank => {
                // SAFETY: the slot was free, so its buffer is MPI's until the request completes; the range was checked.
                unsafe {
                    let (at, word) = (self.pool.buffers.at(slot).cast(), ffi::RSMPI_UINT64_T);
                    let (count, from, offset) = (words as c_int, from as c_int, offset as ffi::MPI_Aint);
                    let request = &mut self.pool.requests[slot];
                    ffi::MPI_Rget(at, count, word, from, offset, count, word, window, request);
                }
                self.under_way += 1;
            }
            _ => {
                assert_eq!(from, self.rank, "there is no such rank");
                // SAFETY: a free slot has no active request.
                unsafe { self.pool.buffers.write(slot, &self.memory[offset..][..words]) };
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
        // SAFETY: its get is complete: MPI has given the request back, or there was none.
        let result = read(unsafe { self.pool.buffers.read(slot, self.lengths[slot]) });
        self.free.push(slot);
        Some(result)
    }
}

/// Memory that is borrowed, but which MPI reads or writes meanwhile: no reference to it may stand.
struct LentMemory<'m, T> {
    start: *mut T,
    length: usize,
    borrowed: PhantomData<&'m mut [T]>,
}

impl<'m, T> LentMemory<'m, T> {
    fn new(memory: &'m mut [T]) -> Self {
        Self { start: memory.as_mut_ptr(), length: memory.len(), borrowed: PhantomData }
    }

    /// The first of `items` items at `at`, all of which exist.
    fn at(&self, at: usize, items: usize) -> *mut T {
        check_range(at, items, self.length);
        self.start.wrapping_add(at)
    }

    /// # Safety
    /// MPI is not touching the memory.
    unsafe fn all(&mut self) -> &mut [T] {
        // SAFETY: it was a slice, borrowed exclusively, and the caller knows that MPI does not touch it.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// Values that may be on their way before they must be waited for.
const STAGED: usize = 4096;

/// Every rank's memory, and copies of the values that are on their way there.
pub struct MpiRmaWindow<'m, T> {
    comm: &'m MpiComm,
    origin: LentMemory<'m, T>,
    memory: LentMemory<'m, T>,
    /// Items of each rank's memory.
    lengths: Vec<u64>,
    /// Open for as long as this.
    window: Option<ffi::MPI_Win>,
    /// Puts from the origin.
    under_way: bool,
    staged: Buffers,
    used: usize,
}

impl<T: Item> MpiRmaWindow<'_, T> {
    fn kind() -> ffi::MPI_Datatype {
        // SAFETY: constants of the library.
        unsafe { if size_of::<T>() == 4 { ffi::RSMPI_UINT32_T } else { ffi::RSMPI_UINT64_T } }
    }

    /// A place for a value that stays as it is until its message has left.
    fn stage(&mut self, window: ffi::MPI_Win, value: T) -> *mut T {
        if self.used == STAGED {
            // SAFETY: `Lock::all` has locked the window, which is open as long as `self`.
            unsafe { ffi::MPI_Win_flush_local_all(window) };
            self.used = 0;
        }
        self.used += 1;
        let place: *mut T = self.staged.at(self.used - 1).cast();
        // SAFETY: `at` has checked the slot, which is a word; since the last flush no put has used it.
        unsafe { place.write(value) };
        place
    }

    fn sync(&self) {
        if let Some(window) = self.window {
            // SAFETY: `Lock::all` has locked the window, which is open as long as `self`.
            unsafe { ffi::MPI_Win_sync(window) };
        }
    }
}

impl<T: Item> RmaWindow<T> for MpiRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.flush();
        // SAFETY: MPI touches the origin only during puts, which `flush` has completed.
        unsafe { self.origin.all() }
    }

    unsafe fn put(&mut self, at: usize, items: usize, to: usize, place: usize) {
        assert_ne!(to, self.comm.rank, "puts go to other ranks");
        let source = self.origin.at(at, items).cast();
        check_range(place, items, self.lengths[to] as usize);
        let Some(window) = self.window else { unreachable!("there is no other rank") };
        let (count, kind) = (items as c_int, Self::kind());
        // SAFETY: both ranges were checked. `RmaWindow::put` requires that nobody else touches the target; `origin` completes the
        // put before it is changed.
        unsafe { ffi::MPI_Put(source, count, kind, to as c_int, place as ffi::MPI_Aint, count, kind, window) };
        self.under_way = true;
    }

    fn put_value(&mut self, to: usize, place: usize, value: T) {
        check_range(place, 1, self.lengths[to] as usize);
        let Some(window) = self.window else {
            // SAFETY: without a window MPI does not touch the memory.
            unsafe { self.memory.all()[place] = value };
            return;
        };
        let (at, kind) = (self.stage(window, value).cast(), Self::kind());
        // SAFETY: the target was checked; `stage` leaves the value as it is until it is flushed.
        unsafe { ffi::MPI_Put(at, 1, kind, to as c_int, place as ffi::MPI_Aint, 1, kind, window) };
    }

    fn xor(&mut self, to: usize, place: usize, value: T) {
        check_range(place, 1, self.lengths[to] as usize);
        let Some(window) = self.window else {
            // SAFETY: without a window MPI does not touch the memory.
            let own = unsafe { &mut self.memory.all()[place] };
            *own = *own ^ value;
            return;
        };
        let (at, kind) = (self.stage(window, value).cast(), Self::kind());
        // SAFETY: the target was checked; `stage` leaves the value as it is until it is flushed; accumulates are atomic.
        unsafe {
            let (to, place, xor) = (to as c_int, place as ffi::MPI_Aint, ffi::RSMPI_BXOR);
            ffi::MPI_Accumulate(at, 1, kind, to, place, 1, kind, xor, window);
        }
    }

    fn flush(&mut self) {
        if let (true, Some(window)) = (self.under_way, self.window) {
            // SAFETY: `Lock::all` has locked the window, which is open as long as `self`.
            unsafe { ffi::MPI_Win_flush_all(window) };
        }
        self.under_way = false;
    }

    /// Lets MPI make progress: some puts need the target's help.
    unsafe fn peek(&mut self, place: usize) -> T {
        if self.window.is_some() {
            let mut arrived = 0;
            // SAFETY: the probe takes no message; it writes a number, and no status.
            unsafe {
                let (any, world) = (ffi::RSMPI_ANY_SOURCE, self.comm.world.as_raw());
                ffi::MPI_Iprobe(any, 0, world, &mut arrived, ffi::RSMPI_STATUS_IGNORE);
            }
            self.sync();
        }
        // SAFETY: `at` has checked the item, which is loaded atomically: MPI may write it meanwhile.
        unsafe { T::load(self.memory.at(place, 1), Ordering::Acquire) }
    }

    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        if let Some(window) = self.window {
            // SAFETY: `Lock::all` has locked the window, which is open as long as `self`.
            unsafe { ffi::MPI_Win_flush_all(window) };
        }
        (self.under_way, self.used) = (false, 0);
        self.comm.barrier();
        // What others wrote becomes visible to loads, and then what this rank stored to others.
        self.sync();
        // SAFETY: the barrier has seen all ranks complete what they wrote, and none writes before the next one.
        let result = work(unsafe { self.memory.all() });
        self.sync();
        self.comm.barrier();
        result
    }
}

impl<T> Drop for MpiRmaWindow<'_, T> {
    /// What is staged stays until its messages have left.
    fn drop(&mut self) {
        if let (false, Some(window)) = (panicking(), self.window) {
            // SAFETY: `Lock::all` has locked the window, which is open as long as `self`.
            unsafe { ffi::MPI_Win_flush_local_all(window) };
        }
    }
}
