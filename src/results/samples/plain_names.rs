//! Names of groups, limits and disturbances in plain words, for first screens and first pages.

use crate::samples::Samples;
use crate::samples::groups::SampleGroup;
use crate::table::columns::{NODE_TYPE, caption, label};
use apexmap_base::point::Value;
use apexmap_base::provenance::{Granularity, PlainNode};
use apexmap_base::units::{bytes, plural};
use apexmap_measure::kernels;

pub const DEVICE_FAMILY: &str = "gpu";

impl Samples {
    pub fn is_on_device(&self) -> bool {
        let kernels = self.kernels();
        !kernels.is_empty() && kernels.iter().all(|(kernel, _)| kernels::family(kernel.id) == DEVICE_FAMILY)
    }
}

pub fn plain_name(key: &[(String, Value)], node: &PlainNode) -> String {
    let id = key.iter().find_map(|(column, value)| match value {
        Value::Text(id) if column == "kernel" => Some(id.as_str()),
        _ => None,
    });
    // Imported results may have kernels of other programs.
    let kernel = id.and_then(|id| kernels::find(id).ok());
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    match kernel.and_then(|kernel| kernel.plain_way) {
        Some(way) => rest.extend((!way.is_empty()).then(|| way.to_owned())),
        None => first.extend(id.map(caption)),
    }
    let on_device = id.is_some_and(|id| kernels::family(id) == DEVICE_FAMILY);
    let is_threaded = kernel.is_some_and(|kernel| kernel.is_threaded);
    for (column, value) in key {
        match (column.as_str(), value) {
            ("kernel", _) => {}
            ("ranks", Value::Integer(ranks)) => {
                let is_cores =
                    !is_threaded && (*ranks == 1 || node.cores.is_some_and(|cores| *ranks <= u64::from(cores)));
                let noun = if is_cores { "core" } else { "rank" };
                first.push(plural(*ranks as usize, if on_device { "device" } else { noun }));
            }
            ("pages", Value::Text(word)) => rest.push(page_name(node, word).unwrap_or_else(|| caption(word))),
            (_, Value::Text(word)) => rest.push(caption(word)),
            (column, value) => rest.push(label(column, value)),
        }
    }
    first.extend(rest);
    first.join(", ")
}

fn page_name(node: &PlainNode, pages: &str) -> Option<String> {
    let size: fn(Granularity) -> u64 = match pages {
        "huge" => |sizes| sizes.huge_page_bytes,
        "base" => |sizes| sizes.base_page_bytes,
        _ => return None,
    };
    let size = node.granularity.map(|sizes| bytes(size(sizes) as f64));
    Some(format!("{} pages", size.as_deref().unwrap_or(pages)))
}

impl SampleGroup {
    pub fn plain_label(&self, node: &PlainNode) -> String {
        let mut key = self.key.clone();
        if let (Some(entry), Some(short)) = (key.iter_mut().find(|(name, _)| name == NODE_TYPE), &self.node_type) {
            entry.1 = Value::Text(short.clone());
        }
        plain_name(&key, node)
    }
}

/// Returns the name of a limit in plain words, with its name in results: `waiting for memory (outstanding misses)`.
pub fn plain_limit(limit: &str) -> String {
    let plain = match limit {
        "processor issue" => "instructions of the core",
        "outstanding misses" => "waiting for memory",
        "page walks" => "translating addresses",
        "polls" => "looking for messages",
        "injection rate" => "sending messages",
        "network latency" => "waiting for messages",
        other => return other.to_owned(),
    };
    format!("{plain} ({limit})")
}
