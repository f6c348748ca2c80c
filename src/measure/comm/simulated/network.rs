//! The way of messages: ranks, interfaces and links, each busy with one message at a time.

use super::machine::{Machine, MessageCosts, Time, scale};
use super::topology::Link;
use std::collections::VecDeque;

/// When a message leaves its sender and reaches its receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The message is in the interface's queue, and the sending core continues.
    pub entered: Time,
    /// The sender's handle is free.
    pub left: Time,
    /// The last byte has arrived.
    pub arrived: Time,
}

/// The state of interfaces and links.
#[derive(Default)]
pub struct Network {
    /// When the interface of each node is free, for sending and for receiving.
    sending: Vec<Time>,
    receiving: Vec<Time>,
    /// When each link is free.
    links: Vec<Time>,
    /// When each rank can send its next message.
    ranks: Vec<Time>,
    /// The messages of each rank in the queue of its interface, if queues have a limit.
    queues: Vec<Queue>,
}

/// The messages of a rank in its interface: when each has left, and its bytes.
#[derive(Clone, Default)]
struct Queue {
    messages: VecDeque<(Time, usize)>,
    bytes: usize,
}

impl Queue {
    /// Adds a message. Returns when the queue has space for it.
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
        let queues = if machine.interface.queue_bytes > 0 { vec![Queue::default(); ranks] } else { Vec::new() };
        Self { sending: vec![0; nodes], receiving: vec![0; nodes], links: Vec::new(), ranks: vec![0; ranks], queues }
    }

    /// Sends a message from one rank to another at this time, after the sender's own work.
    pub fn send(
        &mut self,
        machine: &Machine,
        costs: &MessageCosts,
        now: Time,
        (from, to): (usize, usize),
        bytes: usize,
    ) -> Passage {
        let (node, other) = (machine.node_of(from), machine.node_of(to));
        let occupied = costs.channel_time(bytes);
        let start = now.max(self.ranks[from]);
        if node == other {
            let (left, arrived) = (start + occupied, start + costs.latency + costs.on_the_way(bytes));
            self.ranks[from] = left;
            return Passage { entered: now, left, arrived };
        }
        let interface = &machine.interface;
        let bus_bytes = interface.frame.bytes(bytes);
        let bus = scale(interface.per_byte, bus_bytes);
        let busy = bus.max(interface.gap);
        let start = start.max(self.sending[node]);
        let left = start + busy.max(occupied);
        self.sending[node] = start + busy;
        self.ranks[from] = start + occupied;
        let entered = match self.queues.get_mut(from) {
            Some(queue) => queue.enter(now, bus_bytes, left, interface.queue_bytes),
            None => now,
        };
        let (head, train) = self.pass_links(machine, start, (node, other), machine.link.frame.bytes(bytes));
        let head = head + costs.latency;
        // Messages from several links share the receiving bus.
        let received = head.max(self.receiving[other]);
        self.receiving[other] = received + busy;
        Passage { entered, left, arrived: (head + train).max(received + bus.max(costs.on_the_way(bytes))) }
    }

    /// Returns when the first byte has passed all links, and for how long the message is busy on a link.
    fn pass_links(&mut self, machine: &Machine, start: Time, nodes: (usize, usize), bytes: usize) -> (Time, Time) {
        let (mut head, mut train) = (start, 0);
        machine.topology.route(nodes.0, nodes.1, |link: Link| {
            train = scale(machine.link.per_byte, bytes);
            if machine.link.is_contended {
                if link >= self.links.len() {
                    self.links.resize(link + 1, 0);
                }
                head = head.max(self.links[link]);
                self.links[link] = head + train;
            }
            head += machine.link.hop;
        });
        (head, train)
    }
}
