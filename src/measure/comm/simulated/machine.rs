//! The costs of a simulated machine.

use super::mapping::Mapping;
use super::topology::{Link, Topology};
use serde::{Deserialize, Serialize};

/// Picoseconds. Integers make runs identical on all machines.
pub type Time = u64;

/// In picoseconds: a second.
const MAX_PER_BYTE: f64 = 1e12;

/// In picoseconds: a thousand seconds.
const MAX_COST: Time = 1_000_000_000_000_000;

/// 13 days. Costs are cut off here, so that sums of them do not overflow 64 bits.
const HORIZON: Time = 1 << 60;

/// Panics beyond the end of virtual time.
pub fn check_time(time: Time) -> Time {
    assert!(
        time < HORIZON,
        "the simulation takes more than 13 days of virtual time: the costs are too large for this point"
    );
    time
}

pub fn picoseconds(seconds: f64) -> Time {
    (seconds * 1e12).round() as Time
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The card's name.
    pub name: String,
    /// Ranks r, r + 1, ... fill node after node.
    pub ranks_per_node: usize,
    pub topology: Topology,
    /// Between nodes.
    pub network: PathCosts,
    /// Between ranks of one node.
    pub node: PathCosts,
    pub interface: InterfaceCosts,
    pub link: LinkCosts,
    /// A poll that finds nothing.
    pub poll: Time,
    /// Such a poll of a mailbox takes this much longer for each sender on the node after the first.
    #[serde(default)]
    pub sender_poll: Time,
    /// A look at whether a receiver on the node has taken a message. A send looks at one in SMSG of its receivers.
    #[serde(default)]
    pub sender_line: Time,
    /// A stage of a barrier; without it, a stage costs a message of no bytes in both directions.
    pub barrier_stage: Option<Time>,
    /// A message on the node costs its receiver this much more if the one before came from another rank.
    #[serde(default)]
    pub sender_change: Time,
    /// Messages from other nodes, sent and not received, that a mailbox has room for; 0 for any number.
    #[serde(default)]
    pub receive_packets: usize,
    /// The same from each rank of the receiver's own node.
    #[serde(default)]
    pub node_packets: usize,
    /// The kernels whose mailboxes have this limit; all if there are none.
    #[serde(default)]
    pub limited_kernels: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathCosts {
    pub message: MessageCosts,
    pub mailbox: MessageCosts,
    /// The request and the reply each take the latency.
    pub get: MessageCosts,
    pub put: MessageCosts,
}

/// The costs of a message in the LogGP model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCosts {
    /// Time of the sending core (o).
    pub send: Time,
    /// Time of the receiving core (o).
    pub receive: Time,
    /// The part of `receive` that the core saves for each further message that one receive takes.
    pub saved_in_batch: Time,
    /// Time on the way of the first byte, without links (L).
    pub latency: Time,
    /// Shortest time between two messages of a rank (g).
    pub gap: Time,
    /// In picoseconds for each byte on the way (G). A rank sends one message at a time.
    pub per_byte: f64,
    /// Times on the way by bytes, ascending; the last ones are 0. Larger messages add `per_byte` for each further byte. Without
    /// steps, each byte takes `per_byte`.
    pub steps: [Step; MAX_STEPS],
    /// In picoseconds, for a core that copies a byte into a message or out of it.
    pub copy_per_byte: f64,
    /// In picoseconds, for the core that takes a message from a mailbox, in addition.
    pub take_per_byte: f64,
    /// A check for arrivals that finds nothing, if it does not take the time of the machine's polls.
    pub poll: Option<Time>,
    /// Larger messages wait for their receiver's answer before they are sent.
    pub eager_bytes: usize,
    /// In picoseconds, additional for each byte of a message of up to `eager_bytes`.
    pub eager_per_byte: f64,
    /// Time of the announcement of a larger message, and of the answer.
    pub handshake: Time,
}

/// Measured sizes of a path.
pub const MAX_STEPS: usize = 8;

/// The time on the way of all bytes of a message of this size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub bytes: usize,
    pub time: Time,
}

/// Bytes of a message in addition to its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// A header or a command before the data.
    pub header_bytes: usize,
    /// Header and data are padded to a multiple of this; 0 for no padding.
    pub unit_bytes: usize,
    /// After the padding, such as an acknowledgement.
    pub trailer_bytes: usize,
    /// Largest header and data together. More data is divided into several such packets. 0 for any number.
    pub most_bytes: usize,
}

/// The ranks of a node share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCosts {
    /// Shortest time between two messages of the node, in either direction.
    pub gap: Time,
    /// In picoseconds, on the bus.
    pub per_byte: f64,
    pub frame: Frame,
    /// A rank waits if it has more in the interface's queue; 0 for any number.
    pub queue_bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCosts {
    /// Time of the first byte from one router to the next.
    pub hop: Time,
    /// In picoseconds.
    pub per_byte: f64,
    pub frame: Frame,
    /// Whether a message waits until a link is free. Otherwise links carry any number of messages at once.
    pub is_contended: bool,
    /// A damaged cable, for example. No card has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowLink>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub mapping: Mapping,
}

/// For the header, the padding or the trailer of a packet.
const MAX_FRAME_BYTES: usize = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowLink {
    pub link: Link,
    /// Time of a byte over that on other links.
    pub factor: f64,
}

fn is_default(mapping: &Mapping) -> bool {
    *mapping == Mapping::default()
}

impl LinkCosts {
    pub fn byte_time(&self, link: Link) -> f64 {
        self.slow.filter(|slow| slow.link == link).map_or(self.per_byte, |slow| self.per_byte * slow.factor)
    }
}

impl Machine {
    pub fn check(&self, ranks: usize) -> Result<(), String> {
        if self.ranks_per_node == 0 {
            return Err("its nodes have no ranks".into());
        }
        let paths = [self.network, self.node].map(|path| [path.message, path.mailbox, path.get, path.put]);
        let of_messages = paths
            .iter()
            .flatten()
            .flat_map(|costs| [costs.per_byte, costs.copy_per_byte, costs.take_per_byte, costs.eager_per_byte]);
        let slow = self.link.slow.map(|slow| self.link.byte_time(slow.link));
        let mut rates = of_messages.chain([self.interface.per_byte, self.link.per_byte]).chain(slow);
        if let Some(wrong) = rates.find(|rate| !(0.0..=MAX_PER_BYTE).contains(rate)) {
            return Err(format!("a byte takes {wrong} ps"));
        }
        let times = paths.iter().flatten().flat_map(MessageCosts::times);
        let mut times = times
            .chain([
                self.interface.gap,
                self.link.hop,
                self.poll,
                self.sender_poll,
                self.sender_line,
                self.sender_change,
            ])
            .chain(self.barrier_stage);
        if let Some(wrong) = times.find(|time| *time > MAX_COST) {
            return Err(format!("a cost is {} s; the largest is 1000 s", wrong as f64 * 1e-12));
        }
        let frames = [self.interface.frame, self.link.frame];
        if frames.iter().any(|frame| {
            [frame.header_bytes, frame.unit_bytes, frame.trailer_bytes].iter().any(|bytes| *bytes > MAX_FRAME_BYTES)
        }) {
            return Err(format!("a packet has more than {MAX_FRAME_BYTES} bytes besides its data"));
        }
        let nodes = ranks.div_ceil(self.ranks_per_node);
        self.topology.check(nodes)?;
        self.link.mapping.places(&self.topology, nodes).map(drop)
    }

    /// The machine as this kernel sees it.
    pub fn for_kernel(&self, id: &str) -> Self {
        let is_limited = self.limited_kernels.is_empty() || self.limited_kernels.iter().any(|kernel| kernel == id);
        let [receive_packets, node_packets] =
            if is_limited { [self.receive_packets, self.node_packets] } else { [0; 2] };
        Self { receive_packets, node_packets, ..self.clone() }
    }

    /// The same machine, whose cores need this much longer for their part of messages.
    #[must_use]
    pub fn with_slower_cores(self, factor: f64) -> Self {
        let longer = |time: Time| (time as f64 * factor).round() as Time;
        let message = |costs: MessageCosts| MessageCosts {
            send: longer(costs.send),
            receive: longer(costs.receive),
            saved_in_batch: longer(costs.saved_in_batch),
            copy_per_byte: costs.copy_per_byte * factor,
            take_per_byte: costs.take_per_byte * factor,
            poll: costs.poll.map(longer),
            ..costs
        };
        let path = |path: PathCosts| PathCosts {
            message: message(path.message),
            mailbox: message(path.mailbox),
            get: message(path.get),
            put: message(path.put),
        };
        let [poll, sender_poll] = [self.poll, self.sender_poll].map(longer);
        Self { network: path(self.network), node: path(self.node), poll, sender_poll, ..self }
    }

    pub fn node_of(&self, rank: usize) -> usize {
        rank / self.ranks_per_node
    }

    /// On the way of a message between two of `ranks` ranks; 0 if messages do not wait for links.
    pub fn mean_contended_links(&self, ranks: usize) -> f64 {
        // A sample of the destinations, because a machine may have a million.
        const WAYS: usize = 64;
        if !self.link.is_contended {
            return 0.0;
        }
        let nodes = ranks.div_ceil(self.ranks_per_node);
        let links: usize = (0..WAYS).map(|way| self.topology.links(0, way * nodes / WAYS)).sum();
        links as f64 / WAYS as f64
    }

    /// Senders to a mailbox on the same node, after the first.
    pub fn further_senders(&self, ranks: usize) -> usize {
        self.ranks_per_node.min(ranks).saturating_sub(2)
    }

    /// The group of senders that share places of the receiver's mailbox, and the number of places; `None` for any number.
    pub fn room(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let is_near = self.node_of(from) == self.node_of(to);
        let (sharers, places) = if is_near { (1 + from, self.node_packets) } else { (0, self.receive_packets) };
        (places > 0).then_some((sharers, places))
    }

    pub fn costs(&self, from: usize, to: usize) -> &PathCosts {
        if self.node_of(from) == self.node_of(to) { &self.node } else { &self.network }
    }

    /// After the last rank has arrived: a dissemination in stages.
    pub fn barrier(&self, ranks: usize) -> Time {
        let stages = Time::from(ranks.next_power_of_two().trailing_zeros());
        let costs = if ranks > self.ranks_per_node { &self.network.message } else { &self.node.message };
        stages.saturating_mul(self.barrier_stage.unwrap_or(costs.send + costs.latency + costs.receive))
    }

    /// For `bytes` bytes to reach all `ranks` ranks through a binomial tree, or to return through it.
    pub fn tree(&self, ranks: usize, bytes: usize) -> Time {
        let stages = Time::from(ranks.next_power_of_two().trailing_zeros());
        let costs = if ranks > self.ranks_per_node { &self.network.message } else { &self.node.message };
        stages.saturating_mul(costs.send + costs.latency + costs.on_the_way(bytes) + costs.receive)
    }
}

impl PathCosts {
    /// Gets and puts cost as messages.
    pub fn uniform(costs: MessageCosts) -> Self {
        Self { message: costs, mailbox: costs, get: costs, put: costs }
    }
}

impl MessageCosts {
    fn times(&self) -> impl Iterator<Item = Time> {
        let steps = self.steps.map(|step| step.time);
        [self.send, self.receive, self.latency, self.gap, self.handshake].into_iter().chain(self.poll).chain(steps)
    }

    /// In addition to the latency.
    pub fn on_the_way(&self, bytes: usize) -> Time {
        let eager = if bytes <= self.eager_bytes { self.eager_per_byte } else { 0.0 };
        let mut before = Step::default();
        for step in self.steps.into_iter().take_while(|step| step.bytes > 0) {
            if bytes < step.bytes {
                return before.interpolate(step, bytes) + scale(eager, bytes);
            }
            before = step;
        }
        before.time + scale(self.per_byte, bytes - before.bytes) + scale(eager, bytes)
    }

    /// To the start of the rank's next message. Measured steps do not include the gap.
    pub fn channel_time(&self, bytes: usize) -> Time {
        let way = self.on_the_way(bytes);
        if self.steps[0].bytes > 0 { self.gap + way } else { way.max(self.gap) }
    }

    pub fn taking(&self, bytes: usize) -> Time {
        self.receive + scale(self.copy_per_byte, bytes) + scale(self.take_per_byte, bytes)
    }

    pub fn copying(&self, bytes: usize) -> Time {
        scale(self.copy_per_byte, bytes)
    }
}

impl Step {
    fn interpolate(self, larger: Step, bytes: usize) -> Time {
        let share = |time: Time, numerator: usize| {
            (u128::from(time) * numerator as u128 / (larger.bytes - self.bytes) as u128) as Time
        };
        share(self.time, larger.bytes - bytes) + share(larger.time, bytes - self.bytes)
    }
}

impl Frame {
    pub fn bytes(&self, data: usize) -> usize {
        let packet =
            |data: usize| (data + self.header_bytes).next_multiple_of(self.unit_bytes.max(1)) + self.trailer_bytes;
        match self.most_bytes.saturating_sub(self.header_bytes) {
            most if most > 0 && data > most => {
                let rest = data % most;
                (data / most).saturating_mul(packet(most)).saturating_add(if rest > 0 { packet(rest) } else { 0 })
            }
            _ => packet(data),
        }
    }
}

/// At most [`HORIZON`].
pub fn scale(per_byte: f64, bytes: usize) -> Time {
    ((per_byte * bytes as f64).round() as Time).min(HORIZON)
}
