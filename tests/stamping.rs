//! Tests that the cost of stamps and checks of messages is subtracted, with a clock that the test moves.

use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_measure::comm::arena::Arena;
use apexmap_measure::comm::threads::{self, ThreadComm};
use apexmap_measure::kernels::shared::messages::measure::{Exchange, measure};
use apexmap_measure::kernels::{self, Outcome};
use std::cell::Cell;

use super::common::forwarding::{Clock, Forwarding};

/// A clock that only the test moves.
struct ManualClock<'a>(&'a Cell<f64>);

impl Clock for ManualClock<'_> {
    fn wall_time(&self, _: &ThreadComm) -> f64 {
        self.0.get()
    }
}

/// An exchange with known times of rounds and bookkeeping.
struct ScriptedExchange<'a> {
    now: &'a Cell<f64>,
    /// Times of the rounds, which repeat.
    rounds: &'a [f64],
    bookkeeping: f64,
    in_turn: f64,
    stamped: u64,
}

impl Exchange for ScriptedExchange<'_> {
    fn clear(&mut self) {}
    fn run_round(&mut self, round: u32) {
        self.now.set(self.now.get() + self.rounds[round as usize % self.rounds.len()]);
    }
    fn run_bookkeeping(&mut self, _: u32) -> u64 {
        self.now.set(self.now.get() + self.bookkeeping);
        self.stamped += 1;
        self.stamped
    }
    fn serial_ranks(&self) -> f64 {
        self.in_turn
    }
    fn count_wrong(&mut self, _: u32) -> u64 {
        0
    }
}

/// Runs eight rounds of four messages.
fn run(rounds: &[f64], bookkeeping: f64, in_turn: f64) -> Outcome {
    let point =
        Point::new("message_rate.streaming", 2).with_parameter("window", 4u64).with_parameter("messages", 32u64);
    let point = kernels::complete(point).expect("a point");
    let measure_rank = |comm: &ThreadComm, arena: &mut Arena| -> Result<Outcome> {
        let now = Cell::new(0.0);
        let exchange = ScriptedExchange { now: &now, rounds, bookkeeping, in_turn, stamped: 0 };
        measure(&Forwarding { comm, changes: ManualClock(&now) }, &point, arena, exchange, 4.0)
    };
    threads::run(1, measure_rank).remove(0).expect("no panic").expect("an outcome")
}

fn output(outcome: &Outcome, name: &str) -> f64 {
    outcome.outputs[name].as_f64().expect("a number")
}

#[test]
fn the_stamping_time_of_every_round_is_subtracted() {
    let outcome = run(&[8.0, 16.0], 2.0, 1.0);
    assert_eq!(outcome.seconds, 8.0 * 10.0);
    assert_eq!(output(&outcome, "stamping_seconds"), 0.5);
    assert_eq!(output(&outcome, "message_seconds_min"), 6.0 / 4.0);
    assert_eq!(output(&outcome, "message_seconds_max"), 14.0 / 4.0);
}

#[test]
fn a_round_that_waits_for_two_ranks_subtracts_both_stamping_times() {
    let outcome = run(&[8.0], 1.0, 2.0);
    assert_eq!((outcome.seconds, output(&outcome, "stamping_seconds")), (8.0 * 6.0, 0.5));
}

#[test]
fn at_most_half_of_a_round_is_subtracted_without_negative_times() {
    let outcome = run(&[2.0, 14.0], 100.0, 1.0);
    assert_eq!((outcome.seconds, output(&outcome, "stamping_seconds")), (8.0 * 4.0, 1.0));
    assert_eq!(output(&outcome, "message_seconds_min"), 0.0);
    assert_eq!(output(&outcome, "message_seconds_max"), 10.0 / 4.0);
}

/// Every pattern reports the time that it subtracted from its real rounds.
#[test]
fn every_pattern_measures_its_own_stamping_time() {
    for kernel in kernels::ALL.iter().filter(|kernel| kernel.id.starts_with("message_rate.")) {
        for operation in ["send", "put"] {
            let point =
                Point::new(kernel.id, 2).with_parameter("operation", operation).with_parameter("messages", 256u64);
            let outcome = kernels::run_embedded(&point, 0).expect("a run");
            let stamping = output(&outcome, "stamping_seconds");
            assert!(stamping > 0.0 && stamping <= output(&outcome, "message_seconds_max"), "{}", kernel.id);
            assert!(outcome.seconds > 0.0);
        }
    }
}
