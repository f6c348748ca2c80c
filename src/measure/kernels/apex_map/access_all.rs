//! The timed loop of accesses that write: a scalar version, and one with vector instructions for processors that have them.

use super::access::{Access, WritePattern};
use super::sums::vectors::{Kind, store_past_caches};
use super::*;

#[derive(Clone, Copy, Debug)]
pub struct AccessSpec {
    pub access: Access,
    pub pattern: WritePattern,
    /// Words.
    pub block: usize,
    /// Number of the first access; an access writes its own number.
    pub first: u64,
}

/// Reads and writes the blocks at `offsets`, and returns the wrapping sum of the words read. This is the timed loop. It panics if a
/// block is not inside `memory`, or if a block of whole vectors is written past the caches at an offset that is not a multiple of
/// the vector's words.
pub fn access_all(memory: &mut [u64], offsets: &[u64], spec: AccessSpec) -> u64 {
    if spec.access == Access::Read {
        return sum_all(memory, offsets, spec.block);
    }
    let mut sum = Sum::new(spec.block);
    // SAFETY: the sum has blocks of `spec.block` words.
    unsafe { wide::access_blocks(Kind::best(), &mut sum, memory, offsets, spec) };
    sum.total()
}

/// The same in a scalar loop, to check runs.
pub(super) fn access_scalar(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], spec: AccessSpec) {
    let block = spec.block;
    if spec.access == Access::Copy {
        for &[from, to] in offsets.as_chunks::<2>().0 {
            memory.copy_within(from as usize..from as usize + block, to as usize);
        }
        return;
    }
    let mut number = spec.first;
    for group in offsets.chunks(spec.pattern.group) {
        let (reads, writes) = group.split_at(spec.pattern.reads(group.len()));
        for &offset in reads {
            sum.add(&memory[offset as usize..][..block]);
        }
        number = number.wrapping_add(reads.len() as u64);
        for &offset in writes {
            let words = &mut memory[offset as usize..][..block];
            match spec.access {
                Access::Read | Access::Copy => unreachable!("reads and copies do not reach this loop"),
                Access::Write => words.fill(number),
                Access::Update => words.iter_mut().for_each(|word| *word = word.wrapping_add(number)),
                Access::NonTemporal => words.iter_mut().for_each(|word| store_past_caches(word, number)),
            }
            number = number.wrapping_add(1);
        }
    }
    finish_stores();
}

/// Orders stores past the caches before all later accesses.
#[inline(always)]
fn finish_stores() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE, which has the instruction, is part of x86_64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

mod wide {
    use super::{Access, AccessSpec, Sum, finish_stores};
    use crate::kernels::shared::sums::Plain;
    use crate::kernels::shared::sums::lanes::Lanes;
    use crate::kernels::shared::sums::vectors::{Kind, Vector, Width, store_past_caches};
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{__m256i, __m512i};

    // The kinds of access to a block that is not only read.
    const WRITE: u8 = 0;
    const UPDATE: u8 = 1;
    const NON_TEMPORAL: u8 = 2;
    const COPY: u8 = 3;

    // Shapes of blocks by length. Each has a separate loop, because the cost per block dominates the time of short blocks.
    const ONE: u8 = 0;
    const VECTORS: u8 = 1;
    const GROUPS: u8 = 2;
    const ANY: u8 = 3;

    const GROUP_VECTORS: usize = 4;

    /// The same as [`super::access_all()`] for accesses that do not only read, with the instructions of `kind`.
    ///
    /// # Safety
    /// The sum has blocks of `spec.block` words.
    pub(super) unsafe fn access_blocks(
        kind: Kind,
        sum: &mut Sum,
        memory: &mut [u64],
        offsets: &[u64],
        spec: AccessSpec,
    ) {
        // SAFETY: a `Kind` comes only from the detection of its instructions, and AVX-512 includes AVX2. The caller ensures the
        // block length of the sum.
        unsafe {
            match kind.width() {
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 if spec.block.is_multiple_of(<__m512i as Vector>::WORDS) => {
                    avx512(sum, memory, offsets, spec);
                }
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 | Width::Avx2 => avx2(sum, memory, offsets, spec),
                Width::Plain => dispatch_shape::<Plain>(sum, memory, offsets, spec),
            }
        }
    }

    /// # Safety
    /// The sum has blocks of `spec.block` words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn avx2(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], spec: AccessSpec) {
        // SAFETY: this function has the instructions, and the caller ensures the block length of the sum.
        unsafe { dispatch_shape::<__m256i>(sum, memory, offsets, spec) }
    }

    /// # Safety
    /// The sum has blocks of `spec.block` words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], spec: AccessSpec) {
        // SAFETY: this function has the instructions, and the caller ensures the block length of the sum.
        unsafe { dispatch_shape::<__m512i>(sum, memory, offsets, spec) }
    }

    // All functions below need the vector's instructions. They are inlined into functions that have them. They contain no closures,
    // because a closure does not have the instructions before it is inlined.

    /// # Safety
    /// The processor has the vector's instructions, and the sum has blocks of `spec.block` words.
    #[inline(always)]
    unsafe fn dispatch_shape<V: Vector>(sum: &mut Sum, memory: &mut [u64], offsets: &[u64], spec: AccessSpec) {
        // Non-temporal stores of vectors need an aligned memory.
        let aligned = spec.access != Access::NonTemporal || memory.as_ptr().cast::<V>().is_aligned();
        // SAFETY: the caller ensures the instructions and the sum. Each arm ensures that the block has its shape, and that the memory
        // is aligned if non-temporal stores write vectors.
        unsafe {
            match spec.block {
                1 => dispatch_access::<V, ONE>(sum, memory, offsets, spec),
                block if block.is_multiple_of(GROUP_VECTORS * V::WORDS) && aligned => {
                    dispatch_access::<V, GROUPS>(sum, memory, offsets, spec);
                }
                block if block.is_multiple_of(V::WORDS) && aligned => {
                    dispatch_access::<V, VECTORS>(sum, memory, offsets, spec);
                }
                _ => dispatch_access::<V, ANY>(sum, memory, offsets, spec),
            }
        }
    }

    /// # Safety
    /// The processor has the vector's instructions, and the sum has blocks of `spec.block` words. The blocks have this shape: one
    /// word, whole vectors, whole groups of `GROUP_VECTORS` vectors, or any length. For non-temporal stores of whole vectors or groups,
    /// the memory has the alignment of a vector.
    #[inline(always)]
    unsafe fn dispatch_access<V: Vector, const SHAPE: u8>(
        sum: &mut Sum,
        memory: &mut [u64],
        offsets: &[u64],
        spec: AccessSpec,
    ) {
        // SAFETY: `copy_blocks` and `read_and_write` require the same of their callers as this function.
        unsafe {
            match spec.access {
                Access::Copy => copy_blocks::<V, SHAPE>(memory, offsets, spec.block),
                Access::Update => read_and_write::<V, SHAPE, UPDATE>(sum, memory, offsets, spec),
                Access::NonTemporal => read_and_write::<V, SHAPE, NON_TEMPORAL>(sum, memory, offsets, spec),
                Access::Read | Access::Write => read_and_write::<V, SHAPE, WRITE>(sum, memory, offsets, spec),
            }
        }
    }

    fn last_place(memory: &[u64], block: usize) -> usize {
        memory.len().checked_sub(block).expect("a block is longer than the memory")
    }

    /// # Safety
    /// The same as for [`dispatch_access`].
    #[inline(always)]
    unsafe fn read_and_write<V: Vector, const SHAPE: u8, const ACCESS: u8>(
        sum: &mut Sum,
        memory: &mut [u64],
        offsets: &[u64],
        spec: AccessSpec,
    ) {
        // SAFETY: the caller ensures the instructions.
        let mut lanes = unsafe { Lanes::<V>::begin(sum) };
        let (mut sum_of_words, mut number) = (0u64, spec.first);
        let last = last_place(memory, spec.block);
        let vector_stores = ACCESS == NON_TEMPORAL && (SHAPE == VECTORS || SHAPE == GROUPS);
        for group in offsets.chunks(spec.pattern.group) {
            let (reads, writes) = group.split_at(spec.pattern.reads(group.len()));
            for &offset in reads {
                if SHAPE == ONE {
                    sum_of_words = sum_of_words.wrapping_add(memory[offset as usize]);
                } else {
                    let words = &memory[offset as usize..][..spec.block];
                    // SAFETY: `words` has `spec.block` words, like the blocks of the sum.
                    unsafe { lanes.block(words.as_ptr()) };
                }
            }
            number = number.wrapping_add(reads.len() as u64);
            for &offset in writes {
                let offset = offset as usize;
                assert!(offset <= last, "a block is beyond the memory");
                assert!(
                    !vector_stores || offset.is_multiple_of(V::WORDS),
                    "the offset of a block written past the caches is not a multiple of the vector's words"
                );
                // SAFETY: a block whose offset is at most `last` is inside the memory. If non-temporal stores write vectors, the memory
                // is aligned and `offset` is a multiple of a vector's words.
                unsafe {
                    change::<V, SHAPE, ACCESS>(memory.as_mut_ptr().add(offset), std::ptr::null(), spec.block, number);
                }
                number = number.wrapping_add(1);
            }
        }
        finish_stores();
        lanes.end(sum);
        sum.add_word(sum_of_words);
    }

    /// The two blocks of a copy are identical or do not overlap.
    /// # Safety
    /// The same as for [`dispatch_access`].
    #[inline(always)]
    unsafe fn copy_blocks<V: Vector, const SHAPE: u8>(memory: &mut [u64], offsets: &[u64], block: usize) {
        let (last, words) = (last_place(memory, block), memory.as_mut_ptr());
        for &[from, to] in offsets.as_chunks::<2>().0 {
            assert!(from.max(to) as usize <= last, "a block is beyond the memory");
            // SAFETY: blocks whose offsets are at most `last` are inside the memory, which is borrowed exclusively.
            unsafe { change::<V, SHAPE, COPY>(words.add(to as usize), words.add(from as usize), block, 0) };
        }
    }

    /// Changes the block at `to`, or copies the block at `from` to it.
    ///
    /// # Safety
    /// The processor has the vector's instructions. `block` words can be read and written at `to` and, for a copy, read at `from`. The
    /// block has this shape. For non-temporal stores of whole vectors or groups, the address `to` is a multiple of a vector's length.
    #[inline(always)]
    unsafe fn change<V: Vector, const SHAPE: u8, const ACCESS: u8>(
        to: *mut u64,
        from: *const u64,
        block: usize,
        number: u64,
    ) {
        let mut offset = 0;
        // SAFETY: each loop ends when the rest of the block is shorter than one store, and `offset` advances by the words stored.
        unsafe {
            if SHAPE == ONE {
                return store_word::<ACCESS>(to, from, number);
            }
            let numbers = V::splat(number);
            // Non-temporal stores of vectors need alignment, which only blocks of whole vectors have.
            let vectors = ACCESS != NON_TEMPORAL || SHAPE != ANY;
            if SHAPE != VECTORS && vectors {
                // Pure writes use the loop below, with one store per turn. Several stores per turn do not give more stores per cycle,
                // and memory does not accept them faster.
                while ACCESS != WRITE && offset + GROUP_VECTORS * V::WORDS <= block {
                    for _ in 0..GROUP_VECTORS {
                        store::<V, ACCESS>(to.add(offset), from.wrapping_add(offset), numbers);
                        offset += V::WORDS;
                    }
                }
            }
            if (SHAPE != GROUPS || ACCESS == WRITE) && vectors {
                while offset + V::WORDS <= block {
                    store::<V, ACCESS>(to.add(offset), from.wrapping_add(offset), numbers);
                    offset += V::WORDS;
                }
            }
            if SHAPE == ANY {
                while offset < block {
                    store_word::<ACCESS>(to.add(offset), from.wrapping_add(offset), number);
                    offset += 1;
                }
            }
        }
    }

    /// # Safety
    /// The processor has the vector's instructions. A vector can be read and written at `to`. For a non-temporal store the address `to`
    /// is a multiple of the vector's length. For a copy, a vector can be read at `from`.
    #[inline(always)]
    unsafe fn store<V: Vector, const ACCESS: u8>(to: *mut u64, from: *const u64, numbers: V) {
        // SAFETY: the caller ensures the instructions and the addresses.
        unsafe {
            match ACCESS {
                WRITE => numbers.store(to),
                UPDATE => V::load(to).wrapping_add(numbers).store(to),
                NON_TEMPORAL => numbers.store_past_caches(to),
                _ => V::load(from).store(to),
            }
        }
    }

    /// # Safety
    /// A word can be read and written at `to`. For a copy, a word can be read at `from`.
    #[inline(always)]
    unsafe fn store_word<const ACCESS: u8>(to: *mut u64, from: *const u64, number: u64) {
        // SAFETY: the caller ensures the addresses.
        unsafe {
            match ACCESS {
                WRITE => *to = number,
                UPDATE => *to = (*to).wrapping_add(number),
                NON_TEMPORAL => store_past_caches(&mut *to, number),
                _ => *to = *from,
            }
        }
    }
}
