//! The parts of an update of RandomAccess.

use super::*;
use crate::kernels::shared::updates::division::divide;
use crate::kernels::shared::updates::layout::{Layout, Owners};
use crate::kernels::shared::updates::random_stream::{COMMON_OFFSET, Generator, Index, StreamKind};
use crate::kernels::shared::updates::recursive_halving::Stage;
use crate::kernels::shared::updates::round_lists::RoundLists;
use crate::kernels::shared::updates::table::Table;
use crate::numerics::gf2;

/// The table exists only in [`UPDATE`].
const TABLE_BITS: u32 = 30;
const OWNERS: Key<u64> =
    key("owners", "number of owners that divide the table of 2^30 words", integers(1..=1 << 20, 96));

fn batch_count(point: &Point) -> u64 {
    VALUES.of(point).div_ceil(BATCH as u64)
}

fn value_count(point: &Point) -> u64 {
    batch_count(point).saturating_mul(BATCH as u64)
}

pub static GENERATE: Kernel = Kernel {
    id: "calibrate.generate",
    summary: "Time to generate a value of the random stream",
    place: "Section 3.1, tg",
    parameters: parameters![VALUES],
    method: "Every rank generates values of the shift register in batches of 1024; the time is that of the slowest rank. \
        The last value was compared with a jump to its position in the stream.",
    work: |point| work_per_rank(point, value_count(point), "value", 8, "8 per value"),
    run: |point, _, world| on_transport!(world.transport, comm => generate(comm, point)),
    ..FAMILY
};

fn generate<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let (mut generator, mut values) = (Generator::starting_after(StreamKind::Lfsr, 0), [0; BATCH]);
    let count = value_count(point);
    comm.barrier();
    let start = comm.wall_time();
    for _ in 0..batch_count(point) {
        generator.fill(black_box(&mut values));
    }
    let seconds = comm.wall_time() - start;
    let wrong = u64::from(values[BATCH - 1] != gf2::value_at(count));
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "ranks ended at a wrong value"))
}

pub static LOOP: Kernel = Kernel {
    id: "calibrate.loop",
    summary: "Time of the loop of RandomAccess without its table (tos)",
    place: "Section 3.1, tos",
    parameters: parameters![VALUES],
    method: "For values generated before, every rank computes the index of each in a table of 2^30 words that is never \
        accessed, 1024 values between two clock readings; the time is that of the slowest rank. The sum of all \
        indices was compared with that of another loop.",
    work: |point| work_per_rank(point, value_count(point), "value", 8, "8 per value"),
    run: |point, _, world| on_transport!(world.transport, comm => compute_indices(comm, point)),
    ..FAMILY
};

fn compute_indices<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let (index, mut generator) =
        (Index::new(StreamKind::Lfsr, TABLE_BITS), Generator::starting_after(StreamKind::Lfsr, 0));
    let (mut values, mut seconds, mut wrong) = ([0; BATCH], 0.0, 0);
    comm.barrier();
    for _ in 0..batch_count(point) {
        generator.fill(&mut values);
        let start = comm.wall_time();
        let found_sum =
            black_box(&values).iter().fold(0, |sum: u64, &value| sum.wrapping_add(black_box(index.word(value))));
        seconds += comm.wall_time() - start;
        wrong += u64::from(found_sum != values.iter().map(|value| index.word(*value)).sum::<u64>());
    }
    let count = value_count(point);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches have wrong indices"))
}

pub static OWNER: Kernel = Kernel {
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
    work: |point| work_per_rank(point, value_count(point), "owner", 8, "8 per value"),
    run: |point, _, world| on_transport!(world.transport, comm => find_owners(comm, point)),
    ..FAMILY
};

const OWNER_BY: Key<OwnerBy> = choice_key(
    "owner_by",
    "method to find a word's owner: division, prediction (multiplication and correction), or shift (owners a power of \
     two)",
);
choice! { enum OwnerBy { Division = "division", Prediction = "prediction", Shift = "shift" } }

fn find_owners<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
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
    for _ in 0..batch_count(point) {
        generator.fill(&mut words);
        words.iter_mut().for_each(|word| *word = index.word(*word));
        let start = comm.wall_time();
        let found_sum = black_box(&words).iter().map(|&word| owners.owner(word)).sum::<usize>();
        seconds += comm.wall_time() - start;
        let expected: usize = words.iter().map(|word| first_words.partition_point(|first| first <= word) - 1).sum();
        wrong += u64::from(found_sum != expected);
    }
    let count = value_count(point);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches have wrong owners"))
}

pub static DIVIDE: Kernel = Kernel {
    id: "calibrate.divide",
    summary: "Time to divide an update between the partners of an exchange, or to sort it by owner",
    place: "Section 4.2",
    parameters: parameters![DIVIDED_FOR, OWNERS_FOR_SORT, VALUES],
    method: "Every rank divides values that were generated before, 1024 between two clock readings; the time is that of the slowest \
        rank. The lists had to hold all values, each in the right list.",
    work: |point| work_per_rank(point, value_count(point), "update", 8, "8 per update"),
    buffer_bytes: |point| 16 * OWNERS.of(point),
    run: |point, _, world| on_transport!(world.transport, comm => divide_updates(comm, point)),
    ..FAMILY
};

const DIVIDED_FOR: Key<DividedFor> = choice_key(
    "divided_for",
    "partners (lists to keep and to send, as in the hypercube) or owners (sorted by owner, as in an all-to-all)",
);
choice! { enum DividedFor { Partners = "partners", Owners = "owners" } }
const OWNERS_FOR_SORT: Key<u64> =
    OWNERS.with_meaning("number of owners that divide the table of 2^30 words, for owners only");

fn divide_updates<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let index = Index::new(StreamKind::Lfsr, TABLE_BITS);
    let (seconds, wrong) = match DIVIDED_FOR.of(point) {
        DividedFor::Partners => divide_between_partners(comm, point, index),
        DividedFor::Owners => sort_by_owner(comm, point, index),
    };
    let count = value_count(point);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "batches are divided wrongly"))
}

/// Returns the seconds of all divisions and the number of wrong batches.
fn divide_between_partners<C: Collectives>(comm: &C, point: &Point, index: Index) -> (f64, u64) {
    let stage = Stage { boundary: 1 << (TABLE_BITS - 1), upper: false, peers: vec![1], first_share: (1, 1) };
    let mut generator = Generator::starting_after(StreamKind::Lfsr, 0);
    let (mut values, mut keep, mut send) = ([0; BATCH], Vec::new(), Vec::new());
    let (mut seconds, mut wrong) = (0.0, 0);
    comm.barrier();
    for _ in 0..batch_count(point) {
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

fn sort_by_owner<C: Collectives>(comm: &C, point: &Point, index: Index) -> (f64, u64) {
    let layout = Layout::new(TABLE_BITS, OWNERS.of(point) as usize);
    let owners = Owners::cheapest(layout);
    let owner = |value: u64| owners.owner(index.word(value));
    let mut generator = Generator::starting_after(StreamKind::Lfsr, 0);
    let mut lists = RoundLists::new(BATCH, layout.parts());
    let (mut seconds, mut wrong) = (0.0, 0);
    comm.barrier();
    for _ in 0..batch_count(point) {
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

pub static UPDATE: Kernel = Kernel {
    id: "calibrate.update",
    summary: "Time of a random update of a table, without generating its value (tu)",
    place: "Section 3.1, tu",
    parameters: parameters![BYTES, PAGES, VALUES],
    method: "Every rank updates random words of its table, 1024 between two clock readings; the time is that of the \
        slowest rank. All updates were then undone, which had to restore T[i] = i.",
    refuse: check_region,
    work: |point| work_per_rank(point, value_count(point), "update", 8, "8 per update"),
    arena_words: region_words,
    run: |point, _, world| on_transport!(world.transport, comm => update(comm, point, world.arena)),
    ..FAMILY
};

fn update<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (words, pages) = (region_words(point) as usize, PAGES.of(point));
    let index = Index::new(StreamKind::Lfsr, words.ilog2());
    let (memory, _) = arena.words_mut(pages, words, index_contents(), |position| position as u64)?;
    let mut table = Table::new(memory, 0, index);
    let (mut values, mut seconds) = ([0; BATCH], 0.0);
    let start_of_stream = || Generator::starting_after(StreamKind::Lfsr, COMMON_OFFSET);
    let mut generator = start_of_stream();
    comm.barrier();
    for _ in 0..batch_count(point) {
        generator.fill(&mut values);
        let start = comm.wall_time();
        table.apply(&values);
        seconds += comm.wall_time() - start;
    }
    let changed = table.words.iter().zip(0..).any(|(&word, position): (&u64, u64)| word != position);
    let mut generator = start_of_stream();
    for _ in 0..value_count(point) {
        table.update(generator.next_u64());
    }
    let errors = table.words.iter().zip(0..).filter(|&(&word, position): &(&u64, u64)| word != position).count() as u64;
    let wrong = errors + u64::from(!changed);
    if wrong == 0 {
        arena.mark_restored(pages);
    }
    let count = value_count(point);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "words of the table are wrong"))
}
