//! Hardware threads with their core, package, NUMA node, kind of core and caches.

use super::files::{Files, bytes};
use std::cmp::Reverse;
use std::fmt;

/// A hardware thread with the number that the system gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct HardwareThread {
    pub number: usize,
    /// The lowest number of the hardware threads on its core.
    pub core: Option<usize>,
    /// The system's number of its package; numbers may be large.
    pub package: Option<usize>,
    pub numa_node: Option<usize>,
    pub kind: Option<Kind>,
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
pub enum Kind {
    Performance,
    Efficiency,
    LowPower,
    /// The system's measure of a core's speed; the fastest core of a machine usually has 1024.
    Capacity(Reverse<u32>),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Performance => f.write_str("performance"),
            Self::Efficiency => f.write_str("efficiency"),
            Self::LowPower => f.write_str("low-power"),
            Self::Capacity(Reverse(capacity)) => write!(f, "capacity {capacity}"),
        }
    }
}

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Returns all hardware threads that are online.
pub fn threads(system: &dyn Files) -> Vec<HardwareThread> {
    let online = system
        .list(&format!("{CPU}/online"))
        .or_else(|| Some(system.numbered(CPU, "cpu")).filter(|all| !all.is_empty()));
    // Without /sys, at least the threads that the process may use are known.
    let online = online.or_else(|| super::affinity(system)).unwrap_or_default();
    let nodes: Vec<(usize, Vec<usize>)> = (system.numbered(NODE, "node").into_iter())
        .filter_map(|node| Some((node, system.list(&format!("{NODE}/node{node}/cpulist"))?)))
        .collect();
    // Intel processors with several kinds of cores have one performance monitoring unit per kind.
    let kinds: Vec<(Kind, Vec<usize>)> =
        [(Kind::Performance, "core"), (Kind::Efficiency, "atom"), (Kind::LowPower, "lowpower")]
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, system.list(&format!("sys/devices/cpu_{name}/cpus"))?)))
            .collect();
    let thread = |number: usize| {
        let of = |name: &str| format!("{CPU}/cpu{number}/{name}");
        // The second name is that of kernels before Linux 5.
        let siblings = ["topology/core_cpus_list", "topology/thread_siblings_list"];
        let among = |set: &[usize]| set.contains(&number);
        let named = kinds.iter().find(|(_, set)| among(set)).map(|(kind, _)| *kind);
        HardwareThread {
            number,
            core: siblings.iter().find_map(|name| system.list(&of(name))?.first().copied()),
            // -1 if the firmware does not report it.
            package: system.number(&of("topology/physical_package_id")),
            numa_node: nodes.iter().find(|(_, set)| among(set)).map(|(node, _)| *node),
            kind: named
                .or_else(|| system.number(&of("cpu_capacity")).map(|capacity| Kind::Capacity(Reverse(capacity)))),
            caches: caches(system, &of("cache")),
        }
    };
    online.into_iter().map(thread).collect()
}

fn caches(system: &dyn Files, folder: &str) -> Vec<SharedCache> {
    let cache = |index: usize| {
        let of = |name: &str| format!("{folder}/index{index}/{name}");
        if system.text(&of("type"))? == "Instruction" {
            return None;
        }
        Some(SharedCache {
            level: system.number(&of("level"))?,
            bytes: bytes(&system.text(&of("size"))?)?,
            threads: system.list(&of("shared_cpu_list"))?,
        })
    };
    let mut caches: Vec<SharedCache> = system.numbered(folder, "index").into_iter().filter_map(cache).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}
