//! Tests of message rates: destinations of the patterns, every pattern on threads, the verification against faults,
//! refusals.

use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_measure::comm::arena::Arena;
use apexmap_measure::comm::threads::{self, ThreadComm};
use apexmap_measure::comm::{Transport, World};
use apexmap_measure::kernels::keys::{CACHES, Caches};
use apexmap_measure::kernels::message_rate::patterns::{self, BlockCyclic, Cyclic, Indirect, Random};
use apexmap_measure::kernels::message_rate::ping_pong;
use apexmap_measure::kernels::shared::messages::{content, route::Route, run_both_directions};
use apexmap_measure::kernels::{self, Outcome};
use proptest::prelude::*;

use super::faulty_transport::{Fault, Faulty};

pub fn kernel_ids() -> Vec<&'static str> {
    kernels::ALL.iter().map(|kernel| kernel.id).filter(|id| id.starts_with("message_rate.")).collect()
}

/// Returns every pattern that runs on this number of ranks, with all operations and buffers, and with short and long
/// messages.
pub fn points(ranks: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for kernel in kernel_ids() {
        for operation in ["send", "put"] {
            for (bytes, buffers) in
                [(4u64, "distinct"), (8, "one"), (12, "distinct"), (52, "one"), (100_000, "distinct")]
            {
                let point =
                    Point::new(kernel, ranks).with_parameter("message_bytes", bytes).with_parameter("buffers", buffers);
                let point = point
                    .with_parameter("operation", operation)
                    .with_parameter("window", 4u64)
                    .with_parameter("messages", 8u64);
                points.push(if kernel.ends_with("block_cyclic") { point.with_parameter("block", 2u64) } else { point });
            }
            let cold = Point::new(kernel, ranks)
                .with_parameter("operation", operation)
                .with_parameter("window", 8u64)
                .with_parameter("messages", 16u64);
            points.push(cold.clone().with_parameter("caches", "cold").with_parameter("cache_bytes", 1u64 << 16));
            points.push(cold.with_parameter("senders", 2u64));
        }
    }
    points.into_iter().filter_map(|point| kernels::complete(point).ok()).collect()
}

fn run(point: &Point) -> Vec<Outcome> {
    let kernel = kernels::find(&point.kernel).expect("a kernel");
    let outcomes = threads::run(point.ranks, |comm, arena| {
        kernel.run(point, 0, &mut World { transport: Transport::Threads(comm), arena })
    });
    outcomes.into_iter().map(|outcome| outcome.expect("no rank panics").expect("no rank fails")).collect()
}

fn verify(ranks: usize) {
    for point in points(ranks) {
        let outcome = run(&point).swap_remove(0);
        let number = |name: &str| outcome.outputs[name].as_f64().expect("a number");
        assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
        assert_eq!(number("wrong_messages"), 0.0, "{}", point.label());
        assert_eq!(number("rounds"), 2.0, "{}", point.label());
        assert!(number("warm_up_rounds") >= 2.0 && outcome.seconds > 0.0, "{}", point.label());
        let names = ["min", "p05", "p50", "p95", "p99", "max"].map(|p| number(&format!("message_seconds_{p}")));
        // With few messages, the shortest round may take no longer than its stamps, whose cost is subtracted.
        assert!(names[5] > 0.0 && names.is_sorted(), "{}: {names:?}", point.label());
        let cold = CACHES.of(&point) == Caches::Cold;
        assert_eq!(outcome.outputs.contains_key("invalidated_bytes"), cold, "{}", point.label());
    }
}

#[test]
fn every_pattern_delivers_every_message_on_two_ranks() {
    assert_eq!(kernel_ids().len(), 7);
    let tried: std::collections::BTreeSet<String> = points(2).into_iter().map(|point| point.kernel).collect();
    assert_eq!(tried.len(), 7, "all patterns run on two ranks: {tried:?}");
    verify(2);
}

#[test]
fn every_pattern_delivers_every_message_on_three_to_six_ranks() {
    (3..=6).for_each(verify);
}

#[test]
fn messages_are_counted_once_at_the_sender() {
    let work = |kernel: &str, ranks: usize, senders: Option<u64>| {
        let mut point = Point::new(&format!("message_rate.{kernel}"), ranks).with_parameter("message_bytes", 12u64);
        point = point.with_parameter("messages", 128u64).with_parameter("window", 64u64);
        point = senders.into_iter().fold(point, |point, senders| point.with_parameter("senders", senders));
        let point = kernels::complete(point).expect("valid");
        let work = kernels::find(&point.kernel).unwrap().work(&point);
        assert_eq!(work.bytes, 12.0 * work.operations, "{kernel}");
        (work.operations / 128.0, run(&point)[0].outputs["sending_ranks"].as_f64().unwrap())
    };
    assert_eq!(work("ping_pong", 2, None), (2.0, 2.0));
    assert_eq!(work("streaming", 2, None), (1.0, 1.0));
    assert_eq!(work("streaming", 4, None), (2.0, 2.0));
    assert_eq!(work("bidirectional", 4, None), (4.0, 4.0));
    assert_eq!(work("cyclic", 5, Some(1)), (4.0, 1.0));
    assert_eq!(work("indirect", 6, Some(2)), (4.0, 2.0));
    assert_eq!(work("block_cyclic", 6, Some(3)), (3.0, 3.0));
    assert_eq!(work("random", 3, None), (3.0, 3.0));
}

/// Runs a pattern on a transport with a fault and returns rank 0's verdict.
fn verdict_with_fault(kernel: &str, operation: &str, bytes: u64, fault: Fault) -> std::result::Result<(), String> {
    let point = Point::new(&format!("message_rate.{kernel}"), 2)
        .with_parameter("message_bytes", bytes)
        .with_parameter("operation", operation);
    let point =
        kernels::complete(point.with_parameter("window", 8u64).with_parameter("messages", 32u64)).expect("valid");
    let body = |comm: &ThreadComm, arena: &mut Arena| -> Result<Outcome> {
        let faulty = Faulty::new(comm, fault);
        match kernel {
            "ping_pong" => ping_pong::run(&faulty, &point, arena),
            "streaming" => patterns::stream(&faulty, &point, arena),
            "bidirectional" => run_both_directions(&faulty, &point, arena),
            "cyclic" => patterns::send_cyclically(&faulty, &point, arena),
            "indirect" => patterns::send_indirectly(&faulty, &point, 0, arena),
            "block_cyclic" => patterns::send_block_cyclically(&faulty, &point, arena),
            _ => patterns::send_randomly(&faulty, &point, 0, arena),
        }
    };
    let mut outcomes = threads::run(2, body);
    outcomes.swap_remove(0).expect("no rank panics").expect("no rank fails").verdict
}

/// Returns all patterns with both operations.
fn cases() -> Vec<(&'static str, &'static str)> {
    let ids: Vec<_> = kernel_ids().into_iter().map(|id| id.trim_start_matches("message_rate.")).collect();
    let both = ids.into_iter().flat_map(|id| [(id, "send"), (id, "put")]);
    both.collect()
}

#[test]
fn the_faulty_transport_without_a_fault_delivers_all_messages() {
    for (kernel, operation) in cases() {
        assert_eq!(verdict_with_fault(kernel, operation, 16, Fault::None), Ok(()), "{kernel} {operation}");
    }
}

#[test]
fn a_transport_that_sends_no_message_is_detected() {
    for (kernel, operation) in cases() {
        for bytes in [4, 8, 4096] {
            assert!(verdict_with_fault(kernel, operation, bytes, Fault::Nothing).is_err(), "{kernel} {operation}");
        }
    }
}

#[test]
fn lost_messages_are_detected() {
    for (kernel, operation) in cases() {
        for bytes in [4, 8, 4096] {
            let verdict = verdict_with_fault(kernel, operation, bytes, Fault::Lost { every: 7 });
            assert!(verdict.is_err_and(|text| text.contains("did not arrive")), "{kernel} {operation}");
        }
    }
}

/// The run itself is complete; a put of the rounds before it was lost.
#[test]
fn a_put_that_is_lost_before_the_clock_starts_does_not_count() {
    assert_eq!(verdict_with_fault("ping_pong", "put", 64, Fault::FirstLost), Ok(()));
}

#[test]
fn corrupted_messages_are_detected() {
    for (kernel, operation) in cases() {
        for (bytes, item) in [(4, 0), (8, 0), (8, 1), (4096, 0), (4096, 700), (4096, 1023)] {
            let verdict = verdict_with_fault(kernel, operation, bytes, Fault::Corrupted { every: 7, item });
            assert!(verdict.is_err(), "{kernel} {operation}: item {item} of {bytes} bytes");
        }
    }
}

#[test]
fn swapped_messages_are_detected() {
    for operation in ["send", "put"] {
        for bytes in [4, 4096] {
            assert!(verdict_with_fault("streaming", operation, bytes, Fault::Swapped).is_err(), "{operation} {bytes}");
        }
    }
}

#[test]
fn points_that_cannot_run_are_refused_with_an_alternative() {
    let refusal = |point: Point| kernels::complete(point).expect_err("it cannot run").message;
    let streaming = |ranks| Point::new("message_rate.streaming", ranks);
    assert!(refusal(streaming(2).with_parameter("message_bytes", 6u64)).contains("use 4 or 8"));
    assert!(refusal(streaming(2).with_parameter("messages", 100u64)).contains("use 128"));
    assert!(refusal(streaming(2).with_parameter("message_bytes", 2u64)).contains("between 4 and"));
    assert!(refusal(streaming(3)).contains("even number"));
    assert!(refusal(streaming(1)).contains("even number"));
    let cyclic = Point::new("message_rate.cyclic", 3);
    assert!(refusal(cyclic.clone().with_parameter("senders", 2u64)).contains("use 4"));
    assert!(refusal(cyclic.with_parameter("senders", 3u64)).contains("two or more nodes"));
    let block = Point::new("message_rate.block_cyclic", 2).with_parameter("block", 5u64);
    assert!(refusal(block).contains("a divisor of the window"));
    assert!(refusal(Point::new("message_rate.random", 1)).contains("at least two ranks"));
}

#[test]
fn the_memory_estimate_covers_sent_and_kept_messages() {
    let memory = |operation: &str, buffers: &str| {
        let point = Point::new("message_rate.streaming", 2)
            .with_parameter("message_bytes", 100u64)
            .with_parameter("operation", operation);
        let point = kernels::complete(point.with_parameter("buffers", buffers)).expect("valid");
        kernels::find(&point.kernel).unwrap().memory(&point)
    };
    assert_eq!(memory("send", "distinct"), 128 * (64 + 64));
    assert_eq!(memory("put", "distinct"), 128 * (64 + 1024), "a place for every put of a run");
    assert_eq!(memory("send", "one"), 128 * 2);
}

fn destinations(route: &impl Route) -> Vec<usize> {
    let mut list = Vec::new();
    route.for_each_destination(|to| list.push(to));
    list
}

fn sort(mut list: Vec<usize>) -> Vec<usize> {
    list.sort_unstable();
    list
}

proptest! {
    #[test]
    fn cyclic_destinations_are_the_counterparts_on_all_other_nodes(
        window in 1..40usize, nodes in 1..20usize, cores in 1..5usize, core in 0..4usize,
    ) {
        let core = core % cores;
        let list = destinations(&Cyclic { window, nodes, cores, core });
        let turn: Vec<usize> = (1..=nodes).map(|node| node * cores + core).collect();
        prop_assert_eq!(list, turn.repeat(window));
    }

    #[test]
    fn an_indirection_vector_is_a_row_of_permutations(
        window in 1..40usize, nodes in 1..20usize, cores in 1..5usize, core in 0..4usize, random: u64,
    ) {
        let core = core % cores;
        let list = destinations(&Indirect::new(window, nodes, cores, core, random));
        let nodes_in_order: Vec<usize> = (1..=nodes).map(|node| node * cores + core).collect();
        prop_assert_eq!(list.len(), window * nodes);
        for part in list.chunks(nodes) {
            prop_assert_eq!(&sort(part.to_vec()), &nodes_in_order);
        }
    }

    #[test]
    fn block_cyclic_destinations_come_in_blocks_with_cyclic_frequency(
        blocks in 1..10usize, block in 1..10usize, nodes in 1..20usize, cores in 1..5usize, core in 0..4usize,
    ) {
        let (core, window) = (core % cores, blocks * block);
        let list = destinations(&BlockCyclic { window, block, nodes, cores, core });
        prop_assert_eq!(sort(list.clone()), sort(destinations(&Cyclic { window, nodes, cores, core })));
        for (i, part) in list.chunks(block).enumerate() {
            prop_assert!(part.iter().all(|&to| to == (1 + i % nodes) * cores + core), "block {} of {:?}", i, list);
        }
    }

    #[test]
    fn random_destinations_exclude_the_sender(window in 1..200usize, ranks in 2..20usize, own in 0..20usize, random: u64) {
        let own = own % ranks;
        let list = destinations(&Random::new(window, ranks, own, random));
        prop_assert_eq!(list.len(), window);
        prop_assert!(list.iter().all(|&to| to < ranks && to != own));
    }

    #[test]
    fn only_a_filled_and_stamped_message_is_intact(
        items in 1..100usize, identity: u64, round: u32, place: prop::sample::Index, flip in 1..u32::MAX,
    ) {
        let mut message = vec![0; items];
        content::fill(&mut message, identity);
        message[items - 1] = content::stamp(identity, round);
        prop_assert!(content::is_intact(&message, identity, round));
        prop_assert!(!content::is_intact(&message, identity, round.wrapping_add(1)));
        message[place.index(items)] ^= flip;
        prop_assert!(!content::is_intact(&message, identity, round));
    }
}

#[test]
fn random_destinations_are_equally_likely() {
    let list = destinations(&Random::new(40_000, 5, 2, 7));
    for to in [0, 1, 3, 4] {
        let count = list.iter().filter(|&&other| other == to).count() as f64;
        // 10000 are expected with a standard deviation of 87; the limit is five deviations.
        assert!((count - 1e4).abs() < 5.0 * 87.0, "{to}: {count}");
    }
    assert_ne!(list, destinations(&Random::new(40_000, 5, 2, 8)));
    assert_eq!(list, destinations(&Random::new(40_000, 5, 2, 7)));
}
