//! Tests of latencies: pointer chases, runs in parts, regions inside the plateaus of levels, and the range of few
//! launches.

use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::{Cache, Host};
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels;
use apexmap_measure::kernels::calibrate::memory::chain::Chain;
use apexmap_measure::kernels::calibrate::memory::parts::{MAX_EXTRA_SECONDS, Parts};
use apexmap_measure::numerics::mix::seed;
use apexmap_measure::provenance::host;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_study::calibrate::{Probe, card, classic, merge_stages, node_probes, probes, second_stage};
use apexmap_theory::machine::Card;
use std::path::Path;

/// Returns four lines that form a chain.
fn four_lines() -> Vec<u64> {
    let mut words = vec![0u64; 32];
    let first = words.as_ptr() as u64;
    (0..4).for_each(|line| words[8 * line] = first + 64 * ((line as u64 + 1) % 4));
    words
}

#[test]
fn a_chain_works_from_any_place_and_stays_within_its_lines() {
    let words = four_lines();
    let chain = Chain::new(&words).expect("a chain");
    let mut places = [0, 8, 16, 24];
    chain.follow(&mut places, 5);
    assert_eq!(places, [8, 16, 24, 0]);
    let spoilt = |place: usize, offset: u64| {
        let mut words = four_lines();
        words[place] = (words.as_ptr() as u64).wrapping_add(offset);
        Chain::new(&words).is_some()
    };
    assert!(spoilt(1, 7), "a word that is never followed");
    assert!(spoilt(8, 192), "another line");
    for offset in [256, 0u64.wrapping_sub(64), 8, 65, 1 << 40] {
        assert!(!spoilt(8, offset), "{offset} bytes from the first line there is none");
    }
    assert!(Chain::new(&words[..31]).is_none() && Chain::new(&[]).is_none(), "no whole lines");
    let outside = std::panic::catch_unwind(|| chain.follow(&mut [32], 1));
    assert!(outside.is_err(), "a place beyond the last line");
}

#[test]
fn a_chase_through_overwritten_memory_is_detected() {
    const WORDS: usize = 512;
    let point =
        Point::new("calibrate.chase", 1).with_parameter("bytes", 8 * WORDS as u64).with_parameter("pages", "base");
    let point = kernels::complete(point.with_parameter("steps", 100u64)).expect("a point");
    let contents = seed(&[u64::from_be_bytes(*b"chain   "), WORDS as u64 / 8]);
    let run = |spoil: fn(&mut [u64])| {
        let run = |comm: &threads::ThreadComm, arena: &mut Arena| {
            spoil(arena.words_mut(Pages::Base, WORDS, contents, |_| 0).expect("memory").0);
            arena.mark_restored(Pages::Base);
            let mut world = World { transport: Transport::Threads(comm), arena };
            kernels::find("calibrate.chase").expect("the kernel").run(&point, 0, &mut world)
        };
        threads::run(1, run).swap_remove(0).expect("no panic")
    };
    let nowhere = run(|_| ()).expect_err("no addresses");
    assert!(nowhere.message.contains("overwritten"), "{nowhere}");
    let round = |words: &mut [u64]| {
        let first = words.as_ptr() as u64;
        words.iter_mut().step_by(8).for_each(|word| *word = first);
    };
    let verdict = run(round).expect("a run").verdict;
    assert!(verdict.expect_err("all lines lead to the first").contains("did not end where they should"));
}

/// Returns for each part whether another one follows, if the parts take these seconds.
fn follow_parts(parts: &mut Parts, seconds: &[f64]) -> Vec<bool> {
    seconds.iter().map(|&seconds| parts.record_part(seconds, seconds)).collect()
}

fn outputs(parts: &Parts) -> Vec<(&'static str, u64)> {
    let to_integer = |value: Value| value.as_f64().expect("a number") as u64;
    parts.outputs().map(|(name, value)| (name, to_integer(value))).collect()
}

#[test]
fn parts_are_repeated_until_two_in_a_row_agree() {
    let mut parts = Parts::new(0.0);
    assert_eq!(follow_parts(&mut parts, &[9e-3, 6e-3, 5e-3, 5.09e-3]), [true, true, true, false]);
    assert_eq!(outputs(&parts), [("parts", 4), ("parts_alike", 1)]);
    let mut parts = Parts::new(0.0);
    assert_eq!(follow_parts(&mut parts, &[5e-3, 5.2e-3]), [true, true], "4 % apart");
}

#[test]
fn parts_that_never_agree_end_and_report_it() {
    let mut parts = Parts::new(0.0);
    let uneven = [0.4 * MAX_EXTRA_SECONDS, 0.2 * MAX_EXTRA_SECONDS, 0.5 * MAX_EXTRA_SECONDS];
    assert_eq!(follow_parts(&mut parts, &uneven), [true, true, false]);
    assert_eq!(outputs(&parts), [("parts", 3), ("parts_alike", 0)]);
    let mut long = Parts::new(0.0);
    assert_eq!(follow_parts(&mut long, &[2.0 * MAX_EXTRA_SECONDS]), [false], "a long part is not repeated");
    assert_eq!(outputs(&long), [("parts", 1)], "one part is like none");
}

#[test]
fn parts_that_agree_during_the_warm_up_of_others_do_not_count() {
    let mut parts = Parts::new(0.75);
    // A plateau of half a second with wrong values.
    let slow = [0.125; 4];
    assert_eq!(follow_parts(&mut parts, &slow), [true; 4]);
    assert_eq!(follow_parts(&mut parts, &[0.03, 0.03, 0.03]), [true; 3], "0.59 s");
    assert_eq!(follow_parts(&mut parts, &[0.2]), [true], "0.79 s, but the last two differ");
    assert_eq!(follow_parts(&mut parts, &[0.2]), [false]);
}

#[test]
fn a_run_reports_its_number_of_parts() {
    for (kernel, ranks, settings) in [
        ("calibrate.chase", 1, [("bytes", 4096u64), ("steps", 1000)]),
        ("calibrate.core_to_core", 2, [("rounds", 50), ("first", 0)]),
    ] {
        let point =
            settings.iter().fold(Point::new(kernel, ranks), |point, (name, value)| point.with_parameter(name, *value));
        let outcome = kernels::run_embedded(&kernels::complete(point).expect("a point"), 0).expect("a run");
        assert_eq!(outcome.verdict, Ok(()));
        let parts = outcome.outputs["parts"].as_f64().expect("a number");
        assert!(parts >= 2.0, "{parts}");
        assert!(outcome.outputs.contains_key("parts_alike"), "{kernel}");
    }
}

/// Returns a machine with these caches.
fn machine(caches: &[u64]) -> Host {
    let cache = |(level, &bytes): (u32, &u64)| Cache { level, bytes, shared_by: 1 };
    Host { caches: (1..).zip(caches).map(cache).collect(), memory_bytes: 16 << 30, ..host() }
}

fn region(probes: &[Probe], number: &str) -> u64 {
    let is_number = |probe: &&Probe| probe.number.to_string() == number;
    let mut matching = probes.iter().filter(is_number);
    let probe = matching.next().unwrap_or_else(|| panic!("no {number}"));
    assert!(matching.next().is_none(), "{number} twice");
    let bytes = probe.settings.iter().find(|(name, _)| *name == "bytes").expect("a region");
    bytes.1.as_f64().expect("a number") as u64
}

#[test]
fn each_cache_level_is_measured_well_inside_its_size() {
    for caches in [
        vec![32 << 10, 1 << 20, 32 << 20],
        vec![48 << 10, 2 << 20, 105 << 20],
        vec![32 << 10, 256 << 10, 8 << 20],
        vec![64 << 10, 128 << 10],
        vec![128 << 10, 12 << 20],
    ] {
        let level_probes = probes(&machine(&caches), 2);
        let largest = caches.iter().copied().max().expect("a cache");
        for (k, &bytes) in caches.iter().enumerate() {
            let region = region(&level_probes, &format!("l{}_latency_seconds", k + 1));
            assert!(2 * region <= bytes, "{region} of {bytes}");
            let nearer = if k == 0 { 0 } else { caches[k - 1] };
            assert!(region >= 2 * nearer || 4 * nearer > bytes, "{region} against {nearer}");
        }
        let memory = region(&level_probes, "memory_latency_seconds");
        assert!(memory >= 4 * largest, "{memory} beyond {largest}");
    }
    let usual = probes(&machine(&[32 << 10, 1 << 20, 32 << 20]), 2);
    let regions = [1, 2, 3].map(|level| region(&usual, &format!("l{level}_latency_seconds")));
    assert_eq!(regions, [16 << 10, 256 << 10, 8 << 20]);
    assert_eq!(region(&usual, "memory_latency_seconds"), 512 << 20);
}

/// Adds the row of a probe's sample.
fn add(table: &mut TableBuilder, probe: &Probe, launch: &str, outputs: &[(&str, f64)]) {
    let point = Point::new(probe.kernel.id, probe.ranks);
    let point = probe.settings.iter().fold(point, |point, (name, value)| point.with_parameter(name, value.clone()));
    let point = kernels::complete(point).expect("a point");
    table.begin_row();
    for (column, text) in [("kernel", probe.kernel.id), ("status", "ok"), ("launch", launch)] {
        table.set(column, &Value::from(text));
    }
    table.set("ranks", &Value::Integer(probe.ranks as u64));
    for parameter in probe.kernel.parameters {
        table.set(parameter.column, &point.params[parameter.name]);
    }
    outputs.iter().for_each(|&(column, value)| table.set(column, &Value::Real(value)));
}

/// Returns the mean seconds of dependent reads in a region, with an L2 of this size, an L1 of 32 KiB and an L3 of 32
/// MiB.
fn read_seconds(second: f64, region: f64) -> f64 {
    let (mut held, mut total) = (0.0, 0.0);
    for (bytes, seconds) in [(32768.0, 2e-9), (second, 4e-9), (3.2e7, 15e-9), (f64::INFINITY, 110e-9)] {
        let level_bytes = f64::max(bytes.min(region) - held, 0.0);
        (held, total) = (held + level_bytes, total + level_bytes * seconds);
    }
    total / region
}

#[test]
fn a_smaller_level_found_by_the_staircase_is_measured_again() {
    let host = machine(&[32 << 10, 2 << 20, 32 << 20]);
    let first = probes(&host, 1);
    let second = |size: f64| {
        let mut table = TableBuilder::default();
        for probe in first.iter().filter(|probe| probe.number.entry.name == "read_seconds") {
            let bytes = probe.settings.iter().find(|(name, _)| *name == "bytes").and_then(|(_, value)| value.as_f64());
            let seconds = read_seconds(size, bytes.expect("a region"));
            add(&mut table, probe, "0001", &[("operation_seconds", seconds)]);
        }
        second_stage(&first, &Samples::from(table.finish()), &host).expect("a second stage")
    };
    let level = |probe: &&Probe| probe.number.entry.name.starts_with("l2_");
    assert_eq!(region(&first, "l2_latency_seconds"), 256 << 10);
    assert!(second(2e6).iter().all(|probe| !level(&probe)), "as the system reports");
    let further = second(3e5);
    assert_eq!(further.iter().filter(level).count(), 3);
    let combined = merge_stages(first.clone(), further);
    for number in ["l2_latency_seconds", "l2_access_seconds", "l2_bandwidth_bytes_per_second"] {
        assert_eq!(region(&combined, number), 128 << 10, "{number}");
    }
}

#[test]
fn the_card_and_the_table_give_the_range_of_few_launches() {
    let host = machine(&[32 << 10, 1 << 20, 32 << 20]);
    let node_probes = node_probes(&host, 2);
    let triad =
        node_probes.iter().find(|probe| probe.number.entry.name == "stream_triad_bytes_per_second").expect("triad");
    let card = |launches: &[f64]| {
        let mut table = TableBuilder::default();
        for (launch, rate) in (1..).zip(launches) {
            for factor in [0.99, 1.0, 1.3] {
                add(&mut table, triad, &format!("{launch:04}"), &[("bytes_per_second", factor * rate)]);
            }
        }
        card(&node_probes, &Samples::from(table.finish()), "mine", &host).expect("a card")
    };
    let three_launches = card(&[30e9, 36e9, 33e9]);
    let name = "stream_triad_bytes_per_second";
    let (least, greatest) = three_launches.range(name).expect("a range");
    assert!((least / 30e9 - 1.0).abs() < 1e-9 && (greatest / 36e9 - 1.0).abs() < 1e-9, "{least} to {greatest}");
    let text = classic::text(&three_launches, None);
    let row = text.lines().find(|line| line.contains("triad")).expect("a row");
    assert!(row.contains("range 30 to 36 GB/s"), "{text}");
    let again = Card::parse(&three_launches.to_toml(), Path::new("card.toml")).expect("a card that can be read");
    assert_eq!(again.range(name), three_launches.range(name));
    let six = card(&[30e9, 31e9, 32e9, 33e9, 34e9, 35e9]);
    assert!(six.range(name).is_none() && six.interval(name).is_some(), "launches enough for an interval");
    let one_launch = card(&[30e9]);
    let (least, greatest) = one_launch.range(name).expect("the range of three runs");
    assert!((least / 29.7e9 - 1.0).abs() < 1e-9 && (greatest / 39e9 - 1.0).abs() < 1e-9, "{least} to {greatest}");
}

#[test]
fn the_table_marks_runs_whose_parts_never_agreed() {
    let host = machine(&[32 << 10, 1 << 20, 32 << 20]);
    let node_probes = node_probes(&host, 2);
    let handover = node_probes.iter().find(|probe| probe.kernel.id == "calibrate.core_to_core").expect("a pair");
    let row = |alike_flags: &[f64]| {
        let mut table = TableBuilder::default();
        for &flag in alike_flags {
            add(&mut table, handover, "0001", &[("operation_seconds", 3e-8), ("parts_alike", flag)]);
        }
        let card = card(&node_probes, &Samples::from(table.finish()), "mine", &host).expect("a card");
        classic::text(&card, None).lines().find(|line| line.contains("handover")).expect("a row").to_owned()
    };
    assert!(!row(&[1.0; 6]).contains("steady"), "{}", row(&[1.0; 6]));
    assert!(row(&[1.0, 0.0, 1.0, 0.0, 1.0, 1.0]).contains("; not steady in 2 of 6 runs"));
}
