//! The timed loop of accesses that write: plain, and with instructions of vectors where they are there.

use super::access::{Access, Pattern};
use super::{Sum, sum_all};

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
/// If a block does not lie within `memory`, or one of at least a vector that is written past the caches does not begin at a multiple of
/// the vector's words.
pub fn access_all(memory: &mut [u64], offsets: &[u64], what: Accesses) -> u64 {
    if what.access == Access::Read {
        return sum_all(memory, offsets, what.block);
    }
    let mut sum = Sum::new(what.block);
    #[cfg(target_arch = "x86_64")]
    if let Some(kind) = super::sums::vectors::Kind::best() {
        // SAFETY: the sum is of blocks of `what.block` words.
        unsafe { wide::all(kind, &mut sum, memory, offsets, what) };
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
    // SAFETY: a reference is aligned and can be written; SSE2, which has the instruction, is part of x86_64.
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
    // SAFETY: SSE, which has the instruction, is part of x86_64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Access, Accesses, Sum, finish_stores};
    use crate::kernels::shared::sums::lanes::Lanes;
    use crate::kernels::shared::sums::vectors::{Kind, Vector, Width};
    use std::arch::x86_64::{__m256i, __m512i, _mm_stream_si64};

    // What is done with a block that is not read.
    const WRITE: u8 = 0;
    const UPDATE: u8 = 1;
    const NON_TEMPORAL: u8 = 2;
    const COPY: u8 = 3;

    // Lengths of blocks, each with a loop of its own: what a block costs besides its words is what short ones cost.
    const ONE: u8 = 0;
    const VECTORS: u8 = 1;
    const GROUPS: u8 = 2;
    const ANY: u8 = 3;

    /// Vectors of a group.
    const TOGETHER: usize = 4;

    /// As [`super::access_all`], of what does not only read, with instructions that the processor has.
    ///
    /// # Safety
    /// The sum is of blocks of `what.block` words.
    pub(super) unsafe fn all(kind: Kind, sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        let whole = what.block.is_multiple_of(<__m512i as Vector>::WORDS);
        // SAFETY: a `Kind` comes only from the detection of its instructions, and AVX-512 includes AVX2; the caller has a sum of
        // these blocks.
        unsafe {
            match kind.width() {
                Width::Avx512 if whole => avx512(sum, memory, offsets, what),
                Width::Avx512 | Width::Avx2 => avx2(sum, memory, offsets, what),
            }
        }
    }

    /// # Safety
    /// The sum is of blocks of `what.block` words.
    #[target_feature(enable = "avx2")]
    unsafe fn avx2(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        // SAFETY: this function has the instructions, and the caller a sum of these blocks.
        unsafe { of_kind::<__m256i>(sum, memory, offsets, what) }
    }

    /// # Safety
    /// The sum is of blocks of `what.block` words.
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        // SAFETY: this function has the instructions, and the caller a sum of these blocks.
        unsafe { of_kind::<__m512i>(sum, memory, offsets, what) }
    }

    // From here on all needs the vector's instructions, and is inlined where they are; closures would not be in time.

    /// # Safety
    /// The processor has the vector's instructions, and the sum is of blocks of `what.block` words.
    #[inline(always)]
    unsafe fn of_kind<V: Vector>(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        // Non-temporal stores of vectors ask for their own places.
        let whole = what.access != Access::NonTemporal || memory.as_ptr().cast::<V>().is_aligned();
        // SAFETY: the caller has the instructions and the sum; each arm sees that the block has its shape, and that the memory is
        // aligned where non-temporal stores are of vectors.
        unsafe {
            match what.block {
                1 => of_shape::<V, ONE>(sum, memory, offsets, what),
                block if block.is_multiple_of(TOGETHER * V::WORDS) && whole => {
                    of_shape::<V, GROUPS>(sum, memory, offsets, what);
                }
                block if block.is_multiple_of(V::WORDS) && whole => of_shape::<V, VECTORS>(sum, memory, offsets, what),
                _ => of_shape::<V, ANY>(sum, memory, offsets, what),
            }
        }
    }

    /// # Safety
    /// The processor has the vector's instructions, and the sum is of blocks of `what.block` words. They have this shape: one word,
    /// whole vectors, whole groups of `TOGETHER` vectors, or any. For non-temporal stores of whole vectors or groups the memory is
    /// aligned as a vector.
    #[inline(always)]
    unsafe fn of_shape<V: Vector, const SHAPE: u8>(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], what: Accesses) {
        // SAFETY: both require the same of their callers.
        unsafe {
            match what.access {
                Access::Copy => copies::<V, SHAPE>(memory, offsets, what.block),
                Access::Update => mixed::<V, SHAPE, UPDATE>(sum, memory, offsets, what),
                Access::NonTemporal => mixed::<V, SHAPE, NON_TEMPORAL>(sum, memory, offsets, what),
                Access::Read | Access::Write => mixed::<V, SHAPE, WRITE>(sum, memory, offsets, what),
            }
        }
    }

    /// The last place at which a block of the memory may begin.
    fn last_place(memory: &[u64], block: usize) -> usize {
        memory.len().checked_sub(block).expect("a block is longer than the memory")
    }

    /// # Safety
    /// As of [`of_shape`].
    #[inline(always)]
    unsafe fn mixed<V: Vector, const SHAPE: u8, const ACCESS: u8>(
        sum: &mut Sum,
        memory: &mut [u64],
        offsets: &[u64],
        what: Accesses,
    ) {
        // SAFETY: the caller has the instructions.
        let mut lanes = unsafe { Lanes::<V>::begin(sum) };
        let (mut of_ones, mut number) = (0u64, what.first);
        let most = last_place(memory, what.block);
        let of_vectors = ACCESS == NON_TEMPORAL && (SHAPE == VECTORS || SHAPE == GROUPS);
        for group in offsets.chunks(what.pattern.group) {
            let (reads, writes) = group.split_at(what.pattern.reads(group.len()));
            for &at in reads {
                if SHAPE == ONE {
                    of_ones = of_ones.wrapping_add(memory[at as usize]);
                } else {
                    let words = &memory[at as usize..][..what.block];
                    // SAFETY: `words` has `what.block` words, as the sum's blocks have.
                    unsafe { lanes.block(words.as_ptr()) };
                }
            }
            number = number.wrapping_add(reads.len() as u64);
            for &at in writes {
                let at = at as usize;
                assert!(at <= most, "a block lies beyond the memory");
                assert!(
                    !of_vectors || at.is_multiple_of(V::WORDS),
                    "a block for vectors past the caches lies between two places"
                );
                // SAFETY: a block at most at `most` lies within the memory. Where non-temporal stores are of vectors, the memory is
                // aligned, and `at` is a multiple of a vector's words.
                unsafe {
                    change::<V, SHAPE, ACCESS>(memory.as_mut_ptr().add(at), std::ptr::null(), what.block, number);
                }
                number = number.wrapping_add(1);
            }
        }
        finish_stores();
        lanes.end(sum);
        sum.add_word(of_ones);
    }

    /// Blocks are the same or do not overlap.
    ///
    /// # Safety
    /// As of [`of_shape`].
    #[inline(always)]
    unsafe fn copies<V: Vector, const SHAPE: u8>(memory: &mut [u64], offsets: &[u64], block: usize) {
        let (most, words) = (last_place(memory, block), memory.as_mut_ptr());
        for &[from, to] in offsets.as_chunks::<2>().0 {
            assert!(from.max(to) as usize <= most, "a block lies beyond the memory");
            // SAFETY: blocks at most at `most` lie within the memory, which is borrowed exclusively.
            unsafe { change::<V, SHAPE, COPY>(words.add(to as usize), words.add(from as usize), block, 0) };
        }
    }

    /// Changes the block at `to`, or copies the one at `from` there.
    ///
    /// # Safety
    /// The processor has the vector's instructions. `block` words can be written at `to`, and if they are a copy read at `from`. The
    /// block has this shape; non-temporal ones of whole vectors or groups begin at a multiple of a vector's length.
    #[inline(always)]
    unsafe fn change<V: Vector, const SHAPE: u8, const ACCESS: u8>(
        to: *mut u64,
        from: *const u64,
        block: usize,
        number: u64,
    ) {
        let mut at = 0;
        // SAFETY: each loop ends where less than what it stores is left of the block, and `at` moves by what was stored.
        unsafe {
            if SHAPE == ONE {
                return store_word::<ACCESS>(to, from, number);
            }
            let numbers = V::all(number);
            // Vectors past the caches need places that only whole ones are known to have.
            let vectors = ACCESS != NON_TEMPORAL || SHAPE != ANY;
            if SHAPE != VECTORS && vectors {
                // Stores alone are quickest one by one: several a turn are no more a cycle, and memory takes them no faster.
                while ACCESS != WRITE && at + TOGETHER * V::WORDS <= block {
                    for _ in 0..TOGETHER {
                        store::<V, ACCESS>(to.add(at), from.wrapping_add(at), numbers);
                        at += V::WORDS;
                    }
                }
            }
            if (SHAPE != GROUPS || ACCESS == WRITE) && vectors {
                while at + V::WORDS <= block {
                    store::<V, ACCESS>(to.add(at), from.wrapping_add(at), numbers);
                    at += V::WORDS;
                }
            }
            if SHAPE == ANY {
                while at < block {
                    store_word::<ACCESS>(to.add(at), from.wrapping_add(at), number);
                    at += 1;
                }
            }
        }
    }

    /// # Safety
    /// The processor has the vector's instructions. A vector can be read and written at `to`, at a multiple of its length if it is
    /// non-temporal, and read at `from` if it is copied.
    #[inline(always)]
    unsafe fn store<V: Vector, const ACCESS: u8>(to: *mut u64, from: *const u64, numbers: V) {
        // SAFETY: the caller has the instructions and the places.
        unsafe {
            match ACCESS {
                WRITE => numbers.store(to),
                UPDATE => V::load(to).plus(numbers).store(to),
                NON_TEMPORAL => numbers.store_past_caches(to),
                _ => V::load(from).store(to),
            }
        }
    }

    /// # Safety
    /// A word can be read and written at `to`, and read at `from` if it is copied.
    #[inline(always)]
    unsafe fn store_word<const ACCESS: u8>(to: *mut u64, from: *const u64, number: u64) {
        // SAFETY: the caller has the places; SSE2, which has the non-temporal store, is part of x86_64.
        unsafe {
            match ACCESS {
                WRITE => *to = number,
                UPDATE => *to = (*to).wrapping_add(number),
                NON_TEMPORAL => _mm_stream_si64(to.cast(), number as i64),
                _ => *to = *from,
            }
        }
    }
}
