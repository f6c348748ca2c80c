//! The caches that a rank has: their sizes as measured where a card contradicts the system, and its part of shared ones.

use apexmap_base::provenance::Cache;
use apexmap_base::sample::Launch;
use apexmap_base::units;
use apexmap_measure::hardware::Place;
use apexmap_theory::machine::Card;

/// A cache as one rank of a launch has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankCache {
    pub level: u32,
    /// Its part, in bytes.
    pub bytes: f64,
    /// Of the whole cache, as measured and as the system reports it, where these differ.
    pub contradiction: Option<(f64, f64)>,
}

impl RankCache {
    /// `L3 (36 MiB measured, 480 MiB reported)`
    pub fn label(&self) -> String {
        match self.contradiction {
            None => format!("L{}", self.level),
            Some((measured, reported)) => {
                let [measured, reported] = [measured, reported].map(units::bytes);
                format!("L{} ({measured} measured, {reported} reported)", self.level)
            }
        }
    }
}

/// Those of a rank on the host of rank 0. The card is that of the same machine.
pub fn of_rank(launch: &Launch, card: Option<&Card>) -> Vec<RankCache> {
    let host = &launch.host;
    let ranks = launch.placement.iter().filter(|place| place.node == host.name).count().max(1) as u32;
    let one = |cache: &Cache| {
        let reported = cache.bytes as f64;
        let measured = card.and_then(|card| card.get(&format!("l{}_bytes", cache.level))).unwrap_or(reported);
        let threads = host.processors.machine_hardware_threads.unwrap_or(cache.shared_by);
        RankCache {
            level: cache.level,
            bytes: measured / f64::from(sharing(cache.shared_by, threads, ranks, launch.place)),
            contradiction: (measured != reported).then_some((measured, reported)),
        }
    };
    host.caches.iter().map(one).collect()
}

/// Ranks that share a cache of so many hardware threads. Spread over the machine they take one cache after the other; in any other
/// order they fill the first, and launchers' orders are not known.
fn sharing(shared_by: u32, hardware_threads: u32, ranks: u32, place: Option<Place>) -> u32 {
    let instances = (hardware_threads / shared_by.max(1)).max(1);
    let each = if place == Some(Place::Spread) { ranks.div_ceil(instances) } else { ranks };
    each.min(shared_by).max(1)
}
