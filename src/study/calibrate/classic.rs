//! The classic numbers of a node under their usual names: STREAM, GUPS, latencies, cache sizes, TLB reach and core to core.

use super::card_text::{interval, is_wide};
use super::node::{STREAM_RULE, last_caches};
use super::{Probe, derived_numbers::lines};
use apexmap_base::provenance::Host;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, Unit, WORD_BYTES, amount, plural, short_number};
use apexmap_theory::bounds::DEVICE_NAME;
use apexmap_theory::machine::catalogue::{self, CACHES, CacheLevel};
use apexmap_theory::machine::{Card, DISTURBED, Entry, NumberName, Word};
use serde::Serialize;

/// Cells may be empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// STREAM, GUPS, latency and so on; only in the first row of each group.
    pub group: String,
    pub name: String,
    pub value: String,
    /// 95 % interval, or the range of a few launches or runs.
    pub interval: String,
    /// The same for narrow terminals, with one unit for both ends.
    #[serde(skip)]
    pub short_interval: String,
    pub note: String,
}

/// Keys in a card's provenance: bytes of each STREAM array over all ranks, and bytes of the last-level caches.
const ARRAYS: &str = "stream_array_bytes";
const LAST_CACHES: &str = "last_cache_bytes";

/// Keys in a card's provenance: bytes of the tables of all ranks together, each with its number.
pub(super) const TABLES: [(&str, &Entry, Option<Word>); 3] = [
    ("star_table_bytes", catalogue::NODE_UPDATES_PER_SECOND, Some(Word::Star)),
    ("shared_table_bytes", catalogue::NODE_UPDATES_PER_SECOND, Some(Word::Shared)),
    ("single_table_bytes", catalogue::LOCAL_SECONDS, None),
];

pub fn describe(card: &mut Card, probes: &[Probe], host: &Host) {
    let Some(stream) =
        probes.iter().find(|probe| probe.number.entry.name == catalogue::STREAM_TRIAD_BYTES_PER_SECOND.name)
    else {
        return;
    };
    let bytes = stream.settings.iter().find(|(name, _)| *name == "bytes").and_then(|(_, value)| value.as_f64());
    let arrays = bytes.map(|bytes| bytes / 3.0 * stream.ranks as f64);
    let table = |number: NumberName| {
        let probe = probes.iter().find(|probe| probe.number == number)?;
        let words = probe.settings.iter().find(|(name, _)| *name == "N_words")?.1.as_f64()?;
        Some(words * WORD_BYTES as f64 * probe.ranks as f64)
    };
    let tables = TABLES.map(|(name, entry, word)| (name, table(NumberName::new(entry).with_qualifier(word))));
    let streamed = [(ARRAYS, arrays), (LAST_CACHES, last_caches(host).map(|bytes| bytes as f64))];
    for (name, bytes) in streamed.into_iter().chain(tables) {
        card.provenance.extend(bytes.map(|bytes| (name.to_owned(), (bytes as i64).into())));
    }
}

/// The table of the classic numbers that a card has; empty for a card that was not measured.
pub fn table(card: &Card) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (group, part) in [
        ("STREAM", stream(card)),
        ("Updates", gups(card)),
        ("Latency", latency(card)),
        ("Reads", reads(card)),
        ("Cache size", sizes(card)),
        ("TLB reach", translation(card)),
        ("Loaded latency", loaded_latency(card)),
        ("Core to core", core_to_core(card)),
        ("Network", network(card)),
    ] {
        let with_group =
            |(k, row): (usize, Row)| Row { group: if k == 0 { group.into() } else { String::new() }, ..row };
        rows.extend(part.into_iter().enumerate().map(with_group));
    }
    rows
}

/// The table for a terminal, followed by the matrix of cores if it fits; empty for a card that was not measured.
pub fn text(card: &Card, width: Option<usize>) -> String {
    let rows = table(card);
    if rows.is_empty() {
        return String::new();
    }
    let disturbed = card.provenance.get(DISTURBED).and_then(|text| text.as_str());
    let disturbed = disturbed.map_or_else(String::new, |text| format!("{text}\n"));
    let mut text = format!("{disturbed}{}: {}\n{}", card.name, card.summary, text_table(rows, width));
    let (cores, pairs) = matrix(card);
    if cores.len() > 2 && pairs.len() == cores.len() * (cores.len() - 1) / 2 {
        let mut table = TextTable::new(vec![Align::Right; cores.len() + 1]).with_indent(2);
        table.add_row(std::iter::once("ns".to_owned()).chain(cores.iter().map(u64::to_string)));
        for &second in &cores {
            let cell = |first: &u64| {
                let pair = pairs.iter().find(|((a, b), _)| (*a, *b) == (*first, second));
                pair.map_or_else(String::new, |(_, seconds)| format!("{:.0}", seconds * 1e9))
            };
            table.add_row(std::iter::once(second.to_string()).chain(cores.iter().map(cell)));
        }
        let matrix = table.to_string();
        if width.is_none_or(|width| matrix.lines().all(|line| line.len() <= width)) {
            text.push_str(&format!("Core to core, by rank:\n{matrix}"));
        }
    }
    text
}

fn text_table(rows: Vec<Row>, width: Option<usize>) -> TextTable {
    if is_wide(width) {
        let columns = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Left];
        let mut table = TextTable::new(columns).with_indent(2).with_width(width);
        table.add_row(["", "", "", "95 % interval", ""]);
        rows.into_iter().for_each(|row| table.add_row([row.group, row.name, row.value, row.interval, row.note]));
        return table;
    }
    let columns = [Align::Left, Align::Right, Align::Left, Align::Left];
    let mut table = TextTable::new(columns).with_indent(2).with_width(width);
    table.add_row(["", "", "95 % interval", ""]);
    for Row { group, name, value, short_interval, note, .. } in rows {
        if !group.is_empty() {
            table.add_heading(group);
        }
        let name = name.replace(" TLB,", ",");
        match value.as_str() {
            NO_STEP => table.add_row([name, String::new(), String::new(), format!("{NO_STEP}; {note}")]),
            _ => table.add_row([name, value, short_interval, note]),
        }
    }
    table
}

fn row(name: impl Into<String>, value: String, note: impl Into<String>) -> Row {
    let [group, interval, short_interval] = Default::default();
    Row { group, name: name.into(), value, interval, short_interval, note: note.into() }
}

fn number(card: &Card, number: &NumberName, name: impl Into<String>, note: impl Into<String>) -> Option<Row> {
    let (id, unit) = (number.to_string(), number.entry.unit);
    let unsteady = card.numbers().get(&id).and_then(|number| number.unsteady_runs.zip(number.runs));
    let unsteady = unsteady.map(|(unsteady, runs)| format!("not steady in {unsteady} of {runs} runs"));
    let notes: Vec<String> = [note.into()].into_iter().filter(|note| !note.is_empty()).chain(unsteady).collect();
    Some(Row {
        interval: interval(card, &id, |ends| spread(ends, unit)),
        short_interval: interval(card, &id, |ends| units::amount_interval(ends, unit)),
        ..row(name, amount(card.get(&id)?, unit), notes.join("; "))
    })
}

fn spread((low, high): (f64, f64), unit: Unit) -> String {
    match unit {
        Unit::Seconds | Unit::Bytes => format!("{} to {}", amount(low, unit), amount(high, unit)),
        unit => units::interval((low, high), unit),
    }
}

/// The measuring cores or device of the numbers of a whole machine, and how its updates of one table were protected.
fn whole_machine(card: &Card) -> (String, &'static str) {
    if card.provenance.contains_key(DEVICE_NAME) {
        return ("the device".into(), "by atomics");
    }
    let cores = card.get(catalogue::CORES.name).map(|cores| format!("all {}", plural(cores as usize, "core")));
    (cores.unwrap_or_else(|| "all cores".into()), "unprotected")
}

fn stream(card: &Card) -> Vec<Row> {
    let recorded =
        |name: &str| card.provenance.get(name).and_then(|value| value.as_integer()).map(|bytes| bytes as f64);
    let arrays = recorded(ARRAYS).map_or_else(String::new, |arrays| {
        let rule = recorded(LAST_CACHES).filter(|caches| *caches > 0.0).map_or_else(String::new, |caches| {
            let times = arrays / caches;
            let below = if times < STREAM_RULE as f64 { "; STREAM's rule asks for at least 4 x" } else { "" };
            format!(", {} x the last-level caches{below}", short_number(times))
        });
        format!(", arrays of {}{rule}", units::bytes(arrays))
    });
    let (whole, _) = whole_machine(card);
    let four = [
        (catalogue::STREAM_COPY_BYTES_PER_SECOND, "copy"),
        (catalogue::STREAM_SCALE_BYTES_PER_SECOND, "scale"),
        (catalogue::STREAM_ADD_BYTES_PER_SECOND, "add"),
        (catalogue::STREAM_TRIAD_BYTES_PER_SECOND, "triad"),
    ];
    let mut rows: Vec<Row> =
        four.into_iter().filter_map(|(entry, name)| number(card, &NumberName::new(entry), name, "")).collect();
    rows.iter_mut().take(1).for_each(|row| row.note = format!("{whole}{arrays}"));
    rows.extend(number(card, &NumberName::new(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND), "read only", whole));
    rows
}

/// HPCC's rules require larger tables, so the rows of random updates do not bear its name.
fn gups(card: &Card) -> Vec<Row> {
    let name = |word| NumberName::new(catalogue::NODE_UPDATES_PER_SECOND).with_qualifier([word]);
    let (cores, protection) = whole_machine(card);
    let tables = |name: &str| {
        let table_bytes = card.provenance.get(name).and_then(|value| value.as_integer()).map(|bytes| bytes as f64);
        table_bytes.zip(card.get(catalogue::MEMORY_BYTES.name)).map_or_else(
            || "of unknown size".to_owned(),
            |(bytes, memory)| {
                format!("of {}, {} % of memory", units::bytes(bytes), short_number(100.0 * bytes / memory))
            },
        )
    };
    let [own, common, single] = TABLES.map(|(name, _, _)| tables(name));
    let star = number(card, &name(Word::Star), "GUPS, own tables", format!("{cores} together, tables {own}; {RULES}"));
    let shared =
        number(card, &name(Word::Shared), "GUPS, one table", format!("{cores}, updates {protection}, table {common}"));
    let single = card.get(catalogue::LOCAL_SECONDS.name).map(|seconds| {
        let unit = Unit::UpdatesPerSecond;
        let inverse = |(low, high): (f64, f64)| spread((1.0 / high, 1.0 / low), unit);
        let interval = interval(card, catalogue::LOCAL_SECONDS.name, inverse);
        let short_interval = interval.clone();
        Row {
            interval,
            short_interval,
            ..row("GUPS, one core", amount(1.0 / seconds, unit), format!("table {single}"))
        }
    });
    // Old cards have only the last number. It is not a row of this table without the others.
    let shown = star.is_some() || shared.is_some();
    [star, shared, single.filter(|_| shown)].into_iter().flatten().collect()
}

const RULES: &str = "HPCC's rules ask for half";

fn latency(card: &Card) -> Vec<Row> {
    let clock = card
        .get(catalogue::CORE_CLOCK_HZ.name)
        .map(|hertz| (hertz, ""))
        .or_else(|| Some((card.get(catalogue::CLOCK_HZ.name)?, " of the counter")));
    let to_row = |(name, entry): (&str, &'static Entry)| {
        let seconds = card.get(entry.name)?;
        let cycles = |(hertz, suffix): (f64, &str)| {
            format!("{} cycles{suffix} at {}", short_number(seconds * hertz), amount(hertz, Unit::Hertz))
        };
        number(card, &NumberName::new(entry), name, clock.map_or_else(String::new, cycles))
    };
    let levels = [
        ("L1", catalogue::L1_LATENCY_SECONDS),
        ("L2", catalogue::L2_LATENCY_SECONDS),
        ("L3", catalogue::L3_LATENCY_SECONDS),
        ("memory", catalogue::MEMORY_LATENCY_SECONDS),
    ];
    // Published cards also have latencies, but neither a staircase nor runs.
    let is_shown = |entry: &Entry| !lines(card).is_empty() || is_measured(card, entry);
    levels.into_iter().filter(|(_, entry)| is_shown(entry)).filter_map(to_row).collect()
}

fn is_measured(card: &Card, entry: &Entry) -> bool {
    card.numbers().get(entry.name).is_some_and(|number| number.runs.is_some())
}

/// The bandwidth of one core from each level.
fn reads(card: &Card) -> Vec<Row> {
    let levels = [
        ("L1", catalogue::L1_BANDWIDTH_BYTES_PER_SECOND),
        ("L2", catalogue::L2_BANDWIDTH_BYTES_PER_SECOND),
        ("L3", catalogue::L3_BANDWIDTH_BYTES_PER_SECOND),
        ("memory", catalogue::MEMORY_BANDWIDTH_BYTES_PER_SECOND),
    ];
    let of_core =
        levels.into_iter().filter(|(_, entry)| is_measured(card, entry) && !card.provenance.contains_key(DEVICE_NAME));
    of_core.filter_map(|(name, entry)| number(card, &NumberName::new(entry), name, "one core, end to end")).collect()
}

const NO_STEP: &str = "no visible step";

fn sizes(card: &Card) -> Vec<Row> {
    if lines(card).is_empty() {
        return Vec::new();
    }
    let to_row = |CacheLevel { level, size, measured }: CacheLevel| {
        let level = format!("L{level}");
        let reported = card.reported_size(size.name).map_or_else(String::new, |bytes| {
            let size = if bytes > 0.0 { units::bytes(bytes) } else { "nothing".to_owned() };
            format!("the system reports {size}")
        });
        number(card, &NumberName::new(measured), level.as_str(), reported.clone())
            .or_else(|| card.get(size.name).map(|_| row(level, NO_STEP.into(), reported)))
    };
    CACHES.into_iter().filter_map(to_row).collect()
}

fn translation(card: &Card) -> Vec<Row> {
    let mut rows = Vec::new();
    for (pages, page) in card.page_sizes() {
        let size = units::bytes(page);
        let mut has_step = false;
        for (level, id) in [("L1", catalogue::L1_TLB_REACH_BYTES), ("L2", catalogue::TLB_REACH_BYTES)] {
            let name = NumberName::new(id).with_qualifier([pages.clone()]);
            let Some(bytes) = card.get(&name.to_string()) else { continue };
            let (low, high) = card.interval(&name.to_string()).unwrap_or((bytes, bytes));
            let count = |bytes: f64| format!("{:.0}", bytes / page);
            let note = format!("{} pages ({} to {})", count(bytes), count(low), count(high));
            rows.extend(number(card, &name, format!("{level} TLB, {size} pages"), note));
            has_step = true;
        }
        let most = card
            .variants(catalogue::PAGE_READ_SECONDS.name)
            .into_iter()
            .filter(|name| name.qualifier.get(1) == Some(&pages));
        let most = most.filter_map(|name| name.qualifier.first().map(bytes_of)).fold(0.0, f64::max);
        if !has_step && most > 0.0 {
            let note = format!("in up to {}, {:.0} pages", units::bytes(most), most / page);
            rows.push(row(format!("{size} pages"), NO_STEP.into(), note));
        }
    }
    rows
}

fn bytes_of(word: &Word) -> f64 {
    if let Word::Bytes(bytes) = word { *bytes as f64 } else { 0.0 }
}

fn loaded_latency(card: &Card) -> Vec<Row> {
    let mut shares: Vec<u64> = card.variants(catalogue::LOADED_LATENCY_SECONDS.name).iter().filter_map(share).collect();
    shares.sort_unstable();
    let to_row = |&share: &u64| {
        let name = |number: &'static Entry| NumberName::new(number).with_qualifier([Word::PerCent(share)]);
        let bandwidth = card.get(&name(catalogue::LOADED_BANDWIDTH_BYTES_PER_SECOND).to_string());
        let note = bandwidth.map_or_else(
            || "the other cores wait".into(),
            |bandwidth| format!("the other cores read {}", amount(bandwidth, Unit::BytesPerSecond)),
        );
        number(card, &name(catalogue::LOADED_LATENCY_SECONDS), format!("{share} %"), note)
    };
    shares.iter().filter_map(to_row).collect()
}

fn share(name: &NumberName) -> Option<u64> {
    if let [Word::PerCent(share)] = name.qualifier[..] { Some(share) } else { None }
}

/// Two ranks, and the seconds from the core of the first to that of the second.
pub type Handover = ((u64, u64), f64);

pub fn matrix(card: &Card) -> (Vec<u64>, Vec<Handover>) {
    let pair = |name: NumberName| match name.qualifier[..] {
        [Word::Pair(first, second)] => Some(((first, second), card.get(&name.to_string())?)),
        _ => None,
    };
    let pairs: Vec<Handover> =
        card.variants(catalogue::CORE_TO_CORE_SECONDS.name).into_iter().filter_map(pair).collect();
    let mut cores: Vec<u64> = pairs.iter().flat_map(|((first, second), _)| [*first, *second]).collect();
    cores.sort_unstable();
    cores.dedup();
    (cores, pairs)
}

fn network(card: &Card) -> Vec<Row> {
    if card.provenance.get("transport").and_then(|text| text.as_str()) != Some("mpi") {
        return Vec::new();
    }
    let rows = [
        (catalogue::NETWORK_LATENCY_SECONDS, "latency", "8 bytes"),
        (catalogue::MESSAGE_RATE_PER_SECOND, "message rate", "8 bytes, two ranks"),
        (catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND, "bandwidth", "1 MiB, two ranks"),
        (catalogue::BISECTION_BYTES_PER_SECOND, "bisection", "each direction"),
    ];
    rows.into_iter().filter_map(|(entry, name, note)| number(card, &NumberName::new(entry), name, note)).collect()
}

fn core_to_core(card: &Card) -> Vec<Row> {
    let (cores, mut pairs) = matrix(card);
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let to_row = |label: &str, index: usize| {
        let ((first, second), _) = pairs[index];
        let name = NumberName::new(catalogue::CORE_TO_CORE_SECONDS).with_qualifier([Word::Pair(first, second)]);
        number(card, &name, label, format!("ranks {first} and {second}"))
    };
    let add_note = |row: Option<Row>| {
        let total = card.get(catalogue::CORES.name).filter(|&cores_in_all| cores_in_all > cores.len() as f64);
        let note = total.map_or_else(String::new, |total| {
            format!(" of {} cores, in pairs evenly spread over {total}", cores.len())
        });
        row.map(|row| Row { note: format!("{}; {}{note}", row.note, plural(pairs.len(), "pair")), ..row })
    };
    match pairs.len() {
        0 => Vec::new(),
        1 => to_row("handover", 0).into_iter().collect(),
        count => [add_note(to_row("smallest", 0)), to_row("median", (count - 1) / 2), to_row("largest", count - 1)]
            .into_iter()
            .flatten()
            .collect(),
    }
}
