//! The costs of a simulated machine.

use super::topology::Topology;
use serde::{Deserialize, Serialize};

/// Virtual time in picoseconds. Integers make runs identical on all machines.
pub type Time = u64;

/// Converts seconds to virtual time.
pub fn picoseconds(seconds: f64) -> Time {
    (seconds * 1e12).round() as Time
}

/// A machine: its network, and the places of ranks on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the card.
    pub name: String,
    /// Ranks r, r + 1, ... fill node after node.
    pub ranks_per_node: usize,
    pub topology: Topology,
    /// Messages between nodes.
    pub network: MessageCosts,
    /// Messages between ranks of one node.
    pub node: MessageCosts,
    pub interface: InterfaceCosts,
    pub link: LinkCosts,
    /// A poll that finds nothing.
    pub poll: Time,
    /// A stage of a barrier; without it, a stage costs a message of no bytes in both directions.
    pub barrier_stage: Option<Time>,
}

/// The costs of a message in the LogGP model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCosts {
    /// Time of the sending core (o).
    pub send: Time,
    /// Time of the receiving core (o).
    pub receive: Time,
    /// Time on the way of the first byte, without links (L).
    pub latency: Time,
    /// Time on the way of each byte, in picoseconds (G).
    pub per_byte: f64,
    /// Time of a core that copies a byte into a message or out of it, in picoseconds.
    pub copy_per_byte: f64,
    /// Larger messages wait for their receiver's answer before they are sent.
    pub eager_bytes: usize,
}

/// The bytes of a message in addition to its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Bytes before the data: a header or a command.
    pub header_bytes: usize,
    /// Header and data are padded to a multiple of this; 0 for no padding.
    pub unit_bytes: usize,
    /// Bytes after the padding, such as an acknowledgement.
    pub trailer_bytes: usize,
}

/// The interface between a node and the network, which the ranks of the node share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCosts {
    /// Shortest time between two messages, in either direction (g).
    pub gap: Time,
    /// Time of each byte on the bus, in picoseconds.
    pub per_byte: f64,
    /// The bytes of a message on the bus.
    pub frame: Frame,
    /// Bytes on the bus that a rank may have in the interface's queue before it waits; 0 for any number.
    pub queue_bytes: usize,
}

/// The links of the topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCosts {
    /// Time of the first byte from one router to the next.
    pub hop: Time,
    /// Time of each byte on a link, in picoseconds.
    pub per_byte: f64,
    /// The bytes of a message on a link.
    pub frame: Frame,
    /// Whether a message waits until a link is free. Otherwise links carry any number of messages at once.
    pub is_contended: bool,
}

impl Machine {
    /// Returns the node of a rank.
    pub fn node_of(&self, rank: usize) -> usize {
        rank / self.ranks_per_node
    }

    /// Returns the costs of messages between two ranks.
    pub fn costs(&self, from: usize, to: usize) -> &MessageCosts {
        if self.node_of(from) == self.node_of(to) { &self.node } else { &self.network }
    }

    /// Returns the time of a barrier of `ranks` ranks after the last one has arrived: a dissemination in stages.
    pub fn barrier(&self, ranks: usize) -> Time {
        let stages = Time::from(ranks.next_power_of_two().trailing_zeros());
        let costs = if ranks > self.ranks_per_node { &self.network } else { &self.node };
        stages * self.barrier_stage.unwrap_or(costs.send + costs.latency + costs.receive)
    }

    /// Returns the time of `bytes` bytes to reach all `ranks` ranks through a binomial tree, or to return through it.
    pub fn tree(&self, ranks: usize, bytes: usize) -> Time {
        let stages = Time::from(ranks.next_power_of_two().trailing_zeros());
        let costs = if ranks > self.ranks_per_node { &self.network } else { &self.node };
        stages * (costs.send + costs.latency + costs.on_the_way(bytes) + costs.receive)
    }
}

impl MessageCosts {
    /// Returns the time on the way of `bytes` bytes in addition to the latency.
    pub fn on_the_way(&self, bytes: usize) -> Time {
        scale(self.per_byte, bytes)
    }

    /// Returns the time of a core that copies `bytes` bytes.
    pub fn copying(&self, bytes: usize) -> Time {
        scale(self.copy_per_byte, bytes)
    }
}

impl Frame {
    /// Returns the bytes of a message with this much data.
    pub fn bytes(&self, data: usize) -> usize {
        (data + self.header_bytes).next_multiple_of(self.unit_bytes.max(1)) + self.trailer_bytes
    }
}

/// Returns `bytes` times the picoseconds per byte.
pub fn scale(per_byte: f64, bytes: usize) -> Time {
    (per_byte * bytes as f64).round() as Time
}
