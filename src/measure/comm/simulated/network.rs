//! The way of messages: interfaces and links, each busy with one message at a time.

use super::machine::{Machine, Time, scale};
use super::topology::Link;

/// When a message leaves its sender and reaches its receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
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
}

impl Network {
    pub fn new(machine: &Machine, ranks: usize) -> Self {
        let nodes = ranks.div_ceil(machine.ranks_per_node);
        Self { sending: vec![0; nodes], receiving: vec![0; nodes], links: Vec::new(), within_node: vec![0; ranks] }
    }

    /// Sends a message at this time, after the sender's own work.
    pub fn send(&mut self, machine: &Machine, now: Time, from: usize, to: usize, bytes: usize) -> Passage {
        let costs = machine.costs(from, to);
        let (node, other) = (machine.node_of(from), machine.node_of(to));
        if node == other {
            let arrived = (now + costs.latency + costs.on_the_way(bytes)).max(self.within_node[from]);
            self.within_node[from] = arrived;
            return Passage { left: now, arrived };
        }
        let wire_bytes = bytes + machine.interface.header_bytes;
        let bus = scale(machine.interface.per_byte, wire_bytes).max(costs.on_the_way(wire_bytes));
        let busy = bus.max(machine.interface.gap);
        let start = now.max(self.sending[node]);
        self.sending[node] = start + busy;
        let (head, train) = self.pass_links(machine, start, (node, other), wire_bytes);
        // The receiving interface is busy from the first byte to the last one.
        let head = (head + costs.latency).max(self.receiving[other]);
        self.receiving[other] = head + busy.max(train);
        Passage { left: start + busy, arrived: head + bus.max(train) }
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
