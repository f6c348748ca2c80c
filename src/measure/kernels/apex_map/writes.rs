//! Runs that write, and their verification. The same accesses, drawn again, are repeated in a scalar loop on the same initial
//! memory. They must read the same sum and leave the same words. For each access, the words of its block are added to a digest and
//! then restored, so the memory is as it was before the run, for the check and for the next run.

use super::access::{Access, pattern, traffic};
use super::access_all::{self, AccessSpec as What};
use super::draw::{Draws, Location, potential};
use super::tally::{PassTally, TimedRank};
use super::timing::{Arrays, replay, time_accesses};
use super::*;
use crate::kernels::shared::parameters::TRAFFIC;

pub(super) const ALL_OUTPUTS: [Output; OUTPUTS.len() + TRAFFIC.len()] = join(OUTPUTS, &TRAFFIC);

pub type Loop = fn(&mut [u64], &[u64], What) -> u64;

/// The whole memory is accessed this many times before a steady warm-up may end. The number is small, because the check takes
/// twenty times as long as the accesses that it checks, and the memory was already read for some time.
const WARM_UP_PASSES: u64 = 8;
/// Number of words after which a steady warm-up may end in any case.
const MAX_WARM_UP_WORDS: u64 = 8 << 20;

struct Writer<'a, C> {
    comm: &'a C,
    memory: &'a mut [u64],
    spec: What,
    sum: u64,
    run: Loop,
    offsets: Vec<u64>,
}

impl<C: Collectives> TimedRank for Writer<'_, C> {
    fn memory(&self) -> &[u64] {
        self.memory
    }

    fn sufficient_words(&self) -> u64 {
        (WARM_UP_PASSES * self.memory.len() as u64).min(MAX_WARM_UP_WORDS)
    }

    fn prepare(&mut self, locations: &[Location]) {
        compute_offsets(&mut self.offsets, locations, self.spec, self.memory.len());
    }

    fn pass(&mut self, _: &[Location]) -> PassTally {
        let sum = (self.run)(self.memory, &self.offsets, self.spec);
        let end = self.comm.wall_time();
        self.sum = self.sum.wrapping_add(sum);
        self.spec.first += self.offsets.len() as u64;
        PassTally { own_end: end, end, ..PassTally::default() }
    }

    /// 0: the words read depend on the earlier writes, so [`run`] compares the sums instead.
    fn expected_sum(&self, _: &Draws, _: &[Location]) -> u64 {
        0
    }
}

pub fn run<C: Collectives>(
    comm: &C,
    (point, stream): (&Point, u64),
    arena: &mut Arena,
    timed: Loop,
) -> Result<Outcome> {
    let pages = PAGES.of(point);
    let words = local_words(point) as usize;
    let (memory, granted) = arena.words_mut(pages, words, 0, |word| contents(0, word as u64))?;
    let block = L.of(point) as usize;
    // Numbers start at 1, because an update by 0 changes nothing.
    let spec = What { access: Access::of(point), pattern: pattern(point), block, first: 1 };
    let mut writer = Writer { comm, memory, spec, sum: 0, run: timed, offsets: Vec::new() };
    let mut outcome = time_accesses(comm, (point, stream), granted, Arrays::OneByOne, &mut writer);
    let timed_sum = writer.sum;
    let warm_up = match outcome.outputs.get("warm_up_accesses") {
        Some(Value::Integer(accesses)) => *accesses,
        _ => 0,
    };
    let timed_digest = undo((point, stream), warm_up, memory, spec);
    let (mut sum, mut replay_spec, mut offsets) = (Sum::new(block), spec, Vec::new());
    replay((point, stream), warm_up, |locations| {
        compute_offsets(&mut offsets, locations, spec, memory.len());
        access_all::access_scalar(&mut sum, memory, &offsets, replay_spec);
        replay_spec.first += offsets.len() as u64;
    });
    let expected_digest = undo((point, stream), warm_up, memory, spec);
    outcome.verdict = if timed_digest != expected_digest {
        Err("the memory does not hold the words that were written".into())
    } else if timed_sum != sum.total() {
        Err("the sum of the words read is wrong".into())
    } else {
        arena.mark_restored(pages);
        Ok(())
    };
    let accesses = I.of(point) as f64 * N.of(point) as f64;
    outcome.outputs.extend(traffic(point, accesses, outcome.seconds));
    Ok(outcome)
}

/// Copies go from the first half of the memory to the second. Two blocks of the second half are equal only if they were copied from
/// the same block.
fn compute_offsets(offsets: &mut Vec<u64>, locations: &[Location], spec: What, words: usize) {
    offsets.clear();
    offsets.extend_from_slice(Location::offsets(locations));
    if spec.access == Access::Copy {
        let (block, half) = (spec.block as u64, (words / spec.block / 2) as u64);
        for (number, offset) in offsets.iter_mut().enumerate() {
            // If the number of blocks is odd, the last one is not used.
            let within = (*offset / block / 2).min(half - 1);
            *offset = block * if number % 2 == 0 { within } else { half + within };
        }
    }
}

/// Returns a digest of the blocks of all accesses of a run, and restores each block after it is read.
fn undo(run: (&Point, u64), warm_up: u64, memory: &mut [u64], spec: What) -> u64 {
    let (mut digest, mut offsets) = (0u64, Vec::new());
    replay(run, warm_up, |locations| {
        compute_offsets(&mut offsets, locations, spec, memory.len());
        for &offset in &offsets {
            let words = memory[offset as usize..][..spec.block].iter_mut().zip(offset..);
            let (mut block_digest, mut before) = (0u64, potential(0, offset));
            for (word, index) in words {
                // The factors are odd, so a change of one word always changes the digest.
                block_digest = block_digest.wrapping_add(word.wrapping_mul(2 * index + 1));
                let after = potential(0, index + 1);
                *word = after.wrapping_sub(before);
                before = after;
            }
            digest = digest.rotate_left(5).wrapping_add(block_digest).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    });
    digest
}
