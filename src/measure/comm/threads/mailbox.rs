//! Mailboxes of threads: one ring per pair of ranks.
//!
//! A message is copied once, into a slot that its sender owns. A descriptor of the slot travels through the ring. The receiver
//! reads the slot in place and frees it. Messages of up to six words travel in the ring itself. A send handle is busy until the
//! receiver has taken its message, short or long.

use super::rings::{Consumer, Producer, create_rings};
use super::{Shared, ThreadComm};
use crate::comm::sync::Slot;
use crate::comm::{Inbox, MailboxCapacity, Mailboxes, MemoryOutbox, Outbox, Path, Posting, Tag};
use std::sync::Arc;

/// A message in a ring. A short message is in the parcel itself; for a long one, the parcel points to a slot of its sender.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Parcel {
    words: usize,
    /// Null if the message is short.
    slot: *const Slot,
    short_words: [u64; MAX_SHORT_WORDS],
}

/// Maximum number of words that travel in the ring. With length and slot they fill a cache line.
const MAX_SHORT_WORDS: usize = 6;

// SAFETY: a slot stays in place until the receiver has freed it (see Drop of ThreadOutbox). The ring that carries the parcel
// orders the sender's writes before the receiver's reads.
unsafe impl Send for Parcel {}

impl Mailboxes for ThreadComm {
    type Inbox = ThreadInbox;
    type Outbox = ThreadOutbox;
    type UnorderedInbox = ThreadInbox;
    type MemoryOutbox<'m> = ThreadMemoryOutbox<'m>;

    fn mailbox(&self, _tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, ThreadOutbox) {
        let (producers, consumers, _) = create_rings(self, sends.max(receives), ());
        let consumers = consumers.into_iter().enumerate().filter(|&(from, _)| from != self.rank);
        (
            ThreadInbox { senders: consumers.collect(), next: 0 },
            ThreadOutbox::new(producers, sends, words, self.shared.clone()),
        )
    }

    /// Threads post no receives: a message waits in its sender's slot.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        _: (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<ThreadInbox>, ThreadOutbox) {
        let (mut inbox, outbox) = self.mailbox(tag, 1, sends, words);
        let mut inbox_of_peer = |peer: &usize| {
            let index =
                inbox.senders.iter().position(|(rank, _)| rank == peer).expect("a peer is another rank, named once");
            ThreadInbox { senders: vec![inbox.senders.swap_remove(index)], next: 0 }
        };
        (peers.iter().map(&mut inbox_of_peer).collect(), outbox)
    }

    /// Messages are complete when they become visible, so no message delays another.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        MailboxCapacity { receives, sends, words }: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut ThreadInbox, &mut ThreadMemoryOutbox<'_>) -> R,
    ) -> R {
        let (mut inbox, outbox) = self.mailbox(tag, receives, sends, words);
        work(&mut inbox, &mut ThreadMemoryOutbox { memory, outbox })
    }
}

/// The receiving end. It needs no buffers, because a message waits in its sender's slot.
pub struct ThreadInbox {
    senders: Vec<(usize, Consumer<Parcel>)>,
    next: usize,
}

/// Passes a parcel's words to `read`.
#[inline]
fn read_parcel<R>(parcel: &Parcel, read: impl FnOnce(&[u64]) -> R) -> R {
    if parcel.slot.is_null() {
        return read(&parcel.short_words[..parcel.words]);
    }
    // SAFETY: `send` filled the slot with the parcel's words; a parcel is read once; the slot lives until `read` frees it.
    unsafe { (*parcel.slot).read(parcel.words, read) }
}

impl Inbox for ThreadInbox {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        for _ in 0..self.senders.len() {
            let index = self.next;
            self.next = if index + 1 == self.senders.len() { 0 } else { index + 1 };
            let (sender, ring) = &mut self.senders[index];
            let Some(parcel) = ring.pop() else { continue };
            return Some(read_parcel(&parcel, |words| read(*sender, words)));
        }
        None
    }

    /// Takes messages of one sender only, so that their places in the ring are freed with one store.
    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        for _ in 0..self.senders.len() {
            let index = self.next;
            self.next = if index + 1 == self.senders.len() { 0 } else { index + 1 };
            let (sender, ring) = &mut self.senders[index];
            let taken = ring.pop_together(max, |parcel| read_parcel(&parcel, |words| read(*sender, words)));
            if taken > 0 {
                return taken;
            }
        }
        0
    }
}

pub struct ThreadOutbox {
    slots: Box<[Slot]>,
    /// Maximum number of words of a message.
    max_words: usize,
    next: usize,
    /// Maximum number of messages that have not been taken; the exact number may be smaller.
    in_flight: usize,
    receivers: Vec<Producer<Parcel>>,
    shared: Arc<Shared>,
}

impl ThreadOutbox {
    fn new(receivers: Vec<Producer<Parcel>>, sends: usize, max_words: usize, shared: Arc<Shared>) -> Self {
        let slots = (0..sends).map(|_| Slot::new(max_words)).collect();
        Self { slots, max_words, next: 0, in_flight: 0, receivers, shared }
    }

    /// Advances `next` to a free slot. Returns `false` if all slots are busy.
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
    fn path(&self, _receiver: usize) -> Path {
        Path::Memory
    }

    #[inline]
    fn ready(&mut self) -> bool {
        // Counting reads memory that the receivers write. So count only when all handles seem busy.
        if self.in_flight >= self.slots.len() {
            self.in_flight = self.receivers.iter_mut().map(Producer::waiting).sum();
        }
        // A receiver takes a long message from the ring a little earlier than it frees the slot.
        self.in_flight < self.slots.len() && (self.max_words <= MAX_SHORT_WORDS || self.find_slot())
    }

    #[inline]
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool {
        assert!(words.len() <= self.max_words, "a message longer than its mailbox allows");
        if !self.ready() || self.receivers[receiver].is_full() {
            return false;
        }
        let mut parcel = Parcel { words: words.len(), slot: std::ptr::null(), short_words: [0; MAX_SHORT_WORDS] };
        if words.len() <= MAX_SHORT_WORDS {
            parcel.short_words[..words.len()].copy_from_slice(words);
        } else {
            let slot = &self.slots[self.next];
            // SAFETY: `ready` has found a free slot, and only this outbox fills its slots.
            unsafe { slot.fill(words) };
            parcel.slot = slot;
        }
        self.in_flight += 1;
        self.receivers[receiver].push(parcel)
    }
}

/// Copies each message once, into a slot, like an eager send: a receiver may read it long after `work` has returned.
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
    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool {
        self.outbox.send(receiver, &self.memory[offset..][..words])
    }
}

impl Drop for ThreadOutbox {
    fn drop(&mut self) {
        while !self.slots.iter().all(Slot::is_free) {
            if self.shared.failure.is_declared() || std::thread::panicking() {
                // A receiver may still read the slots: leak them.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            std::thread::yield_now();
        }
    }
}
