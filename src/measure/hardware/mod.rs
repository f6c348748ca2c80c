//! The hardware as Linux reports it below `/sys` and `/proc`, and the part that this process may use. Missing values are `None`.

mod control_group;
mod files;
mod kinds;
mod model;
mod pages;
mod place;
mod processors;

pub use control_group::{Throttling, memory_kills};
pub use files::{FilesBelow, SystemFiles, this_system};
pub use kinds::CoreKind;
pub use pages::{base_page_bytes, huge_page_bytes, line_words, reported_line_bytes};
pub use pages::{memory_areas, nodes_with_memory, pages_by_node, set_memory_node};
pub use place::{PlacementOrder, place_ranks};
pub use processors::HardwareThread;

use control_group::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Whether a test hides what systems may hide: sizes of caches, TLB and memory, cores, packages, NUMA nodes and clock.
pub fn facts_are_hidden() -> bool {
    std::env::var_os("APEXMAP_TEST_HIDE_HOST_FACTS").is_some()
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Online, ascending by number.
    pub threads: Vec<HardwareThread>,
    /// Those that this process may use, ascending.
    pub allowed: Vec<usize>,
    /// Processor time that the control groups grant, in hardware threads; it may be a fraction, such as 1.5.
    pub cpu_quota: Option<f64>,
    pub memory_bytes: Option<u64>,
    /// The smallest limit of the control groups.
    pub memory_limit_bytes: Option<u64>,
    /// Or `unknown`.
    pub cpu_model: String,
    /// With memory that this process may use, ascending; empty if the system does not report them.
    pub memory_nodes: Vec<usize>,
    /// The largest of a NUMA node: fast memory that caches all accesses to slower memory.
    pub memory_side_cache_bytes: Option<u64>,
}

impl Hardware {
    /// `/proc/self` describes the process.
    pub fn read(system: &dyn SystemFiles) -> Self {
        let mut threads = processors::read_threads(system);
        let numbers: Vec<usize> = threads.iter().map(|thread| thread.number).collect();
        let parts = model::read_parts(system, &numbers);
        processors::correct_clusters(system, &parts, &mut threads);
        let kinds = kinds::read_kinds(system, &parts, &numbers);
        threads.iter_mut().for_each(|thread| thread.kind = kinds.get(&thread.number).cloned());
        let Limits { cpu_quota, memory_bytes: memory_limit_bytes, cpus } = Limits::read(system);
        let affinity = affinity(system);
        let is_member = |set: &Option<Vec<usize>>, number: usize| set.as_ref().is_none_or(|set| set.contains(&number));
        let is_allowed = |number: &usize| is_member(&affinity, *number) && is_member(&cpus, *number);
        let memory_bytes = system.read_field("proc/meminfo", "MemTotal").and_then(|size| files::parse_bytes(&size));
        Self {
            threads,
            allowed: numbers.into_iter().filter(is_allowed).collect(),
            cpu_quota,
            memory_bytes,
            memory_limit_bytes,
            cpu_model: model::cpu_model(system, &parts),
            memory_nodes: nodes_with_memory(system),
            memory_side_cache_bytes: pages::memory_side_cache_bytes(system),
        }
    }

    /// As it was at the first call.
    pub fn this_machine() -> &'static Self {
        static THIS_MACHINE: OnceLock<Hardware> = OnceLock::new();
        THIS_MACHINE.get_or_init(|| {
            let machine = Self::read(&this_system());
            if facts_are_hidden() { machine.without_optional_facts() } else { machine }
        })
    }

    /// The numbers of the hardware threads remain.
    fn without_optional_facts(self) -> Self {
        let thread = |&number: &usize| HardwareThread { number, ..HardwareThread::default() };
        let threads = self.threads.iter().map(|thread| &thread.number).map(thread).collect();
        Self {
            threads,
            memory_bytes: None,
            memory_limit_bytes: None,
            cpu_model: "unknown".into(),
            memory_nodes: Vec::new(),
            memory_side_cache_bytes: None,
            ..self
        }
    }

    pub fn thread(&self, number: usize) -> Option<&HardwareThread> {
        self.threads.iter().find(|thread| thread.number == number)
    }

    pub fn usable(&self) -> impl Iterator<Item = &HardwareThread> {
        self.threads.iter().filter(|thread| self.allowed.contains(&thread.number))
    }

    /// With hardware threads that this process may use; at least 1.
    pub fn packages(&self) -> usize {
        self.usable().filter_map(|thread| thread.package).collect::<BTreeSet<_>>().len().max(1)
    }

    /// How many this process can keep busy; at least 1.
    pub fn hardware_threads(&self) -> usize {
        self.limit_by_quota(self.allowed.len())
    }

    pub fn cores(&self) -> Option<usize> {
        let cores: BTreeSet<usize> = self.usable().filter_map(|thread| thread.core).collect();
        Some(cores.len()).filter(|&count| count > 0).map(|count| self.limit_by_quota(count))
    }

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

    /// To the processor time that the control groups grant; at least 1.
    pub fn limit_by_quota(&self, processors: usize) -> usize {
        self.cpu_quota.map_or(processors, |quota| processors.min(quota as usize)).max(1)
    }

    pub fn cores_or_threads(&self) -> usize {
        self.cores().unwrap_or_else(|| self.hardware_threads())
    }

    pub fn cores_by_numa_node(&self) -> BTreeMap<usize, usize> {
        let mut nodes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (node, core) in self.usable().filter_map(|thread| thread.numa_node.zip(thread.core)) {
            nodes.entry(node).or_default().insert(core);
        }
        nodes.into_iter().map(|(node, cores)| (node, self.limit_by_quota(cores.len()))).collect()
    }

    /// `None` without any. Hardware threads that were offline at the system's start have no value and do not count.
    pub fn count_distinct<'a, T: Ord>(&'a self, value: impl Fn(&'a HardwareThread) -> Option<T>) -> Option<usize> {
        let values: BTreeSet<T> = self.threads.iter().filter_map(value).collect();
        Some(values.len()).filter(|&count| count > 0)
    }

    pub fn last_cache_bytes(&self) -> Option<u64> {
        self.usable().filter_map(|thread| Some(thread.caches.last()?.bytes)).max()
    }

    /// Free now on this machine, at most what this process may use.
    pub fn free_memory_bytes(&self) -> Option<u64> {
        let system: &dyn SystemFiles = &this_system();
        let available = system.read_field("proc/meminfo", "MemAvailable").and_then(|size| files::parse_bytes(&size))?;
        Some(self.usable_memory_bytes()?.min(available))
    }

    pub fn usable_memory_bytes(&self) -> Option<u64> {
        [self.memory_bytes, self.memory_limit_bytes].into_iter().flatten().min()
    }
}

fn affinity(system: &dyn SystemFiles) -> Option<Vec<usize>> {
    files::parse_list(&system.read_field("proc/self/status", "Cpus_allowed_list")?)
}
