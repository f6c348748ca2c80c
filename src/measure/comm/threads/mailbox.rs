//! One ring per pair of ranks, or one line per pair of peers. A message in a ring is copied once, into a slot that its sender owns.
//! A descriptor of the slot travels through the ring. The receiver reads the slot in place and frees it. Messages of up to six
//! words travel in the ring itself. A send handle is busy until the receiver has taken its message, short or long.

use super::rings::{Consumer, Parts, Producer, create_rings, open_lines};
use super::{Shared, ThreadComm};
use crate::comm::lines::{LineInbox, LineOutbox};
use crate::comm::ring::Place;
use crate::comm::sync::Slot;
use crate::comm::{CopyOutbox, Inbox, MailboxCapacity, Mailboxes, Outbox, Path, Posting, Tag};
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Parcel {
    /// Its number of words, and the words.
    Short(u32, [u64; MAX_SHORT_WORDS]),
    /// Its number of words, and a slot of its sender.
    Long(usize, *const Slot),
}

/// With these in the ring, a place of it is a cache line.
const MAX_SHORT_WORDS: usize = 6;
const _: () = assert!(size_of::<Place<Parcel>>() == 64);

// SAFETY: a slot stays in place until the receiver has freed it (see Drop of ThreadOutbox). The ring that carries the parcel
// orders the sender's writes before the receiver's reads.
unsafe impl Send for Parcel {}

impl Mailboxes for ThreadComm {
    type Inbox = ThreadInbox;
    type Outbox = ThreadOutbox;
    type PeerInbox = LineInbox<Parts>;
    type PeerOutbox = LineOutbox<Parts>;
    type UnorderedInbox = ThreadInbox;
    type MemoryOutbox<'m> = CopyOutbox<'m, ThreadOutbox>;

    fn mailbox(&self, _tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, ThreadOutbox) {
        let (producers, consumers, _) = create_rings(self, sends.max(receives), ());
        let consumers = consumers.into_iter().enumerate().filter(|&(from, _)| from != self.rank);
        (
            ThreadInbox { senders: consumers.collect(), next: 0 },
            ThreadOutbox::new(producers, sends, words, self.shared.clone()),
        )
    }

    /// Threads post no receives: a message waits in its line.
    fn mailbox_per_peer(
        &self,
        _tag: Tag,
        peers: &[usize],
        _: (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<LineInbox<Parts>>, LineOutbox<Parts>) {
        open_lines(self, peers, sends, words)
    }

    /// Messages are complete when they become visible, so no message delays another.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        MailboxCapacity { receives, sends, words }: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut ThreadInbox, &mut CopyOutbox<'_, ThreadOutbox>) -> R,
    ) -> R {
        let (mut inbox, outbox) = self.mailbox(tag, receives, sends, words);
        work(&mut inbox, &mut CopyOutbox { memory, outbox })
    }
}

/// It needs no buffers, because a message waits in its sender's slot.
pub struct ThreadInbox {
    senders: Vec<(usize, Consumer<Parcel>)>,
    next: usize,
}

impl ThreadInbox {
    /// The next ring with a message, the rings in turn.
    #[inline]
    fn next_ring(&mut self) -> Option<&mut (usize, Consumer<Parcel>)> {
        let find = |rings: &[(usize, Consumer<Parcel>)]| rings.iter().position(|(_, ring)| ring.has_item());
        let (before, rest) = self.senders.split_at(self.next);
        let index = find(rest).map(|index| self.next + index).or_else(|| find(before))?;
        self.next = if index + 1 == self.senders.len() { 0 } else { index + 1 };
        Some(&mut self.senders[index])
    }
}

#[inline]
fn read_parcel<R>(parcel: &Parcel, read: impl FnOnce(&[u64]) -> R) -> R {
    match parcel {
        Parcel::Short(words, short) => read(&short[..*words as usize]),
        // SAFETY: `send` filled the slot with the parcel's words; a parcel is read once; the slot lives until `read` frees it.
        Parcel::Long(words, slot) => unsafe { (**slot).read(*words, read) },
    }
}

impl Inbox for ThreadInbox {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let (sender, ring) = self.next_ring()?;
        ring.pop(|parcel| read_parcel(parcel, |words| read(*sender, words)))
    }

    /// Takes messages of one sender only, so that their places in the ring are freed with one store.
    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        self.next_ring().map_or(0, |(sender, ring)| {
            ring.pop_together(max, |parcel| read_parcel(parcel, |words| read(*sender, words)))
        })
    }
}

pub struct ThreadOutbox {
    slots: Box<[Slot]>,
    max_words: usize,
    next: usize,
    /// Most messages that have not been taken; the exact number may be smaller.
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
        self.in_flight += 1;
        if words.len() <= MAX_SHORT_WORDS {
            let mut short = [0; MAX_SHORT_WORDS];
            short[..words.len()].copy_from_slice(words);
            return self.receivers[receiver].push(Parcel::Short(words.len() as u32, short));
        }
        let slot = &self.slots[self.next];
        // SAFETY: `ready` has found a free slot, and only this outbox fills its slots.
        unsafe { slot.fill(words) };
        self.receivers[receiver].push(Parcel::Long(words.len(), slot))
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
