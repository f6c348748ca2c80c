//! Tests of bounds: known values, missing numbers, and that nothing on this machine exceeds the bounds computed from
//! its card.

use crate::common::{self, Scratch, apexmap, launch, sample};
use crate::mpi_worker::{OPEN_MPI, lock_launches};
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance;
use apexmap_base::sample::Event;
use apexmap_measure::kernels;
use apexmap_measure::numerics::power_law::crossing_share;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::table::Table;
use apexmap_results::table::bound_columns;
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE};
use apexmap_study::calibrate;
use apexmap_study::calibrate::Probe;
use apexmap_theory::bounds::{self, Case, Ladder, Law, Limits};
use apexmap_theory::machine::{Card, Number};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn close(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} instead of {expected}");
}

/// Returns the mean cost of uniform draws below c. A draw costs 1 below 4, 3 below 32 and 10 beyond.
fn mean_cost_of_uniform_draws(c: f64) -> f64 {
    [(0.0, 4.0, 1.0), (4.0, 32.0, 3.0), (32.0, f64::MAX, 10.0)]
        .iter()
        .map(|(low, high, cost)| cost * (f64::min(c, *high) - low).max(0.0))
        .sum::<f64>()
        / c
}

#[test]
fn the_mean_of_a_power_law_equals_that_of_mixed_uniform_laws() {
    // Computed by NumPy for the ladder of these rungs and for one of 4000 rungs. The integral of the mixture, by SciPy,
    // is 4.265257, which is also the mean of the law.
    let ladder =
        |rungs: &[f64]| Ladder::new(rungs.iter().map(|&rung| (rung, mean_cost_of_uniform_draws(rung))).collect());
    let exact =
        1.0 * 0.04f64.powf(0.3) + 3.0 * (0.32f64.powf(0.3) - 0.04f64.powf(0.3)) + 10.0 * (1.0 - 0.32f64.powf(0.3));
    let fine: Vec<f64> =
        (0..4000).map(|k| (1e-6f64.ln() + (100f64.ln() - 1e-6f64.ln()) * f64::from(k) / 3999.0).exp()).collect();
    close(exact, 4.265257022499123);
    let mean = ladder(&fine).mean_cost(&Law::from_alpha(0.3, 100.0));
    assert!(mean < exact && mean > 0.99 * exact, "{mean} of {exact}");
    close(ladder(&[1.0, 4.0, 16.0, 64.0]).mean_cost(&Law::from_alpha(0.3, 100.0)), 3.220638288856386);
    close(ladder(&[1.0, 4.0, 16.0, 64.0]).max_rung_cost(&Law::from_alpha(0.3, 100.0)), 2.471697396022497);
}

#[test]
fn a_cost_ladder_never_decreases_with_size() {
    let ladder = Ladder::new(vec![(16.0, 3.0), (4.0, 2.0), (1.0, 5.0)]);
    assert_eq!(ladder.rungs(), [(1.0, 2.0), (4.0, 2.0), (16.0, 3.0)]);
    assert_eq!(
        [0.5, 1.0, 15.9, 16.0, 1e9].map(|size| ladder.cost_at(size)),
        [None, Some(2.0), Some(2.0), Some(3.0), Some(3.0)]
    );
}

proptest! {
    #[test]
    fn a_power_law_costs_between_its_cheapest_and_most_expensive_access(costs in prop::collection::vec(0.1f64..10.0, 1..6), alpha in 0.001f64..1.0) {
        let rungs: Vec<(f64, f64)> = costs.iter().enumerate().map(|(k, cost)| (4f64.powi(k as i32), *cost)).collect();
        let ladder = Ladder::new(rungs);
        let most = ladder.cost_at(1e9).unwrap();
        let law = Law::from_alpha(alpha, 1e9);
        let mean = ladder.mean_cost(&law);
        prop_assert!(mean <= most * (1.0 + 1e-12) && ladder.max_rung_cost(&law) <= most * (1.0 + 1e-12));
        let uniform = ladder.mean_cost(&Law::from_alpha(1.0, 1e9));
        prop_assert!((uniform / most - 1.0).abs() < 1e-9, "uniform draws cost what was measured");

    }
}

/// Returns the card of a machine with round numbers: 1 ns for a read from L1, 10 ns beyond 1 MiB, 8 outstanding lines.
pub fn card() -> Card {
    let mut card = Card::new("round", "made up", "this test");
    for (name, text) in [
        ("host", "node1"),
        ("cpu_model", "Example CPU"),
        ("transport", "threads"),
        ("library", "threads of one process"),
    ] {
        card.provenance.insert(name.into(), text.into());
    }
    card.provenance.insert("bisection_ranks".into(), 2.into());
    let numbers = [
        ("cores", 2.0, ""),
        ("core_clock_hz", 2.0, "GHz"),
        ("operation_seconds", 5.0, "ns"),
        ("l1_bytes", 32.0, "KiB"),
        ("l2_bytes", 1.0, "MiB"),
        ("generate_seconds", 0.5, "ns"),
        ("node_bandwidth_bytes_per_second", 12.8, "GB/s"),
        ("read_seconds--16KiB-huge-independent", 1.0, "ns"),
        ("read_seconds--16KiB-huge-prefetched", 2.0, "ns"),
        ("read_seconds--16KiB-huge-dependent", 2.0, "ns"),
        ("read_seconds--2MiB-huge-independent", 20.0, "ns"),
        ("read_seconds--2MiB-huge-prefetched", 10.0, "ns"),
        ("read_seconds--2MiB-huge-dependent", 82.0, "ns"),
        ("read_seconds--16KiB-base-independent", 1.0, "ns"),
        ("read_seconds--16KiB-base-prefetched", 2.0, "ns"),
        ("read_seconds--2MiB-base-independent", 40.0, "ns"),
        ("read_seconds--2MiB-base-prefetched", 30.0, "ns"),
        ("read_bandwidth_bytes_per_second--16KiB", 64.0, "GB/s"),
        ("read_bandwidth_bytes_per_second--2MiB", 6.4, "GB/s"),
        ("message_seconds--4B-send", 100.0, "ns"),
        ("message_seconds--64KiB-send", 65.536, "us"),
        ("message_seconds--4B-put", 20.0, "ns"),
        ("message_seconds--64KiB-put", 131.072, "us"),
        ("get_seconds--8B-one", 60.0, "ns"),
        ("get_seconds--8B-many", 10.0, "ns"),
        ("get_seconds--4KiB-many", 4.096, "us"),
        ("send_seconds", 40.0, "ns"),
        ("network_latency_seconds--4B-send", 200.0, "ns"),
        ("bisection_bytes_per_second", 1.0, "GB/s"),
    ];
    for (name, value, unit) in numbers {
        // Bounds use the best run, whatever the median is.
        let better = if unit.ends_with("/s") || unit == "GHz" { 0.5 } else { 2.0 };
        let median = if unit.is_empty() || name.ends_with("_bytes") { value } else { value * better };
        card.set(name, Number::new(median, unit, "made up").with_best(value)).expect("a number");
    }
    card
}

fn terms(point: Point, outputs: &[(&str, Value)], library: &str) -> bounds::Terms {
    let (limits, point) = (Limits::from_card(&card()), kernels::complete(point).expect("a point"));
    let outputs: BTreeMap<String, Value> =
        outputs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let case = Case { limits: &limits, point: &point, outputs: &outputs, carrier: ("threads", library), nodes: 1 };
    bounds::terms(&case).expect("a family")
}

#[test]
fn updates_through_memory_are_not_bounded_by_messages_of_mpi() {
    let mut card = card();
    card.provenance.insert("transport".into(), "mpi".into());
    let (limits, point) = (Limits::from_card(&card), kernels::complete(Point::new("random_access.hypercube", 2)));
    let bounded_by = |share: f64| {
        let outputs =
            [("messages_per_update", 0.1), ("bytes_sent_per_update", 8.0), ("memory_share_of_messages", share)];
        let outputs = outputs.map(|(name, value)| (name.to_owned(), Value::Real(value))).into();
        let (point, carrier) = (point.as_ref().expect("a point"), ("mpi", THREADS));
        let case = Case { limits: &limits, point, outputs: &outputs, carrier, nodes: 1 };
        let terms = bounds::terms(&case).expect("a family").limits;
        terms.iter().filter(|term| term.name == bounds::MESSAGES).map(|term| term.rate).next()
    };
    let (all, half) = (bounded_by(0.0).expect("a bound"), bounded_by(0.5).expect("a bound"));
    close(half, 2.0 * all);
    assert_eq!(bounded_by(1.0), None);
}

fn rate(terms: &bounds::Terms, name: &str) -> f64 {
    terms.limits.iter().filter(|term| term.name == name).map(|term| term.rate).reduce(f64::min).expect("a limit")
}

const THREADS: &str = "threads of one process";

#[test]
fn limits_of_apex_map_match_the_formulas() {
    let point = |alpha: f64, block: u64| {
        Point::new("apex_map.sequential", 1)
            .with_parameter("M", 1u64 << 20)
            .with_parameter("alpha", alpha)
            .with_parameter("L", block)
    };
    // 8 MiB, uniform. At 10 ns per read with 8 outstanding lines, each line takes 80 ns.
    let limits = terms(point(1.0, 1), &[("page_bytes", Value::Integer(4096))], THREADS);
    // The machine loads an index and a word at four loads per cycle of 0.5 ns; the loop that reads them takes 1 ns.
    close(rate(&limits, bounds::ISSUE), 4e9);
    close(limits.program.expect("a loop"), 1e9);
    close(rate(&limits, bounds::OUTSTANDING), 1e8);
    close(rate(&limits, bounds::WALKS), 1.0 / 30e-9);
    // A quarter is within 2 MiB; a line from beyond takes 10 ns.
    close(rate(&limits, bounds::MEMORY), 1.0 / 7.5e-9);
    assert_eq!(limits.bottleneck().unwrap().name, bounds::WALKS);
    assert_eq!(terms(point(1.0, 1), &[], THREADS).bottleneck().unwrap().name, bounds::OUTSTANDING);
    // The TLB may cover these 2 MiB, so no limit from page walks applies.
    let small = point(1.0, 1).with_parameter("M", 1u64 << 18);
    let limits = terms(small, &[("page_bytes", Value::Integer(4096))], THREADS);
    assert!(limits.limits.iter().all(|term| term.name != bounds::WALKS), "{limits:?}");
    // A block of 64 words has 8 lines of 10 ns each. Its 512 bytes take 8 ns at 64 GB/s.
    let limits = terms(point(1.0, 64), &[], THREADS);
    close(rate(&limits, bounds::ISSUE), 1.0 / (520.0 / 128.0 * 0.5e-9));
    close(limits.program.expect("a loop"), 1.0 / 8e-9);
    close(rate(&limits, bounds::OUTSTANDING), 1.0 / 80e-9);
    // Nearly all accesses hit the first block.
    let limits = terms(point(0.001, 64), &[], THREADS);
    assert_eq!(limits.bottleneck().unwrap().name, bounds::ISSUE);
}

#[test]
fn limits_of_remote_accesses_are_those_of_messages_or_of_gets() {
    // Uniform, on two ranks: half of the accesses go to the other rank, 8 L bytes each.
    let point = |kernel: &str, buffers: u64| {
        let point = Point::new(kernel, 2).with_parameter("M", 1u64 << 20).with_parameter("alpha", 1.0);
        point.with_parameter("L", 4u64).with_parameter("B", buffers)
    };
    let limits = terms(point("apex_map.one_sided", 3), &[], THREADS);
    close(rate(&limits, bounds::MESSAGES), 2.0 / (0.5 * 10e-9));
    close(rate(&limits, bounds::LINK), 2.0 / (0.5 * 32e-9));
    close(rate(&limits, bounds::LATENCY), 2.0 / (0.5 * 60e-9 / 3.0));
    assert!(limits.missing.is_empty(), "{:?}", limits.missing);
    let limits = terms(point("apex_map.two_sided", 3), &[], THREADS);
    close(rate(&limits, bounds::MESSAGES), 2.0 / (0.5 * 2.0 * 100e-9));
    close(rate(&limits, bounds::LINK), 2.0 / (0.5 * 32e-9));
    close(rate(&limits, bounds::LATENCY), 2.0 / (0.5 * 400e-9 / 3.0));
    // A quarter of all bytes crosses the bisection, an eighth in each direction.
    close(rate(&limits, bounds::BISECTION), 1.0 / (0.5 * 2.0 / 2.0 / 2.0 * 32e-9));
}

#[test]
fn limits_use_the_remote_share_of_the_run() {
    let point = Point::new("apex_map.two_sided", 2)
        .with_parameter("M", 1u64 << 20)
        .with_parameter("alpha", 1.0)
        .with_parameter("L", 4u64);
    let limits = terms(point.clone(), &[("remote_share", Value::Real(0.01))], THREADS);
    close(rate(&limits, bounds::LINK), 2.0 / (0.01 * 32e-9));
    close(rate(&limits, bounds::BISECTION), 1.0 / (0.01 * 2.0 / 2.0 * 0.5 * 32e-9 * 1.0));
    // One poll after each access, or after each eighth access.
    close(rate(&limits, bounds::POLLS), 2.0 / 5e-9);
    close(rate(&terms(point.with_parameter("poll_every", 8u64), &[], THREADS), bounds::POLLS), 2.0 * 8.0 / 5e-9);
}

#[test]
fn the_bisection_traffic_matches_the_power_law() {
    // Enumerates all ranks and all distances.
    for (ranks, alpha) in [(2u64, 0.5f64), (8, 1.0), (256, 0.1), (256, 0.316), (256, 0.01)] {
        let p = |d: u64| (((d + 1) as f64).powf(alpha) - (d as f64).powf(alpha)) / (ranks as f64).powf(alpha);
        let crosses = |from: u64, d: u64| (from < ranks / 2) != ((from + d) % ranks < ranks / 2);
        let pairs = (0..ranks).flat_map(|from| (1..ranks).map(move |d| (from, d)));
        let sum: f64 = pairs.filter(|(from, d)| crosses(*from, *d)).map(|(_, d)| p(d)).sum();
        close(crossing_share(ranks as f64, alpha), sum / ranks as f64);
    }
    // 256 ranks at alpha = 0.1: 0.28 of the remote accesses cross; if they were uniform, 0.502 would.
    let of_remote = |alpha: f64| crossing_share(256.0, alpha) / (1.0 - 256f64.powf(-alpha));
    assert!((of_remote(0.1) - 0.28).abs() < 0.005 && (of_remote(0.316) - 0.36).abs() < 0.005, "{}", of_remote(0.316));
    close(of_remote(1.0), 128.0 / 255.0);
}

#[test]
fn a_cache_holds_equal_shares_of_a_block_and_its_accesses() {
    // Blocks of 128 KiB in 512 MiB at alpha = 0.001: the hottest block gets 99.17 % of the accesses, and 48 KiB hold
    // three eighths of it.
    let law = Law::from_alpha(0.001, 512.0 * 1048576.0).in_blocks(131072.0);
    let hottest = (131072.0f64 / (512.0 * 1048576.0)).powf(0.001);
    close(law.max_share_within(49152.0), 0.375 * hottest);
    close(law.max_share_within(131072.0), hottest);
    assert!(
        law.max_share_within(49152.0) < 0.4
            && Law::from_alpha(0.001, 512.0 * 1048576.0).max_share_within(49152.0) > 0.99
    );
    assert_eq!((law.max_share_within(1e12), law.uniform_weight(1e12), law.uniform_weight(131071.0)), (1.0, 1.0, 0.0));
}

proptest! {
    #[test]
    fn the_law_of_blocks_equals_the_sum_over_their_words(
        alpha in 0.001f64..1.0, blocks in 1usize..40, cached in 0usize..400, away in 0.0f64..0.9,
    ) {
        // Ten words per block. The words of all blocks are in order of frequency; a cache holds the first of them.
        let (own, block) = (10.0 * blocks as f64, 10.0);
        let block_share = |k: usize| {
            let x = |k: usize| k as f64 / blocks as f64;
            let others = |k: usize| ((1.0 + x(k)).powf(alpha) - 1.0) / (2f64.powf(alpha) - 1.0);
            (1.0 - away) * (x(k + 1).powf(alpha) - x(k).powf(alpha)) + away * (others(k + 1) - others(k))
        };
        let words: Vec<f64> = (0..blocks).flat_map(|k| [block_share(k) / 10.0; 10]).collect();
        let cached = cached.min(words.len());
        let sum: f64 = words[..cached].iter().sum();
        let law = Law::from_alpha(alpha, own).in_blocks(block).with_remote(away);
        prop_assert!((law.max_share_within(cached as f64) - sum).abs() < 1e-9, "{} {sum}", law.max_share_within(cached as f64));
        // Words cost 1 among the hottest seven and 3 beyond. Compares the means over the first n words with the mean
        // over the law.
        let cost = |word: usize| if word < 7 { 1.0 } else { 3.0 };
        let mean_of_first = |n: usize| (0..n).map(cost).sum::<f64>() / n as f64;
        let ladder = Ladder::new((1..=words.len()).map(|n| (n as f64, mean_of_first(n))).collect());
        let exact: f64 = words.iter().enumerate().map(|(word, weight)| weight * cost(word)).sum();
        let mean = ladder.mean_cost(&law);
        prop_assert!(mean <= exact * (1.0 + 1e-9), "{mean} {exact}");
    }
}

#[test]
fn index_arrays_larger_than_any_cache_are_streamed_with_the_data() {
    let point = |arrays: u64| {
        let point = Point::new("apex_map.one_sided", 2).with_parameter("M", 1u64 << 20).with_parameter("alpha", 1.0);
        point.with_parameter("I", 1024u64).with_parameter("N", arrays)
    };
    // All of 4 MiB but 1 MiB + 32 KiB, local or remote, comes from memory at 12.8 GB/s: 5 ns per line.
    let lines = 1.0 - (1.0 + 1.0 / 32.0) / 4.0;
    close(rate(&terms(point(1), &[], THREADS), bounds::MEMORY), 1.0 / (lines * 5e-9));
    // 8 MiB of indices also come from memory: an eighth of a line more per access.
    close(rate(&terms(point(1024), &[], THREADS), bounds::MEMORY), 1.0 / ((lines + 0.125) * 5e-9));
}

#[test]
fn limits_of_messages_match_the_formulas() {
    let point = |kernel: &str, bytes: u64| {
        Point::new(kernel, 2).with_parameter("message_bytes", bytes).with_parameter("messages", 64u64)
    };
    close(terms(point("message_rate.streaming", 8), &[], THREADS).bottleneck().unwrap().rate, 1e7);
    close(terms(point("message_rate.bidirectional", 8), &[], THREADS).bottleneck().unwrap().rate, 2e7);
    close(
        terms(point("message_rate.streaming", 8).with_parameter("operation", "put"), &[], THREADS)
            .bottleneck()
            .unwrap()
            .rate,
        5e7,
    );
    let long = terms(point("message_rate.streaming", 1 << 20), &[], THREADS).bottleneck().unwrap();
    assert_eq!(long.name, bounds::LINK);
    close(long.rate, 1e9 / f64::from(1 << 20));
    let pong = terms(point("message_rate.ping_pong", 8), &[], THREADS).bottleneck().unwrap();
    assert_eq!(pong.name, bounds::LATENCY);
    close(pong.rate, 5e6);
    let one_to_many = terms(point("message_rate.cyclic", 8), &[], THREADS);
    close(rate(&one_to_many, bounds::MESSAGES), 1e7);
}

#[test]
fn limits_of_random_access_match_the_formulas() {
    let sequential = Point::new("random_access.sequential", 1).with_parameter("N_words", 1u64 << 20);
    let limits = terms(sequential.clone(), &[], THREADS);
    close(rate(&limits, bounds::ISSUE), 4e9);
    close(limits.program.expect("a loop"), 1e9);
    close(rate(&limits, bounds::OUTSTANDING), 1e8);
    // 1 MiB + 32 KiB of the 8 MiB are in caches. The rest moves 128 bytes per update.
    close(rate(&limits, bounds::MEMORY), 1e8 / (1.0 - (1.0 + 1.0 / 32.0) / 8.0));
    let base = Point::new("random_access.base", 2).with_parameter("N_words", 1u64 << 20);
    let counted = [("messages_per_update", Value::Real(0.5)), ("bytes_sent_per_update", Value::Real(4.0))];
    let limits = terms(base.clone(), &counted, THREADS);
    close(rate(&limits, bounds::MESSAGES), 2.0 / 50e-9);
    close(rate(&limits, bounds::LINK), 2.0 / 4e-9);
    // Equation (1): 4 B / b.
    close(rate(&limits, bounds::BISECTION), 4e9 / 8.0);
    assert!(limits.missing.is_empty(), "{:?}", limits.missing);
}

#[test]
fn rounds_wait_for_one_message_in_each_stage() {
    let latency = |kernel: &str, ranks, dimensions: u64| {
        let mut point = Point::new(kernel, ranks).with_parameter("N_words", 1u64 << 20).with_parameter("Q", 64u64);
        if kernel == "random_access.exchange" {
            point = point.with_parameter("d", dimensions);
        }
        terms(point, &[], THREADS).limits.iter().find(|term| term.name == bounds::LATENCY).map(|term| term.rate)
    };
    // Each rank sends 64 updates per round, and each stage takes the card's latency.
    const ONE_WAY: f64 = 200e-9;
    let stages = |kernel, ranks, dimensions| {
        latency(kernel, ranks, dimensions).map(|rate| (ranks as f64 * 64.0 / ONE_WAY / rate * 1e6).round() / 1e6)
    };
    assert_eq!(stages("random_access.alltoallv", 8, 0), Some(1.0));
    assert_eq!(stages("random_access.hypercube", 8, 0), Some(3.0));
    assert_eq!(stages("random_access.hypercube", 12, 0), Some(3.0));
    assert_eq!([1, 2, 9].map(|d| stages("random_access.exchange", 8, d)), [Some(1.0), Some(2.0), Some(3.0)]);
    assert_eq!(stages("random_access.exchange", 6, 2), Some(1.0), "there may be fewer factors");
    assert_eq!(stages("random_access.base", 8, 0), None, "no rank waits for an answer");
    assert_eq!(stages("random_access.hypercube", 1, 0), None);
}

#[test]
fn a_limit_without_numbers_is_left_out_and_named() {
    let base = Point::new("random_access.base", 2).with_parameter("N_words", 1u64 << 20);
    let elsewhere = terms(base, &[("messages_per_update", Value::Real(0.5))], "another library");
    assert_eq!(elsewhere.missing, [bounds::MESSAGES, bounds::LINK, bounds::BISECTION]);
    assert_eq!(elsewhere.bottleneck().unwrap().name, bounds::MEMORY, "known numbers still set bounds");
    let pong = Point::new("message_rate.ping_pong", 2);
    assert_eq!(terms(pong, &[], "another library").bottleneck(), None, "no number, no bound");
    let (limits, point) = (Limits::from_card(&card()), kernels::complete(Point::new("calibrate.owner", 1)).unwrap());
    let case = Case { limits: &limits, point: &point, outputs: &BTreeMap::new(), carrier: ("", ""), nodes: 1 };
    assert_eq!(bounds::terms(&case), None, "calibrations have no bounds");
}

#[test]
fn every_limit_of_a_family_is_explained() {
    for kernel in kernels::ALL {
        let Some(family) = bounds::family(kernel) else { continue };
        let ranks = if kernel.ranks == kernels::Ranks::One { 1 } else { 4 };
        let small = kernel.parameters.iter().any(|parameter| parameter.name == "M");
        let point = Point::new(kernel.id, ranks);
        let point = if small { point.with_parameter("M", 1u64 << 20) } else { point };
        let Ok(point) = kernels::complete(point) else { continue };
        for output in [Value::Integer(4096), Value::Integer(2 << 20)] {
            let limits = terms(point.clone(), &[("page_bytes", output)], THREADS);
            let names = limits.limits.iter().map(|term| term.name).chain(limits.missing);
            for name in names {
                assert!(family.limits.iter().any(|limit| limit.name == name), "{}: {name}", kernel.id);
            }
        }
    }
}

/// Creates a result of one point with 10 ms per sample.
fn result(scratch: &Scratch) -> Folder {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    let mut journal = Journal::create(&folder.journal("0001")).expect("a journal");
    journal.append(&Event::Hello(Box::new(launch("0001", 1, "b1")))).expect("a line");
    let point =
        Point::new("random_access.sequential", 1).with_parameter("N_words", 1u64 << 20).with_parameter("updates", 0.25);
    let point = kernels::complete(point).expect("a point");
    for repetition in 0..6 {
        journal.append(&Event::Sample(Box::new(sample(&point, "a", repetition, 0.01)))).expect("a line");
    }
    journal.finish().expect("on disk");
    folder
}

#[test]
fn a_result_with_a_card_has_the_same_bounds_after_every_compaction() {
    let scratch = Scratch::new();
    let folder = result(&scratch);
    assert!(folder.compact().expect("a table").column(SHARE).is_none());
    card().write(&folder.machine()).expect("written");
    for _ in 0..2 {
        assert_eq!(folder.table().expect("a table").word(BOUND_BY, 0), bounds::OUTSTANDING);
        let table = folder.compact().expect("a table");
        // 2^18 updates in 10 ms are 26.2 million per second, of at most 100 million.
        close(table.number(SHARE, 0), 0.262144);
        close(table.number("bound_operations_per_second", 0), 1e8);
        close(table.number("bound_bytes_per_second_per_rank", 0), 8e8);
    }
    // The columns of a row give the same limits as its line in the journal.
    let (table, records) = (folder.table().expect("a table"), folder.records().expect("journals"));
    let launch = records[0].launch.as_ref().expect("a launch");
    let terms = bound_columns::terms_at(&table, 0, launch, &Limits::from_card(&card())).expect("limits");
    let binding = terms.bottleneck().expect("a bound");
    assert_eq!((binding.name, binding.rate), (bounds::OUTSTANDING, table.number("bound_operations_per_second", 0)));
    let mut elsewhere = card();
    elsewhere.provenance.insert("host".into(), "node2".into());
    elsewhere.write(&folder.machine()).expect("written");
    let table = folder.compact().expect("a table");
    assert!(
        table.number(SHARE, 0).is_nan() && table.word(BOUND_BY, 0).is_empty(),
        "another host's card bounds nothing"
    );
}

/// Writes the report of a result of one point with this card. Returns its fraction of the limit, the warnings and the page.
fn report(card: &Card) -> (String, Vec<String>, String) {
    let scratch = Scratch::new();
    let folder = result(&scratch);
    common::manifest().write(&folder).expect("a manifest");
    card.write(&folder.machine()).expect("written");
    let samples = Samples::from(folder.compact().expect("a table"));
    let limit = report::numbers(&folder, &samples).expect("numbers").rows[0].limit();
    let warnings = report::make(&folder, &samples, Default::default()).expect("a report");
    (limit, warnings, std::fs::read_to_string(folder.report()).expect("a page"))
}

#[test]
fn a_share_above_the_limit_reports_a_wrong_card() {
    let (limit, warnings, page) = report(&card());
    assert_eq!(limit, "26 %, outstanding misses");
    assert!(!warnings.iter().any(|text| text.contains("card is wrong")) && !page.contains("card is wrong"));
    let (limit, warnings, page) = report(&slow_down(&card()));
    assert_eq!(limit, "131 %, above the limit: card is wrong");
    let warning = warnings.iter().find(|text| text.contains("1 point above the limit: the card is wrong"));
    assert!(warning.is_some_and(|text| text.contains("calibrate again")), "{warnings:?}");
    let summary = page.find("Fraction of the bound:").expect("a summary");
    assert!(page[summary..].split("</p>").next().is_some_and(|text| text.contains("the card is wrong")));
}

#[test]
fn unknown_numbers_are_excluded_from_bounds_and_named_in_the_report() {
    let mut card = card();
    let wide = |card: &mut Card, name: &str| {
        let number = card.numbers()[name].clone();
        let (low, high) = (number.value / 10.0, number.value * 10.0);
        card.set(name, Number { launches: Some(2), ..number.with_interval(low, high) }).expect("a number");
    };
    assert!(Limits::from_card(&card).node_bandwidth.is_some() && card.uncertain_numbers().is_empty());
    for name in ["node_bandwidth_bytes_per_second", "operation_seconds"] {
        wide(&mut card, name);
    }
    let limits = Limits::from_card(&card);
    assert_eq!((limits.node_bandwidth, limits.poll), (None, None));
    assert_eq!(card.uncertain_numbers(), ["node_bandwidth_bytes_per_second", "operation_seconds"]);
    let text = calibrate::card_text(&card, None);
    assert_eq!(text.matches("not known (2 launches)").count(), 2, "{text}");
    let (_, warnings, page) = report(&card);
    let warning =
        "The card of round does not determine node_bandwidth_bytes_per_second, operation_seconds: their 95 % intervals";
    assert!(warnings.iter().any(|text| text.starts_with(warning)) && page.contains(warning), "{warnings:?}");
}

const TINY_SWEEP: &str = r#"
title = "Tiny"
[fixed]
kernel = "apex_map.sequential"
M = "64 kwords"
I = 64
N = 2
ranks = 1
[axes]
alpha = [0.1, 1.0]
L = [1, 16]
[repeat]
min = 6
max = 6
width = 0.5
"#;

#[test]
fn a_card_of_another_host_is_refused_or_labelled() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().expect("text").to_owned();
    std::fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("written");
    card().write(&scratch.join("card.toml")).expect("written");
    let run = |more: &[&str]| {
        let (sweep, out, card) = (path("tiny.toml"), path("out"), path("card.toml"));
        let mut arguments = vec!["run", &sweep, "--out", &out, "--card", &card];
        arguments.extend(more);
        apexmap(&arguments)
    };
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).replace(['\n', '│'], " ");
    assert!(message.contains("node1") && message.contains("--card-of-another-host"), "{message}");
    let forced = run(&["--card-of-another-host"]);
    assert!(forced.status.success(), "{}", String::from_utf8_lossy(&forced.stderr));
    let (sweep, elsewhere) = (path("tiny.toml"), path("elsewhere"));
    let plan = apexmap(&["plan", &sweep, "--out", &elsewhere, "--card", &path("card.toml"), "--card-of-another-host"]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(plan.contains("estimated from the machine card, at 60 % of its bounds (4 points)"), "{plan}");
    let report = std::fs::read_to_string(scratch.join("out/report.html")).expect("a report");
    assert!(report.contains("accepted: of another host") && report.contains("Bottleneck: "), "the report says so");
    let binding = apexmap(&["plot", &path("out"), "bottleneck", "--out", &path("binding.svg")]);
    assert!(binding.status.success(), "{}", String::from_utf8_lossy(&binding.stderr));
    let drawn = std::fs::read_to_string(scratch.join("binding.svg")).expect("a figure");
    assert!(drawn.contains(" %") && bounds::NAMES.iter().any(|name| drawn.contains(name)));
}

/// Points of all families, starting in the first cache.
const POINTS: &str = r#"
[[include]]
kernel = "apex_map.sequential"
ranks = 1
I = 1024
N = 16
M = ["4 kwords", "64 kwords", "4 Mwords"]
alpha = [0.01, 0.3, 1.0]
L = [1, 16, 512]
[[include]]
kernel = "random_access.sequential"
ranks = 1
N_words = ["64 kwords", "4 Mwords"]
updates = 0.25
pages = ["huge", "base"]
method = ["look_ahead", "immediate"]
[[include]]
kernel = ["message_rate.ping_pong", "message_rate.streaming"]
ranks = 2
operation = ["send", "put"]
message_bytes = ["8 B", "4 KiB", "64 KiB"]
messages = 512
[[include]]
kernel = "random_access.hypercube"
ranks = 2
N_words = "1 Mwords"
[[include]]
kernel = ["apex_map.two_sided", "apex_map.one_sided"]
ranks = 2
M = "2 Mwords"
I = 256
L = [1, 64]
[[include]]
kernel = "apex_map.one_sided"
ranks = 2
M = "16 kwords"
I = 1024
alpha = [0.1, 1.0]
B = [1, 16]
L = [1, 512, 4096]
"#;

/// Small points of two ranks.
const MPI_POINTS: &str = r#"
[[include]]
kernel = ["message_rate.ping_pong", "message_rate.streaming"]
ranks = 2
operation = ["send", "put"]
message_bytes = ["8 B", "4 KiB"]
messages = 256
[[include]]
kernel = ["apex_map.two_sided", "apex_map.one_sided"]
ranks = 2
M = "16 kwords"
I = 256
L = [1, 512]
B = [1, 16]
[[include]]
kernel = ["random_access.hypercube", "random_access.alltoallv"]
ranks = 2
N_words = "64 kwords"
updates = 0.25
Q = [8, 1024]
"#;

/// Measures a card with `probes` and the samples of `points`. They are interleaved, so that a disturbance slows both.
fn measure_card_and_points(
    scratch: &Scratch,
    probes: &[Probe],
    launch: &str,
    points: &str,
    more: &[&str],
) -> (Folder, Card) {
    let sweep = calibrate::sweep(probes, launch, 1) + points;
    let sweep = sweep.replace("max = 20", "max = 6").replace("budget = \"2 min\"", "budget = \"1 h\"");
    std::fs::write(scratch.join("sweep.toml"), sweep).expect("written");
    let out = scratch.join("out");
    let (file, folder) = (scratch.join("sweep.toml"), out.to_str().expect("text"));
    let arguments = ["run", file.to_str().expect("text"), "--out", folder, "--no-report"];
    // Measurements of other tests would disturb this one.
    let _alone = lock_launches();
    let run = apexmap(&[&arguments, more].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let folder = Folder::open(&out).expect("a result");
    let samples = Samples::from(folder.table().expect("a table"));
    let card = calibrate::card(probes, &samples, "this machine", &apexmap_measure::provenance::host()).expect("a card");
    (folder, card)
}

/// Returns the points with a share above one even at the lower end of its interval, with these shares.
fn points_above_bound(folder: &Folder, card: &Card, points: usize) -> BTreeMap<String, f64> {
    card.write(&folder.machine()).expect("written");
    let samples = Samples::from(folder.compact().expect("a table")).good();
    let bounded = samples.numbers(SHARE).len();
    assert!(bounded >= 6 * points, "only {bounded} samples have a bound");
    let exceeds = |cell: Cell| {
        let share = cell.summary(SHARE).filter(|share| share.interval.is_some_and(|(low, _)| low > 1.0))?;
        Some((label(samples.table(), cell.samples.rows()[0]), share.median))
    };
    samples.cells(&["key"]).expect("shares").into_iter().filter_map(exceeds).collect()
}

fn label(table: &Table, row: usize) -> String {
    let columns = ["kernel", "alpha", "block_words", "memory_words", "table_words", "pages", "method", "operation"];
    let names = columns.into_iter().chain(["message_bytes", BOUND_BY]);
    names.filter_map(|name| table.value(name, row)).map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

/// Asserts that no point exceeds the card's bounds. To show that an error would be detected, most points must exceed
/// the bounds of a machine that is five times slower.
///
/// Other users of the machine may slow down one measurement and not another. Therefore a point counts only if it
/// exceeds its bound every time, and detection has to succeed only once.
fn assert_bounded(measure: impl Fn(&Scratch) -> (Folder, Card), points: usize, on_slower: usize) {
    let (mut exceeding, mut noticed) = (None, 0);
    for _ in 0..10 {
        let scratch = Scratch::new();
        let (folder, card) = measure(&scratch);
        let mut exceeding_now = points_above_bound(&folder, &card, points);
        let before = exceeding.take();
        exceeding_now
            .retain(|point, _| before.as_ref().is_none_or(|before: &BTreeMap<String, f64>| before.contains_key(point)));
        noticed = noticed.max(points_above_bound(&folder, &slow_down(&card), points).len());
        if exceeding_now.is_empty() && noticed >= on_slower {
            return;
        }
        exceeding = Some(exceeding_now);
    }
    panic!("{noticed} points are above the bounds of a slower machine, and above those of this one: {exceeding:#?}");
}

/// Returns the card of a machine that is five times slower.
fn slow_down(card: &Card) -> Card {
    let mut slower = card.clone();
    for (name, number) in card.numbers() {
        let times = match number.unit.as_str() {
            "ns" | "us" => 5.0,
            "GB/s" => 0.2,
            _ => continue,
        };
        let scaled = |value: Option<f64>| value.map(|value| value * times);
        let (low, high, best) = (scaled(number.low), scaled(number.high), scaled(number.best));
        slower.set(name, Number { value: number.value * times, low, high, best, ..number.clone() }).expect("a number");
    }
    slower
}

#[test]
#[ignore = "compares timings, on a quiet machine: cargo test --release --locked -- --ignored nothing_; `make bench` runs it"]
fn nothing_over_threads_is_faster_than_its_calibration() {
    // The largest regions take long and are skipped; the bounds use the others.
    let host = provenance::Host { memory_bytes: 256 << 20, ..apexmap_measure::provenance::host() };
    let probes = calibrate::probes(&host, 2);
    assert_bounded(
        |scratch| measure_card_and_points(scratch, &probes, "transport = \"threads\"\n", POINTS, &[]),
        60,
        20,
    );
}

/// A thousand points of all families, in caches and beyond them.
const THOUSAND_POINTS: &str = r#"
[[include]]
kernel = "apex_map.sequential"
ranks = 1
I = 1024
N = 8
M = ["16 kwords", "128 kwords", "1 Mwords", "4 Mwords"]
alpha = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
L = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096]
pages = ["huge", "base"]
[[include]]
kernel = ["apex_map.two_sided", "apex_map.one_sided"]
ranks = 2
I = 256
N = 4
M = ["64 kwords", "2 Mwords"]
alpha = [0.001, 0.01, 0.03, 0.1, 0.3, 1.0]
L = [1, 4, 16, 64, 512, 4096]
B = [1, 16]
[[include]]
kernel = "apex_map.two_sided"
ranks = 2
I = 256
N = 4
M = "2 Mwords"
alpha = [0.001, 0.03, 0.3, 1.0]
L = [1, 16, 64, 512]
poll_every = 16
[[include]]
kernel = "random_access.sequential"
ranks = 1
N_words = ["16 kwords", "128 kwords", "1 Mwords", "4 Mwords"]
updates = 0.25
pages = ["huge", "base"]
method = ["look_ahead", "immediate"]
[[include]]
kernel = ["random_access.hypercube", "random_access.alltoallv", "random_access.one_sided"]
ranks = 2
N_words = ["128 kwords", "1 Mwords"]
updates = 0.25
Q = [8, 64, 256, 1024]
[[include]]
kernel = ["random_access.base", "random_access.star"]
ranks = 2
N_words = ["16 kwords", "128 kwords", "1 Mwords", "4 Mwords"]
updates = 0.25
[[include]]
kernel = ["message_rate.ping_pong", "message_rate.streaming", "message_rate.bidirectional", "message_rate.random"]
ranks = 2
operation = ["send", "put"]
message_bytes = ["4 B", "8 B", "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB"]
messages = 512
buffers = ["one", "distinct"]
"#;

/// The largest accepted share of a bound at the lower end of its interval. Bounds use the best of twenty runs.
const MAX_SHARE: f64 = 1.02;

/// Prints the number of points for each tenth of the share of their bounds: by median, and by lower end of the
/// interval.
fn histogram(shares: &[(f64, f64, String)]) -> String {
    let tenth = |share: f64| (10.0 * share) as usize;
    let count =
        |at: usize, of: &dyn Fn(&(f64, f64, String)) -> f64| shares.iter().filter(|s| tenth(of(s)) == at).count();
    let last = shares.iter().map(|share| tenth(share.0)).max().unwrap_or(0);
    let row = |tenths: usize| {
        let (medians, lows) = (count(tenths, &|share| share.0), count(tenths, &|share| share.1));
        let bar = "#".repeat(medians / 4);
        format!("{:>4} to {:>3} %: {medians:>4} {lows:>4} {bar}\n", 10 * tenths, 10 * tenths + 10)
    };
    let head = "of the bound   median, lower end\n".to_owned();
    head + &(0..=last).map(row).collect::<String>()
}

#[test]
#[ignore = "compares timings, on a quiet machine: cargo test --release --locked -- --ignored nothing_; `make bench` runs it"]
fn nothing_of_a_thousand_points_exceeds_its_bounds() {
    let host = provenance::Host { memory_bytes: 256 << 20, ..apexmap_measure::provenance::host() };
    let probes = calibrate::probes(&host, 2);
    // A real violation repeats. A machine that was slow during one measurement is slow in another one next time.
    let mut exceeding: Option<Vec<String>> = None;
    for _ in 0..3 {
        let scratch = Scratch::new();
        let (folder, card) =
            measure_card_and_points(&scratch, &probes, "transport = \"threads\"\n", THOUSAND_POINTS, &[]);
        card.write(&folder.machine()).expect("written");
        let samples = Samples::from(folder.compact().expect("a table")).good();
        let share = |cell: Cell| {
            let share = cell.summary(SHARE)?;
            let low = share.interval.map_or(share.median, |(low, _)| low);
            Some((share.median, low, label(samples.table(), cell.samples.rows()[0])))
        };
        let shares: Vec<_> = samples.cells(&["key"]).expect("shares").into_iter().filter_map(share).collect();
        println!("{} points\n{}", shares.len(), histogram(&shares));
        assert!(shares.len() >= 1000, "only {} points have a bound", shares.len());
        let above = shares.iter().filter(|share| share.1 > MAX_SHARE);
        let above: Vec<String> = above.map(|(median, low, label)| format!("{label}: {median:.2}, {low:.2}")).collect();
        let names =
            |lines: &[String]| lines.iter().map(|line| line.split(": ").next().unwrap_or("").to_owned()).collect();
        let again: Vec<String> = names(&above);
        let left: Vec<String> = match &exceeding {
            Some(before) => again.into_iter().filter(|name| before.contains(name)).collect(),
            None => again,
        };
        if left.is_empty() {
            return;
        }
        println!("above: {above:#?}");
        exceeding = Some(left);
    }
    panic!("above their bounds every time: {exceeding:#?}");
}

#[test]
#[ignore = "compares timings, on a quiet machine: cargo test --release --locked -- --ignored nothing_; `make bench` runs it"]
fn nothing_over_open_mpi_is_faster_than_its_calibration() {
    needs!(Mpi);
    let mut host = provenance::Host { memory_bytes: 8 << 20, ..apexmap_measure::provenance::host() };
    host.caches.retain(|cache| cache.level == 1);
    let mut probes = calibrate::probes(&host, 2);
    // These probes take long, and no limit uses their numbers.
    probes.retain(|probe| {
        probe.kernel.id != "random_access.shared" && probe.number.to_string() != "network_bandwidth_bytes_per_second"
    });
    let worker = OPEN_MPI.worker().to_str().expect("text");
    let launch = "transport = \"mpi\"\nlauncher = \"openmpi\"\n";
    let measure =
        |scratch: &Scratch| measure_card_and_points(scratch, &probes, launch, MPI_POINTS, &["--worker", worker]);
    assert_bounded(measure, 15, 5);
}
