//! Contradictions: numbers of a card that contradict the system or each other.

use apexmap_base::provenance::{Cache, Host};
use apexmap_base::units::{self, Unit, amount};
use apexmap_theory::machine::{Card, Entry, NumberName, Word, catalogue, unit_of};

/// Returns a sentence for each cache whose size on the card differs from the reported one, and for each pair of numbers
/// in an impossible order.
pub fn contradictions(card: &Card, host: &Host) -> Vec<String> {
    let one = |cache: &Cache| {
        let (told, found) = (cache.bytes as f64, card.get(&format!("l{}_bytes", cache.level))?);
        let (level, told_text, found_text) = (cache.level, units::bytes(told), units::bytes(found));
        (found != told).then(|| {
            format!(
                "L{level}: the system reports {told_text}, but random reads see {found_text}; the card has the latter"
            )
        })
    };
    host.caches.iter().filter_map(one).chain(disorder(card)).collect()
}

/// Returns pairs of names. The first number of a pair is never above the second.
fn pairs(card: &Card) -> Vec<(String, String)> {
    let with = |base: &'static Entry, word: Word| NumberName::new(base).with([word]).to_string();
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
        [0, 100].map(|share| with(catalogue::LOADED_LATENCY_SECONDS, Word::PerCent(share))).into(),
    ];
    let mut all: Vec<(String, String)> =
        ascending.iter().flat_map(|chain| chain.windows(2)).map(|two| (two[0].clone(), two[1].clone())).collect();
    for pages in [Word::Base, Word::Huge] {
        all.push((with(catalogue::L1_TLB_REACH_BYTES, pages.clone()), with(catalogue::TLB_REACH_BYTES, pages)));
    }
    for handover in card.variants(catalogue::CORE_TO_CORE_SECONDS.name) {
        all.push((catalogue::L1_LATENCY_SECONDS.name.into(), handover.to_string()));
    }
    all
}

/// Returns a sentence for each pair whose intervals are in the wrong order.
fn disorder(card: &Card) -> Vec<String> {
    let ends = |name: &str| card.interval(name).or_else(|| card.get(name).map(|value| (value, value)));
    let unit = |name: &str| unit_of(name).unwrap_or(Unit::None);
    let one = |(less, more): (String, String)| {
        let ((low, _), (_, high)) = (ends(&less)?, ends(&more)?);
        let written = |name: &str| format!("{name} = {}", amount(card.get(name).unwrap_or(f64::NAN), unit(name)));
        (low > high).then(|| format!("{} is above {}: one of them was disturbed", written(&less), written(&more)))
    };
    pairs(card).into_iter().filter_map(one).collect()
}
