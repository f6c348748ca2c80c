use super::files::{CPU_FOLDER, NODE_FOLDER, SystemFiles, parse_bytes};
use super::{kinds::CoreKind, model::Part};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HardwareThread {
    pub number: usize,
    /// The lowest number of the hardware threads on its core.
    pub core: Option<usize>,
    /// The system's number; it may be large.
    pub package: Option<usize>,
    pub numa_node: Option<usize>,
    pub kind: Option<CoreKind>,
    /// Data and unified caches, from the nearest outwards.
    pub caches: Vec<SharedCache>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SharedCache {
    pub level: u32,
    pub bytes: u64,
    /// All that share it, ascending.
    pub threads: Vec<usize>,
    pub sets_and_ways: Option<[u64; 2]>,
}

pub fn read_threads(system: &dyn SystemFiles) -> Vec<HardwareThread> {
    // Without /sys, at least the threads that the process may use are known.
    let online = system
        .read_list(&format!("{CPU_FOLDER}/online"))
        .or_else(|| Some(numbers_with_topology(system)).filter(|threads| !threads.is_empty()))
        .or_else(|| super::affinity(system))
        .unwrap_or_default();
    let set_of_node = |node: &usize| {
        let folder = format!("{NODE_FOLDER}/node{node}");
        Some((*node, system.read_set(&format!("{folder}/cpulist"), &format!("{folder}/cpumap"))?))
    };
    let nodes: Vec<(usize, Vec<usize>)> =
        system.numbered_entries(NODE_FOLDER, "node").iter().filter_map(set_of_node).collect();
    let thread = |&number: &usize| {
        let core = siblings(system, number, ["core_cpus", "thread_siblings"]);
        HardwareThread {
            number,
            core: core.as_ref().and_then(|threads| threads.first().copied()),
            package: None,
            numa_node: nodes.iter().find(|(_, set)| set.contains(&number)).map(|(node, _)| *node),
            kind: None,
            caches: read_caches(system, &format!("{CPU_FOLDER}/cpu{number}/cache"), core.as_deref()),
        }
    };
    let threads = online.iter().map(thread).zip(read_packages(system, &online));
    threads.map(|(thread, package)| HardwareThread { package, ..thread }).collect()
}

fn numbers_with_topology(system: &dyn SystemFiles) -> Vec<usize> {
    let numbers = system.numbered_entries(CPU_FOLDER, "cpu");
    let has_topology = |number: &usize| !system.names(&format!("{CPU_FOLDER}/cpu{number}/topology")).is_empty();
    let online: Vec<usize> = numbers.iter().copied().filter(has_topology).collect();
    if online.is_empty() { numbers } else { online }
}

/// The second name is that of older systems.
fn siblings(system: &dyn SystemFiles, number: usize, names: [&str; 2]) -> Option<Vec<usize>> {
    let path = |name: &str| format!("{CPU_FOLDER}/cpu{number}/topology/{name}");
    names.iter().find_map(|name| system.read_set(&path(&format!("{name}_list")), &path(name)))
}

/// The package's number, or its first hardware thread if firmware gives several packages one number, or none.
fn read_packages(system: &dyn SystemFiles, threads: &[usize]) -> Vec<Option<usize>> {
    let package = |&number: &usize| {
        let reported = system.read_number(&format!("{CPU_FOLDER}/cpu{number}/topology/physical_package_id"));
        let first = siblings(system, number, ["package_cpus", "core_siblings"]).and_then(|set| set.first().copied());
        (reported, first)
    };
    let packages: Vec<(Option<usize>, Option<usize>)> = threads.iter().map(package).collect();
    let distinct: BTreeSet<_> = packages.iter().filter(|(_, first)| first.is_some()).collect();
    let numbers: BTreeSet<_> = distinct.iter().filter_map(|(number, _)| *number).collect();
    let tells_apart = numbers.len() == distinct.len();
    packages.into_iter().map(|(number, first)| if tells_apart { number } else { first }).collect()
}

/// Linux takes the clusters of ARM systems with a device tree for packages, and cores with the same number in two clusters for one.
/// Packages of servers have NUMA nodes, or are described by ACPI.
pub fn correct_clusters(system: &dyn SystemFiles, parts: &BTreeMap<usize, Part>, threads: &mut [HardwareThread]) {
    if parts.is_empty() {
        return;
    }
    let (mut firsts, mut packages_by_node) = (BTreeMap::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for thread in &mut *threads {
        let number = || system.read_number(&format!("{CPU_FOLDER}/cpu{}/topology/core_id", thread.number));
        let core = thread.core.or_else(number);
        let cluster = (core, thread.package, parts.get(&thread.number));
        thread.core = core.map(|_| *firsts.entry(cluster).or_insert(thread.number));
        packages_by_node.entry(thread.numa_node).or_default().insert(thread.package);
    }
    if system.names("sys/firmware/acpi").is_empty() && packages_by_node.values().any(|packages| packages.len() > 1) {
        threads.iter_mut().for_each(|thread| thread.package = Some(0));
    }
}

/// Caches without a list belong to the core (Itanium).
fn read_caches(system: &dyn SystemFiles, folder: &str, core: Option<&[usize]>) -> Vec<SharedCache> {
    let cache = |index: usize| {
        let path = |name: &str| format!("{folder}/index{index}/{name}");
        if system.text(&path("type"))? == "Instruction" {
            return None;
        }
        let (sets, ways) = ("number_of_sets", "ways_of_associativity");
        let [sets, ways] = [sets, ways].map(|name| system.read_number(&path(name)).filter(|count: &u64| *count > 0));
        Some(SharedCache {
            sets_and_ways: sets.zip(ways).map(|(sets, ways)| [sets, ways]),
            level: system.read_number(&path("level"))?,
            bytes: parse_bytes(&system.text(&path("size"))?)?,
            threads: (system.read_set(&path("shared_cpu_list"), &path("shared_cpu_map")))
                .filter(|threads| !threads.is_empty())
                .or_else(|| Some(core?.to_vec()))?,
        })
    };
    let mut caches: Vec<SharedCache> = system.numbered_entries(folder, "index").into_iter().filter_map(cache).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}
