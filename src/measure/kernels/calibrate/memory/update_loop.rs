//! NAME: calibrate.loop. The time of RandomAccess's loop without its table: the models' tos.
//!
//! DEFINITION: a loop over `values` values of the random stream, generated in batches of 1024 while the clock is stopped. The
//!   loop computes the index of each value and keeps it in a register, but accesses no table.
//! CHECK: the sum of all indices, against that of another loop.

use super::{BATCH, FAMILY, VALUES, generate, work_per_rank};
use crate::comm::Collectives;
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::updates::random_stream::{Generator, Index, StreamKind};
use crate::kernels::{Kernel, Outcome, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use std::hint::black_box;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.loop",
    summary: "Time of the loop of RandomAccess without its table (tos)",
    place: "Section 3.1, tos",
    parameters: parameters![VALUES],
    method: "For values generated before, every rank computes the index of each in a table of 2^30 words that is never \
        accessed, 1024 values between two clock readings; the time is that of the slowest rank. The sum of all \
        indices was compared with that of another loop.",
    work: |point| {
        work_per_rank(point, generate::batch_count(point).saturating_mul(BATCH as u64), "value", 8, "8 per value")
    },
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

/// Size of the fictitious table, as a power of two of words.
const TABLE_BITS: u32 = 30;

/// Runs the kernel on all ranks. Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let (index, mut generator) =
        (Index::new(StreamKind::Lfsr, TABLE_BITS), Generator::starting_after(StreamKind::Lfsr, 0));
    let (mut values, mut seconds, mut wrong) = ([0; BATCH], 0.0, 0);
    comm.barrier();
    for _ in 0..generate::batch_count(point) {
        generator.fill(&mut values);
        let start = comm.wall_time();
        let found_sum =
            black_box(&values).iter().fold(0, |sum: u64, &value| sum.wrapping_add(black_box(index.word(value))));
        seconds += comm.wall_time() - start;
        wrong += u64::from(found_sum != values.iter().map(|value| index.word(*value)).sum::<u64>());
    }
    let count = generate::batch_count(point).saturating_mul(BATCH as u64);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches have wrong indices"))
}
