//! Remote memory is accessed by loads and stores.

use super::ThreadComm;
use crate::comm::sync::Barrier;
use crate::comm::{Comm, GetWindow, Item, Rma, RmaWindow, check_range};
use crate::prefetch;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::panicking;

#[derive(Clone, Copy)]
struct LentMemory<T> {
    start: *mut T,
    length: usize,
}

// SAFETY: it is a pointer. Its owner lends the memory until all ranks have left the window (see `ExposureGuard`), and each access
// through it is justified where it happens.
unsafe impl<T: Item> Send for LentMemory<T> {}
// SAFETY: a shared reference gives the same pointer.
unsafe impl<T: Item> Sync for LentMemory<T> {}

impl<T> LentMemory<T> {
    /// Checks that `items` items exist from `offset` on.
    #[inline]
    fn item_pointer(&self, offset: usize, items: usize) -> *mut T {
        check_range(offset, items, self.length);
        self.start.wrapping_add(offset)
    }
}

/// Exchanged when ranks open a window.
#[derive(Clone)]
struct WindowOpening<T> {
    memory: LentMemory<T>,
    writable: bool,
    /// All ranks use rank 0's. Only the fences and the end of this window use it.
    barrier: Arc<Barrier>,
}

/// This rank's memory is lent to the others. Dropping it waits until they can no longer access the memory: they have finished their
/// work, or have noticed a failure and given up.
struct ExposureGuard<'m>(&'m ThreadComm);

impl<'m> ExposureGuard<'m> {
    fn enter(comm: &'m ThreadComm) -> Self {
        assert!(!comm.exposed.get(), "a window is open: windows do not nest");
        comm.shared.exposure.enter();
        comm.exposed.set(true);
        Self(comm)
    }
}

impl Drop for ExposureGuard<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        self.0.exposed.set(false);
        if !panicking() {
            return shared.exposure.leave();
        }
        shared.failure.declare();
        shared.exposure.leave();
        while !shared.exposure.is_over() {
            std::thread::yield_now();
        }
    }
}

impl ThreadComm {
    /// Lends `memory` to the other ranks while `work` runs on the memory of all ranks. Collective.
    fn expose<T: Item, R>(
        &self,
        memory: LentMemory<T>,
        writable: bool,
        work: impl FnOnce(Vec<LentMemory<T>>, &Arc<Barrier>) -> R,
    ) -> R {
        let _exposed = ExposureGuard::enter(self);
        let barrier = Arc::new(Barrier::new(self.size()));
        let openings = self.all_gather_value(WindowOpening { memory, writable, barrier });
        assert!(openings.iter().all(|other| other.writable == writable), "all ranks open the same window");
        let barrier = openings[0].barrier.clone();
        let result = work(openings.into_iter().map(|other| other.memory).collect(), &barrier);
        self.wait(&barrier);
        result
    }
}

impl Rma for ThreadComm {
    type GetWindow<'m> = ThreadGetWindow<'m>;
    type RmaWindow<'m, T: Item> = ThreadRmaWindow<'m, T>;

    fn get_window<R>(&self, memory: &[u64], slots: usize, words: usize, work: impl FnOnce(ThreadGetWindow) -> R) -> R {
        let own_memory = LentMemory { start: memory.as_ptr().cast_mut(), length: memory.len() };
        self.expose(own_memory, false, |memories, _| {
            let (outstanding, buffer) = (VecDeque::with_capacity(slots), vec![0; words]);
            work(ThreadGetWindow { memories, slots, outstanding, buffer, lent: PhantomData })
        })
    }

    fn rma_window<T: Item, R>(
        &self,
        origin: &mut [T],
        memory: &mut [T],
        work: impl FnOnce(ThreadRmaWindow<T>) -> R,
    ) -> R {
        let own_memory = LentMemory { start: memory.as_mut_ptr(), length: memory.len() };
        self.expose(own_memory, true, |memories, barrier| {
            work(ThreadRmaWindow { comm: self, origin, memories, barrier: barrier.clone() })
        })
    }
}

/// A get starts as a prefetch of its first lines. It completes as a copy into a local buffer, like the fetch in the paper's flow
/// chart.
pub struct ThreadGetWindow<'m> {
    memories: Vec<LentMemory<u64>>,
    slots: usize,
    /// Source and number of words of each outstanding get, the oldest first.
    outstanding: VecDeque<(*const u64, usize)>,
    buffer: Vec<u64>,
    lent: PhantomData<&'m [u64]>,
}

/// The hardware prefetches the rest of longer blocks.
const MAX_PREFETCHED_LINES: usize = 8;

impl GetWindow for ThreadGetWindow<'_> {
    #[inline]
    fn get(&mut self, owner: usize, offset: usize, words: usize) -> bool {
        if self.outstanding.len() == self.slots {
            return false;
        }
        let source = self.memories[owner].item_pointer(offset, words).cast_const();
        check_range(0, words, self.buffer.len());
        (0..words.div_ceil(8).min(MAX_PREFETCHED_LINES))
            .for_each(|line| prefetch::prefetch_for_reading(source.wrapping_add(line * 8)));
        self.outstanding.push_back((source, words));
        true
    }

    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        let (source, words) = self.outstanding.pop_front()?;
        // SAFETY: `get` checked both ranges, and no rank writes the source before all ranks have left the window.
        unsafe { std::ptr::copy_nonoverlapping(source, self.buffer.as_mut_ptr(), words) };
        Some(read(&self.buffer[..words]))
    }

    #[inline]
    fn take_arrived<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        if self.outstanding.len() < self.slots { None } else { self.take(read) }
    }
}

/// Puts are copies. Single values and the last item of each put are written atomically.
pub struct ThreadRmaWindow<'m, T> {
    comm: &'m ThreadComm,
    origin: &'m mut [T],
    memories: Vec<LentMemory<T>>,
    barrier: Arc<Barrier>,
}

impl<T: Item> RmaWindow<T> for ThreadRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.origin
    }

    #[inline]
    unsafe fn put(&mut self, offset: usize, items: usize, target_rank: usize, target_offset: usize) {
        assert_ne!(target_rank, self.comm.rank, "puts go to other ranks");
        check_range(offset, items, self.origin.len());
        let (source, target) =
            (&self.origin[offset..][..items], self.memories[target_rank].item_pointer(target_offset, items));
        let Some((last, others)) = source.split_last() else { return };
        // SAFETY: `item_pointer` has checked the target. `RmaWindow::put` requires that no other rank accesses it, except that
        // its owner may read the last item meanwhile, which is therefore stored atomically, and last. The memories of two ranks
        // do not overlap.
        unsafe {
            target.copy_from_nonoverlapping(others.as_ptr(), others.len());
            T::store(target.add(others.len()), *last, Ordering::Release);
        }
    }

    #[inline]
    fn put_value(&mut self, target_rank: usize, offset: usize, value: T) {
        // SAFETY: `item_pointer` has checked the item. Outside fences other ranks access it only atomically: puts require that no
        // other rank accesses their target.
        unsafe { T::store(self.memories[target_rank].item_pointer(offset, 1), value, Ordering::Relaxed) };
    }

    #[inline]
    fn xor(&mut self, target_rank: usize, offset: usize, value: T) {
        // SAFETY: as in `put_value`, `item_pointer` has checked the item, which other ranks access only atomically.
        unsafe { T::fetch_xor(self.memories[target_rank].item_pointer(offset, 1), value, Ordering::Relaxed) };
    }

    /// A put is complete when it returns.
    #[inline]
    fn flush(&mut self) {}

    #[inline]
    unsafe fn peek(&mut self, offset: usize) -> T {
        // SAFETY: `item_pointer` has checked the item. `RmaWindow::peek` requires that only the last item of a put, which is
        // stored atomically, may be written here.
        unsafe { T::load(self.memories[self.comm.rank].item_pointer(offset, 1), Ordering::Acquire) }
    }

    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        // A rank that fails here leaves a window without memories, through which nothing can be accessed.
        let memories = std::mem::take(&mut self.memories);
        self.comm.wait(&self.barrier);
        let own_memory = &memories[self.comm.rank];
        // SAFETY: the memory was lent exclusively, and between the barriers no rank accesses it through the window.
        let result = work(unsafe { std::slice::from_raw_parts_mut(own_memory.start, own_memory.length) });
        self.comm.wait(&self.barrier);
        self.memories = memories;
        result
    }
}
