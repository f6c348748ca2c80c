//! What a machine card tells that bounds are made of.

use super::{L2, L3, Ladder, MEMORY};
use crate::explore::machine::Card;
use crate::provenance::Host;
use crate::units::{self, Unit};

/// Of a line of memory.
pub const LINE_BYTES: f64 = 64.0;

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
    /// Sizes of caches, by level from the first, as far as they are known.
    pub caches: Vec<f64>,
    /// Seconds of a random read whose address is known beforehand, by the bytes of the region.
    pub reads: Ladder,
    /// The same on base pages.
    pub reads_on_base: Ladder,
    /// Seconds for which a line is in flight, for dependent random reads: the latency beyond that of the smallest region.
    pub flight: Ladder,
    /// Lines in flight at most.
    pub in_flight: Option<f64>,
    /// Seconds a line, however it is read best: in a stream or at random.
    pub lines: Ladder,
    /// Seconds a byte in the fastest stream.
    pub byte_seconds: Option<f64>,
    /// Seconds a value of the random stream.
    pub generate: Option<f64>,
    /// Bytes a second of all processors of a node.
    pub node_bandwidth: Option<f64>,
    pub messages: Option<Messages>,
}

/// What messages cost at least, between two ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    /// By sends or through mailboxes.
    pub send: Costs,
    pub put: Costs,
    pub get: Costs,
    /// Seconds that a processor spends on starting a send.
    pub inject: Option<f64>,
    /// Seconds of a short message one way, by sends and by puts.
    pub send_latency: Option<f64>,
    pub put_latency: Option<f64>,
    /// Seconds of a short get, there and back.
    pub get_latency: Option<f64>,
    /// Bytes a second of one direction between the halves of so many ranks.
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
        let reads =
            |pages: &str, order: &str| ladder(card, "read_seconds", &format!("-{pages}-{order}"), |_, best| best);
        let best = |pages: &str| reads(pages, "independent").or(&reads(pages, "prefetched"));
        let (on_huge, on_base) = (best("huge"), best("base"));
        let latency = reads("huge", "dependent");
        let first = latency.least().unwrap_or(0.0);
        let flight = Ladder::new(latency.rungs().iter().map(|&(size, cost)| (size, cost - first)).collect());
        let stream = ladder(card, "read_bandwidth_bytes_per_second", "", |_, best| LINE_BYTES / best);
        let lines = stream.or(&on_huge);
        let occupied = flight.rungs().iter().filter_map(|&(size, flight)| {
            let (_, line) = lines.rungs().iter().find(|(rung, _)| *rung == size)?;
            Some(flight / line)
        });
        Self {
            host: text("host"),
            cpu_model: text("cpu_model"),
            accepted: text(Self::ACCEPTED),
            carrier: text("transport").zip(text("library")),
            cores: card.get("cores"),
            caches: ["l1_bytes", "l2_bytes", "l3_bytes"].iter().map_while(|name| card.get(name)).collect(),
            // Whatever pages a run got, it cannot be faster than on the better ones.
            reads: if on_base.is_empty() { on_huge } else { on_huge.or(&on_base) },
            reads_on_base: on_base,
            in_flight: occupied.reduce(f64::max).filter(|lines| *lines > 0.0),
            flight,
            byte_seconds: stream.least().map(|line| line / LINE_BYTES),
            lines,
            generate: card.best("generate_seconds"),
            node_bandwidth: card.best("node_bandwidth_bytes_per_second"),
            messages: Messages::of(card),
        }
    }

    /// Whether messages of a run went by what the card's did.
    pub fn carrier_is(&self, (transport, library): (&str, &str)) -> bool {
        self.carrier.as_ref().is_some_and(|known| (known.0.as_str(), known.1.as_str()) == (transport, library))
    }

    /// What is read when a region of so many bytes is: the name of the limit.
    pub fn level(&self, bytes: f64) -> Option<&'static str> {
        match self.caches.iter().position(|cache| bytes <= *cache) {
            Some(0) => None,
            Some(1) => Some(L2),
            Some(_) => Some(L3),
            None => Some(MEMORY),
        }
    }

    /// Bytes that the caches of a node hold at most, so many ranks' together.
    pub fn cached(&self, ranks: f64) -> f64 {
        let own = self.caches.iter().take(2).sum::<f64>() * ranks;
        own + self.caches.get(2).copied().unwrap_or(0.0)
    }
}

impl Messages {
    fn of(card: &Card) -> Option<Self> {
        let least_of = |number: &str, ways: &[&str], cost: fn(f64, f64) -> f64| {
            let found = ways.iter().filter_map(|way| ladder(card, number, way, cost).least());
            found.reduce(f64::min)
        };
        let least = |ways: &[&str], cost| least_of("message_seconds", ways, cost);
        let byte = |size, best| best / size;
        let costs = |distinct: &[&str], to_one: &str| {
            let bytes = [least(distinct, byte), least(&[to_one], byte)];
            Costs {
                message: least(distinct, |_, best| best),
                message_to_one: least(&[to_one], |_, best| best),
                byte: bytes.into_iter().flatten().reduce(f64::min),
            }
        };
        let gets = ["-one", "-many"];
        let found = Self {
            send: costs(&["-send", "-send-few", "-send-both", "-send-both-few", "-mailbox"], "-send-one"),
            put: costs(&["-put", "-put-few", "-put-both", "-put-both-few"], "-put-one"),
            get: Costs {
                message: least_of("get_seconds", &gets, |_, best| best),
                message_to_one: None,
                byte: least_of("get_seconds", &gets, byte),
            },
            inject: card.best("send_seconds"),
            send_latency: card.best("network_latency_seconds--4B-send"),
            put_latency: card.best("network_latency_seconds--4B-put"),
            get_latency: card.best("get_seconds--8B-one"),
            bisection: card.best("bisection_bytes_per_second").zip(
                card.provenance.get("bisection_ranks").and_then(toml::Value::as_integer).map(|ranks| ranks as usize),
            ),
        };
        (found != Self::default()).then_some(found)
    }
}

/// The numbers `NAME--SIZE` and what follows, their best as `cost` of size and number.
fn ladder(card: &Card, name: &str, rest: &str, cost: impl Fn(f64, f64) -> f64) -> Ladder {
    let rung = |(qualifier, _): (&str, f64)| {
        let (size, found) =
            qualifier.split_once('-').map_or((qualifier, ""), |(size, _)| (size, &qualifier[size.len()..]));
        let size = units::parse(size, Unit::Bytes).ok().filter(|_| found == rest)?;
        Some((size, cost(size, card.best(&format!("{name}--{qualifier}"))?)))
    };
    Ladder::new(card.variants(name).into_iter().filter_map(rung).collect())
}
