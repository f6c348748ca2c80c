//! Numbers of a machine card that limit rates.

use super::{DEVICE_NAME, L2, L3, Ladder, MEMORY};
use crate::machine::{Card, Entry, NumberName, Word, catalogue};
use crate::models::Model;
use crate::models::apex_map::Surface;
use apexmap_base::provenance::Host;

/// Maximum loads per cycle. x86_64 and Arm cores start two or three, say the makers' guides; four is a margin for wider cores.
const MAX_LOADS_PER_CYCLE: f64 = 4.0;

/// Maximum stores that a core starts per cycle. Current cores start one or two.
const MAX_STORES_PER_CYCLE: f64 = 2.0;

/// Maximum bytes that a core loads per cycle: two vectors of 64 bytes.
const MAX_LOADED_BYTES_PER_CYCLE: f64 = 128.0;

/// The best measured numbers of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Host of the measurement; absent on cards that no calibration wrote.
    pub host: Option<String>,
    pub cpu_model: Option<String>,
    /// Reason why the card is used for another host: [`Limits::BY_NAME`] or [`Limits::BY_FORCE`].
    pub accepted: Option<String>,
    /// The device whose card it is, if it is no machine's.
    pub device: Option<String>,
    /// Smallest part of its memory that the device reads, in bytes.
    pub sector: Option<f64>,
    carrier: Option<(String, String)>,
    pub cores: Option<f64>,
    pub line_bytes: f64,
    /// Sizes of the caches in bytes, from the first level on, up to the first unknown one.
    pub caches: Vec<f64>,
    /// The highest clock of a core, in hertz.
    pub core_clock: Option<f64>,
    /// Seconds of one poll without a message.
    pub poll: Option<f64>,
    /// Seconds of a random read with a known address, by bytes of the region. Base and huge pages: the faster one.
    pub reads: Ladder,
    /// Seconds of such a read on base pages.
    pub reads_on_base: Ladder,
    /// Random reads of regions beyond the first-level cache. Within it, reads are as fast as the loop.
    pub reads_beyond_first: Ladder,
    /// Random reads on base pages beyond the reach of their translations, at twice the measured sizes. The reach depends on the
    /// physical addresses: near it, one of eight launches was 14 % faster than all other launches and all calibrations.
    pub walks: Ladder,
    /// Latency of a line in seconds: that of dependent random reads minus that of the smallest region.
    pub latencies: Ladder,
    /// Maximum outstanding cache lines.
    pub outstanding: Option<f64>,
    /// Minimum seconds per line, streamed or at random.
    pub lines: Ladder,
    /// Seconds per byte in the fastest stream.
    pub byte_seconds: Option<f64>,
    /// Seconds per value of the random stream.
    pub generate: Option<f64>,
    /// Bytes per second of all cores of a node together.
    pub node_bandwidth: Option<f64>,
    pub messages: Option<Messages>,
    /// Parameters of Apex-Map's model in its order. A predicted rate is attainable.
    pub surface: Option<Vec<f64>>,
}

/// Minimum cost of messages between two ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    /// Sends, or messages through mailboxes.
    pub send: Costs,
    pub put: Costs,
    pub get: Costs,
    /// Core time to start a send, in seconds.
    pub inject: Option<f64>,
    /// Seconds of a short message in one direction, with sends and with puts.
    pub send_latency: Option<f64>,
    pub put_latency: Option<f64>,
    /// Seconds of a short get, including the request.
    pub get_latency: Option<f64>,
    /// Bytes per second in one direction between two halves of the ranks, and the number of these ranks.
    pub bisection: Option<(f64, usize)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Seconds per message, each in a separate buffer.
    pub message: Option<f64>,
    /// Seconds per message if all use one buffer.
    pub message_one_buffer: Option<f64>,
    /// Seconds per byte, with any buffers.
    pub byte: Option<f64>,
}

impl Costs {
    /// Returns the smallest values of a number: over the ways that use separate buffers, and over those that use one.
    fn from_card(card: &Card, number: &Entry, separate: fn(&[Word]) -> bool, single: fn(&[Word]) -> bool) -> Self {
        let min_seconds =
            |way: fn(&[Word]) -> bool| steps(card, number.name, way).map(|(_, best)| best).reduce(f64::min);
        let all_steps = steps(card, number.name, separate).chain(steps(card, number.name, single));
        Self {
            message: min_seconds(separate),
            message_one_buffer: min_seconds(single),
            byte: all_steps.map(|(size, best)| best / size).reduce(f64::min),
        }
    }
}

impl Limits {
    /// Key in the provenance of the card that a result keeps. Its value is [`Limits::BY_NAME`] or [`Limits::BY_FORCE`].
    pub const ACCEPTED: &str = "accepted";
    /// The user gave both machines the same name, and their processor models are equal.
    pub const BY_NAME: &str = "by the machine's name";
    /// The user requested it for a different machine.
    pub const BY_FORCE: &str = "of another host";

    pub fn is_from_host(&self, host: &Host) -> bool {
        self.host.as_ref() == Some(&host.name) && self.cpu_model.as_ref() == Some(&host.cpu_model)
    }

    /// Returns whether the card holds for this host: measured there, accepted by its name and processor, or by force.
    pub fn apply_to(&self, host: &Host) -> bool {
        match self.accepted.as_deref() {
            Some(Self::BY_NAME) => self.cpu_model.as_ref() == Some(&host.cpu_model),
            Some(_) => true,
            None => self.is_from_host(host),
        }
    }

    /// Reads the limits of a card. Numbers that the card does not have are `None` or empty.
    pub fn from_card(card: &Card) -> Self {
        let text = |name: &str| Some(card.provenance.get(name)?.as_str()?.to_owned());
        let reads = |pages: Word, order: Word| ladder(card, catalogue::READ_SECONDS.name, &[pages, order]);
        let best = |pages: Word| reads(pages.clone(), Word::Independent).min_with(&reads(pages, Word::Prefetched));
        let (on_huge, on_base) = (best(Word::Huge), best(Word::Base));
        let mut latency = reads(Word::Huge, Word::Dependent);
        if latency.is_empty() {
            // The memory of a device.
            latency = ladder(card, catalogue::READ_SECONDS.name, &[Word::Dependent]);
        }
        let first = latency.min_cost().unwrap_or(0.0);
        let latencies = Ladder::new(latency.rungs().iter().map(|&(size, cost)| (size, cost - first)).collect());
        let line_bytes = card.granularity().line_bytes as f64;
        let rates = steps(card, catalogue::READ_BANDWIDTH_BYTES_PER_SECOND.name, |rest| rest.is_empty());
        let stream = Ladder::new(rates.map(|(size, best)| (size, line_bytes / best)).collect());
        let lines = stream.min_with(&on_huge);
        let occupied = latencies.rungs().iter().filter_map(|&(size, latency)| {
            let (_, line) = lines.rungs().iter().find(|(rung, _)| *rung == size)?;
            Some(latency / line)
        });
        let caches: Vec<f64> = [catalogue::L1_BYTES.name, catalogue::L2_BYTES.name, catalogue::L3_BYTES.name]
            .iter()
            .map_while(|name| card.get(name))
            .collect();
        let first_cache = caches.first().copied().unwrap_or(0.0);
        let reach = card.get(&NumberName::new(catalogue::TLB_REACH_BYTES).with_qualifier([Word::Base]).to_string());
        // One byte more, because a region as large as the reach needs no walk.
        let walked = on_base.rungs_from(reach.unwrap_or(first_cache) + 1.0);
        // The pages of a run are unknown; it cannot be faster than on the better ones.
        let reads = if on_base.is_empty() { on_huge } else { on_huge.min_with(&on_base) };
        Self {
            host: text("host"),
            cpu_model: text("cpu_model"),
            accepted: text(Self::ACCEPTED),
            device: text(DEVICE_NAME),
            sector: card.best(catalogue::SECTOR_BYTES.name),
            carrier: text("transport").zip(text("library")),
            cores: card.get(catalogue::CORES.name),
            core_clock: card.best(catalogue::CORE_CLOCK_HZ.name),
            poll: card.best(catalogue::OPERATION_SECONDS.name),
            reads_beyond_first: reads.rungs_from(first_cache + 1.0),
            walks: Ladder::new(walked.rungs().iter().map(|&(size, cost)| (2.0 * size, cost)).collect()),
            line_bytes,
            caches,
            reads,
            reads_on_base: on_base,
            outstanding: occupied.reduce(f64::max).filter(|lines| *lines > 0.0),
            latencies,
            byte_seconds: stream.min_cost().map(|line| line / line_bytes),
            lines,
            generate: card.best(catalogue::GENERATE_SECONDS.name),
            node_bandwidth: card.best(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name),
            messages: Messages::from_card(card),
            surface: Surface
                .parameters(card)
                .ok()
                .filter(|_| Surface.about().parameters.iter().all(|parameter| card.is_known(parameter.number))),
        }
    }

    pub fn has_carrier(&self, (transport, library): (&str, &str)) -> bool {
        self.carrier.as_ref().is_some_and(|carrier| (carrier.0.as_str(), carrier.1.as_str()) == (transport, library))
    }

    pub fn issue_seconds(&self, loads: f64, bytes: f64, stores: f64) -> Option<f64> {
        Some(
            (loads / MAX_LOADS_PER_CYCLE).max(bytes / MAX_LOADED_BYTES_PER_CYCLE).max(stores / MAX_STORES_PER_CYCLE)
                / self.core_clock?,
        )
    }

    /// Returns the name of the limit for reads of a region of this size; `None` if it fits into L1.
    pub fn level(&self, bytes: f64) -> Option<&'static str> {
        match self.caches.iter().position(|cache| bytes <= *cache) {
            Some(0) => None,
            Some(1) => Some(L2),
            Some(_) => Some(L3),
            None => Some(MEMORY),
        }
    }

    pub fn cached_bytes(&self, ranks: f64) -> f64 {
        // Each core has its first two levels. All cores share the third.
        let own = self.caches.iter().take(2).sum::<f64>() * ranks;
        own + self.caches.get(2).copied().unwrap_or(0.0)
    }
}

impl Messages {
    fn from_card(card: &Card) -> Option<Self> {
        use Word::{Both, Few, Mailbox, Many, One, Put, Send};
        let is_send = |way: &[Word]| matches!(way, [Send] | [Send, Few] | [Send, Both] | [Send, Both, Few] | [Mailbox]);
        let is_put = |way: &[Word]| matches!(way, [Put] | [Put, Few] | [Put, Both] | [Put, Both, Few]);
        let short_message_seconds = |number: &'static Entry, bytes: u64, way: Word| {
            card.best(&NumberName::new(number).with_qualifier([Word::Bytes(bytes), way]).to_string())
        };
        let send = Costs::from_card(card, catalogue::MESSAGE_SECONDS, is_send, |way| way == [Send, One]);
        // The bisection was measured with one message size. The halves exchange at least as much as a pair of ranks does at
        // its best length.
        let pair_bandwidth = send.byte.map_or(0.0, |byte| 1.0 / byte);
        let messages = Self {
            send,
            put: Costs::from_card(card, catalogue::MESSAGE_SECONDS, is_put, |way| way == [Put, One]),
            get: Costs::from_card(card, catalogue::GET_SECONDS, |way| matches!(way, [One] | [Many]), |_| false),
            inject: card.best(catalogue::SEND_SECONDS.name),
            send_latency: short_message_seconds(catalogue::NETWORK_LATENCY_SECONDS, 4, Send),
            put_latency: short_message_seconds(catalogue::NETWORK_LATENCY_SECONDS, 4, Put),
            get_latency: short_message_seconds(catalogue::GET_SECONDS, 8, One),
            bisection: card
                .best(catalogue::BISECTION_BYTES_PER_SECOND.name)
                .map(|halves| halves.max(pair_bandwidth))
                .zip(
                    card.provenance
                        .get("bisection_ranks")
                        .and_then(toml::Value::as_integer)
                        .map(|ranks| ranks as usize),
                ),
        };
        (messages != Self::default()).then_some(messages)
    }
}

/// Returns the sizes and best values of the numbers `NAME--SIZE` whose other words satisfy `further`.
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
