//! The caches of a rank: measured sizes if the card contradicts the system, and the rank's part of shared caches.

use apexmap_base::provenance::Cache;
use apexmap_base::sample::Launch;
use apexmap_base::units;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_theory::machine::Card;

/// A cache from the viewpoint of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankCache {
    pub level: u32,
    /// Size of the rank's part in bytes.
    pub bytes: f64,
    /// Measured and reported size of the whole cache, if they differ.
    pub contradiction: Option<(f64, f64)>,
}

impl RankCache {
    /// Returns `L3 (36 MiB measured, 480 MiB reported)`.
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

/// Returns the caches of a rank on the host of rank 0. The card must be that of the same machine.
pub fn rank_caches(launch: &Launch, card: Option<&Card>) -> Vec<RankCache> {
    let host = &launch.host;
    let ranks = launch.placement.iter().filter(|place| place.node == host.name).count().max(1) as u32;
    let rank_cache = |cache: &Cache| {
        let reported = cache.bytes as f64;
        let measured = card.and_then(|card| card.get(&format!("l{}_bytes", cache.level))).unwrap_or(reported);
        let threads = host.processors.machine_hardware_threads.unwrap_or(cache.shared_by);
        RankCache {
            level: cache.level,
            bytes: measured / f64::from(sharing(cache.shared_by, threads, ranks, launch.place)),
            contradiction: (measured != reported).then_some((measured, reported)),
        }
    };
    host.caches.iter().map(rank_cache).collect()
}

/// Returns the number of ranks that share a cache of `shared_by` hardware threads. Ranks that are spread over the machine fill
/// one cache after the other. For other orders, assume that they all share the first cache, because the launcher's order is
/// unknown.
fn sharing(shared_by: u32, hardware_threads: u32, ranks: u32, place: Option<PlacementOrder>) -> u32 {
    let instances = (hardware_threads / shared_by.max(1)).max(1);
    let each = if place == Some(PlacementOrder::Spread) { ranks.div_ceil(instances) } else { ranks };
    each.min(shared_by).max(1)
}
