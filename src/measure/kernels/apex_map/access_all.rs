//! The timed loop of accesses that write: plain, and with the instructions of AVX2 where they are there.

use super::access::{Access, Pattern};
use super::sum::Sum;

/// What is done with blocks of a memory, of which some are read.
#[derive(Clone, Copy, Debug)]
pub struct Accesses {
    pub access: Access,
    pub pattern: Pattern,
    /// Words of a block.
    pub block: usize,
    /// The number of the first access; the others follow. What is written are numbers.
    pub first: u64,
}

/// The timed loop: reads and writes the blocks at `offsets`, and gives the wrapping sum of the words read.
///
/// # Panics
/// If a block does not lie within `memory`.
pub fn access_all(memory: &mut [u64], offsets: &[u64], what: Accesses) -> u64 {
    let mut sum = Sum::new(what.block);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        use super::sum::avx2;
        // SAFETY: the processor has AVX2.
        unsafe {
            match what.access {
                Access::Read => avx2::add_all(&mut sum, memory, offsets, what.block),
                Access::Write => with_avx2::mixed::<{ with_avx2::WRITE }>(&mut sum, memory, offsets, what),
                Access::Update => with_avx2::mixed::<{ with_avx2::UPDATE }>(&mut sum, memory, offsets, what),
                Access::NonTemporal => with_avx2::mixed::<{ with_avx2::NON_TEMPORAL }>(&mut sum, memory, offsets, what),
                Access::Copy => with_avx2::copy_all(memory, offsets, what.block),
            }
        }
        return sum.total();
    }
    plain(&mut sum, memory, offsets, what);
    sum.total()
}

/// The same in plain words, with which a run is also checked.
pub(super) fn plain(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
    let block = what.block;
    if what.access == Access::Copy {
        for &[from, to] in offsets.as_chunks::<2>().0 {
            memory.copy_within(from as usize..from as usize + block, to as usize);
        }
        return;
    }
    let mut number = what.first;
    for group in offsets.chunks(what.pattern.group) {
        let (reads, writes) = group.split_at(what.pattern.reads(group.len()));
        for &at in reads {
            sum.add(&memory[at as usize..][..block]);
        }
        number = number.wrapping_add(reads.len() as u64);
        for &at in writes {
            let words = &mut memory[at as usize..][..block];
            match what.access {
                Access::Read | Access::Copy => unreachable!("nothing of this kind is written"),
                Access::Write => words.fill(number),
                Access::Update => words.iter_mut().for_each(|word| *word = word.wrapping_add(number)),
                Access::NonTemporal => words.iter_mut().for_each(|word| store_past_caches(word, number)),
            }
            number = number.wrapping_add(1);
        }
    }
    finish_stores();
}

/// Stores past the caches where the processor can.
#[inline(always)]
fn store_past_caches(word: &mut u64, value: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the word is there, and every x86_64 has the instruction.
    unsafe {
        std::arch::x86_64::_mm_stream_si64(std::ptr::from_mut(word).cast(), value as i64);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *word = value;
    }
}

/// Stores past the caches are seen in order by whoever reads next.
#[inline(always)]
fn finish_stores() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86_64 has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod with_avx2 {
    use super::{Accesses, Sum, finish_stores, store_past_caches};
    use crate::measure::kernels::apex_map::sum::avx2::{begin, block, end, load};
    use std::arch::x86_64::{__m256i, _mm256_add_epi64, _mm256_set1_epi64x, _mm256_storeu_si256, _mm256_stream_si256};

    pub(super) const WRITE: u8 = 0;
    pub(super) const UPDATE: u8 = 1;
    pub(super) const NON_TEMPORAL: u8 = 2;

    const VECTOR: usize = 4;
    const TOGETHER: usize = 4;

    #[target_feature(enable = "avx2")]
    pub(super) fn mixed<const ACCESS: u8>(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        let mut lanes = begin(sum);
        let mut number = what.first;
        // Non-temporal stores of vectors ask for whole vectors at their own places.
        let whole = what.block.is_multiple_of(VECTOR) && memory.as_ptr().cast::<__m256i>().is_aligned();
        for group in offsets.chunks(what.pattern.group) {
            let (reads, writes) = group.split_at(what.pattern.reads(group.len()));
            for &at in reads {
                block(&mut lanes, &memory[at as usize..][..what.block]);
            }
            number = number.wrapping_add(reads.len() as u64);
            for &at in writes {
                let words = &mut memory[at as usize..][..what.block];
                if ACCESS == NON_TEMPORAL && !(whole && (at as usize).is_multiple_of(VECTOR)) {
                    words.iter_mut().for_each(|word| store_past_caches(word, number));
                } else {
                    change::<ACCESS>(words, number);
                }
                number = number.wrapping_add(1);
            }
        }
        finish_stores();
        end(&lanes, sum);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn change<const ACCESS: u8>(words: &mut [u64], number: u64) {
        let numbers = _mm256_set1_epi64x(number as i64);
        let (vectors, rest) = words.as_chunks_mut::<VECTOR>();
        let (groups, single) = vectors.as_chunks_mut::<TOGETHER>();
        for group in groups {
            group.iter_mut().for_each(|vector| store::<ACCESS>(vector, numbers));
        }
        for vector in single {
            store::<ACCESS>(vector, numbers);
        }
        for word in rest {
            *word = if ACCESS == UPDATE { word.wrapping_add(number) } else { number };
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store<const ACCESS: u8>(vector: &mut [u64; VECTOR], numbers: __m256i) {
        let to = vector.as_mut_ptr().cast::<__m256i>();
        // SAFETY: there is room for a vector; only non-temporal stores need alignment, which the caller has seen to.
        unsafe {
            match ACCESS {
                WRITE => _mm256_storeu_si256(to, numbers),
                UPDATE => _mm256_storeu_si256(to, _mm256_add_epi64(load(vector), numbers)),
                _ => _mm256_stream_si256(to, numbers),
            }
        }
    }

    /// Blocks are the same or do not overlap.
    #[target_feature(enable = "avx2")]
    pub(super) fn copy_all(memory: &mut [u64], offsets: &[u64], words: usize) {
        for &[from, to] in offsets.as_chunks::<2>().0 {
            let from = memory[from as usize..][..words].as_ptr();
            let to = memory[to as usize..][..words].as_mut_ptr();
            let mut at = 0;
            // SAFETY: both blocks lie within the memory, which nobody else uses; the instructions need no alignment.
            unsafe {
                while at + VECTOR * TOGETHER <= words {
                    for k in 0..TOGETHER {
                        let vector = load(&*from.add(at + VECTOR * k).cast::<[u64; VECTOR]>());
                        _mm256_storeu_si256(to.add(at + VECTOR * k).cast(), vector);
                    }
                    at += VECTOR * TOGETHER;
                }
                while at + VECTOR <= words {
                    let vector = load(&*from.add(at).cast::<[u64; VECTOR]>());
                    _mm256_storeu_si256(to.add(at).cast(), vector);
                    at += VECTOR;
                }
                while at < words {
                    *to.add(at) = *from.add(at);
                    at += 1;
                }
            }
        }
    }
}
