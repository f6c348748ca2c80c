//! Runs the warm-up and the timed passes, verifies them, and gathers the results of the ranks.

use super::draw::{Draws, Location};
use super::tally::{PassTally, TimedRank};
use super::*;
use crate::numerics::statistics::{Summary, median};
use crate::observer;

/// Between the times of the first and the last quarter of a steady run, relative.
pub const STEADY: f64 = 0.1;

/// The order of drawing index arrays and running the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrays {
    /// N times: one buffer is filled while the clock does not run, then the clock runs over its accesses (Table 1).
    OneByOne,
    /// All N arrays are drawn before the clock runs, because a rank that draws does not serve the others.
    AllBefore,
}

#[derive(Clone, Copy, Default)]
struct TimedPart {
    seconds: f64,
    accesses: usize,
}

impl TimedPart {
    fn add(&mut self, seconds: f64, accesses: usize) {
        self.seconds += seconds;
        self.accesses += accesses;
    }
}

/// Summed over all passes of a run.
#[derive(Default)]
struct RankTotals {
    /// Time until no other rank needed this rank any more.
    seconds: f64,
    /// Time until the rank had summed its own data.
    own: f64,
    remote: u64,
    served: u64,
    sum: u64,
    first: TimedPart,
    last: TimedPart,
}

impl RankTotals {
    fn drift(&self) -> Option<f64> {
        let seconds_per_access = |part: &TimedPart| part.seconds / part.accesses as f64;
        Some(seconds_per_access(&self.last) / seconds_per_access(&self.first) - 1.0).filter(|drift| drift.is_finite())
    }
}

/// The median time between two consecutive readings.
fn clock_seconds(comm: &impl Comm) -> f64 {
    let readings: Vec<f64> = (0..64).map(|_| comm.wall_time()).collect();
    median(&readings.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Returns the clock's readings after the first quarter and before the last; `None` for fewer than four accesses.
pub(crate) fn run_quarters(
    comm: &impl Comm,
    locations: &[Location],
    mut run: impl FnMut(&[Location]),
) -> Option<(f64, f64)> {
    let quarter = locations.len() / 4;
    let (first, rest) = locations.split_at(quarter);
    let (middle, last) = rest.split_at(rest.len() - quarter);
    run(first);
    let first_end = comm.wall_time();
    run(middle);
    let last_start = comm.wall_time();
    run(last);
    (quarter > 0).then_some((first_end, last_start))
}

struct Reads<'a, F> {
    memory: &'a [u64],
    pass: F,
}

impl<F: FnMut(&[Location]) -> PassTally> TimedRank for Reads<'_, F> {
    fn memory(&self) -> &[u64] {
        self.memory
    }

    fn pass(&mut self, locations: &[Location]) -> PassTally {
        (self.pass)(locations)
    }
}

pub(crate) fn time<C: Collectives>(
    comm: &C,
    run: (&Point, u64),
    (memory, granted): (&[u64], GrantedPages),
    arrays: Arrays,
    pass: impl FnMut(&[Location]) -> PassTally,
) -> Outcome {
    time_accesses(comm, run, granted, arrays, &mut Reads { memory, pass })
}

/// Returns the accesses per pass, the number of passes, and the parts per pass, between which the clock is read. With arrays drawn
/// one by one, a run has at least four parts in total, so that the first quarter can be compared with the last.
fn shape(point: &Point, arrays: Arrays) -> (usize, usize, usize) {
    let count = |key: Key<u64>| key.of(point) as usize;
    match arrays {
        Arrays::OneByOne => (count(I), count(N), 4_usize.div_ceil(count(N))),
        Arrays::AllBefore => (count(I) * count(N), 1, 1),
    }
}

/// Passes all accesses of a run of one rank to `pass` again, in the same parts, with those of the warm-up first.
pub(crate) fn replay((point, stream): (&Point, u64), warm_up: u64, mut pass: impl FnMut(&[Location])) {
    let draws = |purpose| Draws::new(point, 0, stream, purpose);
    let (length, passes, parts) = shape(point, Arrays::OneByOne);
    warm_up::replay(draws(1), point, warm_up, &mut pass);
    let mut timed = draws(0);
    let mut array = timed.array(length);
    for number in 0..passes {
        if number > 0 {
            timed.fill(&mut array);
        }
        array.chunks(length.div_ceil(parts)).for_each(&mut pass);
    }
}

/// Warms up, times a run, checks it, and gathers the results of all ranks. Collective.
pub(crate) fn time_accesses<C: Collectives>(
    comm: &C,
    (point, stream): (&Point, u64),
    granted: GrantedPages,
    arrays: Arrays,
    rank: &mut impl TimedRank,
) -> Outcome {
    let stored = rank.memory().len();
    let draws = |purpose| Draws::new(point, comm.rank(), stream, purpose).with_stored_words(stored);
    let (length, passes, parts) = shape(point, arrays);
    let (mut timed, mut expected) = (draws(0), 0_u64);
    let mut array = timed.array(length);
    let warm_up = warm_up::run(comm, point, draws(1), rank, granted.is_warm);
    let clock_cost = clock_seconds(comm);
    let quarter = passes * parts / 4;
    let mut totals = RankTotals::default();
    // The observed time includes the draws between passes, because a query of the system at every pass would take longer than some
    // passes.
    observer::clock_starts();
    for number in 0..passes {
        if number > 0 {
            timed.fill(&mut array);
        }
        comm.barrier();
        for (part, locations) in array.chunks(length.div_ceil(parts)).enumerate() {
            rank.prepare(locations);
            let start = comm.wall_time();
            let tally = rank.pass(locations);
            // A short pass can seem shorter than a reading of the clock.
            let elapsed_until = |moment: f64| (moment - start - clock_cost).max(0.0);
            totals.seconds += elapsed_until(tally.end);
            totals.own += elapsed_until(tally.own_end);
            totals.remote += tally.remote;
            totals.served += tally.served;
            totals.sum = totals.sum.wrapping_add(tally.sum);
            if let Some((first, last)) = tally.quarters {
                totals.first.add(first - start, 1);
                totals.last.add(tally.own_end - last, 1);
            } else if number * parts + part < quarter {
                totals.first.add(elapsed_until(tally.end), locations.len());
            } else if number * parts + part >= passes * parts - quarter {
                totals.last.add(elapsed_until(tally.end), locations.len());
            }
        }
        expected = expected.wrapping_add(rank.expected_sum(&timed, &array));
    }
    observer::clock_stops();
    let accesses = (length * passes * comm.size()) as f64;
    outcome(comm, &totals, totals.sum == expected, accesses, warm_up, granted)
}

/// `accesses` is the total over all ranks.
fn outcome<C: Collectives>(
    comm: &C,
    totals: &RankTotals,
    correct: bool,
    accesses: f64,
    warm_up: u64,
    granted: GrantedPages,
) -> Outcome {
    let RankTotals { seconds, own, remote, served, .. } = *totals;
    let drift = totals.drift().unwrap_or(f64::NAN);
    let report = [seconds.to_bits(), own.to_bits(), remote, served, u64::from(!correct), drift.to_bits()];
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let column = |k: usize| reports.chunks_exact(report.len()).map(move |row| row[k]);
    let times: Vec<f64> = column(1).map(f64::from_bits).collect();
    let own = Summary::from_samples(&times).expect("there is at least one rank");
    let slowest = times.iter().position(|time| *time == own.max).unwrap_or(0);
    let drift = column(5).nth(slowest).map(f64::from_bits).filter(|drift| drift.is_finite());
    let resolution = comm.clock_resolution();
    let seconds = column(0).map(f64::from_bits).fold(0.0, f64::max);
    let mut outputs = BTreeMap::from([
        ("rank_seconds_min", Value::Real(own.min)),
        ("rank_seconds_median", Value::Real(own.median)),
        ("rank_seconds_mean", Value::Real(times.iter().sum::<f64>() / times.len() as f64)),
        ("rank_seconds_max", Value::Real(own.max)),
        ("remote_share", Value::Real(column(2).sum::<u64>() as f64 / accesses)),
        ("requests_served", Value::Integer(column(3).sum())),
        ("requests_served_max", Value::Integer(column(3).max().unwrap_or(0))),
        ("warm_up_accesses", Value::Integer(warm_up)),
        ("clock_ticks", Value::Real(seconds / resolution)),
    ]);
    outputs.extend(drift.map(|drift| ("drift", Value::Real(drift))));
    outputs.extend(drift.map(|drift| ("steady", Value::Integer(u64::from(drift.abs() <= STEADY)))));
    outputs.extend(granted.outputs());
    let verdict = match column(4).sum::<u64>() {
        0 => Ok(()),
        ranks => Err(format!("the sum of the words read is wrong on {ranks} of {} ranks", comm.size())),
    };
    Outcome { seconds, outputs, verdict }
}
