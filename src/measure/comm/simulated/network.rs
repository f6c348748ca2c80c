//! The way of messages: ranks, interfaces and links, each busy with one message at a time.

use super::machine::{Machine, MessageCosts, Time, scale};
use super::timetable::Timetable;
use super::topology::Link;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The message is in the interface's queue, and the sending core continues.
    pub entered: Time,
    /// The sender's handle is free.
    pub left: Time,
    /// The last byte has arrived.
    pub arrived: Time,
}

pub struct Network {
    ranks: Vec<Timetable>,
    /// The interface of each node.
    sending: Vec<Timetable>,
    receiving: Vec<Timetable>,
    /// Only links in use: a card may describe far more.
    links: HashMap<Link, Timetable, BuildHasherDefault<NumberHasher>>,
    /// The place of each node in the topology.
    places: Vec<usize>,
    /// The messages of each rank in the queue of its interface, if queues have a limit.
    queues: Vec<Queue>,
    /// When the last message between two ranks arrives. Later ones do not overtake it. Contains messages on their way, and a few
    /// that have arrived.
    last_arrivals: HashMap<u64, Time, BuildHasherDefault<NumberHasher>>,
    /// At this number of pairs, those whose messages have arrived are removed.
    max_pairs: usize,
}

const MIN_PAIRS: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// The clock of the simulation. It never falls.
    pub now: Time,
    /// After the sender's own work, and not before `now`.
    pub begins: Time,
    /// The sending and the receiving rank.
    pub ends: (usize, usize),
    pub bytes: usize,
}

/// When each message of a rank has left its interface, and its bytes.
#[derive(Clone, Default)]
struct Queue {
    messages: VecDeque<(Time, usize)>,
    bytes: usize,
}

impl Queue {
    /// Returns when the queue has space for the message.
    fn enter(&mut self, now: Time, bytes: usize, leaves: Time, limit: usize) -> Time {
        let mut entered = now;
        while let Some(&(left, size)) = self.messages.front()
            && (left <= now || self.bytes + bytes > limit)
        {
            entered = entered.max(left);
            self.bytes -= size;
            self.messages.pop_front();
        }
        self.messages.push_back((leaves, bytes));
        self.bytes += bytes;
        entered
    }
}

impl Network {
    pub fn new(machine: &Machine, ranks: usize) -> Self {
        let nodes = ranks.div_ceil(machine.ranks_per_node);
        let idle = |number: usize| vec![Timetable::default(); number];
        Self {
            ranks: idle(ranks),
            sending: idle(nodes),
            receiving: idle(nodes),
            links: HashMap::default(),
            places: machine.link.mapping.places(&machine.topology, nodes).expect("checked by Machine::check"),
            queues: if machine.interface.queue_bytes > 0 { vec![Queue::default(); ranks] } else { Vec::new() },
            last_arrivals: HashMap::default(),
            max_pairs: MIN_PAIRS,
        }
    }

    pub fn send(&mut self, machine: &Machine, costs: &MessageCosts, message: Sending) -> Passage {
        let Sending { now, begins, ends: (from, to), bytes } = message;
        let occupied = costs.channel_time(bytes);
        let start = self.ranks[from].reserve(now, begins, occupied);
        let passage = if machine.node_of(from) == machine.node_of(to) {
            let arrived = start + costs.latency + costs.on_the_way(bytes);
            Passage { entered: begins, left: start + occupied, arrived }
        } else {
            self.pass_interfaces(machine, costs, start, message)
        };
        let arrived = self.keep_order(now, (from, to), passage.arrived);
        Passage { arrived, ..passage }
    }

    /// The message begins at `start`, at the interface of a node.
    fn pass_interfaces(&mut self, machine: &Machine, costs: &MessageCosts, start: Time, message: Sending) -> Passage {
        let Sending { now, begins, ends: (from, to), bytes } = message;
        let (node, other) = (machine.node_of(from), machine.node_of(to));
        let interface = &machine.interface;
        let bus_bytes = interface.frame.bytes(bytes);
        let bus = scale(interface.per_byte, bus_bytes);
        let busy = bus.max(interface.gap);
        let start = self.sending[node].reserve(now, start, busy);
        let left = start + busy.max(costs.channel_time(bytes));
        let entered = match self.queues.get_mut(from) {
            Some(queue) => queue.enter(begins, bus_bytes, left, interface.queue_bytes),
            None => begins,
        };
        let (head, train) = self.pass_links(machine, now, start, (node, other), machine.link.frame.bytes(bytes));
        let head = head + costs.latency;
        // Messages from several links share the receiving bus.
        let received = self.receiving[other].reserve(now, head, busy);
        Passage { entered, left, arrived: (head + train).max(received + bus.max(costs.on_the_way(bytes))) }
    }

    /// When the first byte has passed all links, and for how long the message is busy on the slowest of them.
    fn pass_links(
        &mut self,
        machine: &Machine,
        now: Time,
        start: Time,
        nodes: (usize, usize),
        bytes: usize,
    ) -> (Time, Time) {
        let (mut head, mut longest) = (start, 0);
        machine.topology.route(self.places[nodes.0], self.places[nodes.1], |link: Link| {
            let train = scale(machine.link.byte_time(link), bytes);
            longest = longest.max(train);
            if machine.link.is_contended {
                head = self.links.entry(link).or_default().reserve(now, head, train);
            }
            head += machine.link.hop;
        });
        (head, longest)
    }

    /// A message does not overtake the one before it.
    fn keep_order(&mut self, now: Time, (from, to): (usize, usize), arrived: Time) -> Time {
        if self.last_arrivals.len() >= self.max_pairs {
            self.last_arrivals.retain(|_, last| *last > now);
            // Doubling keeps the time of removals per message constant.
            self.max_pairs = MIN_PAIRS.max(2 * self.last_arrivals.len());
        }
        let last = self.last_arrivals.entry((from as u64) << 32 | to as u64).or_default();
        *last = arrived.max(*last);
        *last
    }
}

pub fn link_bytes(machine: &Machine, ranks: usize) -> u64 {
    // A hash map is between 7/16 and 7/8 full, and has one byte besides each entry.
    const ENTRY: u64 = (size_of::<(Link, Timetable)>() as u64 + 1) * 16 / 7;
    let nodes = ranks.div_ceil(machine.ranks_per_node);
    let links = if machine.link.is_contended { machine.topology.max_links(nodes) } else { 0 };
    links.saturating_mul(ENTRY)
}

/// For links and pairs of ranks. No user chooses these numbers.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}
