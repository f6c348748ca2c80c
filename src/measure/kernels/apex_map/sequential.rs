//! NAME: apex_map.sequential. One process, local memory only: the surface of the processor and its memory.
//!
//! SOURCE: Strohmaier and Shan, Section 2 and Table 1 (left column without remote data).

use super::draw::Location;
use super::timing::{Arrays, Tally, time};
use super::{ALPHA, HEADLINE, I, L, M, METHOD, N, OUTPUTS, PAGES, SEED, Variant, memory, sum_all};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::Arena;
use crate::measure::kernels::{About, Outcome, Ranks};
use crate::on_transport;
use crate::point::Point;
use crate::source;

const ABOUT: About = About {
    id: "apex_map.sequential",
    summary: "Apex-Map on one process: sums of blocks of local memory",
    source: &source::APEX_MAP,
    place: "Section 2, Table 1",
    parameters: &[M, ALPHA, L, I, N, PAGES, SEED],
    outputs: OUTPUTS,
    ranks: Ranks::One,
    headline: HEADLINE,
    method: METHOD,
};

pub const SEQUENTIAL: Variant = Variant {
    about: &ABOUT,
    arrays: Arrays::OneByOne,
    buffers: |_| 0,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};

fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let block = point.integer("L") as usize;
    Ok(time(comm, (point, stream), (memory, granted), Arrays::OneByOne, |locations| {
        let sum = sum_located(memory, locations, block);
        let end = comm.now();
        Tally { sum, own_end: end, end, ..Tally::default() }
    }))
}

fn sum_located(memory: &[u64], locations: &[Location], block: usize) -> u64 {
    // SAFETY: Location is transparent over u64; on one rank the owner is 0, so that a location is its offset.
    let offsets = unsafe { std::slice::from_raw_parts(locations.as_ptr().cast::<u64>(), locations.len()) };
    sum_all(memory, offsets, block)
}
