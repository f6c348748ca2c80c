//! The memory levels that the accesses of a point are expected to reach, from the power law and the level sizes.
//!
//! The hottest addresses are the lowest of a rank's own memory: P(address < c) = (c/M)^alpha (Apex-Map paper, Section 2). A cache
//! is assumed to hold the hottest addresses that fit; a shared cache is split evenly among the ranks that share it. These are
//! expectations; only a measurement shows the contents of a cache.

use super::caches::RankCache;
use apexmap_base::provenance::Host;
use apexmap_measure::numerics::power_law::remote_share;
use serde::Serialize;

/// Fractions of the accesses at one alpha; they sum to one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regime {
    pub alpha: f64,
    /// Name and fraction: `L1`, `L2`, `L3`, `DRAM`, `remote`.
    pub levels: Vec<(String, f64)>,
    /// The level with the largest fraction.
    pub dominant: String,
    /// Fraction beyond the reach of the second-level TLB, if its size is known.
    pub beyond_tlb: Option<f64>,
}

/// Computes the fractions. `memory_bytes` is M in bytes; the caches are those of a rank.
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
