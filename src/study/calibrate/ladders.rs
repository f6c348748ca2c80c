//! The measurements that bounds are computed from: small operations over a range of sizes. The size is the qualifier of
//! each number.

use super::Probe;
use super::derived::{PAGES, lines, page_reads};
use super::staircase::places;
use apexmap_theory::machine::{Card, Entry, NumberName, Word, catalogue};

/// Regions of this many bytes or more get longer runs.
const SETTLED: u64 = 32 << 20;

/// Returns the name of a number of this size, with further words.
fn of_size(number: &'static Entry, bytes: u64, further: impl IntoIterator<Item = Word>) -> NumberName {
    NumberName::new(number).with([Word::Bytes(bytes)].into_iter().chain(further))
}

/// Returns the probes of a core's memory: random reads and streams in regions of `least` to `most` bytes, in powers of
/// two.
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
    // In a large cache, random reads take long to replace the earlier contents.
    let reads = match (order, bytes) {
        (Word::Dependent, _) => 1u64 << 16,
        (_, ..SETTLED) => 1 << 18,
        _ => 1 << 22,
    };
    let number = of_size(catalogue::READ_SECONDS, bytes, [pages.clone(), order.clone()]);
    let probe = Probe::of(number, "calibrate.read", 1).with("bytes", bytes).with("pages", pages);
    probe.with("order", order).with("reads", reads)
}

/// Returns the probes of a core's address translation: dependent reads of one line per page. Regions of 4 KiB pages
/// have up to `most_base` bytes, those of 2 MiB pages up to `most_huge`.
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

/// Returns sizes around a step, from 1/3.7 to 3.7 times its size, a quarter of an octave apart. None is a power of two,
/// unlike those of the first stage.
fn around(place: f64, unit: f64, most: u64) -> impl Iterator<Item = u64> {
    let sizes = (-8..8).map(move |k| place * 2f64.powf((f64::from(k) + 0.5) / 4.0));
    let whole = sizes.map(move |size| ((size / unit).round() * unit) as u64);
    whole.filter(move |&bytes| bytes >= unit as u64 && bytes <= most && !bytes.is_power_of_two())
}

/// Returns the second stage of a latency staircase. It has regions around each step that the first stage has put on a
/// card. Around each step of address translation it has pages, and the same number of adjacent lines.
pub fn fine(card: &Card, most: u64) -> Vec<Probe> {
    let mut all = Vec::new();
    for place in places(&lines(card)) {
        // Round the sizes to a readable unit.
        let unit = if place < 1e6 { 1024.0 } else { 65536.0 };
        all.extend(around(place, unit, most).map(|bytes| read(bytes, &Word::Huge, &Word::Dependent)));
    }
    for (pages, page) in PAGES {
        for place in places(&page_reads(card, &pages, page)) {
            // The kernel reads at least 1 KiB of lines.
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

/// Returns the probes of a node's loaded latency: the latency of one core while the others read for a share of the
/// time.
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

/// Returns the probes of a rank's messages, for every method of sending that kernels use.
pub fn messages() -> Vec<Probe> {
    let mut all = Vec::new();
    let each = |number: NumberName, kernel, bytes: u64, count: u64| {
        Probe::of(number, kernel, 2).with("message_bytes", bytes).with("messages", count)
    };
    // The shortest size appears twice, because its cost depends on the number of places that messages go to.
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
            // The column counts both directions; half of the operations are a rank's own.
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
    // Runs are short because the best one counts, and a busy machine always interrupts a long one.
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

/// Takes the number from the operations per second of all ranks.
fn per_rank(probe: Probe, times: f64) -> Probe {
    Probe { inverse: true, times, ..probe.from("operations_per_second") }
}
