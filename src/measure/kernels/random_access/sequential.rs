//! `immediate`: the streams take turns. `look_ahead` completes each stream before it begins the next. It stores at most 1024 values
//! and prefetches at most 128 words ahead even if Q allows more, because higher numbers do not make a core faster.

use super::operation::{Operation, with_operation};
use super::problem::Problem;
use super::table::{FAR_DISTANCE, Placement, SpecialisedTable, Table};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "random_access.sequential",
    summary: "RandomAccess on one process with its own table",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "Figures 4 and 5",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, METHOD, STREAMS, Q, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES, SEED,
    ],
    ranks: Ranks::One,
    simulation: None,
    refuse: refuse_many_streams,
    buffer_bytes: |point| bytes(values_stored(point) as u64 + STREAMS.of(point)),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

pub(super) const METHOD: Key<Method> = choice_key(
    "method",
    "method: look_ahead (generate values ahead and prefetch their words) or immediate (apply each update at once)",
);
choice! { pub(super) enum Method { LookAhead = "look_ahead", Immediate = "immediate" } }
pub(super) const STREAMS: Key<u64> =
    key("streams", "independent streams per process; the reference implementation has 128", integers(1..=1 << 16, 1));

pub(super) fn refuse_many_streams(point: &Point) -> Result<(), Refusal> {
    let (streams, words) = (STREAMS.of(point), N_WORDS.of(point));
    if streams > words {
        return Err(refusal!(
            ["streams", "N_words"],
            "streams = {streams} is more than the {words} words of the table; use fewer"
        ));
    }
    Ok(())
}

fn values_stored(point: &Point) -> usize {
    (Q.of(point) as usize).min(problem::LOOK_AHEAD_LIMIT)
}

pub(super) fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_local_table(point, STREAMS.of(point) as usize);
    let mut streams: Vec<_> =
        problem.own_streams.clone().map(|s| (problem.generator(s), problem.stream_updates(s))).collect();
    if METHOD.of(point) == Method::Immediate || problem.look_ahead == 1 {
        let rules = Rules { conformant: streams.len() <= problem::LOOK_AHEAD_LIMIT, ..Rules::STRICT };
        measure(comm, &problem, arena, rules, |table| match table.specialise(problem.pages) {
            SpecialisedTable::LowBits(table) => apply_immediately(table, &mut streams),
            SpecialisedTable::HighBits(table) => apply_immediately(table, &mut streams),
            SpecialisedTable::AnyPart(table) => apply_immediately(table, &mut streams),
        })
    } else {
        let mut values = vec![0; values_stored(point)];
        measure(comm, &problem, arena, Rules::STRICT, |table| match table.specialise(problem.pages) {
            SpecialisedTable::LowBits(table) => apply_with_look_ahead(table, &mut streams, &mut values),
            SpecialisedTable::HighBits(table) => apply_with_look_ahead(table, &mut streams, &mut values),
            SpecialisedTable::AnyPart(table) => apply_with_look_ahead(table, &mut streams, &mut values),
        })
    }
}

type Stream = (random_stream::Generator, u64);

/// As in Figures 4 and 5.
fn apply_immediately(mut table: Table<impl Placement>, streams: &mut [Stream]) -> Tally {
    let tally = Tally { stored: streams.len() as u64, buffer_bytes: bytes(streams.len() as u64), ..Tally::default() };
    if let [(generator, left)] = streams {
        // The compiler keeps a single stream in a register.
        let mut own = generator.clone();
        with_operation!(table.operation(), BY => (0..*left).for_each(|_| table.update_with(BY, own.next_u64())));
        return Tally { applied: *left, ..tally };
    }
    let common = streams.iter().map(|(_, left)| *left).min().unwrap_or(0);
    with_operation!(table.operation(), BY => {
        for _ in 0..common {
            streams.iter_mut().for_each(|(generator, _)| table.update_with(BY, generator.next_u64()));
        }
    });
    // The streams differ by a few updates if their number does not divide the table.
    for (generator, left) in streams.iter_mut() {
        (common..*left).for_each(|_| table.update(generator.next_u64()));
    }
    Tally { applied: streams.iter().map(|(_, left)| *left).sum(), ..tally }
}

/// The words of the last `ahead` values are prefetched while the others are applied.
fn apply_with_look_ahead(mut table: Table<impl Placement>, streams: &mut [Stream], values: &mut [u64]) -> Tally {
    let mut tally = Tally { stored: values.len() as u64, buffer_bytes: bytes(values.len() as u64), ..Tally::default() };
    let ahead = (values.len() / 2).min(FAR_DISTANCE);
    let mut waiting = 0;
    for (generator, left) in streams {
        while *left > 0 {
            let size = ((values.len() - ahead) as u64).min(*left) as usize;
            let end = waiting + size;
            generator.fill(&mut values[waiting..end]);
            table.apply_all_but(&values[..end], ahead);
            waiting = end.min(ahead);
            values.copy_within(end - waiting..end, 0);
            *left -= size as u64;
            tally.applied += size as u64;
        }
    }
    table.finish(&values[..waiting]);
    tally
}

/// As [`KERNEL`], on every rank at the same time.
pub static STAR: Kernel = Kernel {
    id: "random_access.star",
    summary: "RandomAccess on all processes simultaneously, each with its own table",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "tests, variant 2",
    parameters: parameters![
        OWN_WORDS, UPDATES, TIME_BOUND, METHOD, STREAMS, Q, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES, SEED,
    ],
    ranks: Ranks::Any,
    division: Division::EachRank,
    work: |point| work(problem::updates(point) as f64 * point.ranks as f64),
    arena_words: |point| N_WORDS.of(point),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..KERNEL
};
