//! NAME: calibrate.loop. The time of RandomAccess's loop by itself: the models' tos.
//!
//! DEFINITION: a loop over `values` values of the random stream, generated off the clock in batches of 1024, which finds the
//!   place of each in a table and stores it in a register's stead, but touches no table.
//! CHECK: the sum of all places, against that of another loop.

use super::{BATCH, VALUES, about, each, generate};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::kernels::Outcome;
use crate::measure::kernels::calibrate::{Probe, outcome};
use crate::measure::kernels::random_access::random_stream::{Generator, Index, Kind};
use crate::on_transport;
use crate::point::Point;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &about(
        "calibrate.loop",
        "Time of the loop of RandomAccess without its table (tos)",
        "Section 3.1, tos",
        &[VALUES],
        "Every rank goes through values that were generated before and finds the place of each in a table of 2^30 words, 1024 \
         between two readings of the clock, without any table; the time is that of the slowest rank. The sum of all places \
         was compared with that of another loop.",
    ),
    refuse: |_| Ok(()),
    work: |point| each(point, generate::batches(point) * BATCH as u64, "value", 8, "8 a value"),
    words: |_| 0,
    buffers: |_| 0,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
};

/// Of the table that there could be.
const BITS: u32 = 30;

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let (index, mut generator) = (Index::new(Kind::Lfsr, BITS), Generator::after(Kind::Lfsr, 0));
    let (mut values, mut seconds, mut wrong) = ([0; BATCH], 0.0, 0);
    comm.barrier();
    for _ in 0..generate::batches(point) {
        generator.fill(&mut values);
        let start = comm.now();
        let found = black_box(&values).iter().fold(0, |sum: u64, &value| sum.wrapping_add(black_box(index.of(value))));
        seconds += comm.now() - start;
        wrong += u64::from(found != values.iter().map(|value| index.of(*value)).sum::<u64>());
    }
    let count = generate::batches(point) * BATCH as u64;
    Ok(outcome(comm, seconds, count as f64, wrong, "batches have wrong places"))
}
