use super::SimulatedComm;
use super::engine::Member;
use super::machine::Time;
use crate::comm::{Buffer, Messages, PointToPoint, Tag};
use apexmap_base::distinct::push_new;
use apexmap_base::error::Result;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// On its way or at its receiver.
struct Letter {
    /// When the last byte arrives; for a long message, when its announcement does.
    arrived: Time,
    /// The message waits for its receiver before it is sent.
    is_announced: bool,
    items: Box<[u32]>,
}

/// Keys are senders.
#[derive(Default)]
struct Incoming {
    letters: HashMap<usize, VecDeque<Letter>>,
}

/// Long messages whose receivers have not answered yet, and when the last message leaves.
#[derive(Default)]
struct Outgoing {
    unanswered: usize,
    last_left: Time,
}

type Ends = (Rc<RefCell<Incoming>>, Rc<RefCell<Outgoing>>);

struct Posted {
    sender: usize,
    offset: usize,
    max_items: usize,
    posted_at: Time,
}

pub struct SimulatedMessages<'m> {
    member: &'m Member,
    ends: Rc<Vec<Ends>>,
    outgoing: Buffer,
    incoming: Buffer,
    posted: VecDeque<Posted>,
}

impl PointToPoint for SimulatedComm {
    type Messages<'m> = SimulatedMessages<'m>;

    fn messages(&self, _tag: Tag, outgoing: usize, incoming: usize) -> Result<SimulatedMessages<'_>> {
        let (outgoing, incoming) = (Buffer::new(outgoing)?, Buffer::new(incoming)?);
        let ends = self.member.share_all(Ends::default());
        Ok(SimulatedMessages { member: &self.member, ends, outgoing, incoming, posted: VecDeque::new() })
    }
}

impl SimulatedMessages<'_> {
    /// Returns whether the message had arrived by now.
    fn receive(&mut self, posted: &Posted, now: Time) -> bool {
        let (rank, world) = (self.member.rank, &self.member.world);
        let mut incoming = self.ends[rank].0.borrow_mut();
        let Some(letters) = incoming.letters.get_mut(&posted.sender) else { return false };
        let Some(letter) = letters.front_mut().filter(|letter| letter.arrived <= now) else { return false };
        let (costs, bytes) = (&world.machine.costs(posted.sender, rank).message, 4 * letter.items.len());
        if letter.is_announced {
            // The receiver answers, and the message begins its way.
            letter.is_announced = false;
            let answered_at = now + costs.handshake;
            let passage = world.send(costs, answered_at, (posted.sender, rank), bytes);
            letter.arrived = passage.arrived;
            let mut sender = self.ends[posted.sender].1.borrow_mut();
            sender.unanswered -= 1;
            sender.last_left = sender.last_left.max(passage.left);
            world.announce(posted.sender, passage.left);
            world.announce(rank, passage.arrived);
            return false;
        }
        let letter = letters.pop_front().expect("looked at above");
        assert!(
            letter.items.len() <= posted.max_items,
            "a message of {} items for a receive of {}",
            letter.items.len(),
            posted.max_items
        );
        // A message that came before its receive was posted is copied once more.
        let copies = if letter.arrived < posted.posted_at { costs.copying(bytes) } else { 0 };
        self.member.advance(costs.receive + copies);
        self.incoming.items_mut()[posted.offset..][..letter.items.len()].copy_from_slice(&letter.items);
        true
    }

    /// Returns whether any messages had arrived.
    fn receive_arrived(&mut self, now: Time) -> bool {
        let mut posted = std::mem::take(&mut self.posted);
        let before = posted.len();
        let mut stuck: Vec<usize> = Vec::new();
        posted.retain(|receive| {
            // Messages of one sender arrive in order.
            let is_open = stuck.contains(&receive.sender) || !self.receive(receive, now);
            if is_open {
                push_new(&mut stuck, receive.sender);
            }
            is_open
        });
        self.posted = posted;
        self.posted.len() < before
    }
}

impl Messages for SimulatedMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.wait_all();
        self.outgoing.items_mut()
    }

    fn incoming(&mut self) -> &mut [u32] {
        self.wait_all();
        self.incoming.items_mut()
    }

    fn isend(&mut self, offset: usize, items: usize, receiver: usize) {
        let (rank, world) = (self.member.rank, &self.member.world);
        let (costs, bytes) = (&world.machine.costs(rank, receiver).message, 4 * items);
        self.member.advance(costs.send);
        self.member.progress();
        let now = self.member.synchronize();
        let items: Box<[u32]> = self.outgoing.items_mut()[offset..][..items].into();
        let mut own = self.ends[rank].1.borrow_mut();
        let letter = if bytes > costs.eager_bytes {
            own.unanswered += 1;
            Letter { arrived: now + costs.handshake, is_announced: true, items }
        } else {
            let passage = world.send(costs, now, (rank, receiver), bytes);
            self.member.advance_to(passage.entered);
            own.last_left = own.last_left.max(passage.left);
            Letter { arrived: passage.arrived, is_announced: false, items }
        };
        let arrived = letter.arrived;
        self.ends[receiver].0.borrow_mut().letters.entry(rank).or_default().push_back(letter);
        world.announce(receiver, arrived);
    }

    fn irecv(&mut self, offset: usize, items: usize, sender: usize) {
        assert!(
            offset.checked_add(items).is_some_and(|end| end <= self.incoming.len()),
            "a receive outside of the buffer"
        );
        let posted_at = self.member.synchronize();
        self.posted.push_back(Posted { sender, offset, max_items: items, posted_at });
    }

    fn wait_all(&mut self) {
        let member = self.member;
        member.wait_until("messages", |now| {
            while self.receive_arrived(now) {}
            self.posted.is_empty() && self.ends[member.rank].1.borrow().unanswered == 0
        });
        let last_left = self.ends[member.rank].1.borrow().last_left;
        member.advance_to(last_left);
    }
}
