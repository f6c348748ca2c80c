//! Tests of machines of many kinds, read from folders with their files.

use crate::common::{Scratch, refusal_message, successful_stdout};
use crate::hardware::RecordedFiles;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_measure::affinity::{allowed_hardware_threads, bind};
use apexmap_measure::core_clock::core_clock;
use apexmap_measure::hardware::{FilesBelow, Hardware, PlacementOrder, place_ranks, reported_line_bytes};
use apexmap_measure::kernels::keys::{CORE_NODE, MEMORY_NODE};
use apexmap_measure::provenance::node_type_of;
use apexmap_run::sweep::{Machine, ready};
use std::path::Path;

const TREES: &str = include_str!("hardware/trees.txt");

/// Returns the name of each tree, its expected type of node and nodes with memory, and its files.
fn trees() -> impl Iterator<Item = (&'static str, &'static str, &'static str, String)> {
    TREES.split("\n== ").skip(1).map(|section| {
        let (name, lines) = section.split_once('\n').expect("a name");
        let mut expected = lines.lines().filter_map(|line| line.strip_prefix('>')).map(str::trim);
        let (node_type, memory) = (expected.next().expect("a type"), expected.next().expect("nodes with memory"));
        let is_file = |line: &&str| !line.is_empty() && !line.starts_with('>');
        (name, node_type, memory, lines.lines().filter(is_file).map(|line| format!("{line}\n")).collect())
    })
}

/// Writes the files of a listing into a folder, and reads the machine there.
fn read_folder(listing: &str) -> Hardware {
    let (root, mut files) = (Scratch::new(), RecordedFiles::default());
    files.add(listing);
    files.write(&root);
    Hardware::read(&FilesBelow(&root))
}

/// Returns the machine of a tree, with further files.
fn tree(name: &str, further: &str) -> Hardware {
    let (.., files) = trees().find(|(other, ..)| *other == name).expect("a tree");
    read_folder(&(files + further))
}

fn first_places(machine: &Hardware, order: PlacementOrder, count: usize) -> Vec<usize> {
    place_ranks(&machine.threads, &machine.allowed, order).into_iter().take(count).collect()
}

#[test]
fn machines_of_many_kinds_are_counted_and_named_as_by_hwloc_and_lscpu() {
    for (name, node_type, memory, files) in trees() {
        let machine = read_folder(&files);
        assert_eq!(node_type_of(&machine), node_type, "{name}");
        let nodes: Vec<String> = machine.memory_nodes.iter().map(usize::to_string).collect();
        assert_eq!(nodes.join(","), memory, "{name}");
        assert_eq!(machine.allowed.len(), machine.threads.len(), "{name}");
    }
    assert!(trees().count() > 20);
}

#[test]
fn chip_binning_changes_neither_the_type_of_a_node_nor_the_placement_of_ranks() {
    let grace = tree("grace", "");
    let other_bins = "[0-15] sys/devices/system/cpu/cpu{i}/cpu_capacity = 1002\n\
                      [1,6,9] sys/devices/system/cpu/cpu{i}/cpu_capacity = 1024";
    assert_eq!(node_type_of(&tree("grace", other_bins)), node_type_of(&grace));
    assert_eq!(first_places(&grace, PlacementOrder::Spread, 4), [0, 8, 1, 9]);
    assert_eq!(first_places(&grace, PlacementOrder::Compact, 4), [0, 1, 2, 3]);
    let slow_half = "[8-15] sys/devices/system/cpu/cpu{i}/cpu_capacity = 446";
    assert!(node_type_of(&tree("grace", slow_half)).contains("16 cores (8 efficiency, 8 performance)"));
    // With one kind in two clusters, ranks take one of each in turn.
    assert_eq!(first_places(&tree("gb10", ""), PlacementOrder::Spread, 5), [2, 6, 3, 7, 0]);
    assert_eq!(first_places(&tree("hybrid", ""), PlacementOrder::Compact, 8), [0, 2, 4, 5, 6, 7, 1, 3]);
}

#[test]
fn hardware_threads_without_topology_leave_the_others_counted() {
    let machine = tree("offline", "");
    let numbers: Vec<usize> = machine.threads.iter().map(|thread| thread.number).collect();
    assert_eq!(numbers, [0, 1, 4, 5, 6, 7]);
    assert_eq!((machine.cores(), machine.cores_by_numa_node().into_iter().collect()), (Some(3), vec![(1, 2)]));
    let listed = tree("offline", "sys/devices/system/cpu/online = 0-7");
    assert_eq!((listed.threads.len(), listed.cores(), listed.packages()), (8, Some(3), 2));
}

#[test]
fn machines_with_more_than_1024_hardware_threads_are_used_as_a_whole() {
    let listing = "sys/devices/system/cpu/online = 0-2047\n\
                   [0-1023] sys/devices/system/cpu/cpu{i}/topology/core_cpus_list = {i},{i+1024}\n\
                   [1024-2047] sys/devices/system/cpu/cpu{i}/topology/core_cpus_list = {i-1024},{i}\n\
                   proc/self/status = Cpus_allowed_list:\\t1000-1099,2000-2047";
    let machine = read_folder(listing);
    assert_eq!((machine.hardware_threads(), machine.cores()), (148, Some(124)));
    assert_eq!(first_places(&machine, PlacementOrder::Compact, 125)[123..], [1023, 2024]);
    // This system ignores numbers that it does not have, but they are in the set that it gets.
    let before = allowed_hardware_threads().expect("an affinity");
    assert_eq!(before, Hardware::this_machine().allowed);
    bind(&[before[0], 5000]);
    let bound = allowed_hardware_threads();
    bind(&before);
    assert_eq!(bound, Some(vec![before[0]]));
    assert_eq!(allowed_hardware_threads(), Some(before));
}

#[test]
fn the_core_clock_is_measured_where_the_system_does_not_report_it() {
    let clock = |listing: &str| {
        let (root, mut files) = (Scratch::new(), RecordedFiles::default());
        files.add(listing);
        files.write(&root);
        core_clock(&FilesBelow(&root))
    };
    let file = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq = 3450000";
    assert_eq!(clock(file), (Some(3.45e9), "maximum frequency reported by the system"));
    let (hertz, source) = clock("");
    assert_eq!(source, "core clock measured with additions");
    assert!(hertz.is_some_and(|hertz| (1e8..1e10).contains(&hertz)), "{hertz:?}");
}

#[test]
fn the_length_of_cache_lines_is_that_of_the_longest_one() {
    let line_bytes = |listing: &str| {
        let (root, mut files) = (Scratch::new(), RecordedFiles::default());
        files.add(listing);
        files.write(&root);
        reported_line_bytes(&FilesBelow(&root))
    };
    let line = |index: u32, bytes: u32| {
        format!("sys/devices/system/cpu/cpu0/cache/index{index}/coherency_line_size = {bytes}\n")
    };
    assert_eq!(line_bytes(&(line(0, 64) + &line(2, 128))), Some(128), "64 in L1, 128 in L2");
    assert_eq!(line_bytes(&line(0, 256)), Some(256), "A64FX");
    assert_eq!(line_bytes(&line(0, 0)), None);
    assert_eq!(line_bytes(""), None);
}

/// Returns the points of the ready sweep on a machine with two NUMA nodes of 8 and 4 cores, and three with memory.
fn memory_nodes() -> Result<Vec<Point>> {
    let machine = Machine {
        numa_cores: [(0, 8), (8, 4)].into(),
        memory_nodes: vec![0, 8, 255],
        ..Machine::with_cores(12, 64 << 30)
    };
    Ok(ready::open(Path::new("memory-nodes"), machine)?.points)
}

#[test]
fn memory_nodes_measures_all_pairs_of_nodes_with_cores_and_nodes_with_memory() {
    let points = memory_nodes().expect("a sweep");
    let mut pairs: Vec<(u64, u64, usize)> =
        points.iter().map(|point| (CORE_NODE.of(point), MEMORY_NODE.of(point), point.ranks)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let expected: Vec<(u64, u64, usize)> = [(0, 1), (0, 8), (8, 1), (8, 4)]
        .into_iter()
        .flat_map(|(node, ranks)| [0, 8, 255].map(|memory| (node, memory, ranks)))
        .collect();
    let mut sorted = expected.clone();
    sorted.sort_unstable();
    assert_eq!((points.len(), pairs), (18, sorted), "one core, and all cores of the node");
    let unknown = Machine { memory_nodes: Vec::new(), ..Machine::with_cores(2, 1 << 30) };
    let error = ready::open(Path::new("memory-nodes"), unknown).expect_err("not known");
    assert!(error.message.contains("memory_node = \"all\"") && error.help.contains("[0, 1]"), "{error}");
}

#[test]
fn a_plan_refuses_numa_nodes_that_this_machine_does_not_have() {
    let machine = Hardware::this_machine();
    if machine.memory_nodes.is_empty() || machine.cores_by_numa_node().is_empty() {
        return;
    }
    let (scratch, known_node) = (Scratch::new(), machine.memory_nodes[0]);
    let (file, out) = (scratch.join("s.toml"), scratch.join("r"));
    let arguments = ["plan", file.to_str().expect("text"), "--out", out.to_str().expect("text")];
    let sweep = |node: &str| {
        let text = format!("[fixed]\nkernel = \"calibrate.chase\"\nbytes = 4096\n[axes]\n{node}\n");
        std::fs::write(&file, text).expect("a file");
    };
    for name in ["memory_node", "core_node"] {
        sweep(&format!("{name} = [{known_node}, 999]"));
        let text = refusal_message(&arguments).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&format!("{name} = 999: this process may use")) && text.contains("help: name only"),
            "{text}"
        );
    }
    sweep("memory_node = \"all\"");
    assert!(successful_stdout(&arguments).contains("memory_node"));
}
