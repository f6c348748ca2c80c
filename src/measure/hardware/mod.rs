//! The hardware as the system tells of it, and what of it this process may use.
//!
//! Read from the files that Linux has below `/sys` and `/proc`. What they do not say is `None` here.

mod control_group;
mod files;
mod pages;
mod place;
mod processors;

pub use control_group::Throttling;
pub use control_group::memory_kills;
pub use files::{Below, Files};
pub use pages::{areas, bind_memory, memory_nodes, nodes_with_memory};
pub use place::{Place, order};
pub use processors::{HardwareThread, Kind};

use control_group::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

/// A machine, and what its control groups and the process's affinity leave of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Those online, in ascending order of their numbers.
    pub threads: Vec<HardwareThread>,
    /// Numbers of the hardware threads that this process may use, ascending.
    pub allowed: Vec<usize>,
    /// Processor time that the control groups grant, in hardware threads: 1.5 is one and a half of them.
    pub cpu_quota: Option<f64>,
    /// Main memory of the machine.
    pub memory_bytes: Option<u64>,
    /// The smallest limit of the control groups.
    pub memory_limit_bytes: Option<u64>,
}

impl Hardware {
    /// The machine that these files tell of; `/proc/self` tells of the process.
    pub fn read(system: &dyn Files) -> Self {
        let threads = processors::threads(system);
        let Limits { cpu_quota, memory_bytes: memory_limit_bytes, cpus } = Limits::read(system);
        let affinity = affinity(system);
        let allowed = threads.iter().map(|thread| thread.number);
        let within = |set: &Option<Vec<usize>>, number: usize| set.as_ref().is_none_or(|set| set.contains(&number));
        let allowed = allowed.filter(|&number| within(&affinity, number) && within(&cpus, number)).collect();
        let memory_bytes = system.field("proc/meminfo", "MemTotal").and_then(|size| files::bytes(&size));
        Self { threads, allowed, cpu_quota, memory_bytes, memory_limit_bytes }
    }

    /// This machine, as it was when this was first asked.
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Hardware> = OnceLock::new();
        HERE.get_or_init(|| Self::read(&Below(Path::new("/"))))
    }

    /// The hardware thread of this number.
    pub fn thread(&self, number: usize) -> Option<&HardwareThread> {
        self.threads.iter().find(|thread| thread.number == number)
    }

    /// The hardware threads that this process may use.
    pub fn usable(&self) -> impl Iterator<Item = &HardwareThread> {
        self.threads.iter().filter(|thread| self.allowed.contains(&thread.number))
    }

    /// Packages, at least 1, that hold hardware threads which this process may use.
    pub fn packages(&self) -> usize {
        let allowed = self.threads.iter().filter(|thread| self.allowed.contains(&thread.number));
        allowed.filter_map(|thread| thread.package).collect::<std::collections::BTreeSet<_>>().len().max(1)
    }

    /// How many hardware threads this process can keep busy; at least one.
    pub fn hardware_threads(&self) -> usize {
        self.granted(self.allowed.len())
    }

    /// How many cores it can keep busy.
    pub fn cores(&self) -> Option<usize> {
        let cores: Option<BTreeSet<usize>> = self.usable().map(|thread| thread.core).collect();
        cores.filter(|cores| !cores.is_empty()).map(|cores| self.granted(cores.len()))
    }

    /// Whether these hardware threads are of one core.
    pub fn on_one_core(&self, numbers: &[usize]) -> bool {
        let core = |&number: &usize| self.thread(number).and_then(|thread| thread.core);
        match numbers {
            [] => false,
            [_] => true,
            [first, rest @ ..] => core(first).is_some_and(|one| rest.iter().all(|other| core(other) == Some(one))),
        }
    }

    /// How many of so many processors the control groups let this process keep busy; at least one.
    pub fn granted(&self, processors: usize) -> usize {
        self.cpu_quota.map_or(processors, |quota| processors.min(quota as usize)).max(1)
    }

    /// As [`Hardware::cores`], or hardware threads where the system does not tell cores.
    pub fn cores_or_threads(&self) -> usize {
        self.cores().unwrap_or_else(|| self.hardware_threads())
    }

    /// How many cores it can keep busy on the NUMA node that has most of them.
    pub fn cores_of_numa_node(&self) -> Option<usize> {
        let mut nodes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for thread in self.usable() {
            nodes.entry(thread.numa_node?).or_default().insert(thread.core?);
        }
        nodes.values().map(BTreeSet::len).max().map(|cores| self.granted(cores))
    }

    /// How many different values the machine's hardware threads have of something; `None` if one has none.
    pub fn count<T: Ord>(&self, of: impl Fn(&HardwareThread) -> Option<T>) -> Option<usize> {
        let values: Option<BTreeSet<T>> = self.threads.iter().map(of).collect();
        values.map(|values| values.len()).filter(|&count| count > 0)
    }

    /// The largest last-level cache that one of the hardware threads which this process may use reaches, in bytes.
    pub fn last_cache_bytes(&self) -> Option<u64> {
        self.usable().filter_map(|thread| Some(thread.caches.last()?.bytes)).max()
    }

    /// Memory that this process may use, in bytes.
    pub fn usable_memory_bytes(&self) -> Option<u64> {
        [self.memory_bytes, self.memory_limit_bytes].into_iter().flatten().min()
    }
}

/// The hardware threads that the process's first thread may run on.
fn affinity(system: &dyn Files) -> Option<Vec<usize>> {
    files::members(&system.field("proc/self/status", "Cpus_allowed_list")?)
}
