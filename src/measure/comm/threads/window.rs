//! Windows of threads: remote memory is accessed by loads and stores.

use super::ThreadComm;
use crate::comm::sync::Barrier;
use crate::comm::{Comm, GetWindow, Item, Rma, RmaWindow, check_range};
use crate::prefetch;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::panicking;

/// The memory that a rank has opened to the others.
#[derive(Clone, Copy)]
struct Memory<T> {
    start: *mut T,
    length: usize,
}

// SAFETY: it is a pointer. Its owner lends the memory until all ranks have left the window (see `ExposureGuard`), and each access
// through it is justified where it happens.
unsafe impl<T: Item> Send for Memory<T> {}
// SAFETY: a shared reference gives the same pointer.
unsafe impl<T: Item> Sync for Memory<T> {}

impl<T> Memory<T> {
    /// Returns a pointer to the item at `offset`, after checking that `items` items exist from there on.
    #[inline]
    fn at(&self, place: usize, items: usize) -> *mut T {
        check_range(place, items, self.length);
        self.start.wrapping_add(place)
    }
}

/// The data that ranks exchange when they open a window.
#[derive(Clone)]
struct Opening<T> {
    memory: Memory<T>,
    writable: bool,
    /// All ranks use rank 0's. Only the fences and the end of this window use it.
    barrier: Arc<Barrier>,
}

/// Marks that this rank's memory is lent to the others. Dropping it waits until they can no longer access the memory: they have
/// finished their work, or have noticed a failure and given up.
struct Exposed<'m>(&'m ThreadComm);

impl<'m> Exposed<'m> {
    fn enter(comm: &'m ThreadComm) -> Self {
        assert!(!comm.exposed.get(), "a window is open: windows do not nest");
        comm.shared.exposure.enter();
        comm.exposed.set(true);
        Self(comm)
    }
}

impl Drop for Exposed<'_> {
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
        memory: Memory<T>,
        writable: bool,
        work: impl FnOnce(Vec<Memory<T>>, &Arc<Barrier>) -> R,
    ) -> R {
        let _exposed = Exposed::enter(self);
        let barrier = Arc::new(Barrier::new(self.size()));
        let opened = self.swap(Opening { memory, writable, barrier });
        assert!(opened.iter().all(|other| other.writable == writable), "all ranks open the same window");
        let barrier = opened[0].barrier.clone();
        let result = work(opened.into_iter().map(|other| other.memory).collect(), &barrier);
        self.wait(&barrier);
        result
    }
}

impl Rma for ThreadComm {
    type GetWindow<'m> = ThreadGetWindow<'m>;
    type RmaWindow<'m, T: Item> = ThreadRmaWindow<'m, T>;

    fn get_window<R>(&self, memory: &[u64], slots: usize, words: usize, work: impl FnOnce(ThreadGetWindow) -> R) -> R {
        let own = Memory { start: memory.as_ptr().cast_mut(), length: memory.len() };
        self.expose(own, false, |memories, _| {
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
        let own = Memory { start: memory.as_mut_ptr(), length: memory.len() };
        self.expose(own, true, |memories, barrier| {
            work(ThreadRmaWindow { comm: self, origin, memories, barrier: barrier.clone() })
        })
    }
}

/// A get starts as a prefetch of its first lines. It completes as a copy into a local buffer, like the fetch in the paper's flow
/// chart.
pub struct ThreadGetWindow<'m> {
    memories: Vec<Memory<u64>>,
    slots: usize,
    /// Source and number of words of each outstanding get, the oldest first.
    outstanding: VecDeque<(*const u64, usize)>,
    buffer: Vec<u64>,
    lent: PhantomData<&'m [u64]>,
}

/// Maximum number of 64-byte lines that a get prefetches. The hardware prefetches the rest of longer blocks.
const PREFETCHED: usize = 8;

impl GetWindow for ThreadGetWindow<'_> {
    #[inline]
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        if self.outstanding.len() == self.slots {
            return false;
        }
        let source = self.memories[from].at(offset, words).cast_const();
        check_range(0, words, self.buffer.len());
        (0..words.div_ceil(8).min(PREFETCHED)).for_each(|line| prefetch::to_read(source.wrapping_add(line * 8)));
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
    memories: Vec<Memory<T>>,
    barrier: Arc<Barrier>,
}

impl<T: Item> RmaWindow<T> for ThreadRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.origin
    }

    #[inline]
    unsafe fn put(&mut self, at: usize, items: usize, to: usize, place: usize) {
        assert_ne!(to, self.comm.rank, "puts go to other ranks");
        check_range(at, items, self.origin.len());
        let (source, target) = (&self.origin[at..][..items], self.memories[to].at(place, items));
        let Some((last, before)) = source.split_last() else { return };
        // SAFETY: `item_pointer` has checked the target. `RmaWindow::put` requires that no other rank accesses it, except that
        // its owner may read the last item meanwhile, which is therefore stored atomically, and last. The memories of two ranks
        // do not overlap.
        unsafe {
            target.copy_from_nonoverlapping(before.as_ptr(), before.len());
            T::store(target.add(before.len()), *last, Ordering::Release);
        }
    }

    #[inline]
    fn put_value(&mut self, to: usize, place: usize, value: T) {
        // SAFETY: `item_pointer` has checked the item. Outside fences other ranks access it only atomically: puts require that no
        // other rank accesses their target.
        unsafe { T::store(self.memories[to].at(place, 1), value, Ordering::Relaxed) };
    }

    #[inline]
    fn xor(&mut self, to: usize, place: usize, value: T) {
        // SAFETY: as in `put_value`, `item_pointer` has checked the item, which other ranks access only atomically.
        unsafe { T::fetch_xor(self.memories[to].at(place, 1), value, Ordering::Relaxed) };
    }

    /// Does nothing: a put is complete when it returns.
    #[inline]
    fn flush(&mut self) {}

    #[inline]
    unsafe fn peek(&mut self, place: usize) -> T {
        // SAFETY: `item_pointer` has checked the item. `RmaWindow::peek` requires that only the last item of a put, which is
        // stored atomically, may be written here.
        unsafe { T::load(self.memories[self.comm.rank].at(place, 1), Ordering::Acquire) }
    }

    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        // A rank that fails here leaves a window without memories, through which nothing can be accessed.
        let memories = std::mem::take(&mut self.memories);
        self.comm.wait(&self.barrier);
        let own = &memories[self.comm.rank];
        // SAFETY: the memory was lent exclusively, and between the barriers no rank accesses it through the window.
        let result = work(unsafe { std::slice::from_raw_parts_mut(own.start, own.length) });
        self.comm.wait(&self.barrier);
        self.memories = memories;
        result
    }
}
