//! Remote memory: windows through which ranks reach each other's memory.
//!
//! A window is lent to a closure, as threads are scoped: what `memory` is lent by cannot be touched before all ranks have
//! left the window, whether they return, forget the window or panic.

use super::Collectives;
use std::ops::BitXor;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Memory of all ranks, accessible without their help. A rank is in one window at a time.
pub trait Rma: Collectives {
    type GetWindow<'m>: GetWindow;
    type RmaWindow<'m, T: Item>: RmaWindow<T>;

    /// Collective: opens `memory` to gets by all ranks while `work` runs, with `slots` gets of at most `words` words in
    /// flight. Returns when all ranks' `work` has.
    fn get_window<R>(
        &self,
        memory: &[u64],
        slots: usize,
        words: usize,
        work: impl FnOnce(Self::GetWindow<'_>) -> R,
    ) -> R;

    /// Collective: opens `memory` to puts and xors by all ranks while `work` runs; this rank's puts come from `origin`.
    /// Returns when all ranks' `work` has.
    fn rma_window<T: Item, R>(
        &self,
        origin: &mut [T],
        memory: &mut [T],
        work: impl FnOnce(Self::RmaWindow<'_, T>) -> R,
    ) -> R;
}

/// Memory of all ranks, to be read.
pub trait GetWindow {
    /// Starts fetching `words` words at `offset` of rank `from`'s memory; `false`, and nothing started, if all slots are busy.
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool;
    /// Lends a fetched block to `read`, in any order; `None` if none has come.
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R>;
    /// As [`GetWindow::take`], for a caller that has other work: where the caller itself completes a get, it stays outstanding
    /// until all slots are busy.
    fn take_arrived<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        self.take(read)
    }
}

/// Memory of all ranks, to be written. Lengths and places count items.
pub trait RmaWindow<T> {
    /// What is put. Completes first what is on its way.
    fn origin(&mut self) -> &mut [T];
    /// Starts writing `items` items at `at` of the origin to `place` of another rank's memory; the last item is written
    /// last.
    ///
    /// # Safety
    /// Until the next [`RmaWindow::fence`] nobody else touches the items at `place`, except that their owner may
    /// [`RmaWindow::peek`] at the last one.
    unsafe fn put(&mut self, at: usize, items: usize, to: usize, place: usize);
    /// Atomically writes an item of any rank's memory; complete at the next [`RmaWindow::fence`].
    fn put_value(&mut self, to: usize, place: usize, value: T);
    /// Atomically xors an item of any rank's memory; complete at the next [`RmaWindow::fence`].
    fn xor(&mut self, to: usize, place: usize, value: T);
    /// Returns when this rank's puts are where they go: the paper's `wait_for_response`.
    fn flush(&mut self);
    /// An item of this rank's memory as it stands now. If it is the last of a put, all of that put stands there.
    ///
    /// # Safety
    /// Since the last [`RmaWindow::fence`] nobody has put to it, except as the last item of a put.
    unsafe fn peek(&mut self, place: usize) -> T;
    /// Collective: completes what all ranks have written, lends this rank's memory to `work`, and returns when all ranks
    /// are done with theirs.
    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R;
}

/// What memory that can be written remotely is made of: whole numbers of 4 or 8 bytes.
pub trait Item: Copy + BitXor<Output = Self> + From<u32> + Send + Sync + 'static + private::Sealed {
    /// # Safety
    /// An item lies at `place`, aligned, as long as this runs, and others touch it atomically only.
    unsafe fn load(place: *mut Self, order: Ordering) -> Self;
    /// # Safety
    /// As of [`Item::load`].
    unsafe fn store(place: *mut Self, value: Self, order: Ordering);
    /// # Safety
    /// As of [`Item::load`].
    unsafe fn fetch_xor(place: *mut Self, value: Self, order: Ordering) -> Self;
}

mod private {
    pub trait Sealed {}
}

macro_rules! items {
    ($($item:ty: $atomic:ty),*) => {$(
        impl private::Sealed for $item {}

        impl Item for $item {
            #[inline(always)]
            unsafe fn load(place: *mut Self, order: Ordering) -> Self {
                // SAFETY: `Item::load` requires an item that others touch atomically only.
                unsafe { <$atomic>::from_ptr(place) }.load(order)
            }

            #[inline(always)]
            unsafe fn store(place: *mut Self, value: Self, order: Ordering) {
                // SAFETY: `Item::store` requires an item that others touch atomically only.
                unsafe { <$atomic>::from_ptr(place) }.store(value, order);
            }

            #[inline(always)]
            unsafe fn fetch_xor(place: *mut Self, value: Self, order: Ordering) -> Self {
                // SAFETY: `Item::fetch_xor` requires an item that others touch atomically only.
                unsafe { <$atomic>::from_ptr(place) }.fetch_xor(value, order)
            }
        }
    )*};
}

items!(u32: AtomicU32, u64: AtomicU64);
