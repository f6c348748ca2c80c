//! Mailboxes of threads: a single-producer ring for each pair of ranks.
//!
//! A message is copied once, into a slot that its sender owns; a descriptor of the slot travels through the ring, and the
//! receiver reads the slot in place and gives it back. Messages of up to six words travel in the ring itself and need no
//! send handle, as eager messages of MPI hardly do.

use super::Shared;
use crate::measure::comm::{Inbox, Outbox};
use rtrb::{Consumer, Producer};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A message on its way: short ones travel in the ring itself, of long ones the slot of their sender.
#[repr(align(64))]
pub(super) struct Parcel {
    words: usize,
    /// Null if the message is short.
    slot: *const Slot,
    short: [u64; SHORT],
}

/// Words that travel in the ring: with length and slot they fill a cache line.
const SHORT: usize = 6;

// SAFETY: a slot stays where it is until the receiver has given it back (see Drop of ThreadOutbox), and the ring
// that carries the parcel orders the sender's writes before the receiver's reads.
unsafe impl Send for Parcel {}

#[repr(align(128))]
struct Slot {
    busy: AtomicBool,
    words: Box<[UnsafeCell<u64>]>,
}

// SAFETY: `busy` says whose turn it is: clear, the sender writes; set, the receiver reads.
unsafe impl Sync for Slot {}

/// Receives need no buffers of their own here: a message waits in its sender's slot.
pub struct ThreadInbox {
    pub(super) from: Vec<(usize, Consumer<Parcel>)>,
    next: usize,
}

impl ThreadInbox {
    pub(super) fn new(from: Vec<(usize, Consumer<Parcel>)>) -> Self {
        Self { from, next: 0 }
    }
}

impl Inbox for ThreadInbox {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        for _ in 0..self.from.len() {
            let at = self.next;
            self.next = if at + 1 == self.from.len() { 0 } else { at + 1 };
            let (from, ring) = &mut self.from[at];
            let Ok(parcel) = ring.pop() else { continue };
            if parcel.slot.is_null() {
                return Some(read(*from, &parcel.short[..parcel.words]));
            }
            // SAFETY: `busy` is set, so the slot is this rank's to read until it clears it; UnsafeCell<u64> has the
            // layout of u64, and the parcel's words lie within the slot.
            unsafe {
                let slot = &*parcel.slot;
                let result = read(*from, std::slice::from_raw_parts(slot.words.as_ptr().cast(), parcel.words));
                slot.busy.store(false, Ordering::Release);
                return Some(result);
            }
        }
        None
    }
}

pub struct ThreadOutbox {
    slots: Box<[Slot]>,
    /// Words that a slot has room for.
    longest: usize,
    next: usize,
    to: Vec<Producer<Parcel>>,
    shared: Arc<Shared>,
}

impl ThreadOutbox {
    pub(super) fn new(to: Vec<Producer<Parcel>>, sends: usize, longest: usize, shared: Arc<Shared>) -> Self {
        let words = || (0..longest).map(|_| UnsafeCell::new(0)).collect();
        let slots = (0..sends).map(|_| Slot { busy: AtomicBool::new(false), words: words() }).collect();
        Self { slots, longest, next: 0, to, shared }
    }
}

impl Outbox for ThreadOutbox {
    #[inline]
    fn ready(&mut self) -> bool {
        for _ in 0..self.slots.len() {
            if !self.slots[self.next].busy.load(Ordering::Acquire) {
                return true;
            }
            self.next = if self.next + 1 == self.slots.len() { 0 } else { self.next + 1 };
        }
        false
    }

    #[inline]
    fn send(&mut self, to: usize, words: &[u64]) -> bool {
        assert!(words.len() <= self.longest, "a message longer than its mailbox was made for");
        if words.len() <= SHORT {
            let mut short = [0; SHORT];
            short[..words.len()].copy_from_slice(words);
            return self.to[to].push(Parcel { words: words.len(), slot: std::ptr::null(), short }).is_ok();
        }
        if !self.ready() || self.to[to].is_full() {
            return false;
        }
        let slot = &self.slots[self.next];
        slot.busy.store(true, Ordering::Relaxed);
        // SAFETY: the slot was free, so no receiver reads it; it has room for the longest message; the ring publishes the writes.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), slot.words.as_ptr() as *mut u64, words.len()) };
        self.to[to].push(Parcel { words: words.len(), slot, short: [0; SHORT] }).is_ok()
    }
}

impl Drop for ThreadOutbox {
    fn drop(&mut self) {
        let sent = |slot: &Slot| !slot.busy.load(Ordering::Acquire);
        while !self.slots.iter().all(sent) {
            if self.shared.poisoned.load(Ordering::Acquire) || std::thread::panicking() {
                // Someone may still read the slots: leave them.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            std::thread::yield_now();
        }
    }
}
