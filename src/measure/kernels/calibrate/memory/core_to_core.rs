//! An operation is a handover, half of a round. Both ranks spin on the line without a pause; all others wait.

use super::parts::{self, Parts};
use super::*;
use crate::comm::Transport;
use crate::comm::threads::ThreadComm;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.core_to_core",
    summary: "Latency from core to core: two ranks hand a cache line back and forth",
    source: &source::CORE_TO_CORE,
    place: "the whole program",
    parameters: parameters![FIRST, SECOND, ROUNDS],
    outputs: &[
        OUTPUTS[0],
        parts::OUTPUTS[0],
        parts::OUTPUTS[1],
        output("first_hardware_thread", Unit::None, "the hardware thread of the first rank; absent if it may move"),
        output("second_hardware_thread", Unit::None, "the hardware thread of the second rank; absent if it may move"),
    ],
    method: "Two ranks, threads of one process, hand a line back and forth: one writes a number into it, the other \
        waits for it and writes the next. The time is that of the first rank; the first rounds of each part, an \
        eighth of the timed ones, are untimed. Parts are repeated until two consecutive ones take the same time, \
        within 2 %, and in the first run of a launch for at least 0.75 s; the last part counts. The sums of the \
        numbers that both ranks read were compared with the known sums.",
    refuse: |point| {
        let (first, second, ranks) = (FIRST.of(point), SECOND.of(point), point.ranks as u64);
        if first == second {
            return Err(refusal!(
                ["first", "second"],
                "first = second = {first}: a handover needs two different ranks; exclude such pairs"
            ));
        }
        match first.max(second) {
            largest if largest >= ranks => Err(refusal!(
                ["first", "second", "ranks"],
                "there is no rank {largest} of {ranks}; use more ranks, or a smaller number"
            )),
            _ => Ok(()),
        }
    },
    work: |point| Work::new(2.0 * ROUNDS.of(point) as f64, "handover", 64.0, "one cache line per handover"),
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const FIRST: Key<u64> =
    key("first", "the rank that begins", integers(0..=1 << 12, 0)).in_column("first_rank", Unit::None);
const SECOND: Key<u64> =
    key("second", "the rank that answers", integers(0..=1 << 12, 1)).in_column("second_rank", Unit::None);
const ROUNDS: Key<u64> = key("rounds", "rounds of two handovers in each part of a run", integers(8..=1 << 32, 1 << 14))
    .in_column("rounds_asked", Unit::None);

/// The cores may have been idle before the first run of a launch. Later they are not, because waiting ranks spin.
const WARM_UP_SECONDS: f64 = 0.75;

thread_local! {
    static HAS_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Alone in its pair of lines, because some processors fetch lines in pairs.
#[repr(align(256))]
struct Line(AtomicU64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    First,
    Second,
}

fn run(point: &Point, world: &mut World) -> Result<Outcome> {
    match world.transport {
        Transport::Threads(comm) => Ok(run_between(comm, point, hand_over)),
        _ => Err(Error::input(
            "calibrate.core_to_core works between threads of one process, not between processes or simulated ranks",
            "set transport = \"threads\" in [launch]",
        )),
    }
}

/// One run with this loop on each side. Collective.
pub fn run_between(
    comm: &ThreadComm,
    point: &Point,
    hand_over: impl Fn(&ThreadComm, &AtomicU64, Side, std::ops::Range<u64>) -> u64,
) -> Outcome {
    // All ranks use the line of rank 0.
    let line = comm.all_gather_value(Arc::new(Line(AtomicU64::new(0)))).swap_remove(0);
    let rounds = ROUNDS.of(point);
    let rank = comm.rank() as u64;
    let side = match () {
        () if rank == FIRST.of(point) => Some(Side::First),
        () if rank == SECOND.of(point) => Some(Side::Second),
        () => None,
    };
    let all_rounds = rounds + rounds / 8;
    let (mut parts, mut done, mut wrong) =
        (Parts::new(if HAS_RUN.replace(true) { 0.0 } else { WARM_UP_SECONDS }), 0, false);
    let mut begin = comm.wall_time();
    let seconds = loop {
        comm.barrier();
        let mut seconds = 0.0;
        if let Some(side) = side {
            let timed = done + rounds / 8..done + all_rounds;
            let untimed = hand_over(comm, &line.0, side, done..timed.start);
            let start = comm.wall_time();
            let found_sum = hand_over(comm, &line.0, side, timed.clone()).wrapping_add(untimed);
            if side == Side::First {
                seconds = comm.wall_time() - start;
            }
            wrong |= found_sum != sum_for_side(side, done..timed.end);
        }
        done += all_rounds;
        // The barrier counts: on a busy machine it takes longer than a part, and the parts would go on for minutes.
        let part_begin = std::mem::replace(&mut begin, comm.wall_time());
        if !parts.record_part_on_all(comm, seconds, begin - part_begin) {
            break seconds;
        }
    };
    // One side checks the final value of the line.
    wrong |= side == Some(Side::First) && line.0.load(Ordering::Acquire) != 2 * done;
    let processor = side
        .and_then(|_| crate::affinity::allowed_hardware_threads())
        .filter(|allowed| allowed.len() == 1)
        .map_or(u64::MAX, |allowed| allowed[0] as u64);
    let processors = comm.gather(&[processor]).unwrap_or_default();
    let mut outcome =
        gather_outcome(comm, seconds, 2.0 * rounds as f64, u64::from(wrong), "ranks found wrong numbers in the line");
    for (side, column) in [(FIRST, "first_hardware_thread"), (SECOND, "second_hardware_thread")] {
        let bound_thread = processors.get(side.of(point) as usize).filter(|&&number| number != u64::MAX);
        outcome.outputs.extend(bound_thread.map(|&number| (column, Value::Integer(number))));
    }
    outcome.outputs.extend(parts.outputs());
    outcome
}

/// The second side reads 2 k + 1, the first 2 k + 2.
fn sum_for_side(side: Side, rounds: std::ops::Range<u64>) -> u64 {
    let sum_before = |count: u64| u128::from(count) * (u128::from(count) + if side == Side::First { 1 } else { 0 });
    (sum_before(rounds.end) - sum_before(rounds.start)) as u64
}

/// The timed loop of one side. Returns the sum of the numbers that it read. A processor that renames memory (AMD's Zen) expects a
/// load to return the value that was last stored through the same address register. Here it never does, and each wrong prediction
/// costs half a handover: 41 ns instead of 26 ns. So loads and stores use different registers.
pub fn hand_over<C: Comm>(comm: &C, line: &AtomicU64, side: Side, rounds: std::ops::Range<u64>) -> u64 {
    let read_line = std::hint::black_box(line);
    let mut sum = 0u64;
    for round in rounds {
        if side == Side::First {
            line.store(2 * round + 1, Ordering::Release);
            sum = sum.wrapping_add(wait_for(comm, read_line, 2 * round + 2));
        } else {
            let number = wait_for(comm, read_line, 2 * round + 1);
            line.store(number + 1, Ordering::Release);
            sum = sum.wrapping_add(number);
        }
    }
    sum
}

/// Without a pause, which would add to the latency, but yields now and then in case the other side needs this core.
#[inline(always)]
fn wait_for<C: Comm>(comm: &C, line: &AtomicU64, expected: u64) -> u64 {
    const POLLS_PER_YIELD: u32 = 1 << 12;
    loop {
        for _ in 0..POLLS_PER_YIELD {
            let number = line.load(Ordering::Acquire);
            if number == expected {
                return number;
            }
        }
        comm.relax();
    }
}
