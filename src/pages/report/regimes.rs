//! The memory levels that accesses are expected to reach, from the power law and the sizes of levels.
//!
//! The hottest addresses are the lowest of a rank's own memory: P(address < c) = (c/M)^alpha (Apex-Map paper, Section 2). A cache is
//! assumed to hold the hottest addresses that fit, split evenly among the ranks that share it. Only a measurement shows its contents.

use super::prelude::*;
use apexmap_base::provenance::{Cache, Host};
use apexmap_base::sample::Launch;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::numerics::power_law::remote_share;

/// Fractions of the accesses at one alpha, which sum to one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regime {
    pub alpha: f64,
    pub levels: Vec<(String, f64)>,
    pub dominant: String,
    /// Fraction beyond the second-level TLB, if its size is known.
    pub beyond_tlb: Option<f64>,
}

/// `memory_bytes` is M; the caches are those of a rank.
pub fn regime(
    alpha: f64,
    memory_bytes: f64,
    ranks: usize,
    caches: &[RankCache],
    page_bytes: Option<f64>,
    host: &Host,
) -> Regime {
    let local = memory_bytes / ranks as f64;
    let below = |bytes: f64| (bytes.min(local) / memory_bytes).powf(alpha);
    let mut levels = Vec::new();
    let mut held = 0.0;
    for cache in caches {
        let share = (below(cache.bytes) - held).max(0.0);
        held += share;
        levels.push((cache.label(), share));
    }
    levels.push(("DRAM".into(), (below(local) - held).max(0.0)));
    if ranks > 1 {
        levels.push(("remote".into(), remote_share(ranks, alpha)));
    }
    let dominant = levels.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name.clone()).unwrap_or_default();
    let reach = page_bytes.and_then(|bytes| host.tlb_reach(bytes));
    let beyond_tlb = reach.map(|reach| below(local) - below(reach));
    Regime { alpha, levels, dominant, beyond_tlb }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RankCache {
    pub level: u32,
    /// The rank's part.
    pub bytes: f64,
    /// Measured and reported size of the whole cache, if they differ.
    pub contradiction: Option<(f64, f64)>,
}

impl RankCache {
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

/// On the host of rank 0, whose card this must be.
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

/// Spread ranks fill one cache after the other. For unknown orders, assume that all share the first cache.
fn sharing(shared_by: u32, hardware_threads: u32, ranks: u32, place: Option<PlacementOrder>) -> u32 {
    let instances = (hardware_threads / shared_by.max(1)).max(1);
    let each = if place == Some(PlacementOrder::Spread) { ranks.div_ceil(instances) } else { ranks };
    each.min(shared_by).max(1)
}
