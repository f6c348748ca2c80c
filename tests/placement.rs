//! Tests of the placement of ranks and memory: warnings of the report, and placements in older results.

use crate::common::{launch, manifest, sample, small_point};
use apexmap_base::provenance::{Cache, MemoryPlacement, Placement};
use apexmap_base::sample::{Launch, Sample};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_pages::report::placement;
use apexmap_pages::report::regimes::{RankCache, rank_caches, regime};
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_run::launch::{LaunchJob, Launcher, LocalMachine, check, find};
use apexmap_theory::machine::{Card, Number};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn the_remote_memory_share_is_computed_from_page_counts() {
    let placed = MemoryPlacement::from_page_counts(0, &BTreeMap::from([(0, 16), (1, 48)])).expect("pages");
    assert_eq!(placed, MemoryPlacement { numa_node: 0, memory_node: 1, elsewhere: 0.75 });
    assert_eq!(MemoryPlacement::from_page_counts(3, &BTreeMap::from([(3, 64)])).expect("pages").elsewhere, 0.0);
    assert_eq!(MemoryPlacement::from_page_counts(0, &BTreeMap::new()), None);
}

/// Returns the report's warnings about a result of two launches of two ranks, changed by `change`.
fn warnings(transport: &str, change: impl Fn(usize, &mut Placement), oversubscribed: bool) -> Vec<String> {
    let mut records = Vec::new();
    for name in ["0001", "0002"] {
        let mut launch = Launch { transport: transport.into(), oversubscribed, ..launch(name, 2, "b1") };
        for (rank, place) in launch.placement.iter_mut().enumerate() {
            place.hardware_thread = Some(rank as u32);
            place.physical_core = Some(rank as u32);
            change(rank, place);
        }
        let elsewhere = launch.placement.iter().flat_map(|place| &place.memory).map(|memory| memory.elsewhere);
        let unplaced = sample(&small_point("apex_map.two_sided", 2), "a", 0, 1.0);
        let samples = vec![Sample { pages_elsewhere: elsewhere.reduce(f64::max), ..unplaced }];
        records.push(Record { launch: Some(launch), samples, ..Record::default() });
    }
    placement::warnings(&manifest().with_records(&records), &tabulate(&records, |_| true).into())
}

#[test]
fn the_report_warns_of_misplaced_ranks_and_memory() {
    assert!(warnings("threads", |_, _| (), false).is_empty());
    let free = warnings("mpi", |rank, place| place.pinned = rank == 0, false);
    assert!(free.len() == 1 && free[0].contains("not pinned to a core in 2 launches (the first is 0001)"), "{free:?}");
    assert!(warnings("mpi", |_, place| place.pinned = false, true).is_empty(), "another note reports oversubscription");
    let shared = warnings("threads", |_, place| place.physical_core = Some(0), false);
    assert!(shared.len() == 1 && shared[0].contains("shared cores"), "{shared:?}");
    let other_host =
        |rank: usize, place: &mut Placement| (place.node, place.physical_core) = (format!("n{rank}"), Some(0));
    assert!(warnings("mpi", other_host, false).is_empty());
    let far = |rank: usize, place: &mut Placement| {
        place.memory = MemoryPlacement::from_page_counts(0, &BTreeMap::from([(rank, 60), (0, 4)]));
    };
    let far = warnings("threads", far, false);
    assert!(far.len() == 1 && far[0].contains("in 2 of 2 samples: up to 94 % of its pages"), "{far:?}");
    assert!(far[0].contains("rank 1 of launch 0002 ran on node 0, its memory is on node 1"), "{far:?}");
    let near = |_: usize, place: &mut Placement| {
        place.memory = MemoryPlacement::from_page_counts(0, &BTreeMap::from([(0, 62), (1, 2)]));
    };
    assert!(warnings("threads", near, false).is_empty(), "a few pages");
}

/// Returns a launch on a host with eight hardware threads and one L3 per two of them.
fn several_caches(ranks: usize, place: Option<PlacementOrder>) -> Launch {
    let mut launch = Launch { place, ..launch("0001", ranks, "b1") };
    launch.host.processors.machine_hardware_threads = Some(8);
    launch.host.caches =
        vec![Cache { level: 1, bytes: 32 << 10, shared_by: 1 }, Cache { level: 3, bytes: 32 << 20, shared_by: 2 }];
    launch
}

#[test]
fn a_rank_gets_its_share_of_a_shared_cache() {
    let l3 = |ranks, place| rank_caches(&several_caches(ranks, place), None)[1].bytes / f64::from(1 << 20);
    assert_eq!(l3(4, Some(PlacementOrder::Spread)), 32.0, "one rank on each of the four caches");
    assert_eq!(l3(8, Some(PlacementOrder::Spread)), 16.0);
    assert_eq!(l3(4, Some(PlacementOrder::Compact)), 16.0, "two on each of the first two");
    assert_eq!((l3(1, None), l3(2, None)), (32.0, 16.0), "the placement by the launcher is unknown");
}

#[test]
fn the_measured_cache_size_overrides_the_reported_one() {
    let launch = several_caches(1, None);
    let mut card = Card::new("m", "a machine", "measured");
    card.set("l3_bytes", Number::new(16e6, "B", "random reads")).expect("a number of cards");
    let caches = rank_caches(&launch, Some(&card));
    assert_eq!((caches[0].bytes, caches[0].label().as_str()), (32768.0, "L1"));
    assert_eq!((caches[1].bytes, caches[1].label().as_str()), (16e6, "L3 (15.3 MiB measured, 32 MiB reported)"));
    let share = |caches: &[RankCache]| regime(1.0, 64e6, 1, caches, None, &launch.host).levels[1].1;
    assert!(share(&caches) < share(&rank_caches(&launch, None)));
}

/// Variables that make both MPIs see a node of two packages with four cores of two hardware threads each.
const TWO_PACKAGES: [(&str, &str); 2] = [("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2"), ("HWLOC_THISSYSTEM", "0")];

/// Returns the hardware threads of that node to which each rank is bound.
fn bound_threads(
    launcher: &dyn Launcher,
    place: PlacementOrder,
    ranks: usize,
    per_node: Option<usize>,
) -> Vec<Vec<usize>> {
    let machine = LocalMachine {
        cores: 8,
        hardware_threads: 16,
        packages: 2,
        nodes: 1,
        allocated: false,
        root: LocalMachine::detect().root,
    };
    let job = LaunchJob {
        program: check(launcher, Path::new("/bin/true"), &std::env::var_os("PATH").unwrap_or_default()).expect("it"),
        worker: "/bin/true".into(),
        arguments: Vec::new(),
        ranks,
        nodes: None,
        ranks_per_node: per_node,
        hosts: Vec::new(),
        place: Some(place),
        variables: Vec::new(),
        machine,
    };
    let line = launcher.command(&job);
    let (arguments, of_openmpi) = (&line.argv[1..], launcher.id() == "openmpi");
    let mut command = Command::new(&line.argv[0]);
    if of_openmpi {
        command.args(["--do-not-launch", "--display-map", "--host", "localhost:16"]);
    }
    let output = command.args(arguments).envs(line.env).envs(TWO_PACKAGES).env("HYDRA_TOPO_DEBUG", "1").output();
    let output = output.expect("the launcher");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let ranks: BTreeMap<usize, Vec<usize>> =
        stdout.lines().filter_map(|l| if of_openmpi { parse_map_line(l) } else { parse_mask_line(l) }).collect();
    assert!(ranks.len() == job.ranks, "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    ranks.into_values().collect()
}

/// Parses a line of Open MPI:
/// `Process OMPI jobid: [1,1] App: 0 Process rank: 1 Bound: socket 1[core 4[hwt 0-1]]:[../../../..][BB/../../..]`
fn parse_map_line(line: &str) -> Option<(usize, Vec<usize>)> {
    let (rank, bound) = line.split_once("Process rank: ")?.1.split_once(" Bound: ")?;
    let threads = bound.split_once("]:[")?.1.chars().filter(|c| "B.".contains(*c)).enumerate();
    Some((rank.parse().ok()?, threads.filter(|(_, c)| *c == 'B').map(|(number, _)| number).collect()))
}

/// Parses `process 1 binding: 0000000011000000`.
fn parse_mask_line(line: &str) -> Option<(usize, Vec<usize>)> {
    let (rank, mask) = line.strip_prefix("process ")?.split_once(" binding: ")?;
    Some((rank.parse().ok()?, mask.chars().enumerate().filter(|(_, c)| *c == '1').map(|(number, _)| number).collect()))
}

#[test]
fn both_mpis_place_ranks_on_a_synthetic_node_as_requested() {
    needs!(Mpi);
    for id in ["openmpi", "mpich"] {
        let launcher = (find(id).expect("a launcher").make)(&[]).expect("a launcher");
        for per_node in [None, Some(4)] {
            let threads_at = |place| bound_threads(&*launcher, place, 4, per_node);
            assert_eq!(threads_at(PlacementOrder::Spread), [[0, 1], [8, 9], [2, 3], [10, 11]], "{id}, {per_node:?}");
            assert_eq!(threads_at(PlacementOrder::Compact), [[0, 1], [2, 3], [4, 5], [6, 7]], "{id}, {per_node:?}");
            assert_eq!(threads_at(PlacementOrder::Smt), [[0], [1], [2], [3]], "{id}, {per_node:?}");
        }
    }
}
