//! The way of messages: interfaces and links, each busy with one message at a time.

use super::machine::{Machine, Time, scale};
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
    /// When each rank's last message within its node has arrived; later ones do not overtake it.
    within_node: Vec<Time>,
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
        Self {
            sending: vec![0; nodes],
            receiving: vec![0; nodes],
            links: Vec::new(),
            within_node: vec![0; ranks],
            queues,
        }
    }

    /// Sends a message at this time, after the sender's own work.
    pub fn send(&mut self, machine: &Machine, now: Time, from: usize, to: usize, bytes: usize) -> Passage {
        let costs = machine.costs(from, to);
        let (node, other) = (machine.node_of(from), machine.node_of(to));
        if node == other {
            let arrived = (now + costs.latency + costs.on_the_way(bytes)).max(self.within_node[from]);
            self.within_node[from] = arrived;
            return Passage { entered: now, left: now, arrived };
        }
        let interface = &machine.interface;
        let bus_bytes = interface.frame.bytes(bytes);
        let bus = scale(interface.per_byte, bus_bytes).max(costs.on_the_way(bytes));
        let busy = bus.max(interface.gap);
        let start = now.max(self.sending[node]);
        let left = start + busy;
        self.sending[node] = left;
        let entered = match self.queues.get_mut(from) {
            Some(queue) => queue.enter(now, bus_bytes, left, interface.queue_bytes),
            None => now,
        };
        let (head, train) = self.pass_links(machine, start, (node, other), machine.link.frame.bytes(bytes));
        let head = head + costs.latency;
        // Messages from several links share the receiving bus.
        let received = head.max(self.receiving[other]);
        self.receiving[other] = received + busy;
        Passage { entered, left, arrived: (head + train).max(received + bus) }
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
