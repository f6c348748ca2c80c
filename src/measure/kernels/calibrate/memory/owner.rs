//! NAME: calibrate.owner. The time to find the owner of a word: by integer division, or by multiplication and correction.
//!   correction.
//!
//! SOURCE: Aggarwal, Sabharwal, Garg and Heidelberger, Section 4.4, Theorem 4.1.
//! DEFINITION: the owners of `values` values of the random stream, in a table of 2^30 words divided among `owners` owners. Values
//!   are generated in batches of 1024 while the clock is stopped. An operation finds one owner.
//! CHECK: the sum of all owners, against a binary search among the owners' first words.

use super::{BATCH, FAMILY, VALUES, generate, work_per_rank};
use crate::choice::choice;
use crate::comm::Collectives;
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::updates::layout::{Layout, Owners};
use crate::kernels::shared::updates::random_stream::{Generator, Index, StreamKind};
use crate::kernels::{Domain, Kernel, Key, Outcome, choice_key, key, parameters};
use crate::on_transport;
use crate::refusal;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use std::hint::black_box;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.owner",
    summary: "Time to find a word's owner, by division or by prediction",
    place: "Section 4.4",
    parameters: parameters![OWNER_BY, OWNERS, VALUES],
    method: "Every rank finds the owners of values that were generated before, 1024 between two clock readings; the time \
        is that of the slowest rank. The sum of all owners was compared with that of a binary search.",
    refuse: |point| match (OWNER_BY.of(point), OWNERS.of(point)) {
        (OwnerBy::Shift, owners) if !owners.is_power_of_two() => Err(refusal!(
            ["owner_by", "owners"],
            "owner_by = \"shift\" needs a number of owners that is a power of two, not {owners}"
        )),
        _ => Ok(()),
    },
    work: |point| {
        work_per_rank(point, generate::batch_count(point).saturating_mul(BATCH as u64), "owner", 8, "8 per value")
    },
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

const OWNER_BY: Key<OwnerBy> = choice_key(
    "owner_by",
    "owner_by",
    "method to find a word's owner: division, prediction (multiplication and correction), or shift (owners a power of \
     two)",
);
choice! { enum OwnerBy { Division = "division", Prediction = "prediction", Shift = "shift" } }
const OWNERS: Key<u64> = key(
    "owners",
    "owners",
    "number of owners that divide the table of 2^30 words",
    Domain::Integer { min: 1, max: 1 << 20, default: 96 },
);
const TABLE_BITS: u32 = 30;

/// Runs the kernel on all ranks. Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let layout = Layout::new(TABLE_BITS, OWNERS.of(point) as usize);
    let owners = match OWNER_BY.of(point) {
        OwnerBy::Division => Owners::Division(layout),
        OwnerBy::Prediction => Owners::Prediction(layout),
        OwnerBy::Shift => Owners::cheapest(layout),
    };
    let first_words: Vec<u64> = (0..layout.parts()).map(|part| layout.first(part)).collect();
    let (index, mut generator) =
        (Index::new(StreamKind::Lfsr, TABLE_BITS), Generator::starting_after(StreamKind::Lfsr, 0));
    let (mut words, mut seconds, mut wrong) = ([0; BATCH], 0.0, 0);
    comm.barrier();
    for _ in 0..generate::batch_count(point) {
        generator.fill(&mut words);
        words.iter_mut().for_each(|word| *word = index.word(*word));
        let start = comm.wall_time();
        let found_sum = black_box(&words).iter().map(|&word| owners.owner(word)).sum::<usize>();
        seconds += comm.wall_time() - start;
        let expected: usize = words.iter().map(|word| first_words.partition_point(|first| first <= word) - 1).sum();
        wrong += u64::from(found_sum != expected);
    }
    let count = generate::batch_count(point).saturating_mul(BATCH as u64);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches have wrong owners"))
}
