//! Mailboxes of simulated ranks. A message waits at its receiver, in the order of arrival, until the receiver takes it.

use super::SimulatedComm;
use super::engine::Member;
use super::machine::Time;
use crate::comm::{Inbox, MailboxCapacity, Mailboxes, MemoryOutbox, Outbox, Posting, Tag};
use apexmap_base::units::WORD_BYTES;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

/// A message on its way or at its receiver. The order is that of arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    arrived: Time,
    /// Number of the message in its queue, for equal times.
    number: u64,
    sender: usize,
    words: Box<[u64]>,
}

/// The messages for one inbox.
#[derive(Default)]
struct Queue {
    letters: BinaryHeap<Reverse<Letter>>,
    accepted: u64,
}

/// The queues of a rank: one for all senders, or one per peer.
#[derive(Clone)]
struct Boxes {
    queues: Rc<[RefCell<Queue>]>,
    /// The sender of each queue, ascending; empty if there is one queue for all.
    peers: Rc<[usize]>,
}

impl Boxes {
    fn queue(&self, sender: usize) -> &RefCell<Queue> {
        let place = if self.peers.is_empty() { Ok(0) } else { self.peers.binary_search(&sender) };
        &self.queues[place.expect("a peer lists its peers")]
    }
}

/// The receiving end.
pub struct SimulatedInbox {
    member: Member,
    own: Boxes,
    queue: usize,
}

/// The sending end.
pub struct SimulatedOutbox {
    member: Member,
    boxes: Rc<Vec<Boxes>>,
    /// When the handles in use are free, ascending.
    handles: VecDeque<Time>,
    sends: usize,
    max_words: usize,
}

/// The sending end for parts of a memory.
pub struct SimulatedMemoryOutbox<'m> {
    memory: &'m [u64],
    outbox: SimulatedOutbox,
}

impl SimulatedComm {
    /// Opens a mailbox with these peers; with a queue for all senders if there are none. Collective.
    fn open(&self, peers: &[usize], sends: usize, max_words: usize) -> (Boxes, SimulatedOutbox) {
        let mut sorted = peers.to_vec();
        sorted.sort_unstable();
        let queues = (0..sorted.len().max(1)).map(|_| RefCell::default()).collect();
        let own = Boxes { queues, peers: sorted.into() };
        let boxes = self.member.share_all(own.clone());
        let member = self.member.clone();
        (own, SimulatedOutbox { member, boxes, handles: VecDeque::new(), sends, max_words })
    }
}

impl Mailboxes for SimulatedComm {
    type Inbox = SimulatedInbox;
    type Outbox = SimulatedOutbox;
    type UnorderedInbox = SimulatedInbox;
    type MemoryOutbox<'m> = SimulatedMemoryOutbox<'m>;

    fn mailbox(&self, _tag: Tag, _receives: usize, sends: usize, words: usize) -> (SimulatedInbox, SimulatedOutbox) {
        let (own, outbox) = self.open(&[], sends, words);
        (SimulatedInbox { member: self.member.clone(), own, queue: 0 }, outbox)
    }

    fn mailbox_per_peer(
        &self,
        _tag: Tag,
        peers: &[usize],
        _posting: Posting,
        sends: usize,
        words: usize,
    ) -> (Vec<SimulatedInbox>, SimulatedOutbox) {
        let (own, outbox) = self.open(peers, sends, words);
        let inbox = |peer: &usize| {
            let queue = own.peers.binary_search(peer).expect("a peer is listed");
            SimulatedInbox { member: self.member.clone(), own: own.clone(), queue }
        };
        (peers.iter().map(inbox).collect(), outbox)
    }

    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        MailboxCapacity { receives, sends, words }: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut SimulatedInbox, &mut SimulatedMemoryOutbox<'_>) -> R,
    ) -> R {
        let (mut inbox, outbox) = self.mailbox(tag, receives, sends, words);
        work(&mut inbox, &mut SimulatedMemoryOutbox { memory, outbox })
    }
}

impl SimulatedInbox {
    /// Returns the oldest message that has arrived.
    fn next_letter(&mut self, now: Time) -> Option<Letter> {
        let mut queue = self.own.queues[self.queue].borrow_mut();
        let has_arrived = queue.letters.peek().is_some_and(|Reverse(letter)| letter.arrived <= now);
        if has_arrived { queue.letters.pop().map(|Reverse(letter)| letter) } else { None }
    }

    /// Spends the time of receiving a message: the first of a batch, or a further one.
    fn receive(&self, letter: &Letter, is_first: bool) {
        let costs = &self.member.world.machine.costs(letter.sender, self.member.rank).mailbox;
        let saved = if is_first { 0 } else { costs.saved_in_batch };
        self.member.advance(costs.taking(letter.words.len() * WORD_BYTES as usize).saturating_sub(saved));
        self.member.progress();
    }
}

impl Inbox for SimulatedInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let now = self.member.synchronize();
        let Some(letter) = self.next_letter(now) else {
            self.member.fail(now, "a message");
            return None;
        };
        self.receive(&letter, true);
        Some(read(letter.sender, &letter.words))
    }

    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        let now = self.member.synchronize();
        let mut taken = 0;
        while taken < max
            && let Some(letter) = self.next_letter(now)
        {
            self.receive(&letter, taken == 0);
            read(letter.sender, &letter.words);
            taken += 1;
        }
        if taken == 0 {
            self.member.fail(now, "a message");
        }
        taken
    }
}

impl SimulatedOutbox {
    /// Returns whether a handle is free at this time.
    fn has_handle(&mut self, now: Time) -> bool {
        while self.handles.front().is_some_and(|&free| free <= now) {
            self.handles.pop_front();
        }
        self.handles.len() < self.sends
    }
}

impl Outbox for SimulatedOutbox {
    fn ready(&mut self) -> bool {
        // Only this rank's own sends matter, so it need not wait for others.
        let now = self.member.clock();
        let is_ready = self.has_handle(now);
        if !is_ready {
            self.member.fail(now, "a free send handle");
        }
        is_ready
    }

    fn send(&mut self, receiver: usize, words: &[u64]) -> bool {
        assert!(words.len() <= self.max_words, "a message longer than its mailbox allows");
        if !self.ready() {
            return false;
        }
        let (Member { rank, world, .. }, bytes) = (&self.member, words.len() * WORD_BYTES as usize);
        let costs = &world.machine.costs(*rank, receiver).mailbox;
        self.member.advance(costs.send + costs.copying(bytes));
        self.member.progress();
        // Other ranks may send between the start and the end of this rank's own work.
        let mut now = self.member.synchronize();
        if bytes > costs.eager_bytes {
            // The receiver's interface answers that its buffer is ready.
            now += 2 * costs.handshake;
        }
        let passage = world.send(costs, now, (*rank, receiver), bytes);
        self.member.advance_to(passage.entered);
        self.handles.push_back(passage.left);
        world.announce(*rank, passage.left);
        {
            let mut queue = self.boxes[receiver].queue(*rank).borrow_mut();
            queue.accepted += 1;
            let letter =
                Letter { arrived: passage.arrived, number: queue.accepted, sender: *rank, words: words.into() };
            queue.letters.push(Reverse(letter));
        }
        world.announce(receiver, passage.arrived);
        true
    }
}

impl MemoryOutbox for SimulatedMemoryOutbox<'_> {
    fn ready(&mut self) -> bool {
        self.outbox.ready()
    }

    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool {
        self.outbox.send(receiver, &self.memory[offset..][..words])
    }
}

impl Drop for SimulatedOutbox {
    fn drop(&mut self) {
        if std::thread::panicking() || self.member.world.has_failed() {
            return;
        }
        if let Some(&last) = self.handles.back() {
            self.member.advance_to(last);
        }
    }
}
