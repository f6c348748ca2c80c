//! Measures a pattern: runs rounds until they are steady, then the timed rounds, then the verification.

use super::*;
use crate::numerics::statistics::quantile;
use crate::observer;

/// They take as long as four runs.
const MAX_PARTS: usize = 16;
/// A part counts as faster if it takes less than this fraction of the fastest earlier part.
const FASTER_FRACTION: f64 = 0.95;
const EVICTION_SEED: u64 = u64::from_be_bytes(*b"other\0\0\0");

/// One rank's part of a pattern.
pub trait Exchange {
    /// Erases the messages received so far, and the count of wrong ones. Collective.
    fn clear(&mut self);
    /// Stamps its messages with its number.
    fn run_round(&mut self, round: u32);
    /// Performs the stamps and checks of a round without its messages. The result depends on all of them, so that the compiler
    /// cannot remove them.
    fn run_bookkeeping(&mut self, round: u32) -> u64;
    fn serial_ranks(&self) -> f64 {
        1.0
    }
    /// Returns the number of messages that did not arrive as sent in all rounds. Collective.
    fn count_wrong(&mut self, rounds: u32) -> u64;
}

/// `messages` is the number per round on this rank. Collective.
pub fn measure<C: Collectives>(
    comm: &C,
    point: &Point,
    arena: &mut Arena,
    mut exchange: impl Exchange,
    messages: f64,
) -> Result<Outcome> {
    let rounds = Shape::new(point).rounds;
    let eviction_memory = match (invalidated_bytes(point), CACHES.of(point)) {
        (None, Caches::Cold) => return Err(unknown_caches()),
        (None, Caches::Warm) => None,
        (Some(bytes), _) => Some(arena.words(Pages::Huge, bytes.div_ceil(8) as usize, EVICTION_SEED, |i| i as u64)?.0),
    };
    let (warm_up_rounds, steady) = warm_up(comm, &mut exchange, rounds, eviction_memory);
    let bookkeeping = exchange.serial_ranks() * measure_bookkeeping(comm, &mut exchange, rounds);
    exchange.clear();
    observer::clock_starts();
    let mut times = time_rounds(comm, &mut exchange, rounds, eviction_memory);
    observer::clock_stops();
    let subtracted = times.subtract(bookkeeping);
    comm.barrier();
    let wrong = exchange.count_wrong(rounds as u32);

    let report = [times.seconds.to_bits(), wrong, u64::from(messages > 0.0)];
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let column = |k: usize| reports.chunks_exact(report.len()).map(move |row| row[k]);
    let wrong: u64 = column(1).sum();
    let mut outputs = BTreeMap::from([
        ("rounds", Value::Integer(rounds as u64)),
        ("sending_ranks", Value::Integer(column(2).sum())),
        ("warm_up_rounds", Value::Integer(warm_up_rounds as u64)),
        ("steady", Value::Integer(u64::from(steady))),
        ("wrong_messages", Value::Integer(wrong)),
    ]);
    outputs.extend(eviction_memory.map(|words| ("invalidated_bytes", Value::Integer(8 * words.len() as u64))));
    outputs.extend((messages > 0.0).then(|| ("stamping_seconds", Value::Real(subtracted / messages))));
    outputs.extend(percentiles(times.rounds, messages));
    let verdict = match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} messages did not arrive as sent")),
    };
    Ok(Outcome { seconds: column(0).map(f64::from_bits).fold(0.0, f64::max), outputs, verdict })
}

fn unknown_caches() -> Error {
    Error::environment(
        "caches = \"cold\", but this system does not report the size of its caches",
        "give it as cache_bytes, or use caches = \"warm\"",
    )
}

/// Runs parts until a part is not faster than all earlier ones on any rank. Returns the rounds and whether they became steady.
fn warm_up<C: Collectives>(
    comm: &C,
    exchange: &mut impl Exchange,
    rounds: usize,
    eviction_memory: Option<&[u64]>,
) -> (usize, bool) {
    let part = rounds.div_ceil(4);
    let mut best = f64::INFINITY;
    for parts in 1..=MAX_PARTS {
        let seconds = time_rounds(comm, exchange, part, eviction_memory).seconds;
        let faster = comm.all_reduce_sum(u64::from(seconds < FASTER_FRACTION * best)) > 0;
        best = best.min(seconds);
        if !faster {
            return (parts * part, true);
        }
    }
    (MAX_PARTS * part, false)
}

/// The fastest counts, because an interruption would subtract too much from the rounds.
const TRIES: usize = 3;
/// Otherwise noise could leave nothing of a short round.
const MAX_BOOKKEEPING_FRACTION: f64 = 0.5;

/// In seconds per round on this rank.
fn measure_bookkeeping<C: Collectives>(comm: &C, exchange: &mut impl Exchange, rounds: usize) -> f64 {
    let rounds = rounds.div_ceil(4) as u32;
    let mut try_once = || {
        let start = comm.wall_time();
        for round in 0..rounds {
            black_box(exchange.run_bookkeeping(round));
        }
        (comm.wall_time() - start) / f64::from(rounds)
    };
    (0..TRIES).map(|_| try_once()).fold(f64::INFINITY, f64::min)
}

struct RoundTimes {
    seconds: f64,
    rounds: Vec<f64>,
}

impl RoundTimes {
    /// Subtracts this time from every round, but at most half of the mean round. Returns the time subtracted per round.
    fn subtract(&mut self, seconds: f64) -> f64 {
        let count = self.rounds.len() as f64;
        let subtracted = seconds.min(MAX_BOOKKEEPING_FRACTION * self.seconds / count);
        self.rounds.iter_mut().for_each(|round| *round = (*round - subtracted).max(0.0));
        self.seconds -= subtracted * count;
        subtracted
    }
}

/// If `eviction_memory` is read before each round, only the rounds count.
fn time_rounds<C: Collectives>(
    comm: &C,
    exchange: &mut impl Exchange,
    rounds: usize,
    eviction_memory: Option<&[u64]>,
) -> RoundTimes {
    let mut times = Vec::with_capacity(rounds);
    let Some(eviction_memory) = eviction_memory else {
        comm.barrier();
        let start = comm.wall_time();
        let mut last = start;
        for round in 0..rounds {
            exchange.run_round(round as u32);
            let now = comm.wall_time();
            times.push(now - last);
            last = now;
        }
        return RoundTimes { seconds: last - start, rounds: times };
    };
    for round in 0..rounds {
        // One word of each cache line.
        black_box(eviction_memory.iter().step_by(8).fold(0, |sum: u64, &word| sum.wrapping_add(word)));
        comm.barrier();
        let start = comm.wall_time();
        exchange.run_round(round as u32);
        times.push(comm.wall_time() - start);
    }
    RoundTimes { seconds: times.iter().sum(), rounds: times }
}

fn percentiles(mut rounds: Vec<f64>, messages: f64) -> Vec<(&'static str, Value)> {
    rounds.sort_by(f64::total_cmp);
    let percentile = |(name, p): (&'static str, f64)| Some((name, Value::Real(quantile(&rounds, p)? / messages)));
    let names = [
        ("message_seconds_min", 0.0),
        ("message_seconds_p05", 0.05),
        ("message_seconds_p50", 0.5),
        ("message_seconds_p95", 0.95),
        ("message_seconds_p99", 0.99),
        ("message_seconds_max", 1.0),
    ];
    if messages > 0.0 { names.into_iter().filter_map(percentile).collect() } else { Vec::new() }
}
