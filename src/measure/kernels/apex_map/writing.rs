//! Runs that write, and how they are checked: afterwards the same accesses are made again in plain words, from the same
//! memory, and must read the same sum and leave the same words behind.
//!
//! Nothing is kept of the run: its accesses are drawn again. Each block is visited at each of its accesses: its words are taken
//! into a digest and then set back, so that the memory is as it was before the run, for the check and for the next run.

use super::access::{Access, pattern, traffic};
use super::access_all::{self, Accesses as What};
use super::draw::{Draws, Location, potential};
use super::tally::{Accesses, Tally};
use super::timing::{Arrays, replay, time_accesses};
use super::{OUTPUTS, Sum, contents, local_words, with_outputs};
use crate::comm::Collectives;
use crate::comm::arena::{Arena, Pages};
use crate::kernels::shared::traffic::TRAFFIC;
use crate::kernels::{Outcome, Output};
use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};

/// Of a kernel that may write.
pub(super) const ALL_OUTPUTS: [Output; OUTPUTS.len() + TRAFFIC.len()] = with_outputs(TRAFFIC);

/// A timed loop, as [`super::access_all`].
pub type Loop = fn(&mut [u64], &[u64], What) -> u64;

/// A warm-up writes the memory so many times over at most, unless its time still changes: a check takes twenty times as long as
/// what it checks. The memory was read for some time before.
const OVER: u64 = 8;
/// And at most so many words.
const MOST_WORDS: u64 = 8 << 20;

struct Writer<'a, C> {
    comm: &'a C,
    memory: &'a mut [u64],
    what: What,
    sum: u64,
    run: Loop,
    places: Vec<u64>,
}

impl<C: Collectives> Accesses for Writer<'_, C> {
    fn memory(&self) -> &[u64] {
        self.memory
    }

    fn enough_words(&self) -> u64 {
        (OVER * self.memory.len() as u64).min(MOST_WORDS)
    }

    fn prepare(&mut self, locations: &[Location]) {
        put_in_places(&mut self.places, locations, self.what, self.memory.len());
    }

    fn pass(&mut self, _: &[Location]) -> Tally {
        let sum = (self.run)(self.memory, &self.places, self.what);
        let end = self.comm.now();
        self.sum = self.sum.wrapping_add(sum);
        self.what.first += self.places.len() as u64;
        Tally { own_end: end, end, ..Tally::default() }
    }

    /// What is read depends on what was written before: [`run`] compares the sums.
    fn expected(&self, _: &Draws, _: &[Location]) -> u64 {
        0
    }
}

/// One run of one rank, with `timed` as its loop.
///
/// # Errors
/// If there is no memory.
pub fn run<C: Collectives>(
    comm: &C,
    (point, stream): (&Point, u64),
    arena: &mut Arena,
    timed: Loop,
) -> Result<Outcome> {
    let pages = Pages::from_name(point.text("pages"));
    let words = local_words(point) as usize;
    let (memory, granted) = arena.words_mut(pages, words, 0, |word| contents(0, word as u64))?;
    let block = point.integer("L") as usize;
    // Not 0, which an update would not show.
    let what = What { access: Access::of(point), pattern: pattern(point), block, first: 1 };
    let mut writer = Writer { comm, memory, what, sum: 0, run: timed, places: Vec::new() };
    let mut outcome = time_accesses(comm, (point, stream), granted, Arrays::OneByOne, &mut writer);
    let found = writer.sum;
    let warm_up = match outcome.outputs.get("warm_up_accesses") {
        Some(Value::Integer(accesses)) => *accesses,
        _ => 0,
    };
    let left = undo((point, stream), warm_up, memory, what);
    let (mut sum, mut again, mut places) = (Sum::new(block), what, Vec::new());
    replay((point, stream), warm_up, |locations| {
        put_in_places(&mut places, locations, what, memory.len());
        access_all::plain(&mut sum, memory, &places, again);
        again.first += places.len() as u64;
    });
    let expected = undo((point, stream), warm_up, memory, what);
    outcome.verdict = if left != expected {
        Err("memory does not hold what was written".into())
    } else if found != sum.total() {
        Err("the sum of the words read is wrong".into())
    } else {
        arena.restored(pages);
        Ok(())
    };
    let accesses = (point.integer("I") * point.integer("N")) as f64;
    outcome.outputs.extend(traffic(point, accesses, outcome.seconds));
    Ok(outcome)
}

/// Where the blocks of these accesses are. Copies are from the first half of the memory to the second, in which blocks become
/// alike only where they were copied from one.
fn put_in_places(places: &mut Vec<u64>, locations: &[Location], what: What, words: usize) {
    places.clear();
    places.extend_from_slice(Location::offsets(locations));
    if what.access == Access::Copy {
        let (block, half) = (what.block as u64, (words / what.block / 2) as u64);
        for (number, place) in places.iter_mut().enumerate() {
            // Of an odd number of blocks the last one is left out.
            let within = (*place / block / 2).min(half - 1);
            *place = block * if number % 2 == 0 { within } else { half + within };
        }
    }
}

/// A digest of all blocks at all accesses of a run, each of which is set back as it is visited.
fn undo(run: (&Point, u64), warm_up: u64, memory: &mut [u64], what: What) -> u64 {
    let (mut digest, mut places) = (0u64, Vec::new());
    replay(run, warm_up, |locations| {
        put_in_places(&mut places, locations, what, memory.len());
        for &at in &places {
            let words = memory[at as usize..][..what.block].iter_mut().zip(at..);
            let (mut of_block, mut before) = (0u64, potential(0, at));
            for (word, place) in words {
                // Odd factors: no change of one word leaves the digest as it was.
                of_block = of_block.wrapping_add(word.wrapping_mul(2 * place + 1));
                let after = potential(0, place + 1);
                *word = after.wrapping_sub(before);
                before = after;
            }
            digest = digest.rotate_left(5).wrapping_add(of_block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    });
    digest
}
