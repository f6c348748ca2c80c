//! Apex-Map's surface on a device: thousands of work items keep its busiest part at work.
//!
//! SOURCE: Apex-Map paper, Section 2 (the power law); Little's law is left out, because the kernel's default has loads enough in
//! flight. Hit ratios are those of `lru`. The time of an access is the largest of three: the words through the first-level
//! cache of a unit, the sectors that it misses through the second-level cache, and the sectors that this one misses from memory. A
//! random sector of memory takes longer than a sector of a long block, and a block that work items read in two passes takes two such
//! accesses. The index of an access comes from memory, too, and each work item that shares the block reads it.
//!
//! No number comes from the power law but on published cards that say so.

use super::hits::{LINE, cached_ratios};
use super::lru::AccessPattern;
use super::{ALPHA, BLOCK, WORDS};
use crate::models::prelude::*;
use apexmap_measure::kernels::gpu::apex_map::{self, default_lanes};

/// Bandwidth of a device: 8 L divided by the time of an access.
pub struct DeviceSurface;

/// Bytes of a stored index.
const INDEX: f64 = 4.0;

/// The only covered indices. No number gives the cost of computing them.
const INDICES: Variable = Variable {
    words: &["stored", "generated"],
    ..variable("index_source", Unit::None, "block numbers: \"stored\" only", Some(0.0))
};

const fn rate(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    Parameter::new_fitted(number, symbol, 1e6, 1e16, first).with_typical_guess()
}

impl Model for DeviceSurface {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.device",
            summary: "bandwidth of a GPU over alpha, L and M from its caches and its memory",
            source: &source::APEX_MAP,
            place: "Section 2",
            variables: &[ALPHA, BLOCK, WORDS, INDICES],
            parameters: &[
                Parameter::new_given(catalogue::L1_BYTES.name, "C1", 1.0, 1e12, 131072.0).with_typical_guess(),
                Parameter::new_given(catalogue::L2_BYTES.name, "C2", 1.0, 1e12, 33554432.0).with_typical_guess(),
                Parameter::new_given(catalogue::SECTOR_BYTES.name, "s", 1.0, 1e6, 32.0).with_typical_guess(),
                Parameter::new_fitted(catalogue::ISSUE_SECONDS_PER_BYTE.name, "b", 1e-16, 1e-8, 1e-13)
                    .with_typical_guess(),
                Parameter::new_rare(catalogue::INDEX_SECONDS.name, "i", 1e-6).with_value_if_missing(0.0),
                rate(catalogue::L2_BANDWIDTH_BYTES_PER_SECOND.name, "B2", 5e12),
                rate(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name, "B", 1e12),
                Parameter::new_fitted(catalogue::MEMORY_ACCESS_SECONDS.name, "a", 1e-13, 1e-6, 1e-10)
                    .with_typical_guess(),
                Parameter::new_rare(catalogue::SHORT_BLOCK_SECONDS.name, "a4", 1e-6).with_value_if_missing(0.0),
            ],
            explains: &[apex_map::KERNEL.id],
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: false,
            design: "alpha from 0.001 to 1 and L from 1 to thousands; or run calibrate --device",
            assumes: "caches with least-recently-used replacement; the slowest part hides the others; enough loads in flight; the kernel's \
                      default of lanes; made on an H100; without index_seconds and short_block_seconds 32 % (SMAPE) off on an H200",
        };
        &ABOUT
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        single_choice(self.about(), &INDICES, given)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [alpha, block, memory, _] = array(x);
        let [l1, l2, sector, issue, index, l2_rate, memory_rate, access, short] = array(p);
        let (bytes, own) = (WORD_BYTES as f64 * block, WORD_BYTES as f64 * memory);
        let (lines, lines_of_block) = ((own / LINE).max(1.0), (bytes / LINE).max(1.0));
        let accesses =
            AccessPattern { alpha, lines, ranks: 1.0, block: lines_of_block, once: INDEX / LINE, others: 0.0 };
        let beyond = |cache: f64| 1.0 - cached_ratios(accesses, cache / LINE).own.lines;
        let (beyond_l1, beyond_l2) = (beyond(l1), beyond(l2.max(l1)));
        let through_l2 = (INDEX + beyond_l1 * bytes.max(sector)) / l2_rate;
        let random = if block > 1.0 { access.max(short) } else { access };
        let from_memory = INDEX / memory_rate + beyond_l2 * (bytes / memory_rate).max(random);
        tightest_bound(&[
            bound(bytes / (bytes * issue + default_lanes(block as u64) as f64 * index), "issue"),
            bound(bytes / through_l2, "L2"),
            bound(bytes / from_memory, "memory"),
        ])
    }
}
