//! Numbers of cards as models need them.

use crate::machine::{Card, NumberName, Word, catalogue, entry_of};

/// Returns a number of a card, or the sum of its parts on the card. For the size of a cache, the measured size counts if it
/// is smaller: other users, code, stack and indices occupy a part of the cache. The pages that a core's translations cover
/// follow from their measured reach. Numbers of further senders are those of a poll and of transfers between cores.
pub fn card_number(card: &Card, number: &str) -> Option<f64> {
    let cache = catalogue::CACHES.iter().find(|cache| cache.size.name == number);
    let measured = cache.and_then(|cache| card.get(cache.measured.name));
    let sum = || {
        if number == catalogue::TLB_ENTRIES.name {
            let reach = NumberName::new(catalogue::TLB_REACH_BYTES).with_qualifier([Word::Base]);
            return Some(card.get(&reach.to_string())? / card.granularity().base_page_bytes as f64);
        }
        if let Some(value) = sender_number(card, number) {
            return Some(value);
        }
        let composite = entry_of(number)?.composite?;
        let parts = composite.parts.iter().map(|part| card.get(part)).sum::<Option<f64>>()?;
        Some(parts + composite.overhead.and_then(|overhead| card.get(overhead)).unwrap_or(0.0))
    };
    let given = card.get(number).or_else(sum)?;
    Some(measured.map_or(given, |measured| measured.min(given)))
}

/// Returns a number of further senders of a process; `None` if messages do not travel over threads.
fn sender_number(card: &Card, number: &str) -> Option<f64> {
    if card.provenance.get("transport").and_then(|text| text.as_str()) != Some("threads") {
        return None;
    }
    if number == catalogue::SENDER_POLL_SECONDS.name {
        return card.get(catalogue::OPERATION_SECONDS.name);
    }
    let pairs = card.variants(catalogue::CORE_TO_CORE_SECONDS.name);
    let pairs = pairs.iter().filter_map(|pair| card.get(&pair.to_string()));
    let seconds: Vec<f64> = pairs.filter(|_| number == catalogue::SENDER_LINE_SECONDS.name).collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}
