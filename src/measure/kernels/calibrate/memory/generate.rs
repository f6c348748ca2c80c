//! NAME: calibrate.generate. The time to generate a value of RandomAccess's stream (tg).
//!
//! DEFINITION: `values` values of the shift register, in batches of 1024, as RandomAccess with look-ahead generates them.
//! CHECK: the last value, against the jump to its position in the stream.

use super::{BATCH, FAMILY, VALUES, work_per_rank};
use crate::comm::Collectives;
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::updates::random_stream::{Generator, StreamKind};
use crate::kernels::{Kernel, Outcome, parameters};
use crate::numerics::gf2;
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use std::hint::black_box;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.generate",
    summary: "Time to generate a value of the random stream",
    place: "Section 3.1, tg",
    parameters: parameters![VALUES],
    method: "Every rank generates values of the shift register in batches of 1024; the time is that of the slowest rank. \
        The last value was compared with a jump to its position in the stream.",
    work: |point| work_per_rank(point, batch_count(point).saturating_mul(BATCH as u64), "value", 8, "8 per value"),
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

pub fn batch_count(point: &Point) -> u64 {
    VALUES.of(point).div_ceil(BATCH as u64)
}

/// Runs the kernel on all ranks. Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let (mut generator, mut values) = (Generator::starting_after(StreamKind::Lfsr, 0), [0; BATCH]);
    let count = batch_count(point).saturating_mul(BATCH as u64);
    comm.barrier();
    let start = comm.wall_time();
    for _ in 0..batch_count(point) {
        generator.fill(black_box(&mut values));
    }
    let seconds = comm.wall_time() - start;
    let wrong = u64::from(values[BATCH - 1] != gf2::value_at(count));
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "ranks ended at a wrong value"))
}
