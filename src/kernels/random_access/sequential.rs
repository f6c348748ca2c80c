//! NAME: random_access.sequential. One process and its own table: the bound of one core.
//!
//! SOURCE: HPC Challenge definition, Figures 4 (one stream) and 5 (many independent streams).
//! WORK: `immediate`: each value is generated and updates its word at once, the streams in turn. `look_ahead`: blocks
//!   of values are generated and their words asked for while the block before is applied, Q values in all.
//! DIFFERENCES: in `look_ahead` at most 128 values are on their way even if Q allows more, as more do not fit the
//!   first-level cache; streams follow one another block by block.

use super::problem::Problem;
use super::table::Table;
use super::*;
use crate::comm::Comm;
use crate::comm::arena::Arena;
use crate::on_transport;

pub const KERNEL: Algorithm = Algorithm {
    about: &about(
        "random_access.sequential",
        "RandomAccess on one process: a table of its own",
        &source::HPCC_RANDOM_ACCESS,
        "Figures 4 and 5",
        Ranks::One,
        &[N_WORDS, UPDATES, METHOD, STREAMS, Q, STREAM, STARTS, OFFSET, PAGES, SEED],
    ),
    shared: true,
    refuse: enough_words,
    buffers: |point| 2 * BLOCK as u64 + point.integer("streams"),
    run: |point, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

pub(super) const METHOD: Parameter = parameter(
    "method",
    "method",
    "method: values looked ahead and their words prefetched, or every update made at once",
    Domain::Choice(&["look_ahead", "immediate"]),
);
pub(super) const STREAMS: Parameter = parameter(
    "streams",
    "streams",
    "streams: independent streams of a process; the reference implementation has 128",
    Domain::Integer { least: 1, most: 1 << 16, default: 1 },
);

pub(super) fn enough_words(point: &Point) -> std::result::Result<(), String> {
    let (streams, words) = (point.integer("streams"), point.integer("N_words"));
    if streams > words {
        return Err(format!("streams = {streams} are more than the {words} words of the table; use fewer"));
    }
    Ok(())
}

/// Values of a block; two are stored.
const BLOCK: usize = 64;

/// Runs on this rank alone; also what `star` does on every rank.
pub(super) fn run<C: Comm>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::local(point, point.integer("streams") as usize);
    let mut streams: Vec<_> = problem.mine.clone().map(|s| (problem.generator(s), problem.share(s))).collect();
    if point.text("method") == "immediate" || problem.look_ahead == 1 {
        let rules = Rules { conformant: streams.len() <= problem::LOOK_AHEAD_LIMIT, ..Rules::STRICT };
        measure(comm, &problem, arena, rules, |table| immediate(table, &mut streams))
    } else {
        let mut values = vec![0; problem.look_ahead.min(2 * BLOCK)];
        measure(comm, &problem, arena, Rules::STRICT, |table| look_ahead(table, &mut streams, &mut values))
    }
}

type Stream = (stream::Generator, u64);

/// Figures 4 and 5.
fn immediate(table: &mut Table, streams: &mut [Stream]) -> Tally {
    let tally = Tally { stored: streams.len() as u64, buffers: streams.len() as u64, ..Tally::default() };
    if let [(generator, left)] = streams {
        // The compiler keeps a single stream in a register.
        let mut own = generator.clone();
        (0..*left).for_each(|_| table.update(own.next()));
        return Tally { applied: *left, ..tally };
    }
    let common = streams.iter().map(|(_, left)| *left).min().unwrap_or(0);
    for _ in 0..common {
        streams.iter_mut().for_each(|(generator, _)| table.update(generator.next()));
    }
    // Shares differ by a few updates where the streams do not divide the table.
    for (generator, left) in streams.iter_mut() {
        (common..*left).for_each(|_| table.update(generator.next()));
    }
    Tally { applied: streams.iter().map(|(_, left)| *left).sum(), ..tally }
}

/// While one half of `values` is applied, the words of the other half are on their way.
fn look_ahead(table: &mut Table, streams: &mut [Stream], values: &mut [u64]) -> Tally {
    let mut tally = Tally { stored: values.len() as u64, buffers: values.len() as u64, ..Tally::default() };
    let half = values.len() / 2;
    let (mut coming, mut current) = values.split_at_mut(half);
    let mut waiting = 0;
    for (generator, left) in streams {
        while *left > 0 {
            let size = (half as u64).min(*left) as usize;
            generator.fill(&mut coming[..size]);
            coming[..size].iter().for_each(|&value| table.prefetch(value));
            current[..waiting].iter().for_each(|&value| table.update(value));
            std::mem::swap(&mut coming, &mut current);
            *left -= size as u64;
            tally.applied += size as u64;
            waiting = size;
        }
    }
    current[..waiting].iter().for_each(|&value| table.update(value));
    tally
}
