//! The compute of Table 1: the wrapping sum of all words read. Every L runs the same loop.

use multiversion::{inherit_target, multiversion};
use std::hint::black_box;

/// Words of a step, which are added side by side.
const STEP: usize = 4;
/// Steps that are added side by side.
const STEPS: usize = 2;

type Lanes = [u64; STEP];

/// A sum under way. Its lanes are added up at the end only, so that a block costs its words and nothing else.
pub(super) struct Sum {
    lanes: [Lanes; STEPS],
    /// Of blocks shorter than a step.
    short: u64,
    /// Keeps of the last step of a block the words that the whole steps before it have not counted.
    last: Lanes,
}

#[inline(always)]
fn add(lanes: Lanes, words: &Lanes) -> Lanes {
    std::array::from_fn(|k| lanes[k].wrapping_add(words[k]))
}

impl Sum {
    /// Of blocks of `block` words, at least one.
    #[inline(always)]
    pub(super) fn new(block: usize) -> Self {
        let counted = block.next_multiple_of(STEP) - block;
        let last: Lanes = std::array::from_fn(|k| if k < counted { 0 } else { u64::MAX });
        // The compiler takes lanes apart whose masks it knows to differ.
        Self { lanes: [[0; STEP]; STEPS], short: 0, last: black_box(last) }
    }

    /// Adds a block; its length is the one that was announced.
    #[inline(always)]
    fn add(&mut self, words: &[u64]) {
        let Some((before, last)) = words.split_last_chunk::<STEP>() else {
            let word = |k: usize| words.get(k).copied().unwrap_or(0);
            self.short = self.short.wrapping_add(word(0)).wrapping_add(word(1).wrapping_add(word(2)));
            return;
        };
        // The last step overlaps these where L is no multiple of a step.
        let steps = words[..before.len().next_multiple_of(STEP)].as_chunks::<STEP>().0;
        let (wide, narrow) = steps.as_chunks::<STEPS>();
        for chunk in wide {
            self.lanes = std::array::from_fn(|k| add(self.lanes[k], &chunk[k]));
        }
        if let Some(step) = narrow.first() {
            self.lanes[0] = add(self.lanes[0], step);
        }
        self.lanes[1] = add(self.lanes[1], &std::array::from_fn(|k| last[k] & self.last[k]));
    }

    pub(super) fn total(&self) -> u64 {
        // Else the compiler takes the lanes apart, as it sees them added one by one.
        let lanes = black_box(self.lanes);
        lanes.as_flattened().iter().fold(self.short, |sum, &lane| sum.wrapping_add(lane))
    }
}

/// How a block is added on this processor: chosen once, before the clock runs.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn adder() -> fn(&mut Sum, &[u64]) {
    #[inherit_target]
    fn add(sum: &mut Sum, words: &[u64]) {
        sum.add(words);
    }
    add
}

/// The timed loop of one rank: the wrapping sum of the `block` words at each of `offsets`.
///
/// # Panics
/// If a block does not lie within `memory`.
#[multiversion(targets("x86_64+avx2"))]
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    let mut sum = Sum::new(block);
    for &at in offsets {
        sum.add(&memory[at as usize..][..block]);
    }
    sum.total()
}
