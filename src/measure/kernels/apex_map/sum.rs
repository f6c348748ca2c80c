//! The compute of Table 1: the wrapping sum of all words read. Every L runs the same loop.
//!
//! Words are added in lanes that last from block to block, so that a block costs its words and nothing else. What compilers make of
//! such a loop differs from version to version; where AVX2 is there, its instructions are named.

/// Words of a vector.
const VECTOR: usize = 4;
/// Vectors that are added side by side.
const LANES: usize = 4;

/// A sum under way, of blocks of one length.
pub(super) struct Sum {
    lanes: [[u64; VECTOR]; LANES],
    /// All ones for the words of a block beyond its whole vectors.
    rest: [u64; VECTOR],
}

impl Sum {
    /// Of blocks of `block` words, at least one.
    pub(super) fn new(block: usize) -> Self {
        let of_rest = |word: usize| if word < block % VECTOR { u64::MAX } else { 0 };
        Self { lanes: [[0; VECTOR]; LANES], rest: [of_rest(0), of_rest(1), of_rest(2), of_rest(3)] }
    }

    pub(super) fn total(&self) -> u64 {
        self.lanes.as_flattened().iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
    }

    /// Adds a word, or a sum of some.
    pub(super) fn add_word(&mut self, word: u64) {
        self.lanes[0][0] = self.lanes[0][0].wrapping_add(word);
    }

    /// Adds a block; its length is the one that was announced.
    pub(super) fn add(&mut self, words: &[u64]) {
        let (vectors, rest) = words.as_chunks::<VECTOR>();
        for (number, vector) in vectors.iter().enumerate() {
            let lane = &mut self.lanes[number % LANES];
            lane.iter_mut().zip(vector).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
        }
        let lane = &mut self.lanes[LANES - 1];
        lane.iter_mut().zip(rest).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::{LANES, Sum, VECTOR};
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_maskload_epi64, _mm256_storeu_si256,
    };

    pub(in super::super) struct Lanes {
        lanes: [__m256i; LANES],
        rest: __m256i,
        has_rest: bool,
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in super::super) fn load(words: &[u64; VECTOR]) -> __m256i {
        // SAFETY: the words are there; the instruction needs no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in super::super) fn begin(sum: &Sum) -> Lanes {
        let [a, b, c, d] = &sum.lanes;
        Lanes { lanes: [load(a), load(b), load(c), load(d)], rest: load(&sum.rest), has_rest: sum.rest[0] != 0 }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in super::super) fn end(lanes: &Lanes, sum: &mut Sum) {
        for (lane, to) in lanes.lanes.iter().zip(&mut sum.lanes) {
            // SAFETY: there is room for a vector; the instruction needs no alignment.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), *lane) };
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in super::super) fn block(lanes: &mut Lanes, words: &[u64]) {
        let (vectors, rest) = words.as_chunks::<VECTOR>();
        let (groups, single) = vectors.as_chunks::<LANES>();
        let [mut a, mut b, mut c, mut d] = lanes.lanes;
        for [e, f, g, h] in groups {
            (a, b) = (_mm256_add_epi64(a, load(e)), _mm256_add_epi64(b, load(f)));
            (c, d) = (_mm256_add_epi64(c, load(g)), _mm256_add_epi64(d, load(h)));
        }
        for vector in single {
            a = _mm256_add_epi64(a, load(vector));
        }
        if lanes.has_rest {
            // SAFETY: the mask has as many words as are left; others are not read.
            let rest = unsafe { _mm256_maskload_epi64(rest.as_ptr().cast(), lanes.rest) };
            b = _mm256_add_epi64(b, rest);
        }
        lanes.lanes = [a, b, c, d];
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add(sum: &mut Sum, words: &[u64]) {
        let mut lanes = begin(sum);
        block(&mut lanes, words);
        end(&lanes, sum);
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn add_all(sum: &mut Sum, memory: &[u64], offsets: &[u64], length: usize) {
        let mut lanes = begin(sum);
        for &at in offsets {
            block(&mut lanes, &memory[at as usize..][..length]);
        }
        end(&lanes, sum);
    }
}

/// How a block is added on this processor: chosen once, before the clock runs.
pub(super) fn adder() -> fn(&mut Sum, &[u64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return |sum, words| unsafe { avx2::add(sum, words) };
    }
    Sum::add
}

/// The timed loop of one rank: the wrapping sum of the `block` words at each of `offsets`.
///
/// # Panics
/// If a block does not lie within `memory`.
pub fn sum_all(memory: &[u64], offsets: &[u64], block: usize) -> u64 {
    let mut sum = Sum::new(block);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { avx2::add_all(&mut sum, memory, offsets, block) };
        return sum.total();
    }
    for &at in offsets {
        sum.add(&memory[at as usize..][..block]);
    }
    sum.total()
}
