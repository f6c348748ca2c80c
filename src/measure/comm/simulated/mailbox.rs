//! A message waits at its receiver, in the order of arrival, until the receiver takes it. Receives are matched as by MPI. A message
//! that arrives before its receive was posted is unexpected: the core that takes it copies it once more. A message above the eager
//! limit leaves only after its receive was posted. If mailboxes have limited room, a message of another node needs a place there
//! from its sending until its receiver takes it. Otherwise the sender waits as for a send handle: by the rules of its kernel.

use super::SimulatedComm;
use super::engine::{Member, World};
use super::machine::Time;
use super::room::Room;
use crate::comm::{CopyOutbox, Inbox, MailboxCapacity, Mailboxes, Outbox, Path, Posting, Tag};
use apexmap_base::units::WORD_BYTES;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

/// On its way or at its receiver. The order is that of arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    arrived: Time,
    /// The number in the queue, for equal times.
    number: u64,
    sender: usize,
    words: Box<[u64]>,
}

/// Above the eager limit, and without a posted receive. Its sender waits.
struct Announced {
    /// The announcement arrives then.
    arrives: Time,
    number: u64,
    ends: (usize, usize),
    words: Box<[u64]>,
    handles: Rc<RefCell<Handles>>,
}

/// For one inbox. The receive of message n is the n-th that is posted.
struct Queue {
    letters: BinaryHeap<Reverse<Letter>>,
    announced: VecDeque<Announced>,
    accepted: u64,
    taken: u64,
    posting: Posting,
    /// The receives without a message that were posted when the mailbox was opened, and the times of the later ones.
    first: usize,
    later: VecDeque<Time>,
    /// By what shares them.
    rooms: BTreeMap<usize, Room>,
    last_sender: Option<usize>,
}

impl Queue {
    fn new(posting: Posting, receives: usize) -> Self {
        let first = if posting == Posting::Ahead { receives } else { 0 };
        let (letters, announced, later, rooms, last_sender) = Default::default();
        Self { letters, announced, accepted: 0, taken: 0, posting, first, later, rooms, last_sender }
    }

    /// When the receive of a message was posted or will be; `None` if that is not known yet.
    fn posted_at(&self, number: u64) -> Option<Time> {
        let place = (number - self.taken - 1) as usize;
        if place < self.first { Some(0) } else { self.later.get(place - self.first).copied() }
    }

    /// The announced message that waits for this receive then leaves.
    fn post(&mut self, world: &World, time: Time) {
        self.later.push_back(time);
        let posted = self.taken + (self.first + self.later.len()) as u64;
        if self.announced.front().is_some_and(|waiting| waiting.number <= posted) {
            let waiting = self.announced.pop_front().expect("looked at above");
            let left = self.answer(world, waiting.arrives.max(time), waiting.number, waiting.ends, waiting.words);
            let mut handles = waiting.handles.borrow_mut();
            handles.waiting -= 1;
            handles.add(left);
        }
    }

    /// The receiver answers at this time. Returns when the handle is free.
    fn answer(&mut self, world: &World, answered: Time, number: u64, ends: (usize, usize), words: Box<[u64]>) -> Time {
        let costs = &world.machine.costs(ends.0, ends.1).mailbox;
        let passage = world.send(costs, answered + costs.handshake, ends, words.len() * WORD_BYTES as usize);
        self.letters.push(Reverse(Letter { arrived: passage.arrived, number, sender: ends.0, words }));
        world.announce(ends.0, passage.left);
        world.announce(ends.1, passage.arrived);
        passage.left
    }

    /// The oldest message that has arrived by now, and whether it came before its receive was posted.
    fn take(&mut self, now: Time) -> Option<(Letter, bool)> {
        if self.letters.peek().is_none_or(|Reverse(letter)| letter.arrived > now) {
            return None;
        }
        let Reverse(letter) = self.letters.pop()?;
        let posted_at = self.posted_at(self.taken + 1);
        self.taken += 1;
        match self.first {
            0 => _ = self.later.pop_front(),
            _ => self.first -= 1,
        }
        let is_unexpected = posted_at.is_none_or(|posted_at| letter.arrived < posted_at);
        Some((letter, is_unexpected))
    }
}

#[derive(Default)]
struct Handles {
    /// When those whose messages are on their way are free, ascending.
    busy: VecDeque<Time>,
    /// The number of those whose messages wait for their receives.
    waiting: usize,
}

impl Handles {
    fn add(&mut self, free: Time) {
        let place = self.busy.partition_point(|time| *time <= free);
        self.busy.insert(place, free);
    }
}

/// One queue for all senders, or one per peer.
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

pub struct SimulatedInbox {
    member: Member,
    own: Boxes,
    queue: usize,
}

pub struct SimulatedOutbox {
    member: Member,
    boxes: Rc<Vec<Boxes>>,
    handles: Rc<RefCell<Handles>>,
    sends: usize,
    max_words: usize,
    /// The core has spent the time of the next send: a message that found no room is tried again without it.
    is_prepared: bool,
}

impl SimulatedComm {
    /// With one queue for all senders if there are no peers. Each queue has this many receives. Collective.
    fn open(
        &self,
        peers: &[usize],
        (posting, receives): (Posting, usize),
        sends: usize,
        max_words: usize,
    ) -> (Boxes, SimulatedOutbox) {
        let mut sorted = peers.to_vec();
        sorted.sort_unstable();
        let queues = (0..sorted.len().max(1)).map(|_| RefCell::new(Queue::new(posting, receives))).collect();
        let own = Boxes { queues, peers: sorted.into() };
        let boxes = self.member.share_all(own.clone());
        let member = self.member.clone();
        (own, SimulatedOutbox { member, boxes, handles: Rc::default(), sends, max_words, is_prepared: false })
    }
}

impl Mailboxes for SimulatedComm {
    type Inbox = SimulatedInbox;
    type Outbox = SimulatedOutbox;
    type PeerInbox = SimulatedInbox;
    type PeerOutbox = SimulatedOutbox;
    type UnorderedInbox = SimulatedInbox;
    type MemoryOutbox<'m> = CopyOutbox<'m, SimulatedOutbox>;

    fn mailbox(&self, _tag: Tag, receives: usize, sends: usize, words: usize) -> (SimulatedInbox, SimulatedOutbox) {
        let (own, outbox) = self.open(&[], (Posting::Ahead, receives), sends, words);
        (SimulatedInbox { member: self.member.clone(), own, queue: 0 }, outbox)
    }

    fn mailbox_per_peer(
        &self,
        _tag: Tag,
        peers: &[usize],
        (posting, _): (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<SimulatedInbox>, SimulatedOutbox) {
        let (own, outbox) = self.open(peers, (posting, 1), sends, words);
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
        work: impl FnOnce(&mut SimulatedInbox, &mut CopyOutbox<'_, SimulatedOutbox>) -> R,
    ) -> R {
        let (mut inbox, outbox) = self.mailbox(tag, receives, sends, words);
        work(&mut inbox, &mut CopyOutbox { memory, outbox })
    }
}

impl SimulatedInbox {
    /// Waits for this rank's turn, and posts a receive on demand. Returns the clock.
    fn begin(&self) -> Time {
        let now = self.member.synchronize();
        let mut queue = self.own.queues[self.queue].borrow_mut();
        if queue.posting == Posting::OnDemand && queue.later.is_empty() {
            queue.post(&self.member.world, now);
        }
        now
    }

    /// A poll looks at the rings of all senders.
    fn fail(&self, now: Time) {
        let world = &self.member.world;
        let further = if self.own.peers.is_empty() { world.machine.further_senders(world.size) } else { 0 };
        let poll = world.machine.poll + further as Time * world.machine.sender_poll;
        self.member.fail_after(poll, now, "a message");
    }

    fn receive<R>(&self, now: Time, is_first: bool, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let queue = &self.own.queues[self.queue];
        let (letter, is_unexpected) = queue.borrow_mut().take(now)?;
        let (Member { world, rank, .. }, sender) = (&self.member, letter.sender);
        if let Some((sharers, _)) = world.machine.room(sender, *rank) {
            queue.borrow_mut().rooms.entry(sharers).or_default().leave(world, self.member.clock());
        }
        let costs = &world.machine.costs(sender, *rank).mailbox;
        let (bytes, saved) =
            (letter.words.len() * WORD_BYTES as usize, if is_first { 0 } else { costs.saved_in_batch });
        let is_change = queue.borrow_mut().last_sender.replace(sender).is_some_and(|last| last != sender);
        let is_near = world.machine.node_of(sender) == world.machine.node_of(*rank);
        let change = if is_change && is_near { world.machine.sender_change } else { 0 };
        let copy = if is_unexpected { costs.copying(bytes) } else { 0 };
        self.member.advance(change + copy + costs.taking(bytes).saturating_sub(saved));
        self.member.progress();
        let result = read(letter.sender, &letter.words);
        let mut queue = queue.borrow_mut();
        if queue.posting == Posting::Ahead {
            queue.post(&self.member.world, self.member.clock());
        }
        Some(result)
    }
}

impl Inbox for SimulatedInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let now = self.begin();
        let result = self.receive(now, true, read);
        if result.is_none() {
            self.fail(now);
        }
        result
    }

    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        let now = self.begin();
        let mut taken = 0;
        while taken < max && self.receive(now, taken == 0, &mut read).is_some() {
            taken += 1;
        }
        if taken == 0 {
            self.fail(now);
        }
        taken
    }
}

impl SimulatedOutbox {
    fn has_handle(&self, now: Time) -> bool {
        let Handles { busy, waiting } = &mut *self.handles.borrow_mut();
        while busy.front().is_some_and(|&free| free <= now) {
            busy.pop_front();
        }
        busy.len() + *waiting < self.sends
    }
}

impl Outbox for SimulatedOutbox {
    fn path(&self, _receiver: usize) -> Path {
        Path::Messages
    }

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
        if !std::mem::replace(&mut self.is_prepared, true) {
            let looks = world.machine.further_senders(world.size).min(self.sends - 1) as Time;
            let look = world.machine.sender_line * looks / self.sends as Time;
            self.member.advance(costs.send + costs.copying(bytes) + look);
            self.member.progress();
        }
        // Other ranks may send between the start and the end of this rank's own work.
        let now = self.member.synchronize();
        let ends = (*rank, receiver);
        let mut queue = self.boxes[receiver].queue(*rank).borrow_mut();
        if let Some((sharers, places)) = world.machine.room(*rank, receiver) {
            if !queue.rooms.entry(sharers).or_default().enter(world, now, (*rank, places)) {
                world.block(*rank, receiver, now);
                self.member.fail(now, "room at its receiver");
                return false;
            }
            world.unblock(*rank, now);
            self.member.progress();
        }
        self.is_prepared = false;
        queue.accepted += 1;
        let number = queue.accepted;
        if bytes <= costs.eager_bytes {
            let passage = world.send(costs, now, ends, bytes);
            self.member.advance_to(passage.entered);
            self.handles.borrow_mut().add(passage.left);
            queue.letters.push(Reverse(Letter {
                arrived: passage.arrived,
                number,
                sender: *rank,
                words: words.into(),
            }));
            world.announce(*rank, passage.left);
            world.announce(receiver, passage.arrived);
            return true;
        }
        // The receiver's interface answers when the receive is posted, without its core.
        let arrives = now + costs.handshake;
        let mut handles = self.handles.borrow_mut();
        match queue.posted_at(number) {
            Some(posted) => handles.add(queue.answer(world, arrives.max(posted), number, ends, words.into())),
            None => {
                handles.waiting += 1;
                let handles = Rc::clone(&self.handles);
                queue.announced.push_back(Announced { arrives, number, ends, words: words.into(), handles });
            }
        }
        true
    }
}

impl Drop for SimulatedOutbox {
    fn drop(&mut self) {
        if std::thread::panicking() || self.member.world.has_failed() {
            return;
        }
        if self.handles.borrow().waiting > 0 {
            self.member.wait_until("the receives of its messages", |_| self.handles.borrow().waiting == 0);
        }
        let last = self.handles.borrow().busy.back().copied();
        self.member.advance_to(last.unwrap_or(0));
    }
}
