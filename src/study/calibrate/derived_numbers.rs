//! Numbers of a card that follow from several measured ones, if the measurements show them, and numbers that contradict each other.

use super::levels::Sizes;
use super::staircase::{Rung, Step, places, rungs, step};
use apexmap_base::error::Result;
use apexmap_base::provenance::{Cache, Host};
use apexmap_base::units::{self, Unit, amount};
use apexmap_theory::machine::catalogue::{self, CACHES, CacheLevel};
use apexmap_theory::machine::{Card, Entry, Number, NumberName, Word, unit_of};

/// A cache that serves less than this share of the reported size contradicts the system.
const MIN_SHARE: f64 = 0.6;
/// A cache serves at most this multiple of the reported size.
const MAX_SHARE: f64 = 1.6;
/// Maximum number of pages of a first-level TLB.
const MAX_L1_TLB_PAGES: f64 = 256.0;

/// A cache that serves much less than reported gets the measured size. Returns a sentence for each reported number not shown.
pub fn add(card: &mut Card, host: &Host) -> Result<Vec<String>> {
    let mut unseen = caches(card)?;
    for (pages, page) in card.page_sizes() {
        let entries = if pages == Word::Base { host.tlb_entries_4k } else { host.tlb_entries_2m };
        unseen.extend(translation(card, &pages, page, entries.map(f64::from))?);
    }
    if let Some(number) = lines_in_flight(card) {
        card.set(&NumberName::new(catalogue::LINES_IN_FLIGHT).with_qualifier([Word::Prefetched]).to_string(), number)?;
    }
    Ok(unseen)
}

/// The times of dependent reads of whole regions: on huge pages, or of a device, whose pages are unknown.
pub fn lines(card: &Card) -> Vec<Rung> {
    let with = |words: &[Word]| rungs(card, catalogue::READ_SECONDS.name, words);
    let of_machine = with(&[Word::Huge, Word::Dependent]);
    if of_machine.is_empty() { with(&[Word::Dependent]) } else { of_machine }
}

fn number(step: &Step, measurement: &str) -> Number {
    let how = format!(
        "where the latency of {measurement} rises, in {} regions of {} to {}; range by profile likelihood",
        step.regions,
        units::bytes(step.from),
        units::bytes(step.to)
    );
    Number::new(step.size, "B", how).with_interval(step.low, step.high)
}

fn caches(card: &mut Card) -> Result<Vec<String>> {
    let (ladder, mut unseen) = (lines(card), Vec::new());
    if ladder.is_empty() {
        return Ok(unseen);
    }
    let bends = places(&ladder);
    let system_reports = CACHES.iter().any(|cache| card.get(cache.size.name).is_some());
    let mut nearer = 0.0;
    for CacheLevel { level, size, measured: measured_size } in CACHES {
        let reported = card.get(size.name);
        if system_reports && reported.is_none() {
            continue;
        }
        let position = place(&bends, nearer, reported);
        let measured = position
            .and_then(|position| step(&ladder, position, &bends))
            .map(|rate| number(&rate, "dependent random reads"));
        let Some(measured) = measured else {
            nearer = reported.or(position).unwrap_or(nearer);
            unseen.extend(reported.map(|size| {
                let size = units::bytes(size);
                format!("L{level}: the system reports {size}, but the latency of random reads shows no clear step")
            }));
            continue;
        };
        nearer = measured.value;
        let differs = |size: f64| measured.high.is_some_and(|high| high < MIN_SHARE * size);
        if reported.is_none_or(differs) {
            let system_size = reported.map_or_else(|| "nothing".to_owned(), units::bytes);
            card.set(
                size.name,
                Number {
                    how: format!("{}; the system reports {system_size}", measured.how),
                    reported: Some(reported.unwrap_or(0.0)),
                    ..measured.clone()
                },
            )?;
        }
        card.set(measured_size.name, measured)?;
    }
    Ok(unseen)
}

/// The step of a level, given the possible steps and the size of the nearer level.
fn place(bends: &[f64], nearer: f64, reported: Option<f64>) -> Option<f64> {
    // A step near the size of the nearer level is that level's.
    let beyond = bends.iter().copied().filter(|&place| place > 1.5 * nearer);
    match reported {
        Some(size) => beyond.filter(|&place| place < MAX_SHARE * size).reduce(|a, b| nearest_size(size, a, b)),
        None => beyond.reduce(f64::min),
    }
}

pub fn sizes(card: &Card, reported: Sizes) -> Sizes {
    let bends = places(&lines(card));
    let system_reports = reported.iter().any(Option::is_some);
    let mut nearer = 0.0;
    reported.map(|reported| {
        if system_reports && reported.is_none() {
            return None;
        }
        let size = place(&bends, nearer, reported).or(reported)?;
        nearer = size;
        Some(size)
    })
}

fn nearest_size(size: f64, a: f64, b: f64) -> f64 {
    if (a / size).ln().abs() <= (b / size).ln().abs() { a } else { b }
}

/// The times of dependent reads of one line per page. `part` is the time in excess of the same number of adjacent lines.
pub fn page_reads(card: &Card, pages: &Word, page: f64) -> Vec<Rung> {
    let (lines, line_bytes) = (lines(card), card.granularity().line_bytes as f64);
    let subtract_lines = |rung: Rung| {
        let plain = interpolate(&lines, rung.size / page * line_bytes, |line| line.seconds)?;
        Some(Rung { part: rung.seconds - plain, ..rung })
    };
    rungs(card, catalogue::PAGE_READ_SECONDS.name, std::slice::from_ref(pages))
        .into_iter()
        .filter_map(subtract_lines)
        .collect()
}

/// The product of time and size is linear between the measured regions.
fn interpolate(ladder: &[Rung], size: f64, time: impl Fn(&Rung) -> f64) -> Option<f64> {
    let above = ladder.iter().position(|rung| rung.size >= size)?;
    let (high, low) = (&ladder[above], &ladder[above.saturating_sub(1)]);
    if above == 0 {
        return Some(time(high));
    }
    let share = (size - low.size) / (high.size - low.size);
    Some((share * time(high) * high.size + (1.0 - share) * time(low) * low.size) / size)
}

fn translation(card: &mut Card, pages: &Word, page: f64, entries: Option<f64>) -> Result<Vec<String>> {
    let ladder = page_reads(card, pages, page);
    let bends = places(&ladder);
    let name = |number: &'static Entry| NumberName::new(number).with_qualifier([pages.clone()]).to_string();
    let against = "dependent reads of one line per page, minus that of the same number of adjacent lines,";
    let first = bends.first().copied().filter(|&place| place <= MAX_L1_TLB_PAGES * page);
    let second = bends.iter().copied().filter(|&place| Some(place) != first);
    let second = match entries {
        Some(entries) => second.reduce(|a, b| nearest_size(entries * page, a, b)),
        None => second.reduce(f64::max),
    };
    for (entry, position) in [(catalogue::L1_TLB_REACH_BYTES, first), (catalogue::TLB_REACH_BYTES, second)] {
        if let Some(measured) = position.and_then(|position| step(&ladder, position, &bends)) {
            card.set(&name(entry), number(&measured, against))?;
        }
    }
    let (lines, line_bytes) = (lines(card), card.granularity().line_bytes as f64);
    let against = against.trim_end_matches(',');
    if let Some(last) = ladder.last() {
        let plain =
            |time: fn(&Rung) -> f64| interpolate(&lines, last.size / page * line_bytes, time).unwrap_or(f64::NAN);
        let (low, high) = (last.low - plain(|line| line.high), last.high - plain(|line| line.low));
        if low > 0.0 {
            let number = Number::new(last.part, "s", format!("{against}, in {}", units::bytes(last.size)));
            card.set(&name(catalogue::TRANSLATION_SECONDS), number.with_interval(low, high))?;
        }
    }
    let reach =
        entries.map(|entries| entries * page).filter(|reach| ladder.last().is_some_and(|last| last.size > 2.0 * reach));
    let unseen = reach.filter(|_| card.get(&name(catalogue::TLB_REACH_BYTES)).is_none()).map(|reach| {
        let (page, reach) = (units::bytes(page), units::bytes(reach));
        format!(
            "TLB reach with {page} pages: the processor reports {reach}, but the latency of reads of one line per page shows no \
             clear step"
        )
    });
    Ok(unseen.into_iter().collect())
}

/// The ratio of the latency of dependent reads to the time of prefetched ones, in the largest region.
fn lines_in_flight(card: &Card) -> Option<Number> {
    let (latency, reads) = (lines(card), rungs(card, catalogue::READ_SECONDS.name, &[Word::Huge, Word::Prefetched]));
    let (read, latency) =
        reads.iter().rev().find_map(|read| Some((read, latency.iter().find(|l| l.size == read.size)?)))?;
    let how = format!("dependent over prefetched random reads in {}, on huge pages", units::bytes(latency.size));
    let number = Number::new(latency.seconds / read.seconds, "", how);
    Some(number.with_interval(latency.low / read.high, latency.high / read.low))
}

/// A sentence for each cache whose size differs from the reported one, and for each pair of numbers in an impossible order.
pub fn contradictions(card: &Card, host: &Host) -> Vec<String> {
    let contradiction = |cache: &Cache| {
        let on_card = catalogue::CACHES.iter().find(|on_card| on_card.level == cache.level)?;
        let (reported, measured) = (cache.bytes as f64, card.get(on_card.size.name)?);
        let (level, reported_text, measured_text) = (cache.level, units::bytes(reported), units::bytes(measured));
        (measured != reported).then(|| {
            format!(
                "L{level}: the system reports {reported_text}, but random reads see {measured_text}; the card has the latter"
            )
        })
    };
    host.caches.iter().filter_map(contradiction).chain(disorder(card)).collect()
}

/// The first number of a pair is never above the second.
fn pairs(card: &Card) -> Vec<(String, String)> {
    let name = |base: &'static Entry, word: Word| NumberName::new(base).with_qualifier([word]).to_string();
    let chain = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| card.get(name).is_some()).map(|name| (*name).to_owned()).collect()
    };
    let ascending = [
        chain(&[
            catalogue::L1_LATENCY_SECONDS.name,
            catalogue::L2_LATENCY_SECONDS.name,
            catalogue::L3_LATENCY_SECONDS.name,
            catalogue::MEMORY_LATENCY_SECONDS.name,
        ]),
        chain(&[
            catalogue::L1_MEASURED_BYTES.name,
            catalogue::L2_MEASURED_BYTES.name,
            catalogue::L3_MEASURED_BYTES.name,
            catalogue::MEMORY_BYTES.name,
        ]),
        [0, 100].map(|share| name(catalogue::LOADED_LATENCY_SECONDS, Word::PerCent(share))).into(),
    ];
    let mut pairs: Vec<(String, String)> =
        ascending.iter().flat_map(|chain| chain.windows(2)).map(|two| (two[0].clone(), two[1].clone())).collect();
    for pages in [Word::Base, Word::Huge] {
        pairs.push((name(catalogue::L1_TLB_REACH_BYTES, pages.clone()), name(catalogue::TLB_REACH_BYTES, pages)));
    }
    let handovers = card.variants(catalogue::CORE_TO_CORE_SECONDS.name);
    let pair = |handover: NumberName| (catalogue::L1_LATENCY_SECONDS.name.into(), handover.to_string());
    pairs.extend(handovers.into_iter().map(pair));
    pairs
}

fn disorder(card: &Card) -> Vec<String> {
    let ends = |name: &str| card.interval(name).or_else(|| card.get(name).map(|value| (value, value)));
    let contradiction = |(less, more): (String, String)| {
        let ((low, _), (_, high)) = (ends(&less)?, ends(&more)?);
        let describe = |name: &str| {
            let (value, unit) = (card.get(name).unwrap_or(f64::NAN), unit_of(name).unwrap_or(Unit::None));
            format!("{name} = {}", amount(value, unit))
        };
        (low > high).then(|| format!("{} is above {}: one of them was disturbed", describe(&less), describe(&more)))
    };
    pairs(card).into_iter().filter_map(contradiction).collect()
}
