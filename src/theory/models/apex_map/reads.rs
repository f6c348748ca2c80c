//! Blocks that a rank reads from its own memory: uniformly drawn by `calibrate.read`, `calibrate.sparse`, `calibrate.blocks`.
//!
//! SOURCE: Apex-Map paper, Section 2, with alpha = 1. HPCC's MAPS axis is the share of random reads.

use super::costs::Memory;
use super::hits::Shares;
use super::{
    ASCENDING, MEMORY_END, PAGE, PARAMETERS, Place, RANKS_END, SHARED_END, SIZES, Served, Surface, card_numbers, sizes,
};
use crate::models::prelude::*;
use apexmap_measure::kernels::calibrate::memory::{blocks, read, sparse};

/// Reads per second of one core: the reciprocal of the time in [`super::Surface`], with the shares of uniform reads.
pub struct Reads;

const REGION: Variable = count("region_bytes", Unit::Bytes, "region that is read from", None);
const BLOCK: Variable = count("L", Unit::Words, "consecutive words per read", Some(1.0));
const SHARE: Variable = Variable {
    valid: ValidNumbers::Share,
    ..variable(
        "random_share",
        Unit::None,
        "fraction of the reads that go to random places; the others hit L1",
        Some(1.0),
    )
};
const KERNEL: Variable = Variable {
    words: &[read::KERNEL.id, sparse::KERNEL.id, blocks::KERNEL.id],
    ..variable("kernel", Unit::None, "kernel of the measurement; the model is the same for all", Some(2.0))
};
/// The only covered order: prefetched and dependent reads are issued differently from blocks.
const ORDER: Variable = Variable {
    words: &["independent", "prefetched", "dependent"],
    ..variable("order", Unit::None, "order of the reads: \"independent\" only", Some(INDEPENDENT))
};
const INDEPENDENT: f64 = 0.0;

impl Model for Reads {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.reads",
            summary: "reads of one core, drawn uniformly, from levels of memory and overlapping misses",
            source: &source::APEX_MAP,
            place: "Section 2, with alpha = 1",
            variables: &[REGION, BLOCK, SHARE, PAGE, KERNEL, ORDER],
            parameters: PARAMETERS.split_at(MEMORY_END).0,
            explains: &[read::KERNEL.id, sparse::KERNEL.id, blocks::KERNEL.id],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: false,
            design: "calibrate.sparse with random_share from 2^-10 to 1, and calibrate.blocks with L from 1 to 16384, in regions of \
                     half the size of each cache and of several times the last cache, on huge and on base pages",
            assumes: "caches with least-recently-used replacement, which hold the lines read right before a run; a run is too \
                      short for others to replace many lines",
        };
        &ABOUT
    }

    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        card_numbers(self.about().parameters, card)
    }

    fn ascending_numbers(&self) -> &'static [&'static [&'static str]] {
        ASCENDING
    }

    fn budget(&self, x: &[f64], p: &[f64]) -> Vec<(&'static str, f64)> {
        budget(x, p, 1.0)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let (seconds, term) = super::sum_terms(&self.budget(x, p));
        let [.., order] = array::<6>(x);
        // The model does not cover other orders.
        bound(if order == INDEPENDENT { 1.0 / seconds } else { f64::NAN }, term)
    }
}

/// For one of `cores` cores that share the last cache, each with a region of its own.
fn budget(x: &[f64], p: &[f64], cores: f64) -> Vec<(&'static str, f64)> {
    let [region, block, share, page, _, _] = array(x);
    let memory = Memory(&p[SIZES.len()..MEMORY_END]);
    let issue = memory.issue_seconds(block);
    let shares = Shares::from_uniform_reads(region, WORD_BYTES as f64 * block, share, page, sizes(p, cores));
    let [l2, l3, dram, walks] = memory.misses(&shares, block, 0.0);
    super::TERMS.into_iter().zip([issue, l2, l3, dram, walks]).collect()
}

/// Returns the seconds of a random read in the regions of this many bytes of each of `cores` cores; NaN if a number is missing.
#[must_use]
pub fn read_seconds(card: &Card, region_bytes: f64, cores: f64) -> f64 {
    let x = Reads.variables(&|name| (name == "region_bytes").then_some(region_bytes));
    let (Ok(x), Ok(p)) = (x, Reads.parameters(card)) else { return f64::NAN };
    super::sum_terms(&budget(&x, &p, cores)).0
}

/// Seconds of a block that a rank reads from its own memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSeconds {
    pub own: f64,
    pub others: f64,
    pub remote_share: f64,
    /// The time of the node's memory for the lines of a block; 0 if its bandwidth is not known.
    pub shared: f64,
}

/// Returns the seconds of a block, as in [`Surface`] without messages, by variables of that model. They are not finite if the
/// card lacks one of [`missing_memory_numbers`].
pub fn own_block_seconds(card: &Card, given: &dyn Fn(&str) -> Option<f64>, poll: f64) -> Result<BlockSeconds> {
    let x = Surface.variables(given)?;
    let value = |parameter: &Parameter| card_numbers(std::slice::from_ref(parameter), card).map_or(f64::NAN, |p| p[0]);
    let mut p: Vec<f64> = PARAMETERS.iter().map(value).collect();
    // Messages take no part.
    p[MEMORY_END..RANKS_END].fill(0.0);
    p[SHARED_END..].fill(0.0);
    if p[..SIZES.len()].iter().any(|size| size.is_nan()) {
        return Ok(BlockSeconds { own: f64::NAN, others: f64::NAN, remote_share: 0.0, shared: 0.0 });
    }
    let served = Served::from_place(&Place::find(&x, &p), &x, &p);
    let core = Memory(&p[SIZES.len()..MEMORY_END]);
    let block = x[1];
    let seconds = |shares| core.issue_seconds(block) + core.misses(shares, block, poll).iter().sum::<f64>();
    let others = if served.remote > 0.0 { seconds(&served.shares.served) } else { 0.0 };
    let shared = served.shared_limits(&x, &p)[0].0 / served.on_node;
    Ok(BlockSeconds { own: seconds(&served.shares.own), others, remote_share: served.remote, shared })
}

pub fn missing_memory_numbers(card: &Card) -> Vec<&'static str> {
    let is_missing = |parameter: &&Parameter| {
        let value = card_numbers(std::slice::from_ref(*parameter), card);
        value.map_or(true, |value| value[0].is_nan())
    };
    PARAMETERS[..MEMORY_END].iter().filter(is_missing).map(|parameter| parameter.number).collect()
}
