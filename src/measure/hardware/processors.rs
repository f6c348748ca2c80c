//! Hardware threads: their core, package, NUMA node, kind of core and caches.

use super::files::{Files, bytes};
use std::cmp::Reverse;
use std::fmt;

/// One of the processors that the system numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct HardwareThread {
    pub number: usize,
    /// The lowest number among the hardware threads of its core.
    pub core: Option<usize>,
    /// The system's number of its package, which need not be small.
    pub package: Option<usize>,
    pub numa_node: Option<usize>,
    pub kind: Option<Kind>,
    /// Those that hold data, from the nearest on.
    pub caches: Vec<SharedCache>,
}

/// A cache, as one hardware thread reaches it.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedCache {
    pub level: u32,
    pub bytes: u64,
    /// All hardware threads that reach it, ascending.
    pub threads: Vec<usize>,
}

/// Kinds of core, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Performance,
    Efficiency,
    LowPower,
    /// The system's measure of a core's speed; the fastest core of the machine mostly has 1024.
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

/// All that are online.
pub fn threads(system: &dyn Files) -> Vec<HardwareThread> {
    let online = system
        .list(&format!("{CPU}/online"))
        .or_else(|| Some(system.numbered(CPU, "cpu")).filter(|all| !all.is_empty()));
    // Without /sys there are at least those that the process may use.
    let online = online.or_else(|| super::affinity(system)).unwrap_or_default();
    let nodes: Vec<(usize, Vec<usize>)> = (system.numbered(NODE, "node").into_iter())
        .filter_map(|node| Some((node, system.list(&format!("{NODE}/node{node}/cpulist"))?)))
        .collect();
    // Intel's processors with several kinds have a unit for performance monitoring of each.
    let kinds: Vec<(Kind, Vec<usize>)> =
        [(Kind::Performance, "core"), (Kind::Efficiency, "atom"), (Kind::LowPower, "lowpower")]
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, system.list(&format!("sys/devices/cpu_{name}/cpus"))?)))
            .collect();
    let thread = |number: usize| {
        let of = |name: &str| format!("{CPU}/cpu{number}/{name}");
        // The second is the name before Linux 5.
        let siblings = ["topology/core_cpus_list", "topology/thread_siblings_list"];
        let among = |set: &[usize]| set.contains(&number);
        let named = kinds.iter().find(|(_, set)| among(set)).map(|(kind, _)| *kind);
        HardwareThread {
            number,
            core: siblings.iter().find_map(|name| system.list(&of(name))?.first().copied()),
            // -1 where the firmware does not tell.
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
