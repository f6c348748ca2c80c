use super::interface::{bus_bandwidth, per_byte};
use super::numbers::Numbers;
use apexmap_measure::comm::simulated::{MAX_STEPS, MessageCosts, PathCosts, Step, Time, picoseconds};
use apexmap_theory::machine::catalogue::*;
use apexmap_theory::machine::{Card, Entry, Word};

pub struct Paths {
    pub network: PathCosts,
    pub node: PathCosts,
}

/// In a card's provenance: the transport of its messages.
const TRANSPORT: &str = "transport";
const THREADS: &str = "threads";

pub fn is_of_one_node(card: &Card) -> bool {
    card.provenance.get(TRANSPORT).and_then(|value| value.as_str()) == Some(THREADS)
}

/// `hops` are the time from one router to the next, and that of the links between neighbours.
pub fn paths(numbers: &mut Numbers, nodes: usize, ranks_per_node: usize, hops: (Time, Time)) -> Paths {
    if is_of_one_node(numbers.card) {
        let node = path(numbers, None, (0, 0));
        if nodes > 1 {
            numbers.assume("messages between nodes cost as within the node on which the card was measured");
        }
        return Paths { network: node, node };
    }
    let network = path(numbers, None, hops);
    if numbers.find_qualified(NETWORK_LATENCY_SECONDS, NODE).is_some() {
        let node = path(numbers, Some(NODE), (0, 0));
        return Paths { network, node };
    }
    if ranks_per_node > 1 {
        numbers.assume("messages within a node cost as between nodes, without the interface and the links");
    }
    Paths { network, node: network }
}

/// For numbers that hold between ranks of one node.
const NODE: &str = "node";

/// Finds numbers with the qualifier of a path; without one, the plain numbers.
struct PathNumbers<'n, 'a> {
    numbers: &'n mut Numbers<'a>,
    qualifier: Option<&'static str>,
}

impl PathNumbers<'_, '_> {
    fn find(&self, entries: &[&Entry]) -> Option<f64> {
        match self.qualifier {
            None => self.numbers.find(entries),
            Some(qualifier) => entries.iter().find_map(|entry| self.numbers.find_qualified(entry, qualifier)),
        }
    }

    fn time(&self, entries: &[&Entry]) -> Option<Time> {
        self.find(entries).map(picoseconds)
    }
}

fn path(numbers: &mut Numbers, qualifier: Option<&'static str>, hops: (Time, Time)) -> PathCosts {
    let mut path = PathNumbers { numbers, qualifier };
    let message = message(&mut path, hops);
    let mailbox = mailbox(&path, message);
    // The interface of the owner serves gets and puts.
    let access = MessageCosts { receive: 0, eager_bytes: usize::MAX, eager_per_byte: 0.0, ..message };
    let (get, put) = (get(&mut path, access), put(&mut path, access));
    PathCosts { message, mailbox, get, put }
}

fn message(path: &mut PathNumbers, hops: (Time, Time)) -> MessageCosts {
    let (send, receive) = overheads(path);
    let latency = latency(path, (send, receive), hops);
    let bandwidth = path
        .find(&[NETWORK_BANDWIDTH_BYTES_PER_SECOND, NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND])
        .or_else(|| bus_bandwidth(path.numbers));
    let bandwidth = bandwidth.unwrap_or_else(|| path.numbers.miss(NETWORK_BANDWIDTH_BYTES_PER_SECOND));
    let gap = path.time(&[NETWORK_GAP_SECONDS]);
    let gap = gap.or_else(|| path.find(&[MESSAGE_RATE_PER_SECOND]).map(|rate| picoseconds(1.0 / rate)));
    if gap.is_none() {
        path.numbers.assume("the cores and the bytes limit the rate of messages, because the card has no rate");
    }
    let eager_bytes = path.find(&[EAGER_BYTES]);
    if eager_bytes.is_none() {
        path.numbers.assume("all messages are sent without a rendezvous, because the card has no eager_bytes");
    }
    let is_plain = path.qualifier.is_none();
    let sends = if is_plain { ladder(path.numbers.card, MESSAGE_SECONDS, &[Word::Send]) } else { Vec::new() };
    let copy = path.numbers.find(&[STORE_SECONDS_PER_BYTE, COPY_SECONDS_PER_BYTE]);
    if copy.is_none() {
        path.numbers.assume("copies into messages and out of them take no time");
    }
    MessageCosts {
        send,
        receive,
        saved_in_batch: saved_in_batch(path, receive),
        latency,
        gap: gap.unwrap_or(0),
        per_byte: if bandwidth > 0.0 { per_byte(bandwidth) } else { 0.0 },
        steps: steps(&sends),
        copy_per_byte: copy.unwrap_or(0.0) * 1e12,
        take_per_byte: 0.0,
        poll: None,
        eager_bytes: eager_bytes.map_or(usize::MAX, |bytes| bytes as usize),
        eager_per_byte: path.find(&[EAGER_SECONDS_PER_BYTE]).unwrap_or(0.0) * 1e12,
        handshake: path.find(&[RENDEZVOUS_SECONDS]).map_or(latency, |seconds| picoseconds(seconds / 2.0)),
    }
}

/// Returns the time that a receive saves for each message after the first. The card has the mean time of four messages that are
/// received together (Blue Gene/P paper, Section 4.3.1).
fn saved_in_batch(path: &PathNumbers, receive: Time) -> Time {
    path.time(&[PACKET_RECEIVE_SECONDS])
        .map_or(0, |packet| receive - receive.min(packet.saturating_mul(4).saturating_sub(receive) / 3))
}

/// The time of the core that sends a message, and of the one that receives it.
const SENDING: [&Entry; 4] = [NETWORK_SEND_OVERHEAD_SECONDS, NETWORK_OVERHEAD_SECONDS, INJECT_SECONDS, SEND_SECONDS];
const RECEIVING: [&Entry; 3] = [NETWORK_RECEIVE_OVERHEAD_SECONDS, NETWORK_OVERHEAD_SECONDS, RECEIVE_SECONDS];

/// Both are missing if messages of a path that is used cost the sending core nothing.
pub fn require_overheads(numbers: &mut Numbers, nodes: usize, ranks_per_node: usize) {
    let has_node_path = numbers.find_qualified(NETWORK_LATENCY_SECONDS, NODE).is_some();
    let used = [(nodes > 1 || !has_node_path, None), (ranks_per_node > 1 && has_node_path, Some(NODE))];
    for (_, qualifier) in used.into_iter().filter(|(is_used, _)| *is_used) {
        let path = PathNumbers { numbers, qualifier };
        if path.find(&SENDING).is_none() {
            path.numbers.miss(NETWORK_SEND_OVERHEAD_SECONDS);
            path.numbers.miss(NETWORK_RECEIVE_OVERHEAD_SECONDS);
        }
    }
}

fn overheads(path: &mut PathNumbers) -> (Time, Time) {
    let (send, receive) = (path.time(&SENDING), path.time(&RECEIVING));
    match (send, receive) {
        (None, None) => path.numbers.assume("the cores spend no time on a message: all of its latency is on the way"),
        (None, _) => path.numbers.assume("the sending core spends no time on a message"),
        (_, None) => path.numbers.assume("the receiving core spends no time on a message"),
        _ => {}
    }
    (send.unwrap_or(0), receive.unwrap_or(0))
}

/// On the way of a short message, without the cores and the links: from the latency of neighbours, or as the sum of its parts.
fn latency(path: &mut PathNumbers, (send, receive): (Time, Time), (hop, first_hops): (Time, Time)) -> Time {
    if let Some(wire) = path.time(&[WIRE_LATENCY_SECONDS]) {
        return wire;
    }
    let whole = path.time(&[NETWORK_LATENCY_SECONDS]).map(|latency| latency.saturating_sub(first_hops));
    let of_parts = || {
        let [io, rest] = [path.time(&[IO_LATENCY_SECONDS])?, path.time(&[INTERFACE_SECONDS])?];
        // A path of n links passes n + 1 routers.
        Some(io.saturating_mul(2).saturating_add(rest).saturating_add(hop))
    };
    match whole.or_else(of_parts) {
        Some(latency) => {
            if latency < send.saturating_add(receive) {
                path.numbers.assume("a short message takes no time on the way: the cores need all of its latency");
            }
            latency.saturating_sub(send).saturating_sub(receive)
        }
        None => {
            path.numbers.miss(NETWORK_LATENCY_SECONDS);
            0
        }
    }
}

/// Times by bytes, ascending, from the numbers with these words after the size.
fn ladder(card: &Card, number: &Entry, words: &[Word]) -> Vec<(f64, f64)> {
    let step = |name: apexmap_theory::machine::NumberName| match name.qualifier.as_slice() {
        [Word::Bytes(bytes), rest @ ..] if rest == words => Some((*bytes as f64, card.get(&name.to_string())?)),
        _ => None,
    };
    let mut ladder: Vec<(f64, f64)> = card.variants(number.name).into_iter().filter_map(step).collect();
    ladder.sort_by(|a, b| a.0.total_cmp(&b.0));
    ladder
}

/// In addition to the shortest step. The sizes of the longest steps are those of the ladder.
fn steps(ladder: &[(f64, f64)]) -> [Step; MAX_STEPS] {
    let mut steps = [Step::default(); MAX_STEPS];
    let Some(first) = ladder.first() else { return steps };
    let longest = ladder.iter().skip(ladder.len().saturating_sub(MAX_STEPS));
    for (step, (bytes, seconds)) in steps.iter_mut().zip(longest) {
        *step = Step { bytes: *bytes as usize, time: picoseconds((seconds - first.1).max(0.0)) };
    }
    steps
}

/// Picoseconds of each further byte, from the shortest step to the longest one.
fn slope(ladder: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (ladder.first()?, ladder.last()?);
    (last.0 > first.0).then(|| ((last.1 - first.1) / (last.0 - first.0)).max(0.0) * 1e12)
}

/// In a stream of messages through a mailbox, the core that takes them is the slower one.
fn mailbox(path: &PathNumbers, message: MessageCosts) -> MessageCosts {
    let ladder = ladder(path.numbers.card, MESSAGE_SECONDS, &[Word::Mailbox]);
    let (None, Some(&(_, seconds)), Some(per_byte)) = (path.qualifier, ladder.first(), slope(&ladder)) else {
        return message;
    };
    let receive = picoseconds(seconds).max(message.receive);
    MessageCosts {
        receive,
        // The sum of all is that of a message between the same cores.
        latency: message.latency.saturating_add(message.receive).saturating_sub(receive),
        gap: 0,
        per_byte: 0.0,
        steps: [Step::default(); MAX_STEPS],
        take_per_byte: (per_byte - message.copy_per_byte).max(0.0),
        ..message
    }
}

/// The core time is that of many outstanding gets; the rest of a get alone is the way there and back.
fn get(path: &mut PathNumbers, message: MessageCosts) -> MessageCosts {
    let card = path.numbers.card;
    let [streams, singles] = [Word::Many, Word::One].map(|word| ladder(card, GET_SECONDS, &[word]));
    match (path.qualifier, streams.first(), singles.first()) {
        (None, Some(&(_, issue)), Some(&(_, alone))) => MessageCosts {
            send: picoseconds(issue),
            latency: picoseconds((alone - issue).max(0.0) / 2.0),
            gap: 0,
            steps: steps(&streams),
            poll: path.numbers.find(&[GET_CHECK_SECONDS]).map(picoseconds),
            ..message
        },
        _ => {
            path.numbers.assume("gets cost as messages, without the receiving core");
            message
        }
    }
}

/// The core time is that of a stream of puts.
fn put(path: &mut PathNumbers, message: MessageCosts) -> MessageCosts {
    let card = path.numbers.card;
    let puts = ladder(card, MESSAGE_SECONDS, &[Word::Put]);
    let latency = ladder(card, NETWORK_LATENCY_SECONDS, &[Word::Put]);
    match (path.qualifier, puts.first(), latency.first()) {
        (None, Some(&(_, issue)), Some(&(_, alone))) => MessageCosts {
            send: picoseconds(issue),
            latency: picoseconds((alone - issue).max(0.0)),
            gap: 0,
            steps: steps(&puts),
            copy_per_byte: 0.0,
            ..message
        },
        _ => {
            path.numbers.assume("puts cost as messages, without the receiving core");
            message
        }
    }
}
