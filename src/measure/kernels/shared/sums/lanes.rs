//! The sums of [`super::sum`] by vectors of 4 or 8 words.

use super::sum::{Adder, LANES, Sum, WIDEST};
use super::vectors::{Kind, Vector, Width};
use std::arch::x86_64::{__m256i, __m512i};

const _: () = assert!(<__m512i as Vector>::WORDS == WIDEST && <__m256i as Vector>::WORDS < WIDEST);

// Lengths of blocks: 1, 2 and 4 words and others of less than a vector; one vector, two, whole turns of all lanes; any other.
const WORD: u8 = 0;
const PAIR: u8 = 1;
const FOUR: u8 = 2;
const PART: u8 = 3;
const ONE: u8 = 4;
const TWO: u8 = 5;
const TURNS: u8 = 6;
const ANY: u8 = 7;

/// A sum in registers. There is one only where the processor has the vector's instructions, as [`Lanes::begin`] requires.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Lanes<V: Vector> {
    lanes: [V; LANES],
    /// Of a block: turns of all lanes, single vectors after them, words after those.
    turns: usize,
    singles: usize,
    rest: usize,
    mask: V::Mask,
}

impl<V: Vector> Lanes<V> {
    /// # Safety
    /// The processor has the vector's instructions.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn begin(sum: &Sum) -> Self {
        let (vectors, rest) = (sum.block / V::WORDS, sum.block % V::WORDS);
        let [a, b, c, d] = &sum.lanes;
        // SAFETY: the caller has the instructions, and each of the sum's lanes has `WIDEST` words.
        let lanes = unsafe { [V::load(a.as_ptr()), V::load(b.as_ptr()), V::load(c.as_ptr()), V::load(d.as_ptr())] };
        Self { lanes, turns: vectors / LANES, singles: vectors % LANES, rest, mask: V::mask(rest) }
    }

    #[inline(always)]
    pub(in crate::kernels) fn end(self, sum: &mut Sum) {
        for (lane, to) in self.lanes.into_iter().zip(&mut sum.lanes) {
            // SAFETY: `begin` required the instructions, and each of the sum's lanes has `WIDEST` words.
            unsafe { lane.store(to.as_mut_ptr()) };
        }
    }

    /// Adds a block of any length.
    ///
    /// # Safety
    /// A block as long as those of the sum that these lanes began with can be read at `at`.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn block(&mut self, at: *const u64) {
        // SAFETY: the caller has the block, and `ANY` is of all lengths.
        unsafe { self.of_shape::<ANY>(at, 0) }
    }

    // No closures here: they would not have the instructions until they are inlined.
    #[inline(always)]
    fn add(&mut self, lane: usize, words: V) {
        // SAFETY: `begin` required the instructions.
        self.lanes[lane % LANES] = unsafe { self.lanes[lane % LANES].plus(words) };
    }

    /// Adds a block, its first vector to lane `first`.
    ///
    /// # Safety
    /// As of [`Self::block`], and the block's length has this shape.
    #[inline(always)]
    unsafe fn of_shape<const SHAPE: u8>(&mut self, mut at: *const u64, first: usize) {
        // SAFETY: `begin` required the instructions. A block of `WORD`, `PAIR` or `FOUR` has this many words, one of `PART` those of
        // the mask, and one of `ONE` or `TWO` this many vectors. Any other has `turns` times `LANES` vectors, then `singles` vectors,
        // then the words of the mask.
        unsafe {
            match SHAPE {
                WORD => return self.add(first, V::load_first::<1>(at)),
                PAIR => return self.add(first, V::load_first::<2>(at)),
                FOUR => return self.add(first, V::load_first::<4>(at)),
                PART => return self.add(first, V::load_some(at, self.mask)),
                ONE => return self.add(first, V::load(at)),
                TWO => {
                    self.add(2 * first, V::load(at));
                    return self.add(2 * first + 1, V::load(at.add(V::WORDS)));
                }
                _ => (),
            }
            for _ in 0..self.turns {
                for lane in 0..LANES {
                    self.add(lane, V::load(at.add(lane * V::WORDS)));
                }
                at = at.add(LANES * V::WORDS);
            }
            if SHAPE == ANY {
                for _ in 0..self.singles {
                    self.add(0, V::load(at));
                    at = at.add(V::WORDS);
                }
                if self.rest > 0 {
                    self.add(1, V::load_some(at, self.mask));
                }
            }
        }
    }

    /// Adds the blocks at `offsets`.
    ///
    /// # Safety
    /// A block can be read at each word of the memory up to `last`, and its length has this shape.
    #[inline(always)]
    unsafe fn blocks<const SHAPE: u8>(&mut self, memory: &[u64], offsets: &[u64], last: u64) {
        const BEYOND: &str = "a block lies beyond the memory";
        let (fours, rest) = offsets.as_chunks::<LANES>();
        for four in fours {
            assert!(four.iter().all(|&at| at <= last), "{BEYOND}");
            for (lane, &at) in four.iter().enumerate() {
                // SAFETY: `at` is at most `last`.
                unsafe { self.of_shape::<SHAPE>(memory.as_ptr().add(at as usize), lane) };
            }
        }
        for &at in rest {
            assert!(at <= last, "{BEYOND}");
            // SAFETY: `at` is at most `last`.
            unsafe { self.of_shape::<SHAPE>(memory.as_ptr().add(at as usize), 0) };
        }
    }
}

/// Which of the shapes a block has.
fn shape<V: Vector>(block: usize) -> u8 {
    let (vectors, rest) = (block / V::WORDS, block % V::WORDS);
    match (vectors / LANES, vectors % LANES, rest) {
        (0, 0, 1) => WORD,
        (0, 0, 2) => PAIR,
        (0, 0, 4) => FOUR,
        (0, 0, _) => PART,
        (0, 1, 0) => ONE,
        (0, 2, 0) => TWO,
        (_, 0, 0) => TURNS,
        _ => ANY,
    }
}

/// # Safety
/// The processor has the vector's instructions, and the sum's blocks have this shape.
#[inline(always)]
unsafe fn add_all<V: Vector, const SHAPE: u8>(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
    let last = memory.len().checked_sub(sum.block).expect("a block is longer than the memory") as u64;
    // SAFETY: the caller has the instructions.
    let mut lanes = unsafe { Lanes::<V>::begin(sum) };
    // SAFETY: up to `last` there is room for a block, whose shape is the caller's.
    unsafe { lanes.blocks::<SHAPE>(memory, offsets, last) };
    lanes.end(sum);
}

/// # Safety
/// The processor has the vector's instructions, and the sum's blocks have this shape.
#[inline(always)]
unsafe fn add_one<V: Vector, const SHAPE: u8>(sum: &mut Sum, words: &[u64]) {
    assert!(words.len() >= sum.block, "a block has as many words as was said");
    // SAFETY: the caller has the instructions.
    let mut lanes = unsafe { Lanes::<V>::begin(sum) };
    // SAFETY: there are as many words as a block has, whose shape is the caller's.
    unsafe { lanes.of_shape::<SHAPE>(words.as_ptr(), 0) };
    lanes.end(sum);
}

/// As [`super::sum_all()`], by the instructions named.
///
/// # Panics
/// If a block does not lie within `memory`.
pub fn sum_all(kind: Kind, memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    let mut sum = Sum::new(block);
    // SAFETY: the sum is of blocks of the adder's length.
    unsafe { (adder(kind, block).all)(&mut sum, memory, offsets) };
    sum.total()
}

/// Adds blocks of this length by instructions that the processor has.
pub(super) fn adder(kind: Kind, block: usize) -> Adder {
    macro_rules! of_shape {
        ($vector:ty, $feature:literal: $($shape:ident),*) => {
            match shape::<$vector>(block) {
                $($shape => {
                    /// # Safety
                    /// The sum's blocks have this shape.
                    #[target_feature(enable = $feature)]
                    unsafe fn one(sum: &mut Sum, words: &[u64]) {
                        // SAFETY: this function has the instructions, and the caller a sum of this shape.
                        unsafe { add_one::<$vector, $shape>(sum, words) }
                    }
                    /// # Safety
                    /// The sum's blocks have this shape.
                    #[target_feature(enable = $feature)]
                    unsafe fn all(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
                        // SAFETY: this function has the instructions, and the caller a sum of this shape.
                        unsafe { add_all::<$vector, $shape>(sum, memory, offsets) }
                    }
                    Adder {
                        // SAFETY: a `Kind` comes from the detection of its instructions; `Adder` requires a sum of these blocks.
                        one: |sum, words| unsafe { one(sum, words) },
                        // SAFETY: a `Kind` comes from the detection of its instructions; `Adder` requires a sum of these blocks.
                        all: |sum, memory, offsets| unsafe { all(sum, memory, offsets) },
                    }
                })*
                _ => unreachable!("there is no other shape"),
            }
        };
    }
    match kind.width() {
        Width::Avx2 => of_shape!(__m256i, "avx2": WORD, PAIR, FOUR, PART, ONE, TWO, TURNS, ANY),
        Width::Avx512 => of_shape!(__m512i, "avx512f": WORD, PAIR, FOUR, PART, ONE, TWO, TURNS, ANY),
    }
}
