//! The cycle through the lines has the order of a linear congruential generator of full period. An operation is one step of all
//! chases, so its time is the latency under the load of the outstanding accesses of all ranks.

use super::chain::Chain;
use super::parts::{self, Parts};
use super::*;
use crate::numerics::gf2::lcg;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.chase",
    summary: "Latency of memory: dependent accesses, in one or several concurrent chases",
    place: "lat_mem_rd of lmbench",
    parameters: parameters![BYTES, PAGES, CHASES, STEPS],
    outputs: &OUTPUTS,
    method: "Every rank follows a cycle through all cache lines of its region, in one or several concurrent chases; \
        each line holds the address of the next one. The chases continue in parts of the same length until two \
        consecutive parts take the same time, within 2 %; the last part counts. The time is that of the slowest \
        rank. The end of each chase was compared with the generator of the cycle. The region was traversed once \
        before, so the caches hold as much of it as fits.",
    refuse: |point| {
        check_region(point)?;
        require_power_of_two(point, CHASES)?;
        match (CHASES.of(point), lines(point)) {
            (chases, lines) if chases > lines => {
                Err(refusal!(["chases", "bytes"], "chases = {chases} are more than the {lines} lines; use fewer"))
            }
            _ => Ok(()),
        }
    },
    work: |point| {
        let accesses = STEPS.of(point).saturating_mul(CHASES.of(point));
        work_per_rank(point, accesses, "access", 8 * line_words() as u64, "one cache line per access")
    },
    arena_words: region_words,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const CHASES: Key<u64> = key("chases", "concurrent pointer chases per rank, a power of two", integers(1..=64, 1));
const STEPS: Key<u64> = key("steps", "accesses per chase in each part of a run", integers(1..=1 << 32, 1 << 20));
const OUTPUTS: [Output; 5] =
    [MEMORY_OUTPUTS[0], parts::OUTPUTS[0], parts::OUTPUTS[1], MEMORY_OUTPUTS[1], MEMORY_OUTPUTS[2]];
/// A generator modulo a power of two that visits all numbers (Knuth, 3.2.1.2, Theorem A): the multiplier is 1 modulo 4, the
/// increment odd.
const INCREMENT: u64 = 0x1405_7b7e_f767_814f;

pub fn lines(point: &Point) -> u64 {
    region_words(point) / line_words() as u64
}

/// Returns the line that is `steps` steps after another one, with 2^n lines.
pub fn jump(line: u64, steps: u64, lines: u64) -> u64 {
    // The summand of a leap is that of the increment 1.
    let (factor, summand) = lcg::leap(steps);
    line.wrapping_mul(factor).wrapping_add(summand.wrapping_mul(INCREMENT)) & (lines - 1)
}

#[derive(Clone, Copy)]
pub struct Cycle {
    lines: u64,
}

impl Cycle {
    pub fn from_point(point: &Point) -> Self {
        Self { lines: lines(point) }
    }

    pub fn place(self, line: u64, steps: u64) -> u64 {
        jump(line, steps, self.lines) * line_words() as u64
    }

    /// The first word of each line holds the address of the next line.
    pub fn chain<'a>(self, point: &Point, arena: &'a mut Arena) -> Result<(Chain<'a>, &'a [u64])> {
        let contents = seed(&[u64::from_be_bytes(*b"chain   "), self.lines]);
        let content = |first: usize, place: usize| match place % line_words() {
            0 => first as u64 + self.place((place / line_words()) as u64, 1) * WORD_BYTES,
            _ => 0,
        };
        let pages = PAGES.of(point);
        let (words, _) = arena.words_with_addresses(pages, region_words(point) as usize, contents, content)?;
        let chain = Chain::new(words).ok_or_else(|| {
            Error::measurement(
                "a line of the chase's region holds no address of the region: its memory was overwritten",
                "test this machine's memory; if it has no fault, report this as a bug",
            )
        })?;
        Ok((chain, words))
    }
}

pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cycle, steps, chases) = (Cycle::from_point(point), STEPS.of(point), CHASES.of(point));
    let (chain, words) = cycle.chain(point, arena)?;
    let starts: Vec<u64> = (0..chases).map(|chase| lines(point) / chases * chase).collect();
    let mut places: Vec<u64> = starts.iter().map(|&start| cycle.place(0, start)).collect();
    prime(comm, words);
    let (mut parts, mut done) = (Parts::new(0.0), 0);
    let seconds = loop {
        comm.barrier();
        let start = comm.wall_time();
        chain.follow(&mut places, black_box(steps));
        let seconds = comm.wall_time() - start;
        done += steps;
        if !parts.record_part_on_all(comm, seconds, comm.wall_time() - start) {
            break seconds;
        }
    };
    let ends = places.iter().zip(&starts);
    let faults = ends.filter(|&(place, start)| *place != cycle.place(0, start + done)).count() as u64;
    let mut outcome = gather_outcome(comm, seconds, steps as f64, faults, "chases did not end where they should");
    outcome.outputs.extend(parts.outputs());
    Ok(outcome)
}
