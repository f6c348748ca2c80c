//! What bounds are made of: the same small thing measured over a range of sizes, each number with its size as qualifier.

use super::Probe;
use super::derived::{PAGES, lines, page_reads};
use super::staircase::places;
use apexmap_theory::machine::{Card, Entry, NumberName, Word, catalogue};

/// From this many bytes on, runs are longer.
const SETTLED: u64 = 32 << 20;

/// A number of this size, and further words.
fn of_size(number: &'static Entry, bytes: u64, further: impl IntoIterator<Item = Word>) -> NumberName {
    NumberName::new(number).with([Word::Bytes(bytes)].into_iter().chain(further))
}

/// Of a core: random reads and streams in regions of `least` to `most` bytes, powers of two.
pub fn memory(least: u64, most: u64) -> Vec<Probe> {
    let sizes = || std::iter::successors(Some(least), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most);
    let mut all = Vec::new();
    for bytes in sizes() {
        for (pages, order) in [
            (Word::Huge, Word::Independent),
            (Word::Huge, Word::Prefetched),
            (Word::Huge, Word::Dependent),
            (Word::Base, Word::Independent),
            (Word::Base, Word::Prefetched),
            (Word::Base, Word::Dependent),
        ] {
            all.push(read(bytes, &pages, &order));
        }
        let number = of_size(catalogue::READ_BANDWIDTH_BYTES_PER_SECOND, bytes, []);
        let probe = Probe::of(number, "calibrate.stream", 1).with("bytes", bytes);
        let passes = ((1u64 << 26) / bytes).max(1);
        all.push(probe.with("passes", passes).with("access", "read").from("bytes_per_second"));
    }
    all
}

fn read(bytes: u64, pages: &Word, order: &Word) -> Probe {
    // A large cache takes long to hold what random reads need instead of what was there before.
    let reads = match (order, bytes) {
        (Word::Dependent, _) => 1u64 << 16,
        (_, ..SETTLED) => 1 << 18,
        _ => 1 << 22,
    };
    let number = of_size(catalogue::READ_SECONDS, bytes, [pages.clone(), order.clone()]);
    let probe = Probe::of(number, "calibrate.read", 1).with("bytes", bytes).with("pages", pages);
    probe.with("order", order).with("reads", reads)
}

/// Of a core: dependent reads of one line a page, over pages of 4 KiB in up to the first and of 2 MiB in up to the second.
pub fn pages(most_base: u64, most_huge: u64) -> Vec<Probe> {
    let mut all = Vec::new();
    for ((pages, page), most) in PAGES.into_iter().zip([most_base, most_huge]) {
        for bytes in
            std::iter::successors(Some(4 * page as u64), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most)
        {
            all.push(page_read(bytes, &pages));
        }
    }
    all
}

fn page_read(bytes: u64, pages: &Word) -> Probe {
    let number = of_size(catalogue::PAGE_READ_SECONDS, bytes, [pages.clone()]);
    let probe = Probe::of(number, "calibrate.read", 1).with("bytes", bytes);
    probe.with("pages", pages).with("order", "dependent").with("spread", "pages").with("reads", 1u64 << 16)
}

/// Sizes around a step: from 1/3.7 of it to 3.7 times it, a quarter of an octave apart. None is a power of two, as those of the first
/// stage are.
fn around(place: f64, unit: f64, most: u64) -> impl Iterator<Item = u64> {
    let sizes = (-8..8).map(move |k| place * 2f64.powf((f64::from(k) + 0.5) / 4.0));
    let whole = sizes.map(move |size| ((size / unit).round() * unit) as u64);
    whole.filter(move |&bytes| bytes >= unit as u64 && bytes <= most && !bytes.is_power_of_two())
}

/// The second stage of a latency staircase: regions around each step that the first stage has put on a card, and pages around
/// each of address translation, with as many lines side by side.
pub fn fine(card: &Card, most: u64) -> Vec<Probe> {
    let mut all = Vec::new();
    for place in places(&lines(card)) {
        // Sizes as one would write them.
        let unit = if place < 1e6 { 1024.0 } else { 65536.0 };
        all.extend(around(place, unit, most).map(|bytes| read(bytes, &Word::Huge, &Word::Dependent)));
    }
    for (pages, page) in PAGES {
        for place in places(&page_reads(card, &pages, page)) {
            // The kernel reads 1 KiB of lines at least.
            for bytes in around(place, 4.0 * page, most).filter(|&bytes| bytes >= 16 * page as u64) {
                all.push(page_read(bytes, &pages));
                all.push(read(bytes / page as u64 * 64, &Word::Huge, &Word::Dependent));
            }
        }
    }
    let mut known: Vec<NumberName> = Vec::new();
    all.retain(|probe: &Probe| {
        let name = &probe.number;
        let fresh = card.get(&name.to_string()).is_none() && !known.contains(name);
        known.extend(fresh.then(|| name.clone()));
        fresh
    });
    all
}

/// Of a node: the latency of one core's reads while the others read for so much of the time.
pub fn loaded(bytes: u64, cores: usize) -> Vec<Probe> {
    let at = |share: u64| {
        let probe = |number: &'static Entry| {
            let number = NumberName::new(number).with([Word::PerCent(share)]);
            Probe::of(number, "calibrate.loaded", cores).with("bytes", bytes).with("share", share)
        };
        let bandwidth = probe(catalogue::LOADED_BANDWIDTH_BYTES_PER_SECOND).from("background_bytes_per_second");
        [Some(probe(catalogue::LOADED_LATENCY_SECONDS)), (share > 0).then_some(bandwidth)]
    };
    [0, 25, 50, 75, 100].into_iter().flat_map(at).flatten().collect()
}

/// Of a rank: messages by all ways that kernels send them.
pub fn messages() -> Vec<Probe> {
    let mut all = Vec::new();
    let each = |number: NumberName, kernel, bytes: u64, count: u64| {
        Probe::of(number, kernel, 2).with("message_bytes", bytes).with("messages", count)
    };
    // The shortest twice, as what they cost depends on how many places they go to.
    let sizes = [
        (4u64, 1024u64, Some(Word::Few)),
        (4, 16384, None),
        (64, 16384, None),
        (1 << 10, 4096, None),
        (4 << 10, 2048, None),
        (16 << 10, 1024, None),
        (64 << 10, 256, None),
    ];
    for (bytes, count, few) in sizes {
        for operation in [Word::Send, Word::Put] {
            let name = |way: Option<Word>| {
                of_size(
                    catalogue::MESSAGE_SECONDS,
                    bytes,
                    [operation.clone()].into_iter().chain(way).chain(few.clone()),
                )
            };
            let one_way = each(name(None), "message_rate.streaming", bytes, count).with("operation", &operation);
            all.push(per_rank(one_way.clone(), 1.0));
            let both =
                each(name(Some(Word::Both)), "message_rate.bidirectional", bytes, count).with("operation", &operation);
            // The operations of both directions; a rank's own are half of them.
            all.push(per_rank(both, 2.0));
            if few.is_none() {
                let to_one = Probe { number: name(Some(Word::One)), ..one_way.with("buffers", "one") };
                all.push(per_rank(to_one, 1.0));
            }
        }
    }
    for (bytes, count) in [(8u64, 16384u64), (1 << 10, 4096), (8 << 10, 1024)] {
        all.push(each(of_size(catalogue::MESSAGE_SECONDS, bytes, [Word::Mailbox]), "calibrate.mailbox", bytes, count));
    }
    // Short runs, as the best of them counts, and a long one is always interrupted on a busy machine.
    for (bytes, count) in [(8u64, 2048u64), (4 << 10, 1024), (64 << 10, 128), (512 << 10, 16)] {
        for (window, way) in [(1u64, Word::One), (16, Word::Many)] {
            let get = each(of_size(catalogue::GET_SECONDS, bytes, [way]), "calibrate.get", bytes, count);
            all.push(get.with("window", window));
        }
    }
    for operation in [Word::Send, Word::Put] {
        let number = of_size(catalogue::NETWORK_LATENCY_SECONDS, 4, [operation.clone()]);
        let pong = each(number, "message_rate.ping_pong", 4, 1024).with("operation", &operation);
        all.push(per_rank(pong, 1.0));
    }
    all
}

/// From the operations per second of all ranks.
fn per_rank(probe: Probe, times: f64) -> Probe {
    Probe { inverse: true, times, ..probe.from("operations_per_second") }
}
