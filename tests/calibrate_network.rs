//! Tests of the network's calibration: each kernel works on threads and on both MPIs, and detects faults.

use crate::faulty_transport::{Fault, Faulty};
use crate::mpi_worker::{MPICH, Mpi, OPEN_MPI, job};
use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels::calibrate::network::{barrier, copy, get, pair, poll};
use apexmap_measure::kernels::{self, Outcome};

const KERNELS: [&str; 7] = ["send", "receive", "get", "poll", "copy", "barrier", "bisection"];

fn point(kernel: &str, ranks: usize, settings: &[(&str, u64)]) -> Point {
    let point = Point::new(&format!("calibrate.{kernel}"), ranks);
    let point = settings.iter().fold(point, |point, &(name, value)| point.with_parameter(name, value));
    kernels::complete(point).expect("a valid point")
}

/// Returns small points of every kernel that runs on this number of ranks.
fn points(ranks: usize) -> Vec<Point> {
    let mut points = vec![point("copy", ranks, &[("copy_bytes", 1000), ("copies", 32)])];
    if ranks > 1 {
        points.push(point("poll", ranks, &[("looks", 100)]));
        points.push(point("barrier", ranks, &[("barriers", 10)]));
    }
    if ranks.is_multiple_of(2) {
        for bytes in [4, 8, 100_000] {
            points.push(point("send", ranks, &[("message_bytes", bytes), ("window", 5), ("rounds", 4)]));
            points.push(point("receive", ranks, &[("message_bytes", bytes), ("window", 5), ("rounds", 4)]));
        }
        for (bytes, window) in [(8, 1), (8, 64), (100_000, 5)] {
            points.push(point("get", ranks, &[("message_bytes", bytes), ("window", window), ("messages", 33)]));
        }
        points.push(point("bisection", ranks, &[("message_bytes", 100_000), ("window", 2), ("messages", 4)]));
    }
    points
}

fn run(point: &Point) -> Outcome {
    let kernel = kernels::find(&point.kernel).expect("a kernel");
    let mut outcomes = threads::run(point.ranks, |comm, arena| {
        kernel.run(point, 0, &mut World { transport: Transport::Threads(comm), arena })
    });
    outcomes.swap_remove(0).expect("no rank panics").expect("no rank fails")
}

#[test]
fn every_kernel_measures_and_verifies_on_one_to_five_ranks() {
    assert!(KERNELS.iter().all(|name| points(2).iter().any(|point| point.kernel == format!("calibrate.{name}"))));
    for point in (1..=5).flat_map(points) {
        let (outcome, label) = (run(&point), point.label());
        assert_eq!(outcome.verdict, Ok(()), "{label}");
        assert!(outcome.seconds > 0.0, "{label}");
        if point.kernel != "calibrate.bisection" {
            let a_rank = kernels::find(&point.kernel).unwrap().work(&point).operations / outcome.seconds;
            let reported_rate = 1.0 / outcome.outputs["operation_seconds"].as_f64().expect("a number");
            // Work counts all ranks or all pairs; a barrier counts once for all ranks.
            assert!(
                [1.0, 0.5, 1.0 / point.ranks as f64]
                    .iter()
                    .any(|share| (a_rank * share / reported_rate - 1.0).abs() < 1e-9)
            );
        }
    }
}

fn verify(mpi: &Mpi, ranks: usize) {
    let points = points(ranks);
    let mut samples = 0;
    let ending = mpi.run(&job("network", ranks, 1, points.clone()), &mut |event| {
        if let Event::Sample(sample) = event {
            assert_eq!(sample.status, Status::Ok, "{}: {}", sample.point.label(), sample.message);
            samples += 1;
        }
    });
    assert_eq!((ending.status, samples), (Status::Ok, points.len()), "{}: {}", mpi.name, ending.message);
}

#[test]
fn every_kernel_measures_and_verifies_on_both_mpis() {
    needs!(Mpi);
    for ranks in 1..=4 {
        verify(&OPEN_MPI, ranks);
        verify(&MPICH, ranks);
    }
}

#[test]
fn lost_corrupted_and_missing_messages_are_detected() {
    let faults = [Fault::Nothing, Fault::Lost { every: 3 }, Fault::Corrupted { every: 3, item: 1 }, Fault::Swapped];
    for fault in faults {
        for bytes in [8, 4096] {
            let verdict = |kernel: &str| {
                let point = point(kernel, 2, &[("message_bytes", bytes), ("window", 8), ("rounds", 4)]);
                let outcomes = threads::run(2, |comm, _| match kernel {
                    "send" => pair::send(&Faulty::new(comm, fault), &point),
                    _ => pair::receive(&Faulty::new(comm, fault), &point),
                });
                outcomes.into_iter().next().unwrap().expect("no panic").expect("it runs").verdict
            };
            assert!(verdict("send").is_err() && verdict("receive").is_err(), "{fault:?}, {bytes} bytes");
        }
    }
}

#[test]
fn gets_with_missing_old_or_wrong_words_are_detected() {
    for fault in [Fault::Nothing, Fault::Lost { every: 3 }, Fault::Corrupted { every: 3, item: 0 }] {
        let point = point("get", 2, &[("message_bytes", 8), ("window", 4), ("messages", 33)]);
        let outcomes = threads::run(2, |comm, _| get::run(&Faulty::new(comm, fault), &point));
        let verdict = outcomes.into_iter().next().unwrap().expect("no panic").expect("it runs").verdict;
        assert!(verdict.is_err_and(|text| text.contains("fetched wrong words")), "{fault:?}");
    }
}

#[test]
fn poll_detects_an_unexpected_message() {
    let point = point("poll", 3, &[("looks", 10)]);
    let outcomes = threads::run(3, |comm, _| poll::run(&Faulty::new(comm, Fault::Unrequested), &point));
    let verdict = outcomes.into_iter().next().unwrap().expect("no panic").expect("it runs").verdict;
    assert!(verdict.is_err_and(|text| text.contains("polls gave a wrong answer")));
}

#[test]
fn a_barrier_that_lets_ranks_through_early_is_detected() {
    for ranks in 2..=4 {
        let early = |with: bool| {
            let barrier = move |comm: &threads::ThreadComm| {
                if with {
                    apexmap_measure::comm::Collectives::barrier(comm);
                }
            };
            let early_exits = threads::run(ranks, |comm, _| barrier::count_early_exits(comm, || barrier(comm)));
            early_exits.into_iter().map(|count| count.expect("no panic").expect("memory")).sum::<u64>()
        };
        assert_eq!(early(true), 0);
        assert!(early(false) > 0);
    }
}

#[test]
fn a_missing_copy_is_detected() {
    let source: Vec<u64> = (1..=64).collect();
    let mut target = vec![0; 64];
    assert_eq!(copy::count_wrong_blocks(&source, &target, 4), 16);
    copy::copy_blocks(&source, &mut target, 4, 15);
    assert_eq!(copy::count_wrong_blocks(&source, &target, 4), 1);
    copy::copy_blocks(&source, &mut target, 4, 17);
    assert_eq!(copy::count_wrong_blocks(&source, &target, 4), 0);
    target[9] ^= 1;
    assert_eq!(copy::count_wrong_blocks(&source, &target, 4), 1);
}

#[test]
fn bisection_counts_one_direction() {
    let point = point("bisection", 4, &[("message_bytes", 1000), ("window", 2), ("messages", 6)]);
    let work = kernels::find("calibrate.bisection").unwrap().work(&point);
    assert_eq!((work.operations, work.bytes), (12.0, 12_000.0), "two pairs, six messages each way");
}

#[test]
fn points_that_cannot_run_are_refused() {
    for (kernel, ranks) in [("send", 3), ("receive", 1), ("get", 3), ("poll", 1), ("barrier", 1), ("bisection", 5)] {
        assert!(kernels::complete(Point::new(&format!("calibrate.{kernel}"), ranks)).is_err(), "{kernel}");
    }
    for kernel in ["send", "get"] {
        let odd = Point::new(&format!("calibrate.{kernel}"), 2).with_parameter("message_bytes", 6u64);
        assert!(kernels::complete(odd).is_err(), "{kernel}");
    }
}
