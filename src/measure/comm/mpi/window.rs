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

    /// If the ranks open different numbers of words, the shortest memory limits all gets.
    fn get_window<R>(&self, memory: &[u64], slots: usize, words: usize, work: impl FnOnce(MpiGetWindow) -> R) -> R {
        // The type is explicit because rsmpi does not check that both buffers have the same type.
        let mut shared = 0_u64;
        self.world.all_reduce_into(&(memory.len() as u64), &mut shared, SystemOperation::min());
        // MPI only reads through this window.
        let window = Lock::acquire(self, memory.as_ptr().cast_mut(), memory.len());
        work(MpiGetWindow {
            memory,
            readable_words: shared as usize,
            rank: self.rank,
            pool: Pool::new(slots, words),
            outstanding: 0,
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
        let window = Lock::acquire(self, memory.start, memory.length);
        work(MpiRmaWindow {
            comm: self,
            origin,
            memory,
            lengths,
            window: window.as_ref().map(|lock| lock.0),
            has_outstanding_puts: false,
            staged: Buffers::new(MAX_STAGED, 1),
            staged_count: 0,
        })
    }
}

/// All ranks have locked the window. Dropping it completes all operations and is collective.
struct Lock(ffi::MPI_Win);

impl Lock {
    /// `None` for a single rank, because Open MPI 4.1 cannot create a window then.
    fn acquire<T>(comm: &MpiComm, start: *mut T, length: usize) -> Option<Self> {
        if comm.size == 1 {
            return None;
        }
        let mut window = MaybeUninit::uninit();
        let (bytes, unit) = ((length * size_of::<T>()) as ffi::MPI_Aint, size_of::<T>() as c_int);
        // SAFETY: the callers borrow the memory for longer than the window is open, exclusively if MPI writes to it.
        unsafe {
            let world = comm.world.as_raw();
            // With the default handler, an error would end all ranks before any of them could print advice.
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN);
            let code = ffi::MPI_Win_create(start.cast(), bytes, unit, ffi::RSMPI_INFO_NULL, world, window.as_mut_ptr());
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_ARE_FATAL);
            assert!(code == ffi::MPI_SUCCESS as c_int, "{}", window_error(code));
            let window = window.assume_init();
            // No rank locks exclusively, so MPI need not check for conflicting locks.
            ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, window);
            Some(Self(window))
        }
    }
}

pub(super) fn error_text(code: c_int) -> String {
    let mut text = [0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: the text has the maximum length that MPI writes.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    String::from_utf8_lossy(&text[..length.max(0) as usize]).into_owned()
}

fn window_error(code: c_int) -> String {
    let library = mpi::environment::library_version().unwrap_or_default();
    // Over TCP, Open MPI's default component needs features that only networks with remote memory access have.
    let help = if library.starts_with("Open MPI v5") {
        "this Open MPI has no component for one-sided operations on this network"
    } else if library.starts_with("Open MPI") {
        "set OMPI_MCA_osc=pt2pt in the environment: that component of Open MPI needs messages only"
    } else {
        "check which one-sided communication this MPI supports here"
    };
    format!("MPI_Win_create: {}; {help}", error_text(code))
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: `acquire` has created and locked the window, and nothing uses it afterwards.
            unsafe {
                ffi::MPI_Win_unlock_all(self.0);
                ffi::MPI_Win_free(&mut self.0);
            }
        }
    }
}

/// A rank reads its own memory without MPI.
pub struct MpiGetWindow<'m> {
    memory: &'m [u64],
    /// Every rank has opened these: the length of the shortest memory.
    readable_words: usize,
    rank: usize,
    /// Dropping the pool waits for outstanding gets.
    pool: Pool,
    outstanding: usize,
    /// Requested words, by slot.
    lengths: Vec<usize>,
    free: Vec<usize>,
    arrived: VecDeque<usize>,
    /// Open for longer than this value lives.
    window: Option<ffi::MPI_Win>,
}

impl GetWindow for MpiGetWindow<'_> {
    fn get(&mut self, owner: usize, offset: usize, words: usize) -> bool {
        check_range(offset, words, self.readable_words);
        check_range(0, words, self.pool.buffers.words);
        let Some(slot) = self.free.pop() else { return false };
        self.lengths[slot] = words;
        match self.window {
            Some(window) if owner != self.rank => {
                // SAFETY: the slot was free, so MPI owns its buffer until the request completes; the ranges were checked.
                unsafe {
                    let (buffer, word) = (self.pool.buffers.slot_pointer(slot).cast(), ffi::RSMPI_UINT64_T);
                    let (count, owner, offset) = (words as c_int, owner as c_int, offset as ffi::MPI_Aint);
                    let request = &mut self.pool.requests[slot];
                    ffi::MPI_Rget(buffer, count, word, owner, offset, count, word, window, request);
                }
                self.outstanding += 1;
            }
            _ => {
                assert_eq!(owner, self.rank, "there is no such rank");
                // SAFETY: a free slot has no active request.
                unsafe { self.pool.buffers.write(slot, &self.memory[offset..][..words]) };
                self.arrived.push_back(slot);
            }
        }
        true
    }

    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        if self.arrived.is_empty() && self.outstanding > 0 {
            self.arrived.extend(self.pool.completed_slots());
            self.outstanding -= self.arrived.len();
        }
        let slot = self.arrived.pop_front()?;
        // SAFETY: the get is complete: MPI has returned the request, or there was none.
        let result = read(unsafe { self.pool.buffers.read(slot, self.lengths[slot]) });
        self.free.push(slot);
        Some(result)
    }
}

/// MPI reads or writes the memory meanwhile: no reference to it may exist during that time.
struct LentMemory<'m, T> {
    start: *mut T,
    length: usize,
    borrowed: PhantomData<&'m mut [T]>,
}

impl<'m, T> LentMemory<'m, T> {
    fn new(memory: &'m mut [T]) -> Self {
        Self { start: memory.as_mut_ptr(), length: memory.len(), borrowed: PhantomData }
    }

    fn item_pointer(&self, offset: usize, items: usize) -> *mut T {
        check_range(offset, items, self.length);
        self.start.wrapping_add(offset)
    }

    /// # Safety
    /// MPI does not access the memory while the slice lives.
    unsafe fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the memory was an exclusively borrowed slice, and by the caller's promise MPI does not access it.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// Staged values before they must be flushed.
const MAX_STAGED: usize = 4096;

/// The window to every rank's memory, with copies of the outstanding values.
pub struct MpiRmaWindow<'m, T> {
    comm: &'m MpiComm,
    origin: LentMemory<'m, T>,
    memory: LentMemory<'m, T>,
    /// In items, by rank.
    lengths: Vec<u64>,
    /// Open for longer than this value lives.
    window: Option<ffi::MPI_Win>,
    has_outstanding_puts: bool,
    staged: Buffers,
    staged_count: usize,
}

impl<T: Item> MpiRmaWindow<'_, T> {
    fn datatype() -> ffi::MPI_Datatype {
        // SAFETY: constants of the library.
        unsafe { if size_of::<T>() == 4 { ffi::RSMPI_UINT32_T } else { ffi::RSMPI_UINT64_T } }
    }

    /// Copies a value to a place where it stays unchanged until its message has left.
    fn stage(&mut self, window: ffi::MPI_Win, value: T) -> *mut T {
        if self.staged_count == MAX_STAGED {
            // SAFETY: `Lock::acquire` has locked the window, which is open for longer than `self` lives.
            unsafe { ffi::MPI_Win_flush_local_all(window) };
            self.staged_count = 0;
        }
        self.staged_count += 1;
        let pointer: *mut T = self.staged.slot_pointer(self.staged_count - 1).cast();
        // SAFETY: `slot_pointer` has checked the slot, which is one word; no put has used it since the last flush.
        unsafe { pointer.write(value) };
        pointer
    }

    fn sync(&self) {
        if let Some(window) = self.window {
            // SAFETY: `Lock::acquire` has locked the window, which is open for longer than `self` lives.
            unsafe { ffi::MPI_Win_sync(window) };
        }
    }
}

impl<T: Item> RmaWindow<T> for MpiRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.flush();
        // SAFETY: MPI accesses the origin only during puts, which `flush` has completed.
        unsafe { self.origin.as_mut_slice() }
    }

    unsafe fn put(&mut self, offset: usize, items: usize, target: usize, target_offset: usize) {
        assert_ne!(target, self.comm.rank, "puts go to other ranks");
        let source = self.origin.item_pointer(offset, items).cast();
        check_range(target_offset, items, self.lengths[target] as usize);
        let Some(window) = self.window else { unreachable!("there is no other rank") };
        let (count, datatype) = (items as c_int, Self::datatype());
        // SAFETY: both ranges were checked. `RmaWindow::put` requires that no other rank accesses the target; `origin` completes
        // the put before the source is changed.
        unsafe {
            ffi::MPI_Put(
                source,
                count,
                datatype,
                target as c_int,
                target_offset as ffi::MPI_Aint,
                count,
                datatype,
                window,
            )
        };
        self.has_outstanding_puts = true;
    }

    fn put_value(&mut self, target: usize, target_offset: usize, value: T) {
        check_range(target_offset, 1, self.lengths[target] as usize);
        let Some(window) = self.window else {
            // SAFETY: without a window MPI does not access the memory.
            unsafe { self.memory.as_mut_slice()[target_offset] = value };
            return;
        };
        let (staged, datatype) = (self.stage(window, value).cast(), Self::datatype());
        // SAFETY: the target was checked; `stage` keeps the value unchanged until the flush.
        unsafe {
            ffi::MPI_Put(staged, 1, datatype, target as c_int, target_offset as ffi::MPI_Aint, 1, datatype, window)
        };
    }

    fn xor(&mut self, target: usize, target_offset: usize, value: T) {
        check_range(target_offset, 1, self.lengths[target] as usize);
        let Some(window) = self.window else {
            // SAFETY: without a window MPI does not access the memory.
            let item = unsafe { &mut self.memory.as_mut_slice()[target_offset] };
            *item = *item ^ value;
            return;
        };
        let (staged, datatype) = (self.stage(window, value).cast(), Self::datatype());
        // SAFETY: the target was checked; `stage` keeps the value unchanged until the flush; accumulates are atomic.
        unsafe {
            let (target, target_offset, xor) = (target as c_int, target_offset as ffi::MPI_Aint, ffi::RSMPI_BXOR);
            ffi::MPI_Accumulate(staged, 1, datatype, target, target_offset, 1, datatype, xor, window);
        }
    }

    fn flush(&mut self) {
        if let (true, Some(window)) = (self.has_outstanding_puts, self.window) {
            // SAFETY: `Lock::acquire` has locked the window, which is open for longer than `self` lives.
            unsafe { ffi::MPI_Win_flush_all(window) };
        }
        self.has_outstanding_puts = false;
    }

    /// Also probes for messages, which lets MPI make progress: some puts need the target's help.
    unsafe fn peek(&mut self, offset: usize) -> T {
        if self.window.is_some() {
            let mut arrived = 0;
            // SAFETY: the probe receives no message; it writes one number and no status.
            unsafe {
                let (any, world) = (ffi::RSMPI_ANY_SOURCE, self.comm.world.as_raw());
                ffi::MPI_Iprobe(any, 0, world, &mut arrived, ffi::RSMPI_STATUS_IGNORE);
            }
            self.sync();
        }
        // SAFETY: `item_pointer` has checked the item, which is loaded atomically because MPI may write to it meanwhile.
        unsafe { T::load(self.memory.item_pointer(offset, 1), Ordering::Acquire) }
    }

    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        if let Some(window) = self.window {
            // SAFETY: `Lock::acquire` has locked the window, which is open for longer than `self` lives.
            unsafe { ffi::MPI_Win_flush_all(window) };
        }
        (self.has_outstanding_puts, self.staged_count) = (false, 0);
        self.comm.barrier();
        // Makes the writes of other ranks visible to loads. The second `sync` makes this rank's stores visible to others.
        self.sync();
        // SAFETY: after the barrier all writes are complete, and no rank writes before the next barrier.
        let result = work(unsafe { self.memory.as_mut_slice() });
        self.sync();
        self.comm.barrier();
        result
    }
}

impl<T> Drop for MpiRmaWindow<'_, T> {
    fn drop(&mut self) {
        if let (false, Some(window)) = (panicking(), self.window) {
            // SAFETY: `Lock::acquire` has locked the window, which is open for longer than `self` lives.
            unsafe { ffi::MPI_Win_flush_local_all(window) };
        }
    }
}
