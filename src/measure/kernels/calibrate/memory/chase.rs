//! NAME: calibrate.chase. The latency of memory: dependent accesses, each of which holds the address of the next.
//!
//! SOURCE: lmbench's lat_mem_rd.
//! DEFINITION: a region of `bytes` bytes is one cycle through all of its 64-byte lines, in the order of a linear
//!   congruential generator of full period. `chases` pointer chases run concurrently, from equally spaced starts on the
//!   cycle, with `steps` accesses each; an operation is one step of all chases, so its time is the latency under the
//!   load of the outstanding accesses of all ranks.
//! CHECK: where each chase ends, against the generator's own jump.

use super::{BYTES, PAGES, about, each, power_of_two, prime, region_words};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::{Arena, Pages};
use crate::measure::kernels::calibrate::{Probe, outcome};
use crate::measure::kernels::{Domain, Outcome, Parameter, no_rings, parameter};
use crate::measure::numerics::mix::seed;
use crate::on_transport;
use crate::point::Point;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &about(
        "calibrate.chase",
        "Latency of memory: dependent accesses, in one or several concurrent chases",
        "lat_mem_rd of lmbench",
        &[BYTES, PAGES, CHASES, STEPS],
        "Every rank follows a cycle through all 64-byte lines of its region, reading the next address from each \
         line, in one or several concurrent chases. The time is that of the slowest rank. The end of each chase was \
         compared with the generator of the cycle. The region was traversed once before, so the caches hold as much \
         of it as fits.",
    ),
    refuse: |point| {
        power_of_two(point)?;
        match (point.integer("chases"), lines(point)) {
            (chases, _) if !chases.is_power_of_two() => {
                Err(format!("chases = {chases} is not a power of two; use {}", chases.next_power_of_two()))
            }
            (chases, lines) if chases > lines => {
                Err(format!("chases = {chases} are more than the {lines} lines; use fewer"))
            }
            _ => Ok(()),
        }
    },
    work: |point| {
        let accesses = point.integer("steps") * point.integer("chases");
        each(point, accesses, "access", 64, "one 64-byte line per access")
    },
    words: region_words,
    buffers: |_| 0,
    rings: no_rings,
    in_order: false,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

const CHASES: Parameter = parameter(
    "chases",
    "chases",
    "concurrent pointer chases per rank, a power of two",
    Domain::Integer { least: 1, most: 64, default: 1 },
);
const STEPS: Parameter = parameter(
    "steps",
    "steps",
    "accesses per chase in one run",
    Domain::Integer { least: 1, most: 1 << 32, default: 1 << 20 },
);
pub const LINE_WORDS: u64 = 8;
/// Of a generator modulo a power of two that goes through all numbers (Knuth, 3.2.1.2, Theorem A): 1 modulo 4, and odd.
const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;
const INCREMENT: u64 = 0x1405_7b7e_f767_814f;

fn lines(point: &Point) -> u64 {
    region_words(point) / LINE_WORDS
}

/// The line this many steps after another, of 2^n lines: repeated squaring of the step.
pub fn jump(from: u64, mut steps: u64, lines: u64) -> u64 {
    let (mut a, mut c) = (MULTIPLIER, INCREMENT);
    let (mut factor, mut add) = (1u64, 0u64);
    while steps > 0 {
        if steps & 1 == 1 {
            (factor, add) = (factor.wrapping_mul(a), add.wrapping_mul(a).wrapping_add(c));
        }
        (a, c) = (a.wrapping_mul(a), c.wrapping_mul(a).wrapping_add(c));
        steps >>= 1;
    }
    from.wrapping_mul(factor).wrapping_add(add) & (lines - 1)
}

/// The cycle through the lines of a point's region.
#[derive(Clone, Copy)]
pub struct Cycle {
    lines: u64,
}

impl Cycle {
    pub fn of(point: &Point) -> Self {
        Self { lines: lines(point) }
    }

    /// The place of the word that a chase from this line on has come to after so many steps.
    pub fn place(self, line: u64, steps: u64) -> u64 {
        jump(line, steps, self.lines) * LINE_WORDS
    }

    /// The region: the first word of each line holds the place of the next one's.
    pub fn words<'a>(self, point: &Point, arena: &'a mut Arena) -> Result<&'a [u64]> {
        let contents = seed(&[u64::from_be_bytes(*b"chase   "), self.lines]);
        let next = |place: usize| match place as u64 % LINE_WORDS {
            0 => self.place(place as u64 / LINE_WORDS, 1),
            _ => 0,
        };
        let pages = Pages::from_name(point.text("pages"));
        Ok(arena.words(pages, region_words(point) as usize, contents, next)?.0)
    }
}

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cycle, steps, chases) = (Cycle::of(point), point.integer("steps"), point.integer("chases"));
    let words = cycle.words(point, arena)?;
    let starts: Vec<u64> = (0..chases).map(|chase| lines(point) / chases * chase).collect();
    let mut places: Vec<u64> = starts.iter().map(|&start| cycle.place(0, start)).collect();
    prime(comm, words);
    comm.barrier();
    let start = comm.now();
    follow(words, &mut places, black_box(steps));
    let seconds = comm.now() - start;
    let ends = places.iter().zip(&starts);
    let wrong = ends.filter(|&(place, start)| *place != cycle.place(0, start + steps)).count() as u64;
    Ok(outcome(comm, seconds, steps as f64, wrong, "chases did not end where they should"))
}

/// As many chases as places, each by so many steps.
pub fn follow(words: &[u64], places: &mut [u64], steps: u64) {
    match places.len() {
        1 => together::<1>(words, places, steps),
        2 => together::<2>(words, places, steps),
        4 => together::<4>(words, places, steps),
        8 => together::<8>(words, places, steps),
        16 => together::<16>(words, places, steps),
        32 => together::<32>(words, places, steps),
        _ => together::<64>(words, places, steps),
    }
}

fn together<const CHASES: usize>(words: &[u64], places: &mut [u64], steps: u64) {
    let Ok(mut at) = <[u64; CHASES]>::try_from(&*places) else { return };
    for _ in 0..steps {
        at.iter_mut().for_each(|place| *place = words[*place as usize]);
    }
    places.copy_from_slice(&at);
}
