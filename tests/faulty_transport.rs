//! A threads transport with faults in messages and puts, which kernels must detect.

use apexmap_base::error::Result;
use apexmap_measure::comm::lines::{LineInbox, LineOutbox};
use apexmap_measure::comm::threads::ThreadComm;
use apexmap_measure::comm::threads::mailbox::{ThreadInbox, ThreadOutbox};
use apexmap_measure::comm::threads::messages::ThreadMessages;
use apexmap_measure::comm::threads::rings::Parts;
use apexmap_measure::comm::threads::window::{ThreadGetWindow, ThreadRmaWindow};
use apexmap_measure::comm::{
    Collectives, Comm, CopyOutbox, GetWindow, Item, MailboxCapacity, Mailboxes, Messages, Outbox, Path, PointToPoint,
    Posting, Rma, RmaWindow, Tag,
};
use std::cell::Cell;
use std::rc::Rc;

use super::common::forwarding::{Clock, Forwarding};

/// A fault of messages from rank 0 to rank 1, and of a mailbox's messages from rank 1. [`Fault::Nothing`] affects all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// No message is sent, but all are reported as received.
    Nothing,
    /// Every n-th message is lost, but reported as received.
    Lost {
        every: usize,
    },
    /// The first put is lost.
    FirstLost,
    /// Every n-th message has a wrong bit in this item.
    Corrupted {
        every: usize,
        item: usize,
    },
    /// Neighbouring messages are exchanged.
    Swapped,
    /// Every new mailbox contains a message that no rank has sent.
    Unrequested,
}

/// A fault, and whether the clock is that of the transport.
pub struct FaultyClock {
    fault: Fault,
    /// Whether a fence has ended the rounds in which the first put is lost.
    is_fenced: Rc<Cell<bool>>,
}

pub type Faulty<'a> = Forwarding<'a, FaultyClock>;

impl<'a> Faulty<'a> {
    pub fn new(comm: &'a ThreadComm, fault: Fault) -> Self {
        Self { comm, changes: FaultyClock { fault, is_fenced: Rc::default() } }
    }

    fn fault(&self, tag: Tag) -> Fault {
        // Acknowledgements are not data. Without them, one side would wait forever.
        if matches!(tag, Tag::Data(_)) { self.changes.fault } else { Fault::None }
    }
}

impl Clock for FaultyClock {
    /// Runs faster where messages may be lost, so that ranks give up early.
    fn wall_time(&self, comm: &ThreadComm) -> f64 {
        let is_fast = match self.fault {
            Fault::Nothing | Fault::Lost { .. } | Fault::Corrupted { .. } => true,
            Fault::FirstLost => !self.is_fenced.get(),
            Fault::None | Fault::Swapped | Fault::Unrequested => false,
        };
        if is_fast { 1e3 * comm.wall_time() } else { comm.wall_time() }
    }
}

impl Mailboxes for Faulty<'_> {
    type Inbox = ThreadInbox;
    type Outbox = FaultyOutbox;
    type PeerInbox = LineInbox<Parts>;
    type PeerOutbox = LineOutbox<Parts>;
    type UnorderedInbox = ThreadInbox;
    type MemoryOutbox<'m> = CopyOutbox<'m, ThreadOutbox>;

    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, FaultyOutbox) {
        let (inbox, mut outbox) = self.comm.mailbox(tag, receives, sends, words);
        if self.changes.fault == Fault::Unrequested {
            assert!(outbox.send((self.rank() + 1) % self.size(), &[0]), "there is room");
            self.comm.barrier();
        }
        (inbox, FaultyOutbox { outbox, rank: self.rank(), fault: self.fault(tag), sent: 0 })
    }
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<LineInbox<Parts>>, LineOutbox<Parts>) {
        self.comm.mailbox_per_peer(tag, peers, posted, sends, words)
    }
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        limits: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut ThreadInbox, &mut CopyOutbox<'_, ThreadOutbox>) -> R,
    ) -> R {
        self.comm.memory_mailbox(tag, limits, memory, work)
    }
}

impl PointToPoint for Faulty<'_> {
    type Messages<'m>
        = FaultyMessages<'m>
    where
        Self: 'm;

    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<FaultyMessages<'_>> {
        let messages = self.comm.messages(tag, outgoing, incoming)?;
        let (rank, fault) = (self.rank(), self.fault(tag));
        Ok(FaultyMessages { messages, rank, fault, sent: 0, received: 0, items_to_corrupt: Vec::new() })
    }
}

impl Rma for Faulty<'_> {
    type GetWindow<'m> = FaultyGetWindow<'m>;
    type RmaWindow<'m, T: Item> = FaultyRmaWindow<'m, T>;

    fn get_window<R>(&self, memory: &[u64], slots: usize, words: usize, work: impl FnOnce(FaultyGetWindow) -> R) -> R {
        let (rank, fault) = (self.rank(), self.changes.fault);
        self.comm.get_window(memory, slots, words, |window| {
            work(FaultyGetWindow { window, rank, fault, taken: 0, last_words: vec![0; words] })
        })
    }
    fn rma_window<T: Item, R>(
        &self,
        origin: &mut [T],
        memory: &mut [T],
        work: impl FnOnce(FaultyRmaWindow<T>) -> R,
    ) -> R {
        let (rank, fault, is_fenced) = (self.rank(), self.changes.fault, self.changes.is_fenced.clone());
        self.comm.rma_window(origin, memory, |window| work(FaultyRmaWindow { window, rank, fault, put: 0, is_fenced }))
    }
}

pub struct FaultyOutbox {
    outbox: ThreadOutbox,
    rank: usize,
    fault: Fault,
    sent: usize,
}

impl Outbox for FaultyOutbox {
    fn path(&self, receiver: usize) -> Path {
        self.outbox.path(receiver)
    }
    fn ready(&mut self) -> bool {
        self.outbox.ready()
    }
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool {
        // A message of one word ends a conversation. Without it, the receiver would wait forever.
        let counts = self.rank == 1 && words.len() > 1 && self.ready();
        self.sent += usize::from(counts);
        match self.fault {
            Fault::Lost { every } if counts && self.sent.is_multiple_of(every) => true,
            Fault::Corrupted { every, item } if counts && self.sent.is_multiple_of(every) => {
                let mut words = words.to_vec();
                words[item] ^= 1;
                self.outbox.send(receiver, &words)
            }
            _ => self.outbox.send(receiver, words),
        }
    }
}

pub struct FaultyMessages<'m> {
    messages: ThreadMessages<'m>,
    rank: usize,
    fault: Fault,
    sent: usize,
    received: usize,
    /// Items to corrupt after they have arrived.
    items_to_corrupt: Vec<usize>,
}

impl Messages for FaultyMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.wait_all();
        self.messages.outgoing()
    }
    fn incoming(&mut self) -> &mut [u32] {
        self.wait_all();
        self.messages.incoming()
    }
    fn isend(&mut self, offset: usize, items: usize, to: usize) {
        self.sent += usize::from(self.rank == 0);
        match self.fault {
            Fault::Nothing => {}
            Fault::Lost { every } if self.rank == 0 && self.sent.is_multiple_of(every) => {}
            Fault::Swapped if self.rank == 0 => {
                // Buffers are pairs of neighbours, aligned to lines of 16 items.
                let stride = items.next_multiple_of(16);
                self.messages.isend(((offset / stride) ^ 1) * stride, items, to);
            }
            _ => self.messages.isend(offset, items, to),
        }
    }
    fn irecv(&mut self, offset: usize, items: usize, from: usize) {
        self.received += usize::from(self.rank == 1);
        match self.fault {
            Fault::Nothing => {}
            Fault::Lost { every } if self.rank == 1 && self.received.is_multiple_of(every) => {}
            Fault::Corrupted { every, item } if self.rank == 1 && self.received.is_multiple_of(every) => {
                self.messages.irecv(offset, items, from);
                self.items_to_corrupt.push(offset + item);
            }
            _ => self.messages.irecv(offset, items, from),
        }
    }
    fn wait_all(&mut self) {
        for item in std::mem::take(&mut self.items_to_corrupt) {
            self.messages.incoming()[item] ^= 1;
        }
        self.messages.wait_all();
    }
}

pub struct FaultyRmaWindow<'m, T> {
    window: ThreadRmaWindow<'m, T>,
    rank: usize,
    fault: Fault,
    put: usize,
    is_fenced: Rc<Cell<bool>>,
}

impl<T: Item> FaultyRmaWindow<'_, T> {
    fn flip(&mut self, item: Option<usize>) {
        if let Some(item) = item {
            let item = &mut self.window.origin()[item];
            *item = *item ^ T::from(1u32);
        }
    }
}

impl<T: Item> RmaWindow<T> for FaultyRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.window.origin()
    }
    unsafe fn put(&mut self, offset: usize, items: usize, to: usize, place: usize) {
        self.put += usize::from(self.rank == 0);
        let source = match self.fault {
            Fault::Nothing => return,
            Fault::Lost { every } if self.rank == 0 && self.put.is_multiple_of(every) => return,
            Fault::FirstLost if self.rank == 0 && self.put == 1 => return,
            Fault::Swapped if self.rank == 0 => {
                let stride = items.next_multiple_of(16);
                ((offset / stride) ^ 1) * stride
            }
            _ => offset,
        };
        let corrupted_item = match self.fault {
            Fault::Corrupted { every, item } if self.rank == 0 && self.put.is_multiple_of(every) => Some(source + item),
            _ => None,
        };
        self.flip(corrupted_item);
        // SAFETY: the caller guarantees it.
        unsafe { self.window.put(source, items, to, place) };
        self.flip(corrupted_item);
    }
    fn put_value(&mut self, to: usize, place: usize, value: T) {
        self.window.put_value(to, place, value);
    }
    fn xor(&mut self, to: usize, place: usize, value: T) {
        self.window.xor(to, place, value);
    }
    fn flush(&mut self) {
        self.window.flush();
    }
    unsafe fn peek(&mut self, place: usize) -> T {
        // SAFETY: the caller guarantees it.
        unsafe { self.window.peek(place) }
    }
    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        self.is_fenced.set(true);
        self.window.fence(work)
    }
}

pub struct FaultyGetWindow<'m> {
    window: ThreadGetWindow<'m>,
    rank: usize,
    fault: Fault,
    taken: usize,
    /// Words of the last get.
    last_words: Vec<u64>,
}

impl GetWindow for FaultyGetWindow<'_> {
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        self.window.get(from, offset, words)
    }
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        let (rank, fault, old) = (self.rank, self.fault, &mut self.last_words);
        let taken = self.taken + usize::from(rank == 1);
        let result = self.window.take(|words| {
            let words = match fault {
                Fault::Nothing => old.clone(),
                Fault::Lost { every } if rank == 1 && taken.is_multiple_of(every) => old.clone(),
                Fault::Corrupted { every, item } if rank == 1 && taken.is_multiple_of(every) => {
                    words.iter().zip(0..).map(|(word, k)| word ^ u64::from(k == item / 2)).collect()
                }
                _ => words.to_vec(),
            };
            old.clone_from(&words);
            read(&words)
        });
        if result.is_some() {
            self.taken = taken;
        }
        result
    }
}
