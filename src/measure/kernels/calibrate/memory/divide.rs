//! NAME: calibrate.divide. The time to divide an update among ranks, without generating or sending it.
//!
//! SOURCE: Plimpton et al., Section 2: "processors must scan the Q datums at each stage to decide which to keep and which to send".
//! DEFINITION: `values` values of the random stream, in batches of 1024 that are generated while the clock is stopped. For partners:
//!   each batch is divided into a list to keep and a list to send, as in a stage of `random_access.hypercube`. For owners: each batch
//!   is sorted by the `owners` owners of its words, as in `random_access.alltoallv`. The table has 2^30 words.
//! CHECK: the lists of each batch have all of its values, each in the right list.

use super::{BATCH, FAMILY, VALUES, generate, work_per_rank};
use crate::choice::choice;
use crate::comm::Collectives;
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::updates::division::divide;
use crate::kernels::shared::updates::layout::{Layout, Owners};
use crate::kernels::shared::updates::random_stream::{Generator, Index, StreamKind};
use crate::kernels::shared::updates::recursive_halving::Stage;
use crate::kernels::shared::updates::round_lists::RoundLists;
use crate::kernels::{Domain, Kernel, Key, Outcome, choice_key, key, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use std::hint::black_box;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.divide",
    summary: "Time to divide an update between the partners of an exchange, or to sort it by owner",
    place: "Section 4.2",
    parameters: parameters![DIVIDED_FOR, OWNERS, VALUES],
    method: "Every rank divides values that were generated before, 1024 between two clock readings; the time is that of the slowest \
        rank. The lists had to hold all values, each in the right list.",
    work: |point| {
        work_per_rank(point, generate::batch_count(point).saturating_mul(BATCH as u64), "update", 8, "8 per update")
    },
    buffer_bytes: |point| 16 * OWNERS.of(point),
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

const DIVIDED_FOR: Key<DividedFor> = choice_key(
    "divided_for",
    "divided_for",
    "partners (lists to keep and to send, as in the hypercube) or owners (sorted by owner, as in an all-to-all)",
);
choice! { enum DividedFor { Partners = "partners", Owners = "owners" } }
const OWNERS: Key<u64> = key(
    "owners",
    "owners",
    "number of owners that divide the table of 2^30 words, for owners only",
    Domain::Integer { min: 1, max: 1 << 20, default: 96 },
);
const TABLE_BITS: u32 = 30;

/// Runs the kernel on all ranks. Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let index = Index::new(StreamKind::Lfsr, TABLE_BITS);
    let (seconds, wrong) = match DIVIDED_FOR.of(point) {
        DividedFor::Partners => divide_between_partners(comm, point, index),
        DividedFor::Owners => sort_by_owner(comm, point, index),
    };
    let count = generate::batch_count(point).saturating_mul(BATCH as u64);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches are divided wrongly"))
}

/// Returns the seconds of all divisions and the number of wrong batches.
fn divide_between_partners<C: Collectives>(comm: &C, point: &Point, index: Index) -> (f64, u64) {
    let stage = Stage { boundary: 1 << (TABLE_BITS - 1), upper: false, peers: vec![1], first_share: (1, 1) };
    let mut generator = Generator::starting_after(StreamKind::Lfsr, 0);
    let (mut values, mut keep, mut send) = ([0; BATCH], Vec::new(), Vec::new());
    let (mut seconds, mut wrong) = (0.0, 0);
    comm.barrier();
    for _ in 0..generate::batch_count(point) {
        generator.fill(&mut values);
        keep.clear();
        send.clear();
        let start = comm.wall_time();
        divide(black_box(&values), index, &stage, &mut keep, &mut send);
        seconds += comm.wall_time() - start;
        let xor = keep.iter().chain(&send).fold(0, |sum, value| sum ^ value);
        let is_right = keep.len() + send.len() == BATCH
            && xor == values.iter().fold(0, |xor, value| xor ^ value)
            && keep.iter().all(|&value| stage.keeps(index.word(value)))
            && !send.iter().any(|&value| stage.keeps(index.word(value)));
        wrong += u64::from(!is_right);
    }
    (seconds, wrong)
}

/// As [`divide_between_partners`], for a sort by owner.
fn sort_by_owner<C: Collectives>(comm: &C, point: &Point, index: Index) -> (f64, u64) {
    let layout = Layout::new(TABLE_BITS, OWNERS.of(point) as usize);
    let owners = Owners::cheapest(layout);
    let owner = |value: u64| owners.owner(index.word(value));
    let mut generator = Generator::starting_after(StreamKind::Lfsr, 0);
    let mut lists = RoundLists::new(BATCH, layout.parts());
    let (mut seconds, mut wrong) = (0.0, 0);
    comm.barrier();
    for _ in 0..generate::batch_count(point) {
        generator.fill(&mut lists.values);
        let start = comm.wall_time();
        lists.sort(BATCH, owner);
        seconds += comm.wall_time() - start;
        let sum = |values: &[u64]| values.iter().fold(0, |xor, value| xor ^ value);
        let is_right = sum(&lists.sorted) == sum(&lists.values)
            && lists.sorted.is_sorted_by_key(|&value| owner(value))
            && lists.counts.iter().sum::<usize>() == BATCH;
        wrong += u64::from(!is_right);
    }
    (seconds, wrong)
}
