//! The measurements that bounds are computed from: small operations over a range of sizes, which qualify the numbers.

use super::derived_numbers::{lines, page_reads};
use super::{Probe, staircase::places};
use apexmap_base::provenance::Granularity;
use apexmap_measure::kernels::calibrate::memory::{loaded, read, stream};
use apexmap_measure::kernels::calibrate::network::{get, mailbox};
use apexmap_measure::kernels::message_rate::patterns::{BIDIRECTIONAL, STREAMING};
use apexmap_measure::kernels::message_rate::ping_pong;
use apexmap_theory::machine::{Card, Entry, NumberName, Word, catalogue};

/// Regions of this many bytes or more get longer runs.
const LONG_RUN_BYTES: u64 = 32 << 20;

fn sized_number(number: &'static Entry, bytes: u64, further: impl IntoIterator<Item = Word>) -> NumberName {
    NumberName::new(number).with_qualifier([Word::Bytes(bytes)].into_iter().chain(further))
}

/// The probes of a core's memory: random reads and streams in regions of `least` to `most` bytes, in powers of two.
pub fn memory(least: u64, most: u64) -> Vec<Probe> {
    let sizes = || std::iter::successors(Some(least), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most);
    let mut probes = Vec::new();
    for bytes in sizes() {
        for (pages, order) in [
            (Word::Huge, Word::Independent),
            (Word::Huge, Word::Prefetched),
            (Word::Huge, Word::Dependent),
            (Word::Base, Word::Independent),
            (Word::Base, Word::Prefetched),
            (Word::Base, Word::Dependent),
        ] {
            probes.push(read(bytes, &pages, &order));
        }
        let number = sized_number(catalogue::READ_BANDWIDTH_BYTES_PER_SECOND, bytes, []);
        let probe = Probe::from_number(number, &stream::KERNEL, 1).set("bytes", bytes);
        // Each run reads 64 MiB in total, so that small regions take long enough for the clock.
        let passes = ((1u64 << 26) / bytes).max(1);
        probes.push(probe.set("passes", passes).set("access", "read").read_column("bytes_per_second"));
    }
    probes
}

fn read(bytes: u64, pages: &Word, order: &Word) -> Probe {
    // In a large cache, random reads take long to replace the earlier contents.
    let reads = match (order, bytes) {
        (Word::Dependent, _) => 1u64 << 16,
        (_, ..LONG_RUN_BYTES) => 1 << 18,
        _ => 1 << 22,
    };
    let number = sized_number(catalogue::READ_SECONDS, bytes, [pages.clone(), order.clone()]);
    let probe = Probe::from_number(number, &read::KERNEL, 1).set("bytes", bytes).set("pages", pages);
    probe.set("order", order).set("reads", reads)
}

/// The probes of a core's address translation: dependent reads of one line per page, in regions of up to these numbers of bytes.
pub fn pages(granularity: &Granularity, most_base: u64, most_huge: u64) -> Vec<Probe> {
    let mut probes = Vec::new();
    let kinds =
        [(Word::Base, granularity.base_page_bytes, most_base), (Word::Huge, granularity.huge_page_bytes, most_huge)];
    for (pages, page, most) in kinds {
        let sizes = std::iter::successors(Some(4 * page), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most);
        probes.extend(sizes.map(|bytes| page_read(bytes, &pages)));
    }
    probes
}

fn page_read(bytes: u64, pages: &Word) -> Probe {
    let number = sized_number(catalogue::PAGE_READ_SECONDS, bytes, [pages.clone()]);
    let probe = Probe::from_number(number, &read::KERNEL, 1).set("bytes", bytes);
    probe.set("pages", pages).set("order", "dependent").set("spread", "pages").set("reads", 1u64 << 16)
}

/// Sizes from 1/3.7 to 3.7 times that of a step, a quarter of an octave apart. None is a power of two, unlike those of the first stage.
fn sizes_near(place: f64, unit: f64, most: u64) -> impl Iterator<Item = u64> {
    let sizes = (-8..8).map(move |k| place * 2f64.powf((f64::from(k) + 0.5) / 4.0));
    let whole = sizes.map(move |size| ((size / unit).round() * unit) as u64);
    whole.filter(move |&bytes| bytes >= unit as u64 && bytes <= most && !bytes.is_power_of_two())
}

/// Regions around each step of the first stage, and for each step of translation, pages and the same number of adjacent lines.
pub fn refine(card: &Card, most: u64) -> Vec<Probe> {
    let mut probes = Vec::new();
    for place in places(&lines(card)) {
        // Round the sizes to a readable unit.
        let unit = if place < 1e6 { 1024.0 } else { 65536.0 };
        probes.extend(sizes_near(place, unit, most).map(|bytes| read(bytes, &Word::Huge, &Word::Dependent)));
    }
    let line = card.granularity().line_bytes;
    for (pages, page) in card.page_sizes() {
        for place in places(&page_reads(card, &pages, page)) {
            // The kernel reads at least 1 KiB of lines.
            for bytes in sizes_near(place, 4.0 * page, most).filter(|&bytes| bytes >= 16 * page as u64) {
                probes.push(page_read(bytes, &pages));
                probes.push(read(bytes / page as u64 * line, &Word::Huge, &Word::Dependent));
            }
        }
    }
    // Regions around neighbouring steps overlap.
    let mut names: Vec<NumberName> = Vec::new();
    probes.retain(|probe: &Probe| {
        let name = &probe.number;
        let is_new = card.get(&name.to_string()).is_none() && !names.contains(name);
        names.extend(is_new.then(|| name.clone()));
        is_new
    });
    probes
}

/// The latency of one core while the others read for a share of the time.
pub fn loaded_latency(bytes: u64, cores: usize) -> Vec<Probe> {
    let pair = |share: u64| {
        let probe = |number: &'static Entry| {
            let number = NumberName::new(number).with_qualifier([Word::PerCent(share)]);
            Probe::from_number(number, &loaded::KERNEL, cores).set("bytes", bytes).set("share", share)
        };
        let bandwidth = probe(catalogue::LOADED_BANDWIDTH_BYTES_PER_SECOND).read_column("background_bytes_per_second");
        [Some(probe(catalogue::LOADED_LATENCY_SECONDS)), (share > 0).then_some(bandwidth)]
    };
    [0, 25, 50, 75, 100].into_iter().flat_map(pair).flatten().collect()
}

/// The probes of a rank's messages, for every method of sending that kernels use.
pub fn messages() -> Vec<Probe> {
    let mut probes = Vec::new();
    let probe = |number: NumberName, kernel, bytes: u64, count: u64| {
        Probe::from_number(number, kernel, 2).set("message_bytes", bytes).set("messages", count)
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
                sized_number(
                    catalogue::MESSAGE_SECONDS,
                    bytes,
                    [operation.clone()].into_iter().chain(way).chain(few.clone()),
                )
            };
            let one_way = probe(name(None), &STREAMING, bytes, count).set("operation", &operation);
            probes.push(per_rank(one_way.clone(), 1.0));
            let both = probe(name(Some(Word::Both)), &BIDIRECTIONAL, bytes, count).set("operation", &operation);
            // The column counts both directions; half of the operations are a rank's own.
            probes.push(per_rank(both, 2.0));
            if few.is_none() {
                let to_one = Probe { number: name(Some(Word::One)), ..one_way.set("buffers", "one") };
                probes.push(per_rank(to_one, 1.0));
            }
        }
    }
    for (bytes, count) in [(8u64, 16384u64), (1 << 10, 4096), (8 << 10, 1024)] {
        probes.push(probe(
            sized_number(catalogue::MESSAGE_SECONDS, bytes, [Word::Mailbox]),
            &mailbox::KERNEL,
            bytes,
            count,
        ));
    }
    // Runs are short because the best one counts, and a busy machine always interrupts a long one.
    for (bytes, count) in [(8u64, 2048u64), (4 << 10, 1024), (64 << 10, 128), (512 << 10, 16)] {
        for (window, way) in [(1u64, Word::One), (16, Word::Many)] {
            let get = probe(sized_number(catalogue::GET_SECONDS, bytes, [way]), &get::KERNEL, bytes, count);
            probes.push(get.set("window", window));
        }
    }
    for operation in [Word::Send, Word::Put] {
        let number = sized_number(catalogue::NETWORK_LATENCY_SECONDS, 4, [operation.clone()]);
        let pong = probe(number, &ping_pong::KERNEL, 4, 1024).set("operation", &operation);
        probes.push(per_rank(pong, 1.0));
    }
    probes
}

/// The number follows from the operations per second of all ranks.
fn per_rank(probe: Probe, times: f64) -> Probe {
    Probe { factor: times, ..probe.read_inverse("operations_per_second") }
}
