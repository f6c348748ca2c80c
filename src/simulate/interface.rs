use super::numbers::Numbers;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::comm::simulated::{Frame, InterfaceCosts, LinkCosts, MessageCosts, Time, Topology, picoseconds};
use apexmap_theory::machine::catalogue::{
    IO_BANDWIDTH_BYTES_PER_SECOND, IO_COMMAND_BYTES, IO_EFFICIENCY, IO_QUEUE_BYTES, LINK_BANDWIDTH_BYTES_PER_SECOND,
    LINK_EFFICIENCY, MESSAGE_HEADER_BYTES, NETWORK_BANDWIDTH_BYTES_PER_SECOND, NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND,
    PACKET_ACKNOWLEDGEMENT_BYTES, PACKET_HEADER_BYTES, PACKET_MOST_BYTES, PACKET_UNIT_BYTES, ROUTER_LATENCY_SECONDS,
};
use apexmap_theory::machine::{Entry, NetworkShape};

pub fn per_byte(bandwidth: f64) -> f64 {
    1e12 / bandwidth
}

/// From one router to the next.
pub fn hop(numbers: &mut Numbers, topology: &Topology, nodes: usize) -> Time {
    let hop = numbers.find(&[ROUTER_LATENCY_SECONDS]);
    if hop.is_none() && *topology != Topology::Crossbar && nodes > 1 {
        numbers.assume("crossing a router takes no time");
    }
    picoseconds(hop.unwrap_or(0.0))
}

/// Between cores and interface, without the bytes of its packets.
pub fn bus_bandwidth(numbers: &Numbers) -> Option<f64> {
    Some(numbers.find(&[IO_BANDWIDTH_BYTES_PER_SECOND])? * numbers.find(&[IO_EFFICIENCY]).unwrap_or(1.0))
}

/// The message rate is that of a rank if the cores' own time does not explain that rate.
pub fn interface(numbers: &Numbers, message: &MessageCosts) -> InterfaceCosts {
    let bandwidth = numbers
        .find(&[NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND])
        .or_else(|| bus_bandwidth(numbers))
        .or_else(|| numbers.find(&[NETWORK_BANDWIDTH_BYTES_PER_SECOND]));
    let command = numbers.find(&[IO_COMMAND_BYTES]);
    let bytes = |entry: &Entry| numbers.find(&[entry]).unwrap_or(0.0) as usize;
    InterfaceCosts {
        gap: if message.gap > message.send.max(message.receive) { message.gap } else { 0 },
        per_byte: bandwidth.map_or(0.0, per_byte),
        frame: Frame {
            header_bytes: command.unwrap_or(0.0) as usize,
            // "accesses to the command queue have to be 8-byte aligned" (NIC message-rate paper, Section 6).
            unit_bytes: if command.is_some() { WORD_BYTES as usize } else { 0 },
            ..Frame::default()
        },
        queue_bytes: bytes(IO_QUEUE_BYTES),
    }
}

pub fn link(numbers: &mut Numbers, topology: &Topology, hop: Time) -> LinkCosts {
    if *topology == Topology::Crossbar {
        return LinkCosts::default();
    }
    let contention = numbers.card.network.as_ref().and_then(|shape: &NetworkShape| shape.contention);
    let bandwidth = numbers.find(&[LINK_BANDWIDTH_BYTES_PER_SECOND]);
    match (bandwidth, contention) {
        (None, Some(true)) => {
            numbers.miss(LINK_BANDWIDTH_BYTES_PER_SECOND);
        }
        (None, _) => numbers.assume("links carry any number of messages at once, because their bandwidth is not known"),
        _ => {}
    }
    let efficiency = numbers.find(&[LINK_EFFICIENCY]).unwrap_or(1.0);
    let bytes = |entries: &[&Entry]| numbers.find(entries).unwrap_or(0.0) as usize;
    LinkCosts {
        hop,
        per_byte: bandwidth.map_or(0.0, |bandwidth| per_byte(bandwidth * efficiency)),
        frame: Frame {
            header_bytes: bytes(&[PACKET_HEADER_BYTES, MESSAGE_HEADER_BYTES]),
            unit_bytes: bytes(&[PACKET_UNIT_BYTES]),
            trailer_bytes: bytes(&[PACKET_ACKNOWLEDGEMENT_BYTES]),
            most_bytes: bytes(&[PACKET_MOST_BYTES]),
        },
        is_contended: contention.unwrap_or(true) && bandwidth.is_some(),
        ..LinkCosts::default()
    }
}
