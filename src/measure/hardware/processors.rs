//! Hardware threads with their core, package, NUMA node, kind of core and caches.

use super::files::{SystemFiles, parse_bytes};
use std::cmp::Reverse;
use std::fmt;

/// A hardware thread with the number that the system gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HardwareThread {
    pub number: usize,
    /// The lowest number of the hardware threads on its core.
    pub core: Option<usize>,
    /// The system's number of its package; numbers may be large.
    pub package: Option<usize>,
    pub numa_node: Option<usize>,
    pub kind: Option<CoreKind>,
    /// Its data and unified caches, from the nearest outwards.
    pub caches: Vec<SharedCache>,
}

/// A cache, as one hardware thread sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedCache {
    pub level: u32,
    pub bytes: u64,
    /// All hardware threads that share it, ascending.
    pub threads: Vec<usize>,
}

/// The kind of a core, in order of speed, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreKind {
    Performance,
    Efficiency,
    LowPower,
    /// The system's measure of a core's speed; the fastest core of a machine usually has 1024.
    Capacity(Reverse<u32>),
}

impl fmt::Display for CoreKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Performance => f.write_str("performance"),
            Self::Efficiency => f.write_str("efficiency"),
            Self::LowPower => f.write_str("low-power"),
            Self::Capacity(Reverse(capacity)) => write!(f, "capacity {capacity}"),
        }
    }
}

const CPU_FOLDER: &str = "sys/devices/system/cpu";
const NODE_FOLDER: &str = "sys/devices/system/node";

/// Returns all hardware threads that are online.
pub fn read_threads(system: &dyn SystemFiles) -> Vec<HardwareThread> {
    let online = system
        .read_list(&format!("{CPU_FOLDER}/online"))
        .or_else(|| Some(system.numbered_entries(CPU_FOLDER, "cpu")).filter(|threads| !threads.is_empty()));
    // Without /sys, at least the threads that the process may use are known.
    let online = online.or_else(|| super::affinity(system)).unwrap_or_default();
    let nodes: Vec<(usize, Vec<usize>)> = (system.numbered_entries(NODE_FOLDER, "node").into_iter())
        .filter_map(|node| Some((node, system.read_list(&format!("{NODE_FOLDER}/node{node}/cpulist"))?)))
        .collect();
    // Intel processors with several kinds of cores have one performance monitoring unit per kind.
    let kinds: Vec<(CoreKind, Vec<usize>)> =
        [(CoreKind::Performance, "core"), (CoreKind::Efficiency, "atom"), (CoreKind::LowPower, "lowpower")]
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, system.read_list(&format!("sys/devices/cpu_{name}/cpus"))?)))
            .collect();
    let thread = |number: usize| {
        let path = |name: &str| format!("{CPU_FOLDER}/cpu{number}/{name}");
        // The second name is that of kernels before Linux 5.
        let siblings = ["topology/core_cpus_list", "topology/thread_siblings_list"];
        let contains_thread = |set: &[usize]| set.contains(&number);
        let listed_kind = kinds.iter().find(|(_, set)| contains_thread(set)).map(|(kind, _)| *kind);
        HardwareThread {
            number,
            core: siblings.iter().find_map(|name| system.read_list(&path(name))?.first().copied()),
            // -1 if the firmware does not report it.
            package: system.read_number(&path("topology/physical_package_id")),
            numa_node: nodes.iter().find(|(_, set)| contains_thread(set)).map(|(node, _)| *node),
            kind: listed_kind.or_else(|| {
                system.read_number(&path("cpu_capacity")).map(|capacity| CoreKind::Capacity(Reverse(capacity)))
            }),
            caches: read_caches(system, &path("cache")),
        }
    };
    online.into_iter().map(thread).collect()
}

fn read_caches(system: &dyn SystemFiles, folder: &str) -> Vec<SharedCache> {
    let cache = |index: usize| {
        let path = |name: &str| format!("{folder}/index{index}/{name}");
        if system.text(&path("type"))? == "Instruction" {
            return None;
        }
        Some(SharedCache {
            level: system.read_number(&path("level"))?,
            bytes: parse_bytes(&system.text(&path("size"))?)?,
            threads: system.read_list(&path("shared_cpu_list"))?,
        })
    };
    let mut caches: Vec<SharedCache> = system.numbered_entries(folder, "index").into_iter().filter_map(cache).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}
