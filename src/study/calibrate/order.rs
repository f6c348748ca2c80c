//! Contradictions: numbers of a card that contradict the system or each other.

use apexmap_base::provenance::{Cache, Host};
use apexmap_base::units::{self, Unit, amount};
use apexmap_theory::machine::{Card, Entry, NumberName, Word, catalogue, unit_of};

/// Returns a sentence for each cache whose size on the card differs from the reported one, and for each pair of numbers
/// in an impossible order.
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

/// Returns pairs of names. The first number of a pair is never above the second.
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
    for handover in card.variants(catalogue::CORE_TO_CORE_SECONDS.name) {
        pairs.push((catalogue::L1_LATENCY_SECONDS.name.into(), handover.to_string()));
    }
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
