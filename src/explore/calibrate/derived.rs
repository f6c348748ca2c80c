//! Numbers of a card that follow from several measured ones: sizes of caches, the reach of address translation, and lines in
//! flight. Each is absent where what it follows from does not show it.

use crate::error::Result;
use crate::explore::machine::{Card, Number, NumberName, Word};
use crate::provenance::Host;
use crate::units::{self, BASE_PAGE_BYTES, HUGE_PAGE_BYTES};

/// A time with its 95 % interval.
#[derive(Clone, Copy)]
struct Measured {
    size: f64,
    seconds: f64,
    low: f64,
    high: f64,
}

/// A cache that serves less than this share of what the system reports is not what it reports.
const LEAST_SHARE: f64 = 0.6;

/// Adds them to a card. The size of a cache that serves much less than the system reports becomes the measured one, and says
/// both.
pub fn add(card: &mut Card, host: &Host) -> Result<()> {
    let mut nearer = 0.0;
    for level in ["l1", "l2", "l3"] {
        let name = format!("{level}_bytes");
        let Some(reported) = card.get(&name) else { continue };
        let Some(found) = capacity(card, reported, nearer) else {
            nearer = reported;
            continue;
        };
        nearer = found.value;
        if found.high.is_some_and(|high| high < LEAST_SHARE * reported) {
            let how = format!("{}; the system reports {}", found.how, units::bytes(reported));
            card.set(&name, Number { how, ..found.clone() })?;
        }
        card.set(&format!("{level}_measured_bytes"), found)?;
    }
    translation(card, Word::Base, BASE_PAGE_BYTES, host.tlb_entries_4k)?;
    translation(card, Word::Huge, HUGE_PAGE_BYTES, host.tlb_entries_2m)?;
    if let Some(number) = in_flight(card) {
        card.set(&NumberName::new("lines_in_flight").with([Word::Prefetched]).to_string(), number)?;
    }
    Ok(())
}

/// The numbers `NAME--SIZE` whose further words are these, by size.
fn ladder(card: &Card, number: &str, further: &[Word]) -> Vec<Measured> {
    let rung = |name: NumberName| match name.qualifier.as_slice() {
        [Word::Bytes(bytes), rest @ ..] if rest == further => {
            let seconds = card.get(&name.to_string())?;
            let (low, high) = card.interval(&name.to_string()).unwrap_or((seconds, seconds));
            Some(Measured { size: *bytes as f64, seconds, low, high })
        }
        _ => None,
    };
    let names = card.variants(NumberName::new(number).entry.name);
    let mut rungs: Vec<Measured> = names.into_iter().filter_map(rung).collect();
    rungs.sort_by(|a, b| a.size.total_cmp(&b.size));
    rungs
}

/// Something of C bytes serves C/R of uniform random reads in a region of R, so that they take
/// t = C/R within + (1 - C/R) beyond in the mean. With `within` from a region of at most half of what the system tells, t from
/// one of at least twice as much, and `beyond` from what the region twice as large adds, C follows. The system's size only
/// says where to look. C and the region it was seen in; `None` where the ladder does not show it.
fn served(ladder: &[Measured], reported: f64) -> Option<(Number, f64)> {
    let within = ladder.iter().rev().find(|rung| rung.size <= reported / 2.0)?.seconds;
    let at = ladder.iter().position(|rung| rung.size >= 2.0 * reported)?;
    let (mixed, twice) = (*ladder.get(at)?, *ladder.get(at + 1)?);
    let beyond = (twice.seconds * twice.size - mixed.seconds * mixed.size) / (twice.size - mixed.size);
    let bytes = |seconds: f64| mixed.size * (beyond - seconds) / (beyond - within);
    let (value, low, high) = (bytes(mixed.seconds), bytes(mixed.high), bytes(mixed.low));
    let sound = beyond > 1.5 * within && low > 0.0 && high < mixed.size;
    sound.then(|| (Number::new(value, "B", "").with_interval(low, high), mixed.size))
}

/// The size of a cache beyond `nearer` bytes, by what the system reports or, where the ladder shows no such cache, by the
/// largest size at which it shows one. Sizes that are looked at are a factor of two apart: each finds what is nearest to it.
fn capacity(card: &Card, reported: f64, nearer: f64) -> Option<Number> {
    let ladder = ladder(card, "read_seconds", &[Word::Huge, Word::Dependent]);
    let as_reported = served(&ladder, reported).filter(|(found, _)| found.value >= LEAST_SHARE * reported);
    let smaller = ladder.iter().rev().map(|rung| rung.size).filter(|&size| size < reported && size >= 2.0 * nearer);
    let near = |size: f64| served(&ladder, size).filter(|(found, _)| (0.6..1.6).contains(&(found.value / size)));
    let (found, region) = as_reported.or_else(|| smaller.filter_map(near).next())?;
    let how = format!(
        "from dependent random reads in {}, of which a cache of this size serves its part; interval of their latency only",
        units::bytes(region)
    );
    Some(Number { how, ..found })
}

/// What reads of one line a page take beyond those of as many lines next to each other, by the bytes of the pages.
fn excess(card: &Card, pages: &Word, page: f64) -> Vec<Measured> {
    let lines = ladder(card, "read_seconds", &[Word::Huge, Word::Dependent]);
    let beyond = |rung: Measured| {
        let near = |line: &&Measured| line.size <= (rung.size / page * 64.0).max(lines[0].size);
        let plain = lines.iter().rev().find(near)?;
        let (seconds, low, high) = (rung.seconds - plain.seconds, rung.low - plain.high, rung.high - plain.low);
        Some(Measured { seconds: seconds.max(0.0), low, high, ..rung })
    };
    ladder(card, "page_read_seconds", std::slice::from_ref(pages)).into_iter().filter_map(beyond).collect()
}

fn translation(card: &mut Card, pages: Word, page: u64, entries: Option<u32>) -> Result<()> {
    let page = page as f64;
    let excess = excess(card, &pages, page);
    let name = |number: &str| NumberName::new(number).with([pages.clone()]).to_string();
    let against = "dependent reads of one line a page against as many lines side by side";
    if let Some((found, region)) = entries.and_then(|entries| served(&excess, f64::from(entries) * page)) {
        let how = format!("{against}, in {}, of which entries for this much serve their part", units::bytes(region));
        card.set(&name("tlb_reach_bytes"), Number { how, ..found })?;
    }
    if let Some(last) = excess.last().filter(|last| last.low > 0.0) {
        let how = format!("{against}, in {}", units::bytes(last.size));
        let number = Number::new(last.seconds, "s", how).with_interval(last.low, last.high);
        card.set(&name("translation_seconds"), number)?;
    }
    Ok(())
}

/// Latency of dependent reads over the time of prefetched ones, in the largest region.
fn in_flight(card: &Card) -> Option<Number> {
    let (latency, reads) = (
        ladder(card, "read_seconds", &[Word::Huge, Word::Dependent]),
        ladder(card, "read_seconds", &[Word::Huge, Word::Prefetched]),
    );
    let (latency, read) =
        (latency.last()?, reads.last().filter(|read| Some(read.size) == latency.last().map(|l| l.size))?);
    let how = format!("dependent over prefetched random reads in {}, on huge pages", units::bytes(latency.size));
    let number = Number::new(latency.seconds / read.seconds, "", how);
    Some(number.with_interval(latency.low / read.high, latency.high / read.low))
}
