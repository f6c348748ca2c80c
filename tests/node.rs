//! Tests of the kernels of a whole node and their verification: strides, STREAM's four kernels, latency under writes,
//! transfers of a line between two cores.

use apexmap_base::point::{Point, Value};
use apexmap_measure::affinity::allowed_hardware_threads;
use apexmap_measure::comm::arena::Arena;
use apexmap_measure::comm::threads::ThreadComm;
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::calibrate::memory::core_to_core::{Side, hand_over, run_between};
use apexmap_measure::kernels::calibrate::memory::stride::sum_strided;
use apexmap_measure::kernels::calibrate::memory::{loaded, stream};
use apexmap_measure::kernels::{Outcome, complete, find, run_embedded};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn point(kernel: &str, ranks: usize, settings: &[(&str, Value)]) -> Point {
    let point = settings
        .iter()
        .fold(Point::new(kernel, ranks), |point, (name, value)| point.with_parameter(name, value.clone()));
    complete(point).expect("a valid point")
}

fn run_on_threads(ranks: usize, body: impl Fn(&ThreadComm, &mut Arena) -> Outcome + Sync) -> Outcome {
    threads::run(ranks, body).into_iter().map(|outcome| outcome.expect("no panic")).next().expect("rank 0")
}

fn run(point: &Point) -> Outcome {
    let kernel = find(&point.kernel).expect("a kernel");
    run_on_threads(point.ranks, |comm, arena| {
        kernel.run(point, 0, &mut World { transport: Transport::Threads(comm), arena }).expect("a run")
    })
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome.outputs[name].as_f64().expect("a number")
}

#[test]
fn every_stride_verifies_and_its_lines_are_counted() {
    for (stride, reads, traffic) in [
        (1u64, 1024.0, 8.0),
        (2, 512.0, 16.0),
        (3, 342.0, 24.0),
        (8, 128.0, 64.0),
        (100, 11.0, 64.0),
        (1024, 1.0, 64.0),
    ] {
        for ranks in [1, 2] {
            let point = point(
                "calibrate.stride",
                ranks,
                &[("bytes", 8192u64.into()), ("stride", stride.into()), ("reads", 1u64.into())],
            );
            let (outcome, work) = (run(&point), find("calibrate.stride").expect("a kernel").work(&point));
            assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
            assert_eq!((work.operations, work.bytes), (reads * ranks as f64, 8.0 * reads * ranks as f64), "{stride}");
            assert_eq!(number(&outcome, "traffic_bytes"), traffic * work.operations, "{stride}");
        }
    }
    let long = Point::new("calibrate.stride", 1).with_parameter("bytes", 1024u64).with_parameter("stride", 129u64);
    assert!(complete(long).expect_err("longer than the region").message.contains("use more bytes"));
}

proptest! {
    #[test]
    fn a_strided_sum_equals_the_plain_sum(words in prop::collection::vec(any::<u64>(), 0..200), stride in 1usize..250) {
        let plain = words.iter().step_by(stride).fold(0u64, |sum, word| sum.wrapping_add(*word));
        prop_assert_eq!(sum_strided(&words, stride), plain);
    }
}

#[test]
fn the_four_stream_kernels_verify_and_count_bytes_like_stream() {
    for (access, bytes, traffic) in
        [("read", 8.0, 8.0), ("copy", 16.0, 24.0), ("scale", 16.0, 24.0), ("add", 24.0, 32.0), ("triad", 24.0, 32.0)]
    {
        for ranks in [1, 2] {
            let settings = [("access", access.into()), ("bytes", 4096u64.into()), ("passes", 3u64.into())];
            let point = point("calibrate.stream", ranks, &settings);
            let (outcome, work) = (run(&point), find("calibrate.stream").expect("a kernel").work(&point));
            assert_eq!(outcome.verdict, Ok(()), "{access}");
            assert_eq!(
                (work.bytes, number(&outcome, "traffic_bytes")),
                (bytes * work.operations, traffic * work.operations)
            );
        }
    }
}

#[test]
fn missing_or_wrong_words_of_a_stream_are_detected() {
    type Pass = fn(&mut [u64], &[u64], &[u64]);
    let wrong = |access: &str, pass: Pass, right: fn(u64, u64) -> u64| {
        let point = point("calibrate.stream", 1, &[("access", access.into()), ("bytes", 4096u64.into())]);
        let run =
            |comm: &ThreadComm, arena: &mut Arena| stream::run_write(comm, &point, arena, pass, right).expect("memory");
        threads::run(1, run).swap_remove(0).expect("no panic").1
    };
    assert_eq!(wrong("copy", stream::copy, |b, _| b), 0);
    assert_eq!(wrong("copy", |_, _, _| (), |b, _| b), 168, "nothing: all of a third of 512 words, in whole lines");
    let one_less: Pass = |a, b, c| {
        let last = a.len() - 1;
        stream::add(&mut a[..last], b, c);
    };
    assert_eq!(wrong("add", one_less, u64::wrapping_add), 1);
    assert_eq!(wrong("scale", stream::copy, |b, _| b.wrapping_mul(3)), 168);
    assert_eq!(wrong("triad", stream::add, |b, c| b.wrapping_add(3 * c)), 168);
}

#[test]
fn latency_with_concurrent_reads_and_writes_verifies() {
    for ranks in [2, 3] {
        for write_share in [0u64, 1, 30, 100] {
            for bytes in [1024u64, 1 << 20] {
                let settings =
                    [("bytes", bytes.into()), ("write_share", write_share.into()), ("reads", 5000u64.into())];
                let point = point("calibrate.loaded", ranks, &settings);
                let outcome = run(&point);
                assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
                let (asked, travelled) = (
                    number(&outcome, "background_bytes_per_second"),
                    number(&outcome, "background_traffic_bytes_per_second"),
                );
                // With few writes, the first turns are reads.
                let most = 1.0 + write_share as f64 / 100.0;
                assert!(asked > 0.0 && travelled >= asked && travelled <= asked * most * 1.0001, "{}", point.label());
                assert!(write_share < 100 || (travelled / asked - 2.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn chunks_that_are_not_written_are_detected() {
    let verdict = |write: fn(&mut [u64], u64)| {
        let point = point("calibrate.loaded", 2, &[("bytes", (1u64 << 20).into()), ("write_share", 100u64.into())]);
        run_on_threads(2, |comm, arena| loaded::run_with(comm, &point, 0, arena, write).expect("memory")).verdict
    };
    assert_eq!(verdict(<[u64]>::fill), Ok(()));
    assert!(verdict(|_, _| ()).expect_err("nothing is written").contains("chunks"));
    assert!(verdict(|words, number| words[1..].fill(number)).is_err(), "one word less");
    assert!(verdict(|words, number| words.fill(number - 1)).is_err(), "the number before");
}

#[test]
fn a_cache_line_exchange_between_any_two_ranks_verifies() {
    for (ranks, first, second) in [(2, 0u64, 1u64), (2, 1, 0), (3, 1, 2), (3, 2, 0)] {
        let settings = [("first", first.into()), ("second", second.into()), ("rounds", 100u64.into())];
        let point = point("calibrate.core_to_core", ranks, &settings);
        let (outcome, work) = (run(&point), find(&point.kernel).expect("a kernel").work(&point));
        assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
        assert_eq!(work.operations, 200.0);
        assert!((number(&outcome, "operation_seconds") * 200.0 / outcome.seconds - 1.0).abs() < 1e-9);
    }
    let refusal = |first: u64, second: u64| {
        let pair =
            Point::new("calibrate.core_to_core", 2).with_parameter("first", first).with_parameter("second", second);
        complete(pair).expect_err("refused").message
    };
    assert!(refusal(1, 1).contains("exclude such pairs"));
    assert!(refusal(0, 2).contains("there is no rank 2 of 2"));
}

#[test]
fn a_cache_line_that_is_not_handed_over_is_detected() {
    type Side4 = fn(&ThreadComm, &AtomicU64, Side, std::ops::Range<u64>) -> u64;
    let verdict = |side: Side4| {
        let point = point("calibrate.core_to_core", 2, &[("rounds", 100u64.into())]);
        run_on_threads(2, |comm, _| run_between(comm, &point, side)).verdict
    };
    assert_eq!(verdict(hand_over), Ok(()));
    assert!(verdict(|_, _, _, _| 0).is_err(), "nothing");
    // The right numbers, but the ranks do not wait for each other.
    let alone: Side4 = |_, line, side, rounds| {
        rounds
            .map(|round| {
                line.store(0, Ordering::Release);
                if side == Side::First { 2 * round + 2 } else { 2 * round + 1 }
            })
            .sum()
    };
    assert!(verdict(alone).is_err(), "the line holds a value that no rank handed over");
    let half: Side4 = |comm, line, side, rounds| {
        hand_over(comm, line, side, rounds.start..rounds.start + (rounds.end - rounds.start) / 2)
    };
    assert!(verdict(half).is_err(), "half of the rounds");
}

#[test]
fn the_memory_of_a_point_is_on_its_numa_node() {
    let point = point(
        "calibrate.chase",
        2,
        &[("bytes", 4096u64.into()), ("steps", 100u64.into()), ("memory_node", 0u64.into())],
    );
    match run_embedded(&point, 0) {
        Ok(outcome) => assert!(outcome.seconds > 0.0),
        Err(error) => assert!(error.to_string().contains("mbind"), "{error}"),
    }
    let nowhere = run_embedded(&point.with_parameter("memory_node", 1000u64), 0).expect_err("no such node");
    assert!(nowhere.message.contains("memory_node = 1000"), "{nowhere}");
    let none = complete(Point::new("calibrate.poll", 2).with_parameter("memory_node", 0u64)).expect_err("no memory");
    assert!(none.message.contains("has no memory"), "{none}");
}

#[test]
fn ranks_move_to_the_cores_of_their_node_and_back() {
    let settings = [("bytes", 4096u64.into()), ("steps", 100u64.into()), ("core_node", 0u64.into())];
    let point = point("calibrate.chase", 1, &settings);
    let before = allowed_hardware_threads();
    let on_a_node = Hardware::this_machine().usable().any(|thread| thread.numa_node == Some(0));
    match run_embedded(&point, 0) {
        Ok(outcome) => assert!(on_a_node && outcome.seconds > 0.0),
        Err(error) => assert!(!on_a_node && error.message.contains("core_node = 0"), "{error}"),
    }
    assert_eq!(allowed_hardware_threads(), before);
    let nowhere = run_embedded(&point.with_parameter("core_node", 1000u64), 0).expect_err("no such node");
    assert!(nowhere.message.contains("core_node = 1000: no core"), "{nowhere}");
}
