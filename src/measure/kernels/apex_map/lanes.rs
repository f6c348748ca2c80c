//! The sums of [`super::sum`] by vectors of 4 or 8 words.

use super::sum::{LANES, Sum, WIDEST};
use super::vectors::{Kind, Vector};
use std::arch::x86_64::{__m256i, __m512i};

const _: () = assert!(<__m512i as Vector>::WORDS == WIDEST);

// Lengths of blocks: 1, 2 and 4 words and others of less than a vector; one vector, two, whole turns of all lanes; any other.
const WORD: u8 = 0;
const PAIR: u8 = 1;
const FOUR: u8 = 2;
const PART: u8 = 3;
const ONE: u8 = 4;
const TWO: u8 = 5;
const TURNS: u8 = 6;
const ANY: u8 = 7;

/// A sum in registers.
#[derive(Clone, Copy)]
pub(super) struct Lanes<V: Vector> {
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
    pub(super) unsafe fn begin(sum: &Sum) -> Self {
        let (vectors, rest) = (sum.block / V::WORDS, sum.block % V::WORDS);
        let [a, b, c, d] = &sum.lanes;
        // SAFETY: the lanes are as wide as the widest vector.
        let lanes = unsafe { [V::load(a.as_ptr()), V::load(b.as_ptr()), V::load(c.as_ptr()), V::load(d.as_ptr())] };
        Self { lanes, turns: vectors / LANES, singles: vectors % LANES, rest, mask: V::mask(rest) }
    }

    /// # Safety
    /// As of [`Self::begin`].
    #[inline(always)]
    pub(super) unsafe fn end(self, sum: &mut Sum) {
        for (lane, to) in self.lanes.into_iter().zip(&mut sum.lanes) {
            // SAFETY: the lanes are as wide as the widest vector.
            unsafe { lane.store(to.as_mut_ptr()) };
        }
    }

    fn shape(&self) -> u8 {
        match (self.turns, self.singles, self.rest) {
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

    /// Adds a block of any length.
    ///
    /// # Safety
    /// As of [`Self::begin`], and the block lies at `at`.
    #[inline(always)]
    pub(super) unsafe fn block(&mut self, at: *const u64) {
        // SAFETY: the caller's.
        unsafe { self.of_shape::<ANY>(at, 0) }
    }

    // No closures here: they would lack the instructions until they are inlined.
    #[inline(always)]
    unsafe fn add(&mut self, lane: usize, words: V) {
        // SAFETY: the caller's.
        self.lanes[lane % LANES] = unsafe { self.lanes[lane % LANES].plus(words) };
    }

    /// Adds a block, its first vector to lane `first`.
    #[inline(always)]
    unsafe fn of_shape<const SHAPE: u8>(&mut self, mut at: *const u64, first: usize) {
        // SAFETY: the block has all of these words.
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
    #[inline(always)]
    unsafe fn blocks<const SHAPE: u8>(&mut self, memory: &[u64], offsets: &[u64], last: u64) {
        const BEYOND: &str = "a block lies beyond the memory";
        let (fours, rest) = offsets.as_chunks::<LANES>();
        for four in fours {
            assert!(four.iter().all(|&at| at <= last), "{BEYOND}");
            for (lane, &at) in four.iter().enumerate() {
                // SAFETY: the block lies within the memory.
                unsafe { self.of_shape::<SHAPE>(memory.as_ptr().add(at as usize), lane) };
            }
        }
        for &at in rest {
            assert!(at <= last, "{BEYOND}");
            // SAFETY: the block lies within the memory.
            unsafe { self.of_shape::<SHAPE>(memory.as_ptr().add(at as usize), 0) };
        }
    }
}

/// # Safety
/// The processor has the vector's instructions.
#[inline(always)]
unsafe fn add_all<V: Vector>(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
    let last = memory.len().checked_sub(sum.block).expect("a block is longer than the memory") as u64;
    // SAFETY: the caller's.
    unsafe {
        let mut lanes = Lanes::<V>::begin(sum);
        match lanes.shape() {
            WORD => lanes.blocks::<WORD>(memory, offsets, last),
            PAIR => lanes.blocks::<PAIR>(memory, offsets, last),
            FOUR => lanes.blocks::<FOUR>(memory, offsets, last),
            PART => lanes.blocks::<PART>(memory, offsets, last),
            ONE => lanes.blocks::<ONE>(memory, offsets, last),
            TWO => lanes.blocks::<TWO>(memory, offsets, last),
            TURNS => lanes.blocks::<TURNS>(memory, offsets, last),
            _ => lanes.blocks::<ANY>(memory, offsets, last),
        }
        lanes.end(sum);
    }
}

/// # Safety
/// The processor has the vector's instructions.
#[inline(always)]
unsafe fn add_one<V: Vector>(sum: &mut Sum, words: &[u64]) {
    assert!(words.len() >= sum.block, "a block has as many words as was said");
    // SAFETY: the block is there.
    unsafe {
        let mut lanes = Lanes::<V>::begin(sum);
        lanes.block(words.as_ptr());
        lanes.end(sum);
    }
}

/// As [`super::sum_all()`], by the instructions named.
///
/// # Panics
/// If a block does not lie within `memory`, or the processor lacks the instructions.
pub fn sum_all(kind: Kind, memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    assert!(kind.is_there(), "this processor lacks the instructions");
    let mut sum = Sum::new(block);
    add_with(kind, &mut sum, memory, offsets);
    sum.total()
}

fn add_with(kind: Kind, sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
    #[target_feature(enable = "avx2")]
    fn avx2(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
        // SAFETY: the instructions are there.
        unsafe { add_all::<__m256i>(sum, memory, offsets) }
    }
    #[target_feature(enable = "avx512f")]
    fn avx512(sum: &mut Sum, memory: &[u64], offsets: &[u64]) {
        // SAFETY: the instructions are there.
        unsafe { add_all::<__m512i>(sum, memory, offsets) }
    }
    // SAFETY: the processor has the instructions, as it gave this kind.
    unsafe {
        match kind {
            Kind::Avx2 => avx2(sum, memory, offsets),
            Kind::Avx512 => avx512(sum, memory, offsets),
        }
    }
}

/// Adds a block, by instructions that the processor has.
pub(super) fn adder(kind: Kind) -> fn(&mut Sum, &[u64]) {
    #[target_feature(enable = "avx2")]
    fn avx2(sum: &mut Sum, words: &[u64]) {
        // SAFETY: the instructions are there.
        unsafe { add_one::<__m256i>(sum, words) }
    }
    #[target_feature(enable = "avx512f")]
    fn avx512(sum: &mut Sum, words: &[u64]) {
        // SAFETY: the instructions are there.
        unsafe { add_one::<__m512i>(sum, words) }
    }
    match kind {
        // SAFETY: the processor has the instructions, as it gave this kind.
        Kind::Avx2 => |sum, words| unsafe { avx2(sum, words) },
        // SAFETY: as above.
        Kind::Avx512 => |sum, words| unsafe { avx512(sum, words) },
    }
}
