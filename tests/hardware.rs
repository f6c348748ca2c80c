//! Tests of machines and control groups read from recorded files, and of the placement of ranks on them.

use crate::common::Scratch;
use apexmap_measure::hardware::{
    CoreKind, FilesBelow, Hardware, HardwareThread, PlacementOrder, SystemFiles, nodes_with_memory, pages_by_node,
    place_ranks,
};
use apexmap_measure::kernels::node_binding::processor_for_rank;
use apexmap_measure::kernels::random_access::shared::team;
use apexmap_measure::provenance::processors;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files of a listing, by their paths.
#[derive(Default)]
pub struct RecordedFiles(BTreeMap<String, String>);

impl RecordedFiles {
    /// Adds the files of a listing. Each line is `path = content`, with \n, \t and \0 in the content; lines with # are
    /// comments. A line that starts with `[0-3,8]` repeats for each i of the list: {i} is i, {i+2} and {i-2} are i + 2
    /// and i - 2.
    pub fn add(&mut self, listing: &str) {
        for line in listing.lines().filter(|line| !line.starts_with('#')) {
            let (list, pair) = match line.strip_prefix('[') {
                Some(rest) => rest.split_once("] ").expect("a list and a pair"),
                None => ("0", line),
            };
            let (path, content) = pair.split_once(" = ").expect("path = content");
            let content = content.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0");
            self.0.extend(numbers(list).map(|i| (fill_placeholders(path, i), fill_placeholders(&content, i))));
        }
    }

    /// Writes the files below a folder.
    pub fn write(&self, root: &Path) {
        for (path, content) in &self.0 {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, format!("{content}\n")).expect("a file");
        }
    }
}

impl SystemFiles for RecordedFiles {
    fn text(&self, path: &str) -> Option<String> {
        self.0.get(path.trim_start_matches('/')).map(|text| text.trim().to_owned())
    }

    fn text_start(&self, path: &str, _: u64) -> Option<String> {
        self.text(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let within = |path: &String| Some(path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?.to_owned());
        self.0.keys().filter_map(within).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn numbers(list: &str) -> impl Iterator<Item = i64> {
    let number = |text: &str| text.parse::<i64>().expect("a number");
    list.split(',').flat_map(move |part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        number(first)..=number(last)
    })
}

fn fill_placeholders(text: &str, i: i64) -> String {
    let mut result = String::new();
    let mut parts = text.split("{i");
    result.push_str(parts.next().expect("the first"));
    for part in parts {
        let (add, rest) = part.split_once('}').expect("a closing brace");
        let add: i64 = if add.is_empty() { 0 } else { add.parse().expect("a number with its sign") };
        result.push_str(&format!("{}{rest}", i + add));
    }
    result
}

const INTEL: &str = include_str!("hardware/intel-2x8x2.txt");
const INTERLEAVED: &str = include_str!("hardware/intel-4x8x2-interleaved.txt");
const AMD: &str = include_str!("hardware/amd-2x24x2.txt");
const ARM: &str = include_str!("hardware/arm-2x64.txt");
const HYBRID: &str = include_str!("hardware/hybrid-4x2+8.txt");
const VIRTUAL: &str = include_str!("hardware/vm-2.txt");

/// Returns the machine of a listing, with further files.
fn machine(listing: &str, further: &str) -> Hardware {
    let mut files = RecordedFiles::default();
    files.add(listing);
    files.add(further);
    Hardware::read(&files)
}

/// Returns the numbers of packages, NUMA nodes, cores, hardware threads and last-level caches.
fn counts(machine: &Hardware) -> [Option<usize>; 5] {
    [
        machine.count_distinct(|thread| thread.package),
        machine.count_distinct(|thread| thread.numa_node),
        machine.count_distinct(|thread| thread.core),
        machine.count_distinct(|thread| Some(thread.number)),
        machine.count_distinct(|thread| thread.caches.last()?.threads.first().copied()),
    ]
}

#[test]
fn ranks_are_placed_on_cores_of_the_requested_numa_node() {
    let amd = machine(AMD, "");
    for node in 0..8 {
        let numbers: Vec<usize> = (0..6).map(|rank| processor_for_rank(&amd, node, rank, 6).expect("a core")).collect();
        let threads: Vec<&HardwareThread> =
            numbers.iter().map(|&number| amd.thread(number).expect("a thread")).collect();
        assert!(threads.iter().all(|thread| thread.numa_node == Some(node)), "{numbers:?}");
        assert_eq!(
            threads.iter().map(|thread| thread.core).collect::<BTreeSet<_>>().len(),
            6,
            "a core each: {numbers:?}"
        );
    }
    assert_eq!(processor_for_rank(&amd, 0, 0, 7), Err("the node has 6 cores for 7 ranks".into()));
    assert!(processor_for_rank(&amd, 8, 0, 1).expect_err("no such node").contains("no core"));
    let confined = machine(AMD, "proc/self/status = Cpus_allowed_list:\\t0-5");
    assert!(processor_for_rank(&confined, 1, 0, 1).is_err(), "cores that this process may not use do not count");
}

/// Returns level, KiB and number of hardware threads of each cache of a hardware thread.
fn caches(machine: &Hardware, number: usize) -> Vec<(u32, u64, usize)> {
    let caches = &machine.thread(number).expect("a hardware thread").caches;
    caches.iter().map(|cache| (cache.level, cache.bytes >> 10, cache.threads.len())).collect()
}

#[test]
fn recorded_machines_are_read_correctly() {
    let [intel, interleaved, amd, arm, hybrid, vm] =
        [INTEL, INTERLEAVED, AMD, ARM, HYBRID, VIRTUAL].map(|listing| machine(listing, ""));
    assert_eq!(counts(&intel), [2, 2, 16, 32, 2].map(Some));
    assert_eq!(counts(&interleaved), [4, 3, 32, 64, 4].map(Some));
    assert_eq!(counts(&amd), [2, 8, 48, 96, 16].map(Some));
    assert_eq!(counts(&arm), [2, 4, 128, 128, 4].map(Some));
    assert_eq!(counts(&hybrid), [1, 1, 12, 16, 1].map(Some));
    assert_eq!(counts(&vm), [1, 1, 2, 2, 1].map(Some));
    let cores_of_largest = |machine: &Hardware| machine.cores_by_numa_node().into_values().max();
    assert_eq!([&intel, &amd, &arm].map(cores_of_largest), [8, 6, 32].map(Some));
    assert_eq!(caches(&intel, 31), [(1, 32, 2), (2, 1024, 2), (3, 11264, 16)]);
    assert_eq!(caches(&amd, 50), [(1, 32, 2), (2, 512, 2), (3, 8192, 6)]);
    assert_eq!(caches(&arm, 127), [(1, 64, 1), (2, 512, 1), (3, 32768, 32)]);
    assert_eq!(caches(&hybrid, 0), [(1, 48, 2), (2, 1280, 2), (3, 18432, 16)]);
    assert_eq!(caches(&hybrid, 15), [(1, 32, 1), (2, 2048, 4), (3, 18432, 16)]);
    assert_eq!(caches(&vm, 1), [(1, 32, 1), (2, 512, 1), (3, 32768, 2)]);
    let place = |machine: &Hardware, number| {
        let thread = machine.thread(number).expect("a hardware thread");
        [thread.core, thread.package, thread.numa_node]
    };
    assert_eq!(place(&intel, 24), [Some(8), Some(1), Some(1)]);
    assert_eq!(place(&interleaved, 33), [Some(1), Some(2), Some(2)]);
    assert_eq!(place(&amd, 95), [Some(47), Some(1), Some(7)]);
    assert_eq!(place(&arm, 64), [Some(64), Some(8442), Some(2)]);
    assert_eq!(intel.memory_bytes, Some(97_445_600 << 10));
    assert_eq!(amd.memory_bytes, None, "not recorded");
}

/// The paths in listings are those of real files, so a folder with these files gives the same machine.
#[test]
fn a_folder_and_its_listing_give_the_same_machine() {
    let root = Scratch::new();
    let mut files = RecordedFiles::default();
    files.add(VIRTUAL);
    files.write(&root);
    assert_eq!(Hardware::read(&FilesBelow(&root)), Hardware::read(&files));
}

#[test]
fn kinds_of_cores_are_distinguished() {
    let hybrid = machine(HYBRID, "");
    let kinds = |range: std::ops::Range<usize>| {
        range.map(|number| hybrid.thread(number).and_then(|thread| thread.kind.clone())).collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(0..8), BTreeSet::from([Some(CoreKind::PERFORMANCE)]));
    assert_eq!(kinds(8..16), BTreeSet::from([Some(CoreKind::EFFICIENCY)]));
    let little = machine(ARM, "[0-63] sys/devices/system/cpu/cpu{i}/cpu_capacity = 446");
    let first = place_ranks(&little.threads, &little.allowed, PlacementOrder::Compact)[0];
    assert_eq!((little.count_distinct(|thread| thread.kind.as_ref()), first), (Some(2), 64), "the faster cores first");
}

/// The standard library uses other sources: a system call for affinity, and its own reader for the quotas of control
/// groups.
#[test]
fn the_hardware_thread_count_matches_the_standard_library() {
    let hardware = Hardware::this_machine();
    let threads = std::thread::available_parallelism().expect("a number").get();
    assert_eq!(hardware.hardware_threads(), threads);
    assert!(hardware.cores_or_threads() <= threads);
    assert!(hardware.usable_memory_bytes().is_some_and(|bytes| bytes > 1 << 28), "{:?}", hardware.memory_bytes);
}

#[test]
fn values_that_the_system_does_not_report_are_absent() {
    let empty = machine("", "");
    assert_eq!(counts(&empty), [None; 5]);
    assert_eq!((empty.cores(), empty.hardware_threads(), empty.usable_memory_bytes()), (None, 1, None));
    // A sandbox without /sys.
    let status = "proc/self/status = Cpus_allowed_list:\\t0-2,5\nproc/meminfo = MemTotal: 1024 kB";
    let sandbox = machine(status, "");
    assert_eq!(counts(&sandbox), [None, None, None, Some(4), None]);
    assert_eq!((sandbox.cores(), sandbox.cores_or_threads(), sandbox.cores_by_numa_node().len()), (None, 4, 0));
    assert_eq!(place_ranks(&sandbox.threads, &sandbox.allowed, PlacementOrder::Spread), [0, 1, 2, 5]);
    // Firmware that does not report packages.
    let arm = machine(ARM, "[0-127] sys/devices/system/cpu/cpu{i}/topology/physical_package_id = -1");
    assert_eq!((arm.count_distinct(|thread| thread.package), arm.cores()), (None, Some(128)));
    let garbled = machine(ARM, "sys/devices/system/cpu/online = 0-99999999999\nproc/meminfo = MemTotal: many");
    assert_eq!((garbled.hardware_threads(), garbled.memory_bytes), (128, None), "from the folders of the processors");
}

#[test]
fn affinity_and_offline_processors_are_respected() {
    let some = machine(INTEL, "proc/self/status = Cpus_allowed_list:\\t0-2,16,30\\n");
    assert_eq!((some.allowed.as_slice(), some.hardware_threads(), some.cores()), (&[0, 1, 2, 16, 30][..], 5, Some(4)));
    let offline = machine(INTEL, "sys/devices/system/cpu/online = 0-7,16-23");
    assert_eq!((counts(&offline), offline.cores()), ([1, 1, 8, 16, 1].map(Some), Some(8)));
}

/// Control groups of version 2 at their usual place.
const CGROUP_V2: &str =
    "proc/self/mountinfo = 35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\\n\n";

fn limits(listing: &str) -> (Option<u64>, usize, Option<usize>) {
    let machine = machine(INTEL, listing);
    (machine.memory_limit_bytes, machine.hardware_threads(), machine.cores())
}

#[test]
fn the_smallest_limit_of_the_job_and_its_control_groups_applies() {
    let job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7";
    let own_group = "proc/self/cgroup = 0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\\n\n";
    let nested = format!(
        "{CGROUP_V2}{own_group}{job}/memory.max = 34359738368\n{job}/step_0/user/task_0/memory.max = max\n\
         {job}/step_0/user/memory.max = 51539607552\n{job}/cpu.max = 600000 100000\n{job}/step_0/cpu.max = max 100000\n\
         {job}/step_0/user/task_0/cpuset.cpus.effective = 0-3,16-19"
    );
    assert_eq!(limits(&nested), (Some(32 << 30), 6, Some(4)));
    let memory = machine(INTEL, &nested).usable_memory_bytes();
    assert_eq!(memory, Some(32 << 30));
    // Only the root of the tree is visible, as in a container.
    let container = format!(
        "{CGROUP_V2}proc/self/cgroup = 0::/\\n\nsys/fs/cgroup/memory.max = 1073741824\nsys/fs/cgroup/cpu.max = 50000 100000"
    );
    assert_eq!(limits(&container), (Some(1 << 30), 1, Some(1)), "half a processor is one");
    let unlimited = format!("{CGROUP_V2}{own_group}{job}/memory.max = max\n{job}/cpu.max = max 100000");
    assert_eq!(limits(&unlimited), (None, 32, Some(16)));
    assert_eq!(limits("proc/self/cgroup = 0::/a\\n"), (None, 32, Some(16)), "nothing is mounted");
    let outside = format!("{CGROUP_V2}proc/self/cgroup = 0::/../other\\n\nsys/fs/cgroup/memory.max = 2147483648");
    assert_eq!(limits(&outside).0, Some(2 << 30), "for a group outside of the tree, only the limit of the tree counts");
}

#[test]
fn control_groups_of_version_1_are_read() {
    let mounts = "proc/self/mountinfo = 32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\\n\
                  35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\\n\
                  34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\\n\n";
    let own_groups = "proc/self/cgroup = 5:cpu,cpuacct:/slurm/job_9\\n4:memory:/slurm/job_9/step_0\\n3:cpuset:/slurm/job_9\\n0::/\\n\n";
    let job = format!(
        "{mounts}{own_groups}sys/fs/cgroup/memory/slurm/job_9/memory.limit_in_bytes = 17179869184\n\
         sys/fs/cgroup/memory/slurm/job_9/step_0/memory.limit_in_bytes = 9223372036854771712\n\
         sys/fs/cgroup/cpu,cpuacct/slurm/job_9/cpu.cfs_quota_us = 250000\n\
         sys/fs/cgroup/cpu,cpuacct/slurm/job_9/cpu.cfs_period_us = 100000\n\
         sys/fs/cgroup/cpuset/slurm/job_9/cpuset.effective_cpus = 8-15\n"
    );
    assert_eq!(limits(&job), (Some(16 << 30), 2, Some(2)));
    let unlimited = job.replace("250000", "-1").replace("17179869184", "9223372036854771712");
    assert_eq!(limits(&unlimited), (None, 8, Some(8)));
    // A container that sees its own group at the mount point, under the group's name outside of the container.
    let container = "proc/self/mountinfo = 35 31 0:32 /docker/f00 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\\n\n\
                     proc/self/cgroup = 4:memory:/docker/f00\\n\nsys/fs/cgroup/memory/memory.limit_in_bytes = 536870912";
    assert_eq!(limits(container).0, Some(512 << 20));
    assert_eq!(machine(VIRTUAL, "").memory_limit_bytes, None);
}

#[test]
fn ranks_take_one_core_after_another_in_the_requested_order() {
    let [intel, interleaved, amd, hybrid] = [INTEL, INTERLEAVED, AMD, HYBRID].map(|listing| machine(listing, ""));
    let first = |machine: &Hardware, place, count: usize| {
        place_ranks(&machine.threads, &machine.allowed, place).into_iter().take(count).collect::<Vec<_>>()
    };
    assert_eq!(first(&intel, PlacementOrder::Spread, 4), [0, 8, 1, 9]);
    assert_eq!(first(&intel, PlacementOrder::Compact, 9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(first(&intel, PlacementOrder::Compact, 17)[16], 16, "a second rank on a core when all cores have one");
    assert_eq!(first(&intel, PlacementOrder::Smt, 4), [0, 16, 1, 17]);
    assert_eq!(first(&interleaved, PlacementOrder::Compact, 3), [0, 4, 8]);
    assert_eq!(first(&interleaved, PlacementOrder::Spread, 4), [0, 2, 1, 3], "packages 0, 1, 2, 3");
    assert_eq!(first(&amd, PlacementOrder::Spread, 6), [0, 24, 6, 30, 12, 36], "packages, then NUMA nodes");
    assert_eq!(first(&amd, PlacementOrder::Spread, 10)[8..], [3, 27], "then caches within a NUMA node");
    assert_eq!(first(&hybrid, PlacementOrder::Spread, 13), [0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 1]);
    assert_eq!(first(&hybrid, PlacementOrder::Smt, 3), [0, 1, 2]);
}

#[test]
fn threads_of_a_team_take_processors_in_rank_order() {
    let intel = machine(INTEL, "");
    for place in PlacementOrder::ALL {
        let processors_of_team = team::processors(&intel, place);
        assert_eq!(processors_of_team, place_ranks(&intel.threads, &intel.allowed, place)[..processors_of_team.len()]);
        // The first member is a rank, which has the first processor.
        assert_eq!(team::other_processors(&processors_of_team, &processors_of_team[..1]), processors_of_team[1..]);
    }
    assert_eq!(team::other_processors(&team::processors(&intel, PlacementOrder::Smt), &[0])[..3], [16, 1, 17]);
    assert_eq!(team::other_processors(&team::processors(&intel, PlacementOrder::Spread), &[0])[..3], [8, 1, 9]);
}

/// Returns a machine with this number of cores per package and of hardware threads per core. With `in_turn`, their
/// numbers alternate between packages.
fn regular(packages: usize, cores: usize, threads: usize, in_turn: bool) -> Vec<HardwareThread> {
    let total_cores = packages * cores;
    let thread = |number: usize| {
        let core = number % total_cores;
        let package = if in_turn { core % packages } else { core / cores };
        let (numa_node, kind, caches) = (Some(package), None, Vec::new());
        HardwareThread { number, core: Some(core), package: Some(package), numa_node, kind, caches }
    };
    (0..total_cores * threads).map(thread).collect()
}

/// Counts the occurrences of each value.
fn count(values: impl Iterator<Item = Option<usize>>) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for value in values.flatten() {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

proptest! {
    #[test]
    fn placements_satisfy_their_constraints(
        (packages, cores, threads, in_turn) in (1usize..5, 1usize..9, 1usize..5, any::<bool>()),
        seed in any::<u64>(),
        ranks in 1usize..160,
    ) {
        let machine = regular(packages, cores, threads, in_turn);
        let everyone: Vec<usize> = (0..machine.len()).collect();
        let some: Vec<usize> = everyone.iter().copied().filter(|number| seed >> (number % 61) & 1 == 1).collect();
        let count_by = |numbers: &[usize], part: fn(&HardwareThread) -> Option<usize>| count(numbers.iter().map(|&n| part(&machine[n])));
        for place in PlacementOrder::ALL {
            let mut taken = place_ranks(&machine, &some, place);
            taken.sort_unstable();
            prop_assert_eq!(&taken, &some, "each allowed hardware thread once, and no other");
            let taken = place_ranks(&machine, &everyone, place);
            let taken = &taken[..ranks.min(taken.len())];
            let on_cores = count_by(taken, |thread| thread.core);
            let on_packages = count_by(taken, |thread| thread.package);
            let ends = |counts: &BTreeMap<usize, usize>, all: usize| {
                let least = if counts.len() < all { 0 } else { *counts.values().min().expect("one") };
                (least, *counts.values().max().expect("one"))
            };
            let (least, most) = ends(&on_cores, packages * cores);
            match place {
                PlacementOrder::Smt => prop_assert_eq!(on_cores.len(), taken.len().div_ceil(threads), "no core before the last one is full"),
                _ => prop_assert!(most - least <= 1, "one rank on each core before a second one: {:?}", on_cores),
            }
            let (least, most) = ends(&on_packages, packages);
            match place {
                PlacementOrder::Spread => prop_assert!(most - least <= 1, "{:?}", on_packages),
                PlacementOrder::Compact => prop_assert_eq!(on_packages.len(), taken.len().div_ceil(cores).min(packages)),
                PlacementOrder::Smt => prop_assert_eq!(on_packages.len(), taken.len().div_ceil(cores * threads)),
            }
        }
    }
}

#[test]
fn touched_pages_are_on_a_numa_node_of_this_machine() {
    let words = vec![1u64; 1 << 20];
    let nodes = pages_by_node(&words);
    let has_nodes = Hardware::this_machine().count_distinct(|thread| thread.numa_node).is_some();
    assert_eq!(nodes.values().sum::<usize>(), if has_nodes { 64 } else { 0 }, "{nodes:?}");
    assert!(pages_by_node(&[]).is_empty());
}

#[test]
fn processors_are_described_in_words() {
    let describe = |listing: &str, further: &str| processors(&machine(listing, further)).to_string();
    assert_eq!(describe(INTEL, ""), "2 packages, 16 cores, 32 hardware threads, 2 NUMA nodes");
    assert_eq!(describe(VIRTUAL, ""), "2 cores");
    assert_eq!(describe(HYBRID, ""), "12 cores (8 efficiency, 4 performance), 16 hardware threads");
    let job = "proc/self/status = Cpus_allowed_list:\\t0-7";
    assert_eq!(describe(ARM, job), "2 packages, 128 cores, 4 NUMA nodes; this process may use 8 cores");
    let half = "proc/self/status = Cpus_allowed_list:\\t0-15";
    assert_eq!(
        describe(INTEL, half),
        "2 packages, 16 cores, 32 hardware threads, 2 NUMA nodes; this process may use 16 hardware threads"
    );
}

#[test]
fn nodes_with_memory_are_read_from_the_system() {
    let nodes = |listing: &str, further: &str| {
        let mut files = RecordedFiles::default();
        files.add(listing);
        files.add(further);
        nodes_with_memory(&files)
    };
    // Two packages with memory and one node without (of a device, for example). Then a system with node folders only.
    let online = "sys/devices/system/node/online = 0-2";
    assert_eq!(nodes(INTEL, &format!("sys/devices/system/node/has_memory = 0-1\n{online}")), [0, 1]);
    assert_eq!(nodes(INTEL, online), [0, 1, 2]);
    assert_eq!(nodes(ARM, ""), [0, 1, 2, 3]);
    assert_eq!(nodes("", ""), [0; 0]);
}
