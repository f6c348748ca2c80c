//! Tests of the calibration: the kernels of a core, the sweep of all numbers, and the card.

use crate::random_access::run;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::{Cache, Host};
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels;
use apexmap_measure::kernels::calibrate::memory::chase::jump;
use apexmap_measure::kernels::keys::{GIVEN_REMOTE_SHARE, I, L, MESSAGE_BYTES, MESSAGES, N};
use apexmap_measure::numerics::mix::seed;
use apexmap_measure::provenance::host;
use apexmap_results::table::TableBuilder;
use apexmap_run::sweep::{Machine, parse};
use apexmap_study::calibrate::counts::{Costs, shorten};
use apexmap_study::calibrate::{Probe, card, card_text, eager, node_probes, probes, shapes, sweep};
use apexmap_theory::machine::{Card, Number};
use apexmap_theory::models;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use std::collections::HashSet;
use std::path::Path;

/// Returns a machine with so little memory that its calibration takes almost no time.
pub fn small_host() -> Host {
    let cache = |level, bytes| Cache { level, bytes, shared_by: 1 };
    Host { caches: vec![cache(1, 4096), cache(2, 1 << 14), cache(3, 1 << 16)], memory_bytes: 1 << 23, ..host() }
}

fn probes_and_node(host: &Host, cores: usize) -> Vec<Probe> {
    [probes(host, cores), node_probes(host, cores)].concat()
}

fn points(host: &Host, cores: usize) -> Vec<Point> {
    let text = sweep(&probes_and_node(host, cores), "transport = \"threads\"\n", 1);
    parse(&text, Path::new("sweep.toml"), Machine::with_cores(cores, host.memory_bytes)).expect("a valid sweep").points
}

/// Runs a point and adds its row to a store.
pub fn add_run(table: &mut TableBuilder, point: &Point) {
    let kernel = kernels::find(&point.kernel).unwrap();
    let outcome = run(point.clone());
    assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
    table.begin_row();
    table.set("kernel", &Value::from(kernel.id));
    table.set("ranks", &Value::Integer(point.ranks as u64));
    table.set("status", &Value::from("ok"));
    for parameter in kernel.parameters {
        table.set(parameter.column, &point.params[parameter.name]);
    }
    outcome.outputs.iter().for_each(|(name, value)| table.set(name, value));
    let work = kernel.work(point);
    table.set("operations_per_second", &Value::Real(work.operations / outcome.seconds));
    table.set("bytes_per_second", &Value::Real(work.bytes / outcome.seconds));
}

#[test]
fn only_runs_on_a_slow_network_send_fewer_messages() {
    let all_probes = [probes(&small_host(), 2), shapes(&small_host(), 2)].concat();
    let costs = |latency, gap, per_byte| Costs { latency, gap, per_byte };
    for probe in &all_probes {
        assert_eq!(shorten(probe.clone(), costs(2e-7, 5e-8, 1e-11)), *probe, "nothing takes long between cores");
    }
    let slow: Vec<Probe> = all_probes.iter().map(|probe| shorten(probe.clone(), costs(3e-4, 1e-5, 8e-8))).collect();
    let changed = all_probes.iter().zip(&slow).filter(|(before, after)| before != after).count();
    assert!(changed > 40 && all_probes.iter().zip(&slow).all(|(before, after)| before.ranks == 2 || before == after));
    // The points of the sweep remain valid.
    let text = sweep(&slow, "transport = \"threads\"\n", 1);
    let points = parse(&text, Path::new("sweep.toml"), Machine::with_cores(2, small_host().memory_bytes))
        .expect("a sweep")
        .points;
    for point in points.iter().filter(|point| point.params.contains_key("messages")) {
        let bytes = MESSAGES.of(point) as f64 * MESSAGE_BYTES.of(point) as f64 * 8e-8;
        assert!(bytes < 1.0, "{} takes {bytes} s", point.label());
    }
    let requests: Vec<&Point> = points.iter().filter(|point| point.kernel == "calibrate.request").collect();
    assert!(requests.len() > 50);
    for point in requests {
        let accesses = (I.of(point) * N.of(point)) as f64;
        let remote = accesses * GIVEN_REMOTE_SHARE.of(point);
        let seconds = remote * (2.0 * 3e-4 + 8.0 * L.of(point) as f64 * 8e-8);
        assert!(remote >= 32.0 && seconds < 0.12, "{}: {remote} remote ones in {seconds} s", point.label());
    }
}

#[test]
fn every_number_of_a_calibration_has_a_point() {
    for cores in [1, 2, 8] {
        let (wanted, points) = (probes_and_node(&small_host(), cores), points(&small_host(), cores));
        for probe in &wanted {
            let matches_probe = |point: &&Point| {
                let has_setting = |(name, value): &(&str, Value)| point.params[*name].to_string() == value.to_string();
                point.kernel == probe.kernel.id && point.ranks == probe.ranks && probe.settings.iter().all(has_setting)
            };
            assert!(points.iter().any(|point| matches_probe(&point)), "{}", probe.number);
        }
        let numbers: HashSet<_> = wanted.iter().map(|probe| probe.number.to_string()).collect();
        assert_eq!(numbers.len(), wanted.len());
        assert_eq!(numbers.contains("network_latency_seconds"), cores > 1, "one core has no other core to write to");
    }
}

#[test]
fn a_card_contains_only_measured_numbers() {
    let (host, mut table) = (small_host(), TableBuilder::default());
    let points_of_host = points(&host, 2);
    let measured: Vec<&Point> = points_of_host.iter().filter(|point| point.kernel != "calibrate.barrier").collect();
    for point in measured.iter().flat_map(|point| [point; 6]) {
        add_run(&mut table, point);
    }
    let probes = self::probes_and_node(&host, 2);
    let card = card(&probes, &table.finish().into(), "small", &host).expect("a card");
    for probe in &probes {
        let number = card.numbers().get(&probe.number.to_string());
        let Some(number) = number else {
            assert_eq!(probe.number.to_string(), "barrier_seconds");
            continue;
        };
        assert!(number.value > 0.0 && number.low.is_some() && number.how.contains(probe.kernel.id), "{}", probe.number);
        let best = number.best.expect("the best run");
        let rate = number.unit.ends_with("/s") || number.unit == "GUPS";
        assert!(if rate { best >= number.value } else { best <= number.value }, "{}: {best}", probe.number);
    }
    assert!(!card.numbers().contains_key("barrier_seconds"), "not measured, so not on the card");
    let text = card_text(&card, None);
    assert!(text.contains("not measured: barrier_seconds; the same command continues"), "{text}");
    // This relation is the definition of lines_in_flight.
    let (latency, access) = (card.get("memory_latency_seconds").unwrap(), card.get("memory_access_seconds").unwrap());
    assert_eq!(card.get("lines_in_flight"), Some(latency / access));
    let again = Card::parse(&card.to_toml(), Path::new("card.toml")).expect("a card that can be read");
    assert_eq!(again.numbers(), card.numbers());
}

/// Three runs from end to end and two in blocks: the median is that of the first kernel, the best that of all.
#[test]
fn the_best_read_of_a_region_is_that_of_all_loops_over_it() {
    let (host, mut table) = (small_host(), TableBuilder::default());
    let bytes = 1u64 << 14;
    let complete = |kernel: &str, settings: &[(&'static str, Value)]| {
        let point = Point::new(kernel, 1).with_parameter("bytes", bytes);
        let point = settings.iter().fold(point, |point, (name, value)| point.with_parameter(name, value.clone()));
        kernels::complete(point).expect("a point")
    };
    let passes = Value::Integer((1 << 26) / bytes);
    let stream = complete("calibrate.stream", &[("access", Value::from("read")), ("passes", passes)]);
    let blocks = complete("calibrate.blocks", &[]);
    for (point, rate) in [(&stream, 10.0), (&stream, 12.0), (&stream, 11.0), (&blocks, 9.0), (&blocks, 14.0)] {
        table.begin_row();
        table.set("kernel", &Value::from(&*point.kernel));
        table.set("ranks", &Value::Integer(1));
        table.set("status", &Value::from("ok"));
        for parameter in kernels::find(&point.kernel).unwrap().parameters {
            table.set(parameter.column, &point.params[parameter.name]);
        }
        table.set("bytes_per_second", &Value::Real(rate * 1e9));
    }
    let card = card(&probes(&host, 1), &table.finish().into(), "small", &host).expect("a card");
    let number = &card.numbers()["read_bandwidth_bytes_per_second--16KiB"];
    assert_eq!((number.value, number.best), (11e9, Some(14e9)), "{}", number.how);
    assert!(number.how.contains("best of 5 runs"), "{}", number.how);
    let limits = apexmap_theory::bounds::Limits::from_card(&card);
    assert_eq!(limits.byte_seconds, Some(1.0 / 14e9));
}

#[test]
fn a_card_listing_shows_all_ladder_steps_on_one_line() {
    let mut card = Card::new("mine", "two cores", "made up");
    let mut set = |name: &str, value: f64, unit: &str| {
        card.set(name, Number::new(value, unit, "made up").with_interval(value * 0.9, value * 1.1)).unwrap();
    };
    set("update_seconds", 10.0, "ns");
    for (size, value) in [("128KiB", 5.0), ("64KiB", 2.0), ("1MiB", 9.0)] {
        set(&format!("read_seconds--{size}-huge-dependent"), value, "ns");
        set(&format!("loaded_latency_seconds--{}_per_cent", value * 10.0), value, "ns");
    }
    set("message_seconds--4B-send-few", 100.0, "ns");
    set("message_seconds--64B-send-few", 110.0, "ns");
    let list = card_text(&card, None);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 7, "{list}");
    let line = |name: &str| -> String {
        let entry = lines.iter().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{list}"));
        entry.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let ladder = line("read_seconds--*-huge-dependent");
    assert!(ladder.starts_with("read_seconds--*-huge-dependent 3 steps 2 ns to 9 ns "), "{ladder}");
    assert!(ladder.ends_with("; 64KiB to 1MiB"), "{ladder}");
    assert!(line("loaded_latency_seconds--*").ends_with("; 20 % to 90 %"));
    assert!(line("message_seconds--4B-send-few").contains(" 100 ns 90 ns to 110 ns "), "two steps are no ladder");
    assert!(line("update_seconds").contains(" 10 ns 9 ns to 11 ns "));
    assert!(list.ends_with("the card has all 6 steps\n"), "{list}");
}

#[test]
fn single_core_kernels_verify_their_work_with_all_settings() {
    let point = |kernel: &str, settings: &[(&str, Value)]| {
        let point = Point::new(kernel, 2);
        settings.iter().fold(point, |point, (name, value)| point.with_parameter(name, value.clone()))
    };
    let bytes = ("bytes", Value::Integer(1 << 12));
    for pages in ["huge", "base"] {
        let pages = ("pages", Value::from(pages));
        for chases in [1, 2, 4, 8, 16, 32, 64] {
            let settings = [bytes.clone(), pages.clone(), ("chases", chases.into()), ("steps", Value::Integer(1000))];
            assert_eq!(run(point("calibrate.chase", &settings)).verdict, Ok(()));
        }
        for access in ["read", "triad", "copy", "scale", "add"] {
            let settings = [bytes.clone(), pages.clone(), ("access", access.into())];
            assert_eq!(run(point("calibrate.stream", &settings)).verdict, Ok(()));
        }
        let settings = [bytes.clone(), pages.clone(), ("values", Value::Integer(5000))];
        assert_eq!(run(point("calibrate.update", &settings)).verdict, Ok(()));
        for order in ["independent", "prefetched", "dependent"] {
            // Any number of complete lines and pages is allowed, except for prefetched reads.
            let others = if order == "prefetched" { &[][..] } else { &[("words", 4160u64), ("pages", 3 << 21)][..] };
            for &(spread, bytes) in [("words", 1u64 << 12), ("pages", 1 << 22)].iter().chain(others) {
                let settings = [
                    ("bytes", bytes.into()),
                    pages.clone(),
                    ("order", order.into()),
                    ("spread", spread.into()),
                    ("reads", Value::Integer(20000)),
                ];
                assert_eq!(run(point("calibrate.read", &settings)).verdict, Ok(()), "{order} {spread}");
            }
        }
    }
    for share in [1.0, 0.7, 0.5, 0.3, 0.01, 0.002, 1e-9] {
        for pages in ["huge", "base"] {
            let settings = [
                ("bytes", Value::Integer(1 << 14)),
                ("pages", pages.into()),
                ("random_share", Value::Real(share)),
                // With the smallest share, the whole region is one run.
                ("accesses", Value::Integer(if share < 0.001 { 2048 } else { 50000 })),
            ];
            assert_eq!(run(point("calibrate.mix", &settings)).verdict, Ok(()), "{share}");
        }
    }
    for share in [1e-9, 0.01, 0.5, 1.0] {
        let settings = [("bytes", Value::Integer(1 << 14)), ("random_share", Value::Real(share))];
        assert_eq!(run(point("calibrate.sparse", &settings)).verdict, Ok(()), "{share}");
    }
    for block in [1u64, 2, 8, 1 << 9] {
        let settings = [bytes.clone(), ("L", block.into()), ("reads", Value::Integer(100))];
        assert_eq!(run(point("calibrate.blocks", &settings)).verdict, Ok(()), "{block}");
    }
    for wait in [1e-6, 1e-3] {
        let settings = [("bytes", Value::Integer(1 << 14)), ("wait", Value::Real(wait))];
        let outcome = run(point("calibrate.residence", &settings));
        assert_eq!(outcome.verdict, Ok(()), "{wait}");
        assert!(outcome.outputs["unused_seconds"].as_f64().is_some_and(|seconds| seconds >= wait), "{outcome:?}");
    }
    for alpha in [0.01, 1.0] {
        let settings = [("M", Value::Integer(1 << 20)), ("alpha", Value::Real(alpha)), ("N", Value::Integer(3))];
        assert_eq!(run(point("calibrate.draw", &settings)).verdict, Ok(()), "{alpha}");
    }
    for bytes in [8u64, 64, 4096] {
        let settings = [("message_bytes", bytes.into()), ("messages", Value::Integer(1000))];
        assert_eq!(run(point("calibrate.mailbox", &settings)).verdict, Ok(()));
    }
    for (by, owners) in [("division", 96u64), ("prediction", 96), ("shift", 64), ("prediction", 1 << 20)] {
        let settings = [("owner_by", by.into()), ("owners", owners.into()), ("values", Value::Integer(5000))];
        assert_eq!(run(point("calibrate.owner", &settings)).verdict, Ok(()));
    }
    for (divided_for, owners) in [("partners", 1u64), ("owners", 1), ("owners", 2), ("owners", 96), ("owners", 1 << 20)]
    {
        let settings =
            [("divided_for", divided_for.into()), ("owners", owners.into()), ("values", Value::Integer(5000))];
        assert_eq!(run(point("calibrate.divide", &settings)).verdict, Ok(()));
    }
}

#[test]
fn reads_of_wrong_memory_are_detected_and_all_bytes_are_counted() {
    let contents = seed(&[u64::from_be_bytes(*b"T[i] = i"), 0]);
    let verdict = |kernel: &str, settings: &[(&str, Value)], bytes: f64, wrong: usize| {
        let point = Point::new(kernel, 1).with_parameter("bytes", 1u64 << 12).with_parameter("pages", "base");
        let point = settings.iter().fold(point, |point, (name, value)| point.with_parameter(name, value.clone()));
        let point = kernels::complete(point).expect("a point");
        let kernel = kernels::find(kernel).expect("a kernel");
        assert_eq!(kernel.work(&point).bytes, bytes);
        let run = |comm: &threads::ThreadComm, arena: &mut Arena| {
            arena.words_mut(Pages::Base, 512, contents, |place| place as u64).expect("memory").0[wrong] += 1;
            arena.mark_restored(Pages::Base);
            kernel.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena })
        };
        threads::run(1, run).swap_remove(0).expect("no panic").expect("no failure").verdict
    };
    // All accesses random, and runs of 15: every word is read several times.
    for share in [1.0, 1.0 / 16.0] {
        let settings = [("random_share", Value::Real(share)), ("accesses", Value::Integer(1 << 14))];
        assert!(
            verdict("calibrate.mix", &settings, 8.0 * 16384.0, 77).expect_err("a wrong word").contains("sums differ")
        );
        // A near word and a far one.
        for wrong in [77, 501] {
            let settings = [("random_share", Value::Real(share)), ("reads", Value::Integer(10))];
            let verdict = verdict("calibrate.sparse", &settings, 8.0 * 16384.0, wrong);
            assert!(verdict.expect_err("a wrong word").contains("sums differ"), "{share} {wrong}");
        }
    }
    for order in ["independent", "dependent", "prefetched"] {
        let settings = [("order", Value::from(order)), ("reads", Value::Integer(10))];
        // A dependent read continues from the value that it has read, here beyond the region.
        let verdict = verdict("calibrate.read", &settings, 8.0 * 16384.0, 77);
        assert!(verdict.expect_err("a wrong word").contains("sums differ"), "{order}");
    }
    for block in [1u64, 8, 64, 512] {
        let settings = [("L", Value::Integer(block)), ("reads", Value::Integer(10))];
        let batch = if block < 8 { 16384 } else { 131072 / block };
        let verdict = verdict("calibrate.blocks", &settings, (8 * block * batch) as f64, 77);
        assert!(verdict.expect_err("a wrong word").contains("sums differ"), "{block}");
    }
}

#[test]
fn single_core_kernels_refuse_impossible_points() {
    let refusal = |kernel: &str, name: &str, value: Value| {
        let point = Point::new(kernel, 1).with_parameter(name, value);
        kernels::complete(point).expect_err("a point that cannot be run").message
    };
    assert!(refusal("calibrate.chase", "bytes", Value::Integer(3000)).contains("use 4096"));
    assert!(refusal("calibrate.chase", "chases", Value::Integer(3)).contains("use 4"));
    assert!(refusal("calibrate.stream", "bytes", Value::Integer(10)).contains("between 1024"));
    assert!(refusal("calibrate.blocks", "L", Value::Integer(48)).contains("use 64"));
    assert!(refusal("calibrate.read", "bytes", Value::Integer(5000)).contains("are not whole cache lines; use 5056"));
    let pages = Point::new("calibrate.read", 1)
        .with_parameter("spread", "pages")
        .with_parameter("pages", "base")
        .with_parameter("bytes", 5056u64);
    assert!(kernels::complete(pages).expect_err("no whole pages").message.contains("use 8192"));
    let prefetched =
        Point::new("calibrate.read", 1).with_parameter("order", "prefetched").with_parameter("bytes", 5056u64);
    assert!(kernels::complete(prefetched).expect_err("no power of two").message.contains("use 8192"));
    assert!(refusal("calibrate.blocks", "L", Value::Integer(1 << 30)).contains("use more bytes"));
    assert!(refusal("calibrate.sparse", "bytes", Value::Integer(2048)).contains("4 KiB"));
    let rare = Point::new("calibrate.mix", 1).with_parameter("bytes", 1u64 << 20).with_parameter("random_share", 1e-6);
    assert!(kernels::complete(rare).expect_err("longer than the region").message.contains("use a larger share"));
    let shift = Point::new("calibrate.owner", 1).with_parameter("owner_by", "shift").with_parameter("owners", 96u64);
    assert!(kernels::complete(shift).expect_err("96 is no power of two").message.contains("power of two"));
}

#[test]
fn a_chase_visits_all_lines_before_it_repeats() {
    for lines in [1u64, 2, 16, 1 << 12] {
        let mut seen = HashSet::new();
        let mut line = 0;
        while seen.insert(line) {
            line = jump(line, 1, lines);
        }
        assert_eq!((seen.len() as u64, line), (lines, 0));
    }
}

proptest! {
    #[test]
    fn a_chase_jump_equals_repeated_steps(bits in 0u32..30, from: u64, steps in 0u64..300) {
        let lines = 1 << bits;
        let from = from & (lines - 1);
        prop_assert_eq!(jump(from, steps, lines), (0..steps).fold(from, |line, _| jump(line, 1, lines)));
    }
}

/// A machine with known parameters of Apex-Map's model, in the order of `apex_map.requests`.
const TRUTH: [f64; 26] = [
    32768.0,
    524288.0,
    3.3554432e7,
    1.0,
    1024.0, // sizes, as reported by the host
    0.0,
    0.0, // no other users of L3
    0.6e-9,
    5e-12,
    0.3e-9,
    0.8e-9,
    2.5e-9,
    1.5,
    64.0,
    15e-9,
    150e-9,
    24e-9,
    50e-9, // core
    13e-9,
    110e-9,
    7e-11,
    190e-9,
    9e-9,
    15e-9,
    2.4e-11,
    25e-9, // messages and gets
];

#[test]
fn uniform_reads_recover_the_numbers_of_the_surface() {
    let cache = |level, bytes| Cache { level, bytes, shared_by: 1 };
    let caches = vec![cache(1, 32 << 10), cache(2, 512 << 10), cache(3, 32 << 20)];
    let host = Host { caches, memory_bytes: 8 << 30, tlb_entries_4k: Some(1024), ..host() };
    let [reads, requests] = ["apex_map.reads", "apex_map.requests"].map(|id| models::find(id).expect("a model"));
    let text = sweep(&shapes(&host, 2), "transport = \"threads\"\n", 1);
    let points =
        parse(&text, Path::new("sweep.toml"), Machine::with_cores(2, host.memory_bytes)).expect("a sweep").points;
    let (mut random, noise) = (Pcg64Mcg::seed_from_u64(4), Normal::new(0.0, 0.03).expect("a deviation"));
    let (mut inside, mut total) = (0, 0);
    let page_bytes = |point: &Point| match point.params.get("pages") {
        Some(pages) if *pages == Value::from("base") => 4 << 10,
        _ => 2 << 20,
    };
    for _ in 0..5 {
        let mut table = TableBuilder::default();
        for point in &points {
            let asked = point.kernel == "calibrate.request";
            let model = if asked { requests } else { reads };
            let word = |name: &str| {
                let words = model.about().variables.iter().find(|variable| variable.name == name)?.words;
                if words.is_empty() {
                    return None;
                }
                let word = match name {
                    "kernel" => point.kernel.clone(),
                    _ => point.params.get(name)?.to_string(),
                };
                words.iter().position(|choice| *choice == word).map(|index| index as f64)
            };
            let value_of = |name: &str| match name {
                "P" => Some(point.ranks as f64),
                "region_bytes" => point.params["bytes"].as_f64(),
                "page_bytes" => Some(page_bytes(point) as f64),
                _ => word(name).or_else(|| point.params.get(name)?.as_f64()),
            };
            let x = model.variables(&value_of).expect("variables");
            let parameters = model.about().parameters.len();
            let rate = model.predict(&x, &TRUTH[..parameters]).value * f64::exp(noise.sample(&mut random));
            table.begin_row();
            table.set("kernel", &Value::from(point.kernel.as_str()));
            table.set("ranks", &Value::Integer(point.ranks as u64));
            table.set("status", &Value::from("ok"));
            table.set("launch", &Value::from("0001"));
            for parameter in kernels::find(&point.kernel).expect("a kernel").parameters {
                table.set(parameter.column, &point.params[parameter.name]);
            }
            table.set("page_bytes", &Value::Integer(page_bytes(point)));
            table.set(model.about().column, &Value::Real(rate));
        }
        let card = card(&[], &table.finish().into(), "made up", &host).expect("a card");
        for (parameter, truth) in requests.about().parameters.iter().zip(TRUTH).skip(7) {
            let value = card.get(parameter.number).unwrap_or_else(|| panic!("{}", card_text(&card, None)));
            let (low, high) = card.interval(parameter.number).expect("an interval");
            assert!((value / truth).ln().abs() < 0.5, "{}: {value} is not {truth}", parameter.number);
            (inside, total) = (inside + u32::from(low <= truth && truth <= high), total + 1);
        }
    }
    // About 90 of 95 intervals of 95 % contain the true value. Hardly one test in a thousand finds fewer than 82.
    assert!(total == 95 && inside >= 82, "{inside} of {total}");
}

/// Returns the card of ping-pongs of 400 ns + 0.1 ns per byte and 1 us more above a limit, and what it says of this limit.
fn card_of_messages(limit: f64) -> (Card, Option<String>) {
    let (mut random, noise) = (Pcg64Mcg::seed_from_u64(7), Normal::new(0.0, 0.03).expect("a deviation"));
    let mut table = TableBuilder::default();
    for (probe, launch) in eager::probes().iter().flat_map(|probe| ["0001", "0002"].map(|launch| (probe, launch))) {
        let settings = probe.settings.iter();
        let point = settings
            .fold(Point::new(probe.kernel.id, 2), |point, (name, value)| point.with_parameter(name, value.clone()));
        let point = kernels::complete(point).expect("a point");
        let bytes = MESSAGE_BYTES.of(&point) as f64;
        let seconds = 400e-9 + bytes * 1e-10 + if bytes > limit { 1e-6 } else { 0.0 };
        table.begin_row();
        for (name, word) in [("kernel", point.kernel.as_str()), ("status", "ok"), ("launch", launch)] {
            table.set(name, &Value::from(word));
        }
        table.set("ranks", &Value::Integer(2));
        for parameter in probe.kernel.parameters {
            table.set(parameter.column, &point.params[parameter.name]);
        }
        let seconds = seconds * f64::exp(noise.sample(&mut random));
        table.set("operations_per_second", &Value::Real(1.0 / seconds));
        table.set("message_seconds_p50", &Value::Real(seconds));
    }
    let mut card = Card::default();
    let absent = eager::add(&mut card, &table.finish().into()).expect("a card");
    (card, absent)
}

#[test]
fn a_calibration_over_mpi_finds_the_eager_limit() {
    let (card, absent) = card_of_messages(4096.0);
    let (low, high) = card.interval("eager_bytes").expect("an interval");
    assert!(low <= 4096.0 && 4096.0 < high && absent.is_none(), "{low} to {high}, {absent:?}");
    assert!((card.get("rendezvous_seconds").expect("a number") / 1e-6 - 1.0).abs() < 0.2);
    let (card, absent) = card_of_messages(f64::INFINITY);
    assert!(card.get("eager_bytes").is_none() && absent.is_some_and(|text| text.contains("no step")));
    let untouched = eager::add(&mut Card::default(), &TableBuilder::default().finish().into()).expect("a card");
    assert_eq!(untouched, None, "threads have no such limit");
}

/// STREAM's rule, on a node with many cores and a cache as large as some hypervisors report.
#[test]
fn arrays_of_stream_are_four_times_as_large_as_the_last_cache_of_many_cores() {
    let cache = Cache { level: 3, bytes: 300 << 20, shared_by: 16 };
    let mut many = Host { caches: vec![cache], memory_bytes: 126 << 30, ..host() };
    many.processors.machine_hardware_threads = Some(16);
    let points = points(&many, 16);
    let stream = points.iter().find(|point| point.kernel == "calibrate.stream" && point.ranks == 16);
    let bytes = 16 * stream.expect("STREAM on all cores").params["bytes"].as_f64().expect("a size") as u64;
    assert!((12 * (300 << 20)..=16 << 30).contains(&bytes), "{bytes}");
}
