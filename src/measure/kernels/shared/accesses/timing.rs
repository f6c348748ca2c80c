//! The clock: warm-up, timed passes, verification, and what the ranks have to say.

use super::draw::{Draws, Location};
use super::tally::{Accesses, Tally};
use super::warm_up;
use crate::comm::arena::Granted;
use crate::comm::{Collectives, Comm};
use crate::kernels::Outcome;
use crate::numerics::statistics::{Summary, median};
use crate::observer;
use apexmap_base::point::{Point, Value};
use std::collections::BTreeMap;

/// A pass whose last quarter takes longer or shorter than the first by more than this fraction is not steady.
pub const STEADY: f64 = 0.1;

/// How index arrays and the clock take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernels) enum Arrays {
    /// One buffer is filled off the clock, then the clock runs over it, N times: Table 1.
    OneByOne,
    /// All N are drawn before the clock runs: a rank that draws serves nobody.
    AllBefore,
}

/// Time of some of the accesses.
#[derive(Clone, Copy, Default)]
struct Stretch {
    seconds: f64,
    accesses: usize,
}

impl Stretch {
    fn add(&mut self, seconds: f64, accesses: usize) {
        self.seconds += seconds;
        self.accesses += accesses;
    }
}

/// One rank's clock, over all passes of a run.
#[derive(Default)]
struct Clocked {
    /// Until no rank needed this one any more.
    seconds: f64,
    /// Until the rank's own data had been summed.
    own: f64,
    remote: u64,
    served: u64,
    sum: u64,
    first: Stretch,
    last: Stretch,
}

impl Clocked {
    fn drift(&self) -> Option<f64> {
        let each = |part: &Stretch| part.seconds / part.accesses as f64;
        Some(each(&self.last) / each(&self.first) - 1.0).filter(|drift| drift.is_finite())
    }
}

/// The time between two readings of the clock with nothing in between, in seconds.
fn clock_seconds(comm: &impl Comm) -> f64 {
    let readings: Vec<f64> = (0..64).map(|_| comm.now()).collect();
    median(&readings.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Runs accesses in a first quarter, two more and a last, and reads the clock where the first ends and the last begins; no
/// time if there are fewer than four.
pub(in crate::kernels) fn in_quarters(
    comm: &impl Comm,
    locations: &[Location],
    mut run: impl FnMut(&[Location]),
) -> Option<(f64, f64)> {
    let quarter = locations.len() / 4;
    let (first, rest) = locations.split_at(quarter);
    let (middle, last) = rest.split_at(rest.len() - quarter);
    run(first);
    let first_end = comm.now();
    run(middle);
    let last_start = comm.now();
    run(last);
    (quarter > 0).then_some((first_end, last_start))
}

/// Memory that is only read.
struct Reads<'a, F> {
    memory: &'a [u64],
    pass: F,
}

impl<F: FnMut(&[Location]) -> Tally> Accesses for Reads<'_, F> {
    fn memory(&self) -> &[u64] {
        self.memory
    }

    fn pass(&mut self, locations: &[Location]) -> Tally {
        (self.pass)(locations)
    }
}

/// As [`time_accesses`], where memory is only read.
pub(in crate::kernels) fn time<C: Collectives>(
    comm: &C,
    run: (&Point, u64),
    (memory, granted): (&[u64], Granted),
    arrays: Arrays,
    pass: impl FnMut(&[Location]) -> Tally,
) -> Outcome {
    time_accesses(comm, run, granted, arrays, &mut Reads { memory, pass })
}

/// Accesses of a pass, passes, and parts of a pass between which the clock is read: of one by one four in all at least, of
/// which the first and the last are compared.
fn shape(point: &Point, arrays: Arrays) -> (usize, usize, usize) {
    let count = |name| point.integer(name) as usize;
    match arrays {
        Arrays::OneByOne => (count("I"), count("N"), 4_usize.div_ceil(count("N"))),
        Arrays::AllBefore => (count("I") * count("N"), 1, 1),
    }
}

/// All accesses of a run of one rank again, in the parts in which they were passed: those of the warm-up, of which there were
/// `warm_up`, and those of the clock.
pub(in crate::kernels) fn replay((point, stream): (&Point, u64), warm_up: u64, mut pass: impl FnMut(&[Location])) {
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

/// Warms up, times a run, checks it and gathers what the ranks have to say.
pub(in crate::kernels) fn time_accesses<C: Collectives>(
    comm: &C,
    (point, stream): (&Point, u64),
    granted: Granted,
    arrays: Arrays,
    rank: &mut impl Accesses,
) -> Outcome {
    let draws = |purpose| Draws::new(point, comm.rank(), stream, purpose);
    let (length, passes, parts) = shape(point, arrays);
    let (mut timed, mut expected) = (draws(0), 0_u64);
    let mut array = timed.array(length);
    let warm_up = warm_up::run(comm, point, draws(1), rank);
    let reading = clock_seconds(comm);
    let quarter = passes * parts / 4;
    let mut clocked = Clocked::default();
    // Draws between the passes are watched, too: to ask the system at every pass would take longer than some passes.
    observer::clock_starts();
    for number in 0..passes {
        if number > 0 {
            timed.fill(&mut array);
        }
        comm.barrier();
        for (part, locations) in array.chunks(length.div_ceil(parts)).enumerate() {
            rank.prepare(locations);
            let start = comm.now();
            let tally = rank.pass(locations);
            let since = |moment: f64| (moment - start - reading).max(0.0);
            clocked.seconds += since(tally.end);
            clocked.own += since(tally.own_end);
            clocked.remote += tally.remote;
            clocked.served += tally.served;
            clocked.sum = clocked.sum.wrapping_add(tally.sum);
            if let Some((first, last)) = tally.quarters {
                clocked.first.add(first - start, 1);
                clocked.last.add(tally.own_end - last, 1);
            } else if number * parts + part < quarter {
                clocked.first.add(since(tally.end), locations.len());
            } else if number * parts + part >= passes * parts - quarter {
                clocked.last.add(since(tally.end), locations.len());
            }
        }
        expected = expected.wrapping_add(rank.expected(&timed, &array));
    }
    observer::clock_stops();
    let accesses = (length * passes * comm.size()) as f64;
    outcome(comm, &clocked, clocked.sum == expected, accesses, warm_up, granted)
}

/// What all ranks' clocks say; `accesses` are those of all of them.
fn outcome<C: Collectives>(
    comm: &C,
    clocked: &Clocked,
    right: bool,
    accesses: f64,
    warm_up: u64,
    granted: Granted,
) -> Outcome {
    let Clocked { seconds, own, remote, served, .. } = *clocked;
    let drift = clocked.drift().unwrap_or(f64::NAN);
    let report = [seconds.to_bits(), own.to_bits(), remote, served, u64::from(!right), drift.to_bits()];
    let all = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let column = |k: usize| all.chunks_exact(report.len()).map(move |row| row[k]);
    let times: Vec<f64> = column(1).map(f64::from_bits).collect();
    let own = Summary::of(&times).expect("there is at least one rank");
    let slowest = times.iter().position(|time| *time == own.max).unwrap_or(0);
    let drift = column(5).nth(slowest).map(f64::from_bits).filter(|drift| drift.is_finite());
    let resolution = comm.clock_resolution();
    // A run that the clock cannot tell from none took as long as the clock can tell.
    let seconds = column(0).map(f64::from_bits).fold(resolution, f64::max);
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
