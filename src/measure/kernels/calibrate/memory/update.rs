//! NAME: calibrate.update. The time of a random update of a table in local memory (tu), without generating its value.
//!
//! DEFINITION: `values` updates T[index(v)] ^= v of a table of `bytes` bytes. The words of the next updates are prefetched as in
//!   `random_access.sequential`. Values come from the stream in batches of 1024, generated while the clock is stopped.
//! CHECK: all updates are applied a second time, one by one, which must restore `T[i] = i`.

use super::{
    BATCH, BYTES, FAMILY, PAGES, VALUES, generate, index_contents, region_words, require_power_of_two, work_per_rank,
};
use crate::comm::Collectives;
use crate::comm::arena::Arena;
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::updates::random_stream::{Generator, Index, StreamKind};
use crate::kernels::shared::updates::table::Table;
use crate::kernels::{Kernel, Outcome, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.update",
    summary: "Time of a random update of a table, without generating its value (tu)",
    place: "Section 3.1, tu",
    parameters: parameters![BYTES, PAGES, VALUES],
    method: "Every rank updates random words of its table, 1024 between two clock readings; the time is that of the \
        slowest rank. All updates were then undone, which had to restore T[i] = i.",
    refuse: require_power_of_two,
    work: |point| {
        work_per_rank(point, generate::batch_count(point).saturating_mul(BATCH as u64), "update", 8, "8 per update")
    },
    arena_words: region_words,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..FAMILY
};

/// Runs the kernel on all ranks. Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (words, pages) = (region_words(point) as usize, PAGES.of(point));
    let index = Index::new(StreamKind::Lfsr, words.ilog2());
    let (memory, _) = arena.words_mut(pages, words, index_contents(), |position| position as u64)?;
    let mut table = Table::new(memory, 0, index);
    let (mut values, mut seconds) = ([0; BATCH], 0.0);
    let start_of_stream =
        || Generator::starting_after(StreamKind::Lfsr, crate::kernels::shared::updates::random_stream::COMMON_OFFSET);
    let mut generator = start_of_stream();
    comm.barrier();
    for _ in 0..generate::batch_count(point) {
        generator.fill(&mut values);
        let start = comm.wall_time();
        table.apply(&values);
        seconds += comm.wall_time() - start;
    }
    let changed = table.words.iter().zip(0..).any(|(&word, position): (&u64, u64)| word != position);
    let mut generator = start_of_stream();
    for _ in 0..generate::batch_count(point).saturating_mul(BATCH as u64) {
        table.update(generator.next_u64());
    }
    let errors = table.words.iter().zip(0..).filter(|&(&word, position): &(&u64, u64)| word != position).count() as u64;
    let wrong = errors + u64::from(!changed);
    if wrong == 0 {
        arena.mark_restored(pages);
    }
    let count = generate::batch_count(point).saturating_mul(BATCH as u64);
    Ok(gather_outcome(comm, seconds, count as f64, wrong, "words of the table are wrong"))
}
