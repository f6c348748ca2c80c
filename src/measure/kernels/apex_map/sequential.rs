//! DIFFERENCES from the paper, which only reads: a chosen fraction of the blocks may be written, updated, copied, or
//! written past the caches. An access writes its own number, so that all writes differ.

use super::access::{self, ACCESS, Access, WRITE_SHARE, traffic};
use super::access_all::access_all;
use super::draw::Location;
use super::tally::PassTally;
use super::timing::{Arrays, time};
use super::writes::{self, ALL_OUTPUTS};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "apex_map.sequential",
    summary: "Apex-Map on one process: blocks of local memory, read or written",
    place: "Section 2, Table 1",
    parameters: parameters![M, ALPHA, L, I, N, ACCESS, WRITE_SHARE, PAGES, SEED],
    outputs: &ALL_OUTPUTS,
    ranks: Ranks::One,
    plain_way: Some(""),
    refuse: access::check,
    // Offsets of the blocks, one word per access.
    buffer_bytes: |point| {
        let reads = Access::of(point) == Access::Read;
        let blocks = if reads { 0 } else { I.of(point).div_ceil(L.of(point)) };
        buffer_bytes(point, Arrays::OneByOne, blocks)
    },
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    if Access::of(point) != Access::Read {
        return writes::run(comm, (point, stream), arena, access_all);
    }
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let block = L.of(point) as usize;
    let mut outcome = time(comm, (point, stream), (memory, granted), Arrays::OneByOne, |locations| {
        let sum = sum_all(memory, Location::offsets(locations), block);
        let end = comm.wall_time();
        PassTally { sum, own_end: end, end, ..PassTally::default() }
    });
    let accesses = I.of(point) as f64 * N.of(point) as f64;
    outcome.outputs.extend(traffic(point, accesses, outcome.seconds));
    Ok(outcome)
}
