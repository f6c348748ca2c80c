//! What a machine card tells that bounds are made of.

use super::{L2, L3, Ladder, MEMORY};
use crate::machine::{Card, Entry, NumberName, Word, catalogue};
use crate::models::Model;
use crate::models::apex_map::Surface;
use apexmap_base::provenance::Host;

/// Of a line of memory.
pub const LINE_BYTES: f64 = 64.0;

/// Loads that a core starts a cycle, at most: the x86_64 and Arm cores of today start two or three, by their makers' guides to
/// optimisation. Four leaves room for wider ones.
const LOADS: f64 = 4.0;

/// Stores that a core starts a cycle, at most: one or two.
const STORES: f64 = 2.0;

/// Bytes that it loads in a cycle, at most: two vectors of 64, or as many shorter ones as hold less.
const LOADED_BYTES: f64 = 128.0;

/// The best numbers of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Where it was measured; absent on cards that no calibration wrote.
    pub host: Option<String>,
    pub cpu_model: Option<String>,
    /// Why it is taken for other hosts, where it is: [`Limits::BY_NAME`] or [`Limits::BY_FORCE`].
    pub accepted: Option<String>,
    carrier: Option<(String, String)>,
    /// Processors of a node.
    pub cores: Option<f64>,
    /// Sizes of caches, by level from the first, as far as known.
    pub caches: Vec<f64>,
    /// The highest clock of a core, in hertz.
    pub core_clock: Option<f64>,
    /// Seconds of polling once for messages.
    pub poll: Option<f64>,
    /// Seconds of a random read whose address is known beforehand, by the bytes of the region.
    pub reads: Ladder,
    /// The same on base pages.
    pub reads_on_base: Ladder,
    /// Random reads beyond the first-level cache: those within it are as fast as the loop that reads.
    pub reads_beyond_first: Ladder,
    /// Random reads on base pages beyond what their translations reach: of a region, what one of half its size was measured to
    /// cost. How many pages the translations reach depends on where in physical memory the pages lie, which differs from launch
    /// to launch: one of eight launches was 14 % faster near the reach than all others, and so was no calibration.
    pub walks: Ladder,
    /// Latency of a line in seconds: of dependent random reads, less that of the smallest region.
    pub latencies: Ladder,
    /// Maximum outstanding cache lines.
    pub outstanding: Option<f64>,
    /// Seconds per line, read in whichever way is fastest: in a stream or at random.
    pub lines: Ladder,
    /// Seconds per byte in the fastest stream.
    pub byte_seconds: Option<f64>,
    /// Seconds per value of the random stream.
    pub generate: Option<f64>,
    /// Bytes per second of all processors of a node.
    pub node_bandwidth: Option<f64>,
    pub messages: Option<Messages>,
    /// What Apex-Map's model needs, in the order of its parameters: what it predicts is attainable.
    pub surface: Option<Vec<f64>>,
}

/// Minimum cost of messages between two ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    /// By sends or through mailboxes.
    pub send: Costs,
    pub put: Costs,
    pub get: Costs,
    /// Processor time of starting a send, in seconds.
    pub inject: Option<f64>,
    /// Seconds of a short message one way, by sends and by puts.
    pub send_latency: Option<f64>,
    pub put_latency: Option<f64>,
    /// Seconds of a short get, there and back.
    pub get_latency: Option<f64>,
    /// Bytes per second in one direction between the halves of this many ranks.
    pub bisection: Option<(f64, usize)>,
}

/// Of a rank, by one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Seconds a message, each in a buffer of its own.
    pub message: Option<f64>,
    /// The same with one buffer for all.
    pub message_to_one: Option<f64>,
    /// Seconds a byte, whatever the buffers.
    pub byte: Option<f64>,
}

impl Limits {
    /// In a card's provenance, in the copy that a result keeps.
    pub const ACCEPTED: &str = "accepted";
    /// The user calls both machines by one name, and their processors are the same.
    pub const BY_NAME: &str = "by the machine's name";
    /// The user asked for it, though it is another machine.
    pub const BY_FORCE: &str = "of another host";

    /// Whether the card was measured on this host.
    pub fn is_of(&self, host: &Host) -> bool {
        self.host.as_ref() == Some(&host.name) && self.cpu_model.as_ref() == Some(&host.cpu_model)
    }

    pub fn of(card: &Card) -> Self {
        let text = |name: &str| Some(card.provenance.get(name)?.as_str()?.to_owned());
        let reads = |pages: Word, order: Word| ladder(card, catalogue::READ_SECONDS.name, &[pages, order]);
        let best = |pages: Word| reads(pages.clone(), Word::Independent).or(&reads(pages, Word::Prefetched));
        let (on_huge, on_base) = (best(Word::Huge), best(Word::Base));
        let latency = reads(Word::Huge, Word::Dependent);
        let first = latency.least().unwrap_or(0.0);
        let latencies = Ladder::new(latency.rungs().iter().map(|&(size, cost)| (size, cost - first)).collect());
        let rates = steps(card, catalogue::READ_BANDWIDTH_BYTES_PER_SECOND.name, |rest| rest.is_empty());
        let stream = Ladder::new(rates.map(|(size, best)| (size, LINE_BYTES / best)).collect());
        let lines = stream.or(&on_huge);
        let occupied = latencies.rungs().iter().filter_map(|&(size, latency)| {
            let (_, line) = lines.rungs().iter().find(|(rung, _)| *rung == size)?;
            Some(latency / line)
        });
        let caches: Vec<f64> = [catalogue::L1_BYTES.name, catalogue::L2_BYTES.name, catalogue::L3_BYTES.name]
            .iter()
            .map_while(|name| card.get(name))
            .collect();
        let first_cache = caches.first().copied().unwrap_or(0.0);
        let reach = card.get(&NumberName::new(catalogue::TLB_REACH_BYTES).with([Word::Base]).to_string());
        let walked = on_base.from(reach.unwrap_or(first_cache) + 1.0);
        // Whatever pages a run got, it cannot be faster than on the better ones.
        let reads = if on_base.is_empty() { on_huge } else { on_huge.or(&on_base) };
        Self {
            host: text("host"),
            cpu_model: text("cpu_model"),
            accepted: text(Self::ACCEPTED),
            carrier: text("transport").zip(text("library")),
            cores: card.get(catalogue::CORES.name),
            core_clock: card.best(catalogue::CORE_CLOCK_HZ.name),
            poll: card.best(catalogue::OPERATION_SECONDS.name),
            reads_beyond_first: reads.from(first_cache + 1.0),
            walks: Ladder::new(walked.rungs().iter().map(|&(size, cost)| (2.0 * size, cost)).collect()),
            caches,
            reads,
            reads_on_base: on_base,
            outstanding: occupied.reduce(f64::max).filter(|lines| *lines > 0.0),
            latencies,
            byte_seconds: stream.least().map(|line| line / LINE_BYTES),
            lines,
            generate: card.best(catalogue::GENERATE_SECONDS.name),
            node_bandwidth: card.best(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name),
            messages: Messages::of(card),
            surface: Surface
                .parameters(card)
                .ok()
                .filter(|_| Surface.about().parameters.iter().all(|parameter| card.is_known(parameter.number))),
        }
    }

    /// Whether messages of a run went by what the card's did.
    pub fn carrier_is(&self, (transport, library): (&str, &str)) -> bool {
        self.carrier.as_ref().is_some_and(|known| (known.0.as_str(), known.1.as_str()) == (transport, library))
    }

    /// Seconds that a core needs to start so many loads, of so many bytes together, and stores, whatever the program.
    pub fn issue(&self, loads: f64, bytes: f64, stores: f64) -> Option<f64> {
        Some((loads / LOADS).max(bytes / LOADED_BYTES).max(stores / STORES) / self.core_clock?)
    }

    /// Name of the limit that reading a region of this many bytes meets.
    pub fn level(&self, bytes: f64) -> Option<&'static str> {
        match self.caches.iter().position(|cache| bytes <= *cache) {
            Some(0) => None,
            Some(1) => Some(L2),
            Some(_) => Some(L3),
            None => Some(MEMORY),
        }
    }

    /// Maximum bytes that the caches of a node hold, for this many ranks together.
    pub fn cached(&self, ranks: f64) -> f64 {
        let own = self.caches.iter().take(2).sum::<f64>() * ranks;
        own + self.caches.get(2).copied().unwrap_or(0.0)
    }
}

impl Messages {
    fn of(card: &Card) -> Option<Self> {
        use Word::{Both, Few, Mailbox, Many, One, Put, Send};
        let sent = |way: &[Word]| matches!(way, [Send] | [Send, Few] | [Send, Both] | [Send, Both, Few] | [Mailbox]);
        let put = |way: &[Word]| matches!(way, [Put] | [Put, Few] | [Put, Both] | [Put, Both, Few]);
        let got = |way: &[Word]| matches!(way, [One] | [Many]);
        let least =
            |number: &str, way: fn(&[Word]) -> bool| steps(card, number, way).map(|(_, best)| best).reduce(f64::min);
        let byte = |number: &str, way: fn(&[Word]) -> bool| {
            steps(card, number, way).map(|(size, best)| best / size).reduce(f64::min)
        };
        let costs = |number: &str, distinct: fn(&[Word]) -> bool, to_one: fn(&[Word]) -> bool| Costs {
            message: least(number, distinct),
            message_to_one: least(number, to_one),
            byte: byte(number, distinct).into_iter().chain(byte(number, to_one)).reduce(f64::min),
        };
        let short = |number: &'static Entry, bytes: u64, way: Word| {
            card.best(&NumberName::new(number).with([Word::Bytes(bytes), way]).to_string())
        };
        let send = costs(catalogue::MESSAGE_SECONDS.name, sent, |way| way == [Send, One]);
        // Measured with messages of one length: the halves exchange no less than a pair of ranks does with the best one.
        let of_pair = send.byte.map_or(0.0, |byte| 1.0 / byte);
        let found = Self {
            send,
            put: costs(catalogue::MESSAGE_SECONDS.name, put, |way| way == [Put, One]),
            get: costs(catalogue::GET_SECONDS.name, got, |_| false),
            inject: card.best(catalogue::SEND_SECONDS.name),
            send_latency: short(catalogue::NETWORK_LATENCY_SECONDS, 4, Send),
            put_latency: short(catalogue::NETWORK_LATENCY_SECONDS, 4, Put),
            get_latency: short(catalogue::GET_SECONDS, 8, One),
            bisection: card.best(catalogue::BISECTION_BYTES_PER_SECOND.name).map(|halves| halves.max(of_pair)).zip(
                card.provenance.get("bisection_ranks").and_then(toml::Value::as_integer).map(|ranks| ranks as usize),
            ),
        };
        (found != Self::default()).then_some(found)
    }
}

/// Sizes and best values of the numbers `NAME--SIZE` whose further words are these.
fn steps<'a>(
    card: &'a Card,
    number: &str,
    further: impl Fn(&[Word]) -> bool + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    card.variants(number).into_iter().filter_map(move |name| match name.qualifier.as_slice() {
        [Word::Bytes(bytes), rest @ ..] if further(rest) => Some((*bytes as f64, card.best(&name.to_string())?)),
        _ => None,
    })
}

fn ladder(card: &Card, number: &str, further: &[Word]) -> Ladder {
    Ladder::new(steps(card, number, |rest| rest == further).collect())
}
