//! The sums of [`super::sum_all`], computed with vectors of 4 or 8 words.

use super::Plain;
use super::vectors::{Kind, Vector, Width};
use super::{Adder, LANES, Sum, WIDEST};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

#[cfg(target_arch = "x86_64")]
const _: () = assert!(<__m512i as Vector>::WORDS == WIDEST && <__m256i as Vector>::WORDS < WIDEST);
const _: () = assert!(Plain::WORDS < WIDEST);

// Shapes of blocks by length: 1, 2 or 4 words; another number of words below one vector; one vector; two vectors; a multiple of
// `LANES` vectors; any length.
const WORD: u8 = 0;
const PAIR: u8 = 1;
const FOUR: u8 = 2;
const PART: u8 = 3;
const ONE: u8 = 4;
const TWO: u8 = 5;
const TURNS: u8 = 6;
const ANY: u8 = 7;

/// A running sum in registers. It exists only if the processor has the vector's instructions, as [`Lanes::begin`] requires.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<V: Vector> {
    lanes: [V; LANES],
    /// A block consists of `turns` times `LANES` vectors, then `singles` vectors, then `rest` words.
    turns: usize,
    singles: usize,
    rest: usize,
    mask: V::Mask,
}

impl<V: Vector> Lanes<V> {
    /// # Safety
    /// The processor has the vector's instructions.
    #[inline(always)]
    pub(crate) unsafe fn begin(sum: &Sum) -> Self {
        let (vectors, rest) = (sum.block / V::WORDS, sum.block % V::WORDS);
        let [a, b, c, d] = &sum.lanes;
        // SAFETY: the caller ensures the instructions, and each of the sum's lanes has `WIDEST` words.
        let lanes = unsafe { [V::load(a.as_ptr()), V::load(b.as_ptr()), V::load(c.as_ptr()), V::load(d.as_ptr())] };
        Self { lanes, turns: vectors / LANES, singles: vectors % LANES, rest, mask: V::mask(rest) }
    }

    #[inline(always)]
    pub(crate) fn end(self, sum: &mut Sum) {
        for (lane, to) in self.lanes.into_iter().zip(&mut sum.lanes) {
            // SAFETY: `begin` required the instructions, and each of the sum's lanes has `WIDEST` words.
            unsafe { lane.store(to.as_mut_ptr()) };
        }
    }

    /// # Safety
    /// A block can be read at `address`. Its length is the block length of the sum given to [`Self::begin`].
    #[inline(always)]
    pub(crate) unsafe fn block(&mut self, address: *const u64) {
        // SAFETY: the caller ensures a readable block, and every length has the shape `ANY`.
        unsafe { self.add_block_of_shape::<ANY>(address, 0) }
    }

    // No closures here: a closure does not have the instructions before it is inlined.
    #[inline(always)]
    fn add(&mut self, lane: usize, words: V) {
        // SAFETY: `begin` required the instructions.
        self.lanes[lane % LANES] = unsafe { self.lanes[lane % LANES].wrapping_add(words) };
    }

    /// Its first vector goes to lane `first`.
    ///
    /// # Safety
    /// The same as for [`Self::block`]. In addition, the block's length has this shape.
    #[inline(always)]
    unsafe fn add_block_of_shape<const SHAPE: u8>(&mut self, mut address: *const u64, first: usize) {
        // SAFETY: `begin` required the instructions. A block of shape `WORD`, `PAIR` or `FOUR` has 1, 2 or 4 words. `PART` has the
        // words of the mask. `ONE` and `TWO` have 1 and 2 vectors. Every other block has `turns` times `LANES` vectors, then
        // `singles` vectors, then the words of the mask.
        unsafe {
            match SHAPE {
                WORD => return self.add(first, V::load_first::<1>(address)),
                PAIR => return self.add(first, V::load_first::<2>(address)),
                FOUR => return self.add(first, V::load_first::<4>(address)),
                PART => return self.add(first, V::load_masked(address, self.mask)),
                ONE => return self.add(first, V::load(address)),
                TWO => {
                    self.add(2 * first, V::load(address));
                    return self.add(2 * first + 1, V::load(address.add(V::WORDS)));
                }
                _ => (),
            }
            for _ in 0..self.turns {
                for lane in 0..LANES {
                    self.add(lane, V::load(address.add(lane * V::WORDS)));
                }
                address = address.add(LANES * V::WORDS);
            }
            if SHAPE == ANY {
                for _ in 0..self.singles {
                    self.add(0, V::load(address));
                    address = address.add(V::WORDS);
                }
                if self.rest > 0 {
                    self.add(1, V::load_masked(address, self.mask));
                }
            }
        }
    }

    /// # Safety
    /// A block can be read at each word of the memory from the first up to and including word `last`. Its length has this shape.
    #[inline(always)]
    unsafe fn blocks<const SHAPE: u8>(&mut self, memory: &[u64], offsets: &[u64], last: u64) {
        const BEYOND: &str = "a block is beyond the memory";
        let (fours, rest) = offsets.as_chunks::<LANES>();
        for four in fours {
            assert!(four.iter().all(|&offset| offset <= last), "{BEYOND}");
            for (lane, &offset) in four.iter().enumerate() {
                // SAFETY: `offset` is at most `last`.
                unsafe { self.add_block_of_shape::<SHAPE>(memory.as_ptr().add(offset as usize), lane) };
            }
        }
        for &offset in rest {
            assert!(offset <= last, "{BEYOND}");
            // SAFETY: `offset` is at most `last`.
            unsafe { self.add_block_of_shape::<SHAPE>(memory.as_ptr().add(offset as usize), 0) };
        }
    }
}

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
    // SAFETY: the caller ensures the instructions.
    let mut lanes = unsafe { Lanes::<V>::begin(sum) };
    // SAFETY: a block that begins at `last` or before fits into the memory; the caller ensures the shape.
    unsafe { lanes.blocks::<SHAPE>(memory, offsets, last) };
    lanes.end(sum);
}

/// # Safety
/// The processor has the vector's instructions, and the sum's blocks have this shape.
#[inline(always)]
unsafe fn add_one<V: Vector, const SHAPE: u8>(sum: &mut Sum, words: &[u64]) {
    assert!(words.len() >= sum.block, "a block is shorter than its declared length");
    // SAFETY: the caller ensures the instructions.
    let mut lanes = unsafe { Lanes::<V>::begin(sum) };
    // SAFETY: `words` has at least the words of a block; the caller ensures the shape.
    unsafe { lanes.add_block_of_shape::<SHAPE>(words.as_ptr(), 0) };
    lanes.end(sum);
}

/// The same as [`super::sum_all()`] with the instructions of `kind`.
pub fn sum_all(kind: Kind, memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    let mut sum = Sum::new(block);
    // SAFETY: the sum and the adder have the same block length.
    unsafe { (adder(kind, block).all)(&mut sum, memory, offsets) };
    sum.total()
}

pub(super) fn adder(kind: Kind, block: usize) -> Adder {
    macro_rules! of_shape {
        ($vector:ty, $instructions:meta: $($shape:ident),*) => {
            match shape::<$vector>(block) {
                $($shape => {
                    /// # Safety
                    /// The sum's blocks have this shape.
                    #[$instructions]
                    unsafe fn add_block(sum: &mut Sum, words: &[u64]) {
                        // SAFETY: this function has the instructions, and the caller ensures a sum of this shape.
                        unsafe { add_one::<$vector, $shape>(sum, words) }
                    }
                    /// # Safety
                    /// The sum's blocks have this shape.
                    #[$instructions]
                    unsafe fn add_blocks(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
                        // SAFETY: this function has the instructions, and the caller ensures a sum of this shape.
                        unsafe { add_all::<$vector, $shape>(sum, memory, offsets) }
                    }
                    Adder {
                        // SAFETY: a `Kind` comes from the detection of its instructions; `Adder` requires a sum of this block length.
                        one: |sum, words| unsafe { add_block(sum, words) },
                        // SAFETY: a `Kind` comes from the detection of its instructions; `Adder` requires a sum of this block length.
                        all: |sum, memory, offsets| unsafe { add_blocks(sum, memory, offsets) },
                    }
                })*
                _ => unreachable!("no other shape exists"),
            }
        };
    }
    match kind.width() {
        Width::Plain => of_shape!(Plain, inline(never): WORD, PAIR, FOUR, PART, ONE, TWO, TURNS, ANY),
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => {
            of_shape!(__m256i, target_feature(enable = "avx2"): WORD, PAIR, FOUR, PART, ONE, TWO, TURNS, ANY)
        }
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => {
            of_shape!(__m512i, target_feature(enable = "avx512f"): WORD, PAIR, FOUR, PART, ONE, TWO, TURNS, ANY)
        }
    }
}
