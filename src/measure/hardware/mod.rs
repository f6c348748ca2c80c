//! The hardware as the system reports it, and the part that this process may use.
//!
//! The data come from the files that Linux provides below `/sys` and `/proc`. Missing values are `None`.

mod control_group;
mod files;
mod pages;
mod place;
mod processors;
mod sizes;

pub use control_group::Throttling;
pub use control_group::memory_kills;
pub use files::{FilesBelow, SystemFiles};
pub use pages::{memory_areas, nodes_with_memory, pages_by_node, set_memory_node};
pub use place::{PlacementOrder, place_ranks};
pub use processors::{CoreKind, HardwareThread};
pub use sizes::{base_page_bytes, huge_page_bytes, line_words, reported_line_bytes};

use control_group::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

/// Returns whether a test hides what systems may hide: sizes of caches, TLB and memory, cores, packages, NUMA nodes and clock.
pub fn facts_are_hidden() -> bool {
    std::env::var_os("APEXMAP_TEST_HIDE_HOST_FACTS").is_some()
}

/// A machine, with the limits from control groups and the process's affinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Hardware threads that are online, ascending by number.
    pub threads: Vec<HardwareThread>,
    /// Numbers of the hardware threads that this process may use, ascending.
    pub allowed: Vec<usize>,
    /// Processor time that the control groups grant, in hardware threads; it may be a fraction, such as 1.5.
    pub cpu_quota: Option<f64>,
    /// Main memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// The smallest memory limit of the control groups, in bytes.
    pub memory_limit_bytes: Option<u64>,
}

impl Hardware {
    /// Reads the machine from its files; `/proc/self` describes the process.
    pub fn read(system: &dyn SystemFiles) -> Self {
        let threads = processors::read_threads(system);
        let Limits { cpu_quota, memory_bytes: memory_limit_bytes, cpus } = Limits::read(system);
        let affinity = affinity(system);
        let allowed = threads.iter().map(|thread| thread.number);
        let is_member = |set: &Option<Vec<usize>>, number: usize| set.as_ref().is_none_or(|set| set.contains(&number));
        let allowed = allowed.filter(|&number| is_member(&affinity, number) && is_member(&cpus, number)).collect();
        let memory_bytes = system.read_field("proc/meminfo", "MemTotal").and_then(|size| files::parse_bytes(&size));
        Self { threads, allowed, cpu_quota, memory_bytes, memory_limit_bytes }
    }

    /// Returns this machine, as it was at the first call.
    pub fn this_machine() -> &'static Self {
        static THIS_MACHINE: OnceLock<Hardware> = OnceLock::new();
        THIS_MACHINE.get_or_init(|| {
            let machine = Self::read(&FilesBelow(Path::new("/")));
            if facts_are_hidden() { machine.without_optional_facts() } else { machine }
        })
    }

    /// Returns the machine with all that a system may hide missing. The numbers of the hardware threads remain.
    fn without_optional_facts(self) -> Self {
        let thread = |&number: &usize| HardwareThread { number, ..HardwareThread::default() };
        let threads = self.threads.iter().map(|thread| &thread.number).map(thread).collect();
        Self { threads, memory_bytes: None, memory_limit_bytes: None, ..self }
    }

    /// Returns the hardware thread with a number.
    pub fn thread(&self, number: usize) -> Option<&HardwareThread> {
        self.threads.iter().find(|thread| thread.number == number)
    }

    /// Returns the hardware threads that this process may use.
    pub fn usable(&self) -> impl Iterator<Item = &HardwareThread> {
        self.threads.iter().filter(|thread| self.allowed.contains(&thread.number))
    }

    /// Returns the number of packages with hardware threads that this process may use; at least 1.
    pub fn packages(&self) -> usize {
        let allowed = self.threads.iter().filter(|thread| self.allowed.contains(&thread.number));
        allowed.filter_map(|thread| thread.package).collect::<std::collections::BTreeSet<_>>().len().max(1)
    }

    /// Returns how many hardware threads this process can keep busy; at least 1.
    pub fn hardware_threads(&self) -> usize {
        self.limit_by_quota(self.allowed.len())
    }

    /// Returns how many cores this process can keep busy.
    pub fn cores(&self) -> Option<usize> {
        let cores: Option<BTreeSet<usize>> = self.usable().map(|thread| thread.core).collect();
        cores.filter(|cores| !cores.is_empty()).map(|cores| self.limit_by_quota(cores.len()))
    }

    /// Returns whether these hardware threads belong to one core.
    pub fn share_one_core(&self, numbers: &[usize]) -> bool {
        let core_of = |&number: &usize| self.thread(number).and_then(|thread| thread.core);
        match numbers {
            [] => false,
            [_] => true,
            [first, rest @ ..] => {
                core_of(first).is_some_and(|first_core| rest.iter().all(|other| core_of(other) == Some(first_core)))
            }
        }
    }

    /// Limits a number of hardware threads or cores to the processor time that the control groups grant; at least 1.
    pub fn limit_by_quota(&self, processors: usize) -> usize {
        self.cpu_quota.map_or(processors, |quota| processors.min(quota as usize)).max(1)
    }

    /// Returns the cores like [`Hardware::cores`], or the hardware threads if the system does not report cores.
    pub fn cores_or_threads(&self) -> usize {
        self.cores().unwrap_or_else(|| self.hardware_threads())
    }

    /// Returns how many cores this process can keep busy on the NUMA node with the most usable cores.
    pub fn cores_of_largest_numa_node(&self) -> Option<usize> {
        let mut nodes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for thread in self.usable() {
            nodes.entry(thread.numa_node?).or_default().insert(thread.core?);
        }
        nodes.values().map(BTreeSet::len).max().map(|cores| self.limit_by_quota(cores))
    }

    /// Returns the number of different values that `value` returns for the machine's hardware threads, or `None` if a value is
    /// missing.
    pub fn count_distinct<T: Ord>(&self, value: impl Fn(&HardwareThread) -> Option<T>) -> Option<usize> {
        let values: Option<BTreeSet<T>> = self.threads.iter().map(value).collect();
        values.map(|values| values.len()).filter(|&count| count > 0)
    }

    /// Returns the largest last-level cache of the usable hardware threads, in bytes.
    pub fn last_cache_bytes(&self) -> Option<u64> {
        self.usable().filter_map(|thread| Some(thread.caches.last()?.bytes)).max()
    }

    /// Returns the memory that this process may use, in bytes.
    pub fn usable_memory_bytes(&self) -> Option<u64> {
        [self.memory_bytes, self.memory_limit_bytes].into_iter().flatten().min()
    }
}

/// Returns the hardware threads that the process's first thread may run on.
fn affinity(system: &dyn SystemFiles) -> Option<Vec<usize>> {
    files::parse_list(&system.read_field("proc/self/status", "Cpus_allowed_list")?)
}
