//! Tests the quickstart on machines of several kinds: its points, its memory and its duration.

use apexmap_base::sample::Sample;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::keys::M;
use apexmap_measure::seen_cache::end_of_cache;
use apexmap_measure::worker::Repeat;
use apexmap_run::drive::cost::estimate_on;
use apexmap_run::drive::driver;
use apexmap_run::drive::forecast::Forecast;
use apexmap_run::drive::plan::{Context, Plan, Progress, launch_memory};
use apexmap_run::launch;
use apexmap_run::sweep::{Machine, Sweep, ready};
use std::collections::BTreeSet;
use std::path::Path;

const GIB: u64 = 1 << 30;

fn plan(sweep: &Sweep) -> Plan {
    let context = Context {
        transport: TransportKind::Threads,
        launcher: launch::find("local").expect("a launcher"),
        ranks_per_node: None,
        place: sweep.launch.place,
        machine: "m".into(),
        build: "b".into(),
        builds: Default::default(),
        simulation: None,
        library: String::new(),
    };
    Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, 1).expect("a plan")
}

/// Returns the seconds that the sweep takes with the smallest number of samples, whatever its budget.
fn seconds(plan: &Plan, threads: usize) -> f64 {
    let progress = Progress::new::<Sample>(plan, &[]);
    let launches = driver::remaining_launches(plan, &progress, false, &|entry| estimate_on(&entry.point, threads));
    let fewest = Repeat { max: plan.repeat.min, width: None, budget_seconds: None, ..plan.repeat };
    Forecast::new(fewest, &launches, 0.0).outlook(0.0).seconds
}

#[test]
fn the_quickstart_fits_any_machine_and_takes_at_most_two_minutes() {
    // Cores, hardware threads, memory, last cache.
    let machines = [
        ("two cores", 2, 2, 24 * GIB, 32 << 20),
        ("laptop", 8, 16, 8 * GIB, 16 << 20),
        ("small laptop", 4, 8, 4 * GIB, 8 << 20),
        ("node", 64, 64, 256 * GIB, 256 << 20),
        ("large node", 128, 256, 512 * GIB, 32 << 20),
    ];
    for (name, cores, hardware_threads, memory, last_cache) in machines {
        let machine = Machine { hardware_threads, last_cache, ..Machine::with_cores(cores, memory) };
        let sweep = ready::open(Path::new("quickstart"), machine).expect(name);
        let plan = plan(&sweep);
        let (mut most, mut ranks) = (0, BTreeSet::new());
        for (size, entries) in plan.by_size() {
            most = most.max(launch_memory(&plan, size, &entries).0);
            ranks.insert(size.ranks);
        }
        let time = seconds(&plan, hardware_threads);
        let m: BTreeSet<u64> = plan.entries.iter().map(|e| (M.of(&e.point) / e.point.ranks as u64) >> 7).collect();
        println!(
            "{name}: {} points, P {ranks:?}, M {m:?} KiB a rank, {} MiB, {time:.1} s, budget {:?}",
            plan.entries.len(),
            most >> 20,
            plan.repeat.budget_seconds
        );
        assert_eq!(ranks, BTreeSet::from([1, cores]), "{name}");
        assert_eq!(plan.entries.len(), 2 * 7 * 9, "{name}");
        assert!(most <= memory * if memory > 8 * GIB { 55 } else { 30 } / 100, "{name}: {most} bytes of {memory}");
        assert!(time <= 120.0 && plan.repeat.budget_seconds.is_some_and(|budget| budget <= 115.0), "{name}: {time} s");
    }
}

#[test]
fn the_memory_of_the_quickstart_follows_the_cache_that_reads_see() {
    const MIB: u64 = 1 << 20;
    let bytes_per_rank = |last_cache: u64, last_cache_seen: Option<u64>| {
        let machine = Machine { last_cache, last_cache_seen, ..Machine::with_cores(2, 64 * GIB) };
        let sweep = ready::open(Path::new("quickstart"), machine).expect("a sweep");
        let point = &sweep.points[0];
        M.of(point) * 8 / point.ranks as u64
    };
    assert_eq!(bytes_per_rank(480 * MIB, None), 2 * GIB, "what the system reports");
    assert_eq!(bytes_per_rank(480 * MIB, Some(64 * MIB)), 512 * MIB);
    assert_eq!(bytes_per_rank(32 * MIB, Some(64 * MIB)), 512 * MIB);
    assert_eq!(bytes_per_rank(480 * MIB, Some(256 * MIB)), GIB);
}

#[test]
fn a_probe_sees_the_end_of_a_cache_where_reads_become_slow() {
    let times = |times: [f64; 6]| (0..6).map(|bits| 4u64 << (20 + bits)).zip(times).collect::<Vec<_>>();
    assert_eq!(end_of_cache(&times([10.0, 10.0, 11.0, 30.0, 50.0, 60.0])), Some(16 << 20), "the middle is 24.5");
    assert_eq!(end_of_cache(&times([10.0, 10.0, 11.0, 12.0, 13.0, 14.0])), None, "no end in sight");
    assert_eq!(end_of_cache(&[]), None);
}
