//! Windows that let ranks access each other's memory. A window exists only while a closure runs, like scoped threads. The borrow of
//! `memory` ends only after all ranks have left the window, whether they return, forget the window or panic.

use super::Collectives;
use std::ops::BitXor;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Access without the help of the other ranks. A rank can be in one window at a time.
pub trait Rma: Collectives {
    type GetWindow<'m>: GetWindow;
    type RmaWindow<'m, T: Item>: RmaWindow<T>;

    /// Opens `memory` to gets by all ranks while `work` runs, with up to `slots` outstanding gets of at most `words` words. Returns
    /// when the `work` of all ranks has returned. Collective.
    fn get_window<R>(
        &self,
        memory: &[u64],
        slots: usize,
        words: usize,
        work: impl FnOnce(Self::GetWindow<'_>) -> R,
    ) -> R;

    /// Opens `memory` to puts and xors by all ranks while `work` runs; this rank's puts come from `origin`. Returns when the `work`
    /// of all ranks has returned. Collective.
    fn rma_window<T: Item, R>(
        &self,
        origin: &mut [T],
        memory: &mut [T],
        work: impl FnOnce(Self::RmaWindow<'_, T>) -> R,
    ) -> R;
}

pub trait GetWindow {
    /// Starts fetching `words` words at `offset` of rank `owner`'s memory. Returns `false` without effect if all slots are busy.
    fn get(&mut self, owner: usize, offset: usize, words: usize) -> bool;
    /// Passes a fetched block to `read`; blocks complete in any order.
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R>;
    /// For a caller with other work. If this call itself would complete the get, as with threads, the get stays outstanding until
    /// all slots are busy.
    fn take_arrived<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        self.take(read)
    }
}

/// Lengths and offsets count items.
pub trait RmaWindow<T> {
    fn origin(&mut self) -> &mut [T];
    /// Starts writing `items` items at `offset` of the origin to `target_offset` of another rank's memory. The last item is written
    /// last.
    ///
    /// # Safety
    /// Until the next [`RmaWindow::fence`] no other rank accesses the items at `target_offset`. As an exception, their owner may
    /// [`RmaWindow::peek`] at the last one.
    unsafe fn put(&mut self, offset: usize, items: usize, target: usize, target_offset: usize);
    /// Writes an item of any rank's memory atomically. The write is complete at the next [`RmaWindow::fence`].
    fn put_value(&mut self, target: usize, target_offset: usize, value: T);
    /// Xors an item of any rank's memory atomically. The operation is complete at the next [`RmaWindow::fence`].
    fn xor(&mut self, target: usize, target_offset: usize, value: T);
    /// Returns when this rank's puts have arrived: the paper's `wait_for_response`.
    fn flush(&mut self);
    /// The current value of an item of this rank's memory. If a put has written its last item here, all of that put has arrived.
    ///
    /// # Safety
    /// Since the last [`RmaWindow::fence`] no rank has put to this item, except as the last item of a put.
    unsafe fn peek(&mut self, offset: usize) -> T;
    /// Completes the writes of all ranks, passes this rank's memory to `work`, and returns when all ranks have finished theirs.
    /// Collective.
    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R;
}

/// Memory that can be written remotely has integers of 4 or 8 bytes.
pub trait Item: Copy + BitXor<Output = Self> + From<u32> + Send + Sync + 'static + private::Sealed {
    /// # Safety
    /// While the call runs, an aligned item exists at `pointer`, and other threads access it only atomically.
    unsafe fn load(pointer: *mut Self, order: Ordering) -> Self;
    /// # Safety
    /// As for [`Item::load`].
    unsafe fn store(pointer: *mut Self, value: Self, order: Ordering);
    /// # Safety
    /// As for [`Item::load`].
    unsafe fn fetch_xor(pointer: *mut Self, value: Self, order: Ordering) -> Self;
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
                // SAFETY: `Item::load` requires an item that other threads access only atomically.
                unsafe { <$atomic>::from_ptr(place) }.load(order)
            }

            #[inline(always)]
            unsafe fn store(place: *mut Self, value: Self, order: Ordering) {
                // SAFETY: `Item::store` requires an item that other threads access only atomically.
                unsafe { <$atomic>::from_ptr(place) }.store(value, order);
            }

            #[inline(always)]
            unsafe fn fetch_xor(place: *mut Self, value: Self, order: Ordering) -> Self {
                // SAFETY: `Item::fetch_xor` requires an item that other threads access only atomically.
                unsafe { <$atomic>::from_ptr(place) }.fetch_xor(value, order)
            }
        }
    )*};
}

items!(u32: AtomicU32, u64: AtomicU64);
