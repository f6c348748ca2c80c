//! Bounds of Apex-Map on a device, per access. Each device reads its own memory.

use super::*;
use apexmap_base::source::APEX_MAP;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::keys::{ALPHA, L, M};

pub const FAMILY: Family = Family {
    limits: &[
        Limit {
            name: OUTSTANDING,
            formula: "words of a block x mean latency beyond the nearest level / (work items x loads in flight of each) (Little's law)",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
        Limit {
            name: MEMORY,
            formula: "bytes of a block, at least a sector, x fraction of the words beyond the largest cache, which holds the hottest \
                 ones / bandwidth of the device",
            source: &APEX_MAP,
            place: "Section 2 (power law)",
        },
    ],
    terms,
};

fn terms(case: &Case, _: &Kernel, terms: &mut Terms) {
    let (limits, point) = (case.limits, case.point);
    // A card of another device says nothing.
    if case.outputs.get(DEVICE_NAME) != limits.device.as_deref().map(Value::from).as_ref() {
        return;
    }
    let (devices, words) = (point.ranks as f64, L.of(point) as f64);
    let read = limits.sector.map(|sector| sector.max(words * WORD_BYTES as f64));
    let law = Law::from_alpha(ALPHA.of(point), (M.of(point) * WORD_BYTES) as f64).in_blocks(read.unwrap_or_default());
    let in_flight = point.params.get("in_flight").and_then(Value::as_f64);
    let loads = case.output("items_used").zip(in_flight).map(|(items, each)| items * each);
    terms.add(OUTSTANDING, devices, loads.map(|loads| words * limits.latencies.mean_cost(&law) / loads));
    // Without the size of a cache, all accesses could hit one.
    let beyond = limits.caches.last().map(|cache| 1.0 - law.max_share_within(*cache));
    let bytes = read.zip(beyond).map(|(read, beyond)| read * beyond);
    terms.add(MEMORY, devices, bytes.zip(limits.node_bandwidth).map(|(bytes, rate)| bytes / rate));
}
