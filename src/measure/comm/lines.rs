//! Messages through memory that ranks share. A sender copies a message once, into a place of its line to the receiver, which reads
//! it there. A line is a [`Ring`] whose items are numbers of words; the words are their payload, so that one cache line brings the
//! news of a message and its first words. A rank's part of the memory holds a table with the offset of the line to each receiver,
//! and these lines.

use super::ring::{Consumer, Count, Place, Producer, Ring};
use super::ring_layout::{SHIFTS, shift};
use super::{Inbox, Outbox, Path};

/// A receiver that is late by more messages does not gain from further ones, and they take space in its cache.
pub const MAX_PLACES: usize = 4;

pub const fn place_bytes(words: usize) -> usize {
    (size_of::<Place<usize>>() + words * size_of::<u64>()).next_multiple_of(64)
}

#[derive(Clone, Copy)]
pub(super) struct Neighbour {
    pub rank: usize,
    /// Its number among the ranks that share the memory.
    pub place: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub ranks: usize,
    /// Most words of a message.
    pub words: usize,
    /// Most messages that a rank has on their way.
    pub sends: usize,
}

impl Lines {
    fn places(&self) -> usize {
        self.sends.min(MAX_PLACES)
    }

    fn line_bytes(&self) -> usize {
        size_of::<Count>() + (self.places() * place_bytes(self.words)).next_multiple_of(size_of::<Count>())
    }

    fn table_bytes(&self) -> usize {
        (self.ranks * size_of::<u64>()).next_multiple_of(size_of::<Count>())
    }

    /// For a rank with lines to this number of ranks. All bytes must be zero before the lines are opened.
    pub fn part_bytes(&self, receivers: usize) -> usize {
        self.table_bytes() + SHIFTS * size_of::<Count>() + receivers * self.line_bytes()
    }

    /// `part` returns the start of a rank's part, which is aligned as [`Count`] is and exists as long as `memory`. `barrier` waits
    /// for all ranks that share the memory.
    ///
    /// # Safety
    /// The parts have `part_bytes` zeros, and nothing else uses them. Two ranks list each other or do not, and a rank is listed once.
    pub unsafe fn open<K: Clone>(
        &self,
        own: usize,
        neighbours: &[Neighbour],
        (part, memory): (impl Fn(usize) -> *mut u8, K),
        barrier: impl FnOnce(),
    ) -> (Vec<LineInbox<K>>, LineOutbox<K>) {
        let entry = |sender: usize, receiver: usize| part(sender).cast::<u64>().wrapping_add(receiver);
        for (number, neighbour) in neighbours.iter().enumerate() {
            let offset = self.table_bytes() + shift(own) + number * self.line_bytes();
            // SAFETY: the table lies in this rank's part, and the others read it after the barrier.
            unsafe { entry(own, neighbour.place).write(offset as u64) };
        }
        barrier();
        let ring = |sender: usize, receiver: usize| {
            // SAFETY: the sender has written the offset before the barrier.
            let start = part(sender).wrapping_add(unsafe { entry(sender, receiver).read() } as usize).cast_const();
            Ring {
                taken: start.cast(),
                places: start.wrapping_add(size_of::<Count>()).cast::<Place<usize>>(),
                capacity: self.places(),
                stride: place_bytes(self.words),
            }
        };
        let mut outbox = LineOutbox { lines: Vec::new(), words: self.words, sends: self.sends, in_flight: 0 };
        outbox.lines.resize_with(neighbours.iter().map(|neighbour| neighbour.rank + 1).max().unwrap_or(0), || None);
        let inbox = |&Neighbour { rank, place }: &Neighbour| {
            // SAFETY: the caller keeps the rings alive and zeroed, and each has one sender and one receiver.
            outbox.lines[rank] = Some(unsafe { Producer::new(ring(own, place), memory.clone()) });
            // SAFETY: as above.
            LineInbox { sender: rank, ring: unsafe { Consumer::new(ring(place, own), memory.clone()) } }
        };
        let inboxes = neighbours.iter().map(inbox).collect();
        (inboxes, outbox)
    }
}

pub struct LineInbox<K> {
    sender: usize,
    ring: Consumer<usize, K>,
}

impl<K> Inbox for LineInbox<K> {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let (sender, start) = (self.sender, self.ring.payload().cast::<u64>());
        // SAFETY: the sender has written this many words before it put the message into the ring, and leaves them there until the message
        // is taken out of it, after this read.
        self.ring.pop(|words| read(sender, unsafe { std::slice::from_raw_parts(start, *words) }))
    }
}

pub struct LineOutbox<K> {
    /// The index is the rank.
    lines: Vec<Option<Producer<usize, K>>>,
    words: usize,
    sends: usize,
    /// Most messages that are not taken; the exact number may be smaller.
    pub in_flight: usize,
}

impl<K> LineOutbox<K> {
    pub fn reaches(&self, receiver: usize) -> bool {
        self.lines.get(receiver).is_some_and(Option::is_some)
    }

    pub fn count(&mut self) -> usize {
        self.in_flight = self.lines.iter_mut().flatten().map(Producer::waiting).sum();
        self.in_flight
    }
}

impl<K> Outbox for LineOutbox<K> {
    #[inline]
    fn ready(&mut self) -> bool {
        // Counting reads memory that the receivers write. So count only when all handles seem busy.
        self.in_flight < self.sends || self.count() < self.sends
    }

    #[inline]
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool {
        assert!(words.len() <= self.words, "a message longer than its mailbox allows");
        if !self.ready() {
            return false;
        }
        let line = self.lines[receiver].as_mut().expect("messages go to peers");
        if line.is_full() {
            return false;
        }
        // SAFETY: a place has this many words, and while the ring is not full the receiver has read the last message here.
        unsafe { line.payload().cast::<u64>().copy_from_nonoverlapping(words.as_ptr(), words.len()) };
        self.in_flight += 1;
        line.push(words.len())
    }

    fn path(&self, _receiver: usize) -> Path {
        Path::Memory
    }
}
