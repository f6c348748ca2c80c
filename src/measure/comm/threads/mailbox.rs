//! Mailboxes of threads: a ring for each pair of ranks.
//!
//! A message is copied once, into a slot that its sender owns; a descriptor of the slot travels through the ring, and the
//! receiver reads the slot in place and gives it back. Messages of up to six words travel in the ring itself. A send handle is
//! busy until the receiver has taken its message, short or long.

use super::rings::{Consumer, Producer, rings};
use super::{Shared, ThreadComm};
use crate::comm::sync::Slot;
use crate::comm::{Inbox, Limits, Mailboxes, MemoryOutbox, Outbox, Posting, Tag};
use std::sync::Arc;

/// A message on its way: short ones travel in the ring itself, of long ones the slot of their sender.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Parcel {
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

impl Mailboxes for ThreadComm {
    type Inbox = ThreadInbox;
    type Outbox = ThreadOutbox;
    type UnorderedInbox = ThreadInbox;
    type MemoryOutbox<'m> = ThreadMemoryOutbox<'m>;

    fn mailbox(&self, _tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, ThreadOutbox) {
        let (to, from, _) = rings(self, sends.max(receives), ());
        let from = from.into_iter().enumerate().filter(|&(from, _)| from != self.rank);
        (ThreadInbox { from: from.collect(), next: 0 }, ThreadOutbox::new(to, sends, words, self.shared.clone()))
    }

    /// There is nothing to post: a message waits in its sender's slot.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        _posted: Posting,
        sends: usize,
        words: usize,
    ) -> (Vec<ThreadInbox>, ThreadOutbox) {
        let (mut inbox, outbox) = self.mailbox(tag, 1, sends, words);
        let mut of_peer = |peer: &usize| {
            let at = inbox.from.iter().position(|(rank, _)| rank == peer).expect("a peer is another rank, named once");
            ThreadInbox { from: vec![inbox.from.swap_remove(at)], next: 0 }
        };
        (peers.iter().map(&mut of_peer).collect(), outbox)
    }

    /// Messages are complete when they are seen, so that none holds up another.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        Limits { receives, sends, words }: Limits,
        memory: &[u64],
        work: impl FnOnce(&mut ThreadInbox, &mut ThreadMemoryOutbox<'_>) -> R,
    ) -> R {
        let (mut inbox, outbox) = self.mailbox(tag, receives, sends, words);
        work(&mut inbox, &mut ThreadMemoryOutbox { memory, outbox })
    }
}

/// Receives need no buffers of their own here: a message waits in its sender's slot.
pub struct ThreadInbox {
    from: Vec<(usize, Consumer<Parcel>)>,
    next: usize,
}

/// Lends a parcel's words.
#[inline]
fn read_parcel<R>(parcel: &Parcel, read: impl FnOnce(&[u64]) -> R) -> R {
    if parcel.slot.is_null() {
        return read(&parcel.short[..parcel.words]);
    }
    // SAFETY: `send` filled the slot with the parcel's words; a parcel is read once; the slot lives until `read` gives it back.
    unsafe { (*parcel.slot).read(parcel.words, read) }
}

impl Inbox for ThreadInbox {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        for _ in 0..self.from.len() {
            let at = self.next;
            self.next = if at + 1 == self.from.len() { 0 } else { at + 1 };
            let (from, ring) = &mut self.from[at];
            let Some(parcel) = ring.pop() else { continue };
            return Some(read_parcel(&parcel, |words| read(*from, words)));
        }
        None
    }

    /// Of one sender, whose places in the ring are given back together.
    fn take_together(&mut self, most: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        for _ in 0..self.from.len() {
            let at = self.next;
            self.next = if at + 1 == self.from.len() { 0 } else { at + 1 };
            let (from, ring) = &mut self.from[at];
            let taken = ring.pop_together(most, |parcel| read_parcel(&parcel, |words| read(*from, words)));
            if taken > 0 {
                return taken;
            }
        }
        0
    }
}

pub struct ThreadOutbox {
    slots: Box<[Slot]>,
    /// Words that a slot has room for.
    longest: usize,
    next: usize,
    /// At least as many messages as have not been taken.
    in_flight: usize,
    to: Vec<Producer<Parcel>>,
    shared: Arc<Shared>,
}

impl ThreadOutbox {
    fn new(to: Vec<Producer<Parcel>>, sends: usize, longest: usize, shared: Arc<Shared>) -> Self {
        let slots = (0..sends).map(|_| Slot::new(longest)).collect();
        Self { slots, longest, next: 0, in_flight: 0, to, shared }
    }

    /// Turns to a slot that its last receiver has given back, if there is one.
    #[inline]
    fn find_slot(&mut self) -> bool {
        for _ in 0..self.slots.len() {
            if self.slots[self.next].is_free() {
                return true;
            }
            self.next = if self.next + 1 == self.slots.len() { 0 } else { self.next + 1 };
        }
        false
    }
}

impl Outbox for ThreadOutbox {
    #[inline]
    fn ready(&mut self) -> bool {
        // Counting looks at what the receivers write: it waits until all handles seem busy.
        if self.in_flight >= self.slots.len() {
            self.in_flight = self.to.iter_mut().map(Producer::waiting).sum();
        }
        // Who takes a long message gives its slot back a little later.
        self.in_flight < self.slots.len() && (self.longest <= SHORT || self.find_slot())
    }

    #[inline]
    fn send(&mut self, to: usize, words: &[u64]) -> bool {
        assert!(words.len() <= self.longest, "a message longer than its mailbox was made for");
        if !self.ready() || self.to[to].is_full() {
            return false;
        }
        let mut parcel = Parcel { words: words.len(), slot: std::ptr::null(), short: [0; SHORT] };
        if words.len() <= SHORT {
            parcel.short[..words.len()].copy_from_slice(words);
        } else {
            let slot = &self.slots[self.next];
            // SAFETY: `ready` has found a free slot, and only this outbox fills its slots.
            unsafe { slot.fill(words) };
            parcel.slot = slot;
        }
        self.in_flight += 1;
        self.to[to].push(parcel)
    }
}

/// Copies once, into a slot, as an eager send does: a receiver may read it long after `work` has ended.
pub struct ThreadMemoryOutbox<'m> {
    memory: &'m [u64],
    outbox: ThreadOutbox,
}

impl MemoryOutbox for ThreadMemoryOutbox<'_> {
    #[inline]
    fn ready(&mut self) -> bool {
        self.outbox.ready()
    }

    #[inline]
    fn send(&mut self, to: usize, offset: usize, words: usize) -> bool {
        self.outbox.send(to, &self.memory[offset..][..words])
    }
}

impl Drop for ThreadOutbox {
    fn drop(&mut self) {
        while !self.slots.iter().all(Slot::is_free) {
            if self.shared.failure.is_declared() || std::thread::panicking() {
                // Someone may still read the slots: leave them.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            std::thread::yield_now();
        }
    }
}
