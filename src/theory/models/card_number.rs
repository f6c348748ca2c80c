//! Numbers of cards as models need them.

use crate::machine::{Card, NumberName, Word, catalogue, entry_of};

/// Returns a number of a card, or the sum of its parts on the card. For the size of a cache, the measured size counts if it
/// is smaller: other users, code, stack and indices occupy a part of the cache. The pages that a core's translations cover
/// follow from their measured reach.
pub fn card_number(card: &Card, number: &str) -> Option<f64> {
    let cache = catalogue::CACHES.iter().find(|cache| cache.size.name == number);
    let measured = cache.and_then(|cache| card.get(cache.measured.name));
    let sum = || {
        if number == catalogue::TLB_ENTRIES.name {
            let reach = NumberName::new(catalogue::TLB_REACH_BYTES).with_qualifier([Word::Base]);
            return Some(card.get(&reach.to_string())? / card.granularity().base_page_bytes as f64);
        }
        let composite = entry_of(number)?.composite?;
        let parts = composite.parts.iter().map(|part| card.get(part)).sum::<Option<f64>>()?;
        Some(parts + composite.overhead.and_then(|overhead| card.get(overhead)).unwrap_or(0.0))
    };
    let given = card.get(number).or_else(sum)?;
    Some(measured.map_or(given, |measured| measured.min(given)))
}
