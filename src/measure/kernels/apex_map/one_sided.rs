//! NAME: apex_map.one_sided. Remote data by gets from a window: no rank serves another.
//!
//! SOURCE: Strohmaier and Shan, Section 4: the announced implementation in one-sided models (SHMEM, UPC), here with
//!   MPI's windows, and Table 1 (left column). Up to B gets are outstanding; they are summed in the order of their
//!   arrival.

use super::{
    ALPHA, B, Draw, HEADLINE, I, L, Location, M, METHOD, N, OUTPUTS, PAGES, SEED, Sum, Tally, Variant, adder, memory,
    time,
};
use crate::error::Result;
use crate::measure::comm::arena::Arena;
use crate::measure::comm::{GetWindow, Rma};
use crate::measure::kernels::{About, Outcome, Ranks};
use crate::on_transport;
use crate::point::Point;
use crate::source;

const ABOUT: About = About {
    id: "apex_map.one_sided",
    summary: "Apex-Map by one-sided gets: one get per remote block",
    source: &source::APEX_MAP,
    place: "Section 4, Table 1",
    parameters: &[M, ALPHA, L, I, N, B, PAGES, SEED],
    outputs: OUTPUTS,
    ranks: Ranks::Any,
    headline: HEADLINE,
    method: METHOD,
};

pub const ONE_SIDED: Variant = Variant {
    about: &ABOUT,
    buffers: |point| point.integer("B"),
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};

fn run<C: Rma>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let draw = Draw::new(point, comm.rank(), stream);
    let block = point.integer("L") as usize;
    Ok(comm.get_window(memory, point.integer("B") as usize, block, |mut window| {
        time(comm, &draw, granted, |locations| pass(comm, memory, block, &mut window, locations))
    }))
}

/// Table 1, left column, for all index arrays.
fn pass<C: Rma>(comm: &C, memory: &[u64], block: usize, window: &mut impl GetWindow, locations: &[Location]) -> Tally {
    let mut tally = Tally::default();
    let (mut sum, add, mut outstanding) = (Sum::new(block), adder(), 0);
    for &location in locations {
        if location.owner() == comm.rank() {
            add(&mut sum, &memory[location.offset()..][..block]);
        } else {
            while !window.get(location.owner(), location.offset(), block) {
                match window.take(|words| add(&mut sum, words)) {
                    Some(()) => outstanding -= 1,
                    None => comm.relax(),
                }
            }
            outstanding += 1;
            tally.remote += 1;
        }
        while window.take(|words| add(&mut sum, words)).is_some() {
            outstanding -= 1;
        }
    }
    while outstanding > 0 {
        match window.take(|words| add(&mut sum, words)) {
            Some(()) => outstanding -= 1,
            None => comm.relax(),
        }
    }
    tally.own_end = comm.now();
    comm.barrier();
    tally.sum = sum.total();
    tally
}
