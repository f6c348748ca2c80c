//! Most processors also read the result's line before they store to it; separate outputs include these bytes. Unlike STREAM's,
//! words are integers. Stores do not bypass the caches.

use super::*;
use crate::kernels::shared::parameters::{TRAFFIC, add_traffic};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.stream",
    summary: "Bandwidth of memory: consecutive words read, or STREAM's copy, scale, add and triad",
    source: &source::STREAM,
    place: "Table 2 (Copy, Scale, Add, Triad)",
    parameters: parameters![ACCESS, BYTES, PAGES, PASSES],
    outputs: &[OUTPUTS[0], PAGE_BYTES, HUGE_SHARE, TRAFFIC[0], TRAFFIC[1]],
    headline: "bytes_per_second",
    method: "Every rank traverses its own memory from end to end, all at the same time; the time is that of the \
        slowest rank. Sums were compared with those of the contents, every word of a result with its sources. \
        Bytes are counted as in STREAM: those of the arrays read and written. The memory was traversed once \
        before the clock started.",
    accesses_in_order: true,
    refuse: check_region,
    work: |point| {
        let count = PASSES.of(point).saturating_mul(operation(point).words(point) as u64);
        work_per_rank(
            point,
            count,
            "word",
            8 * operation(point).arrays,
            "8 per word read; 16 per word of copy and scale, 24 of add and triad",
        )
    },
    arena_words: region_words,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const ACCESS: Key<Access> = choice_key(
    "access",
    "access: sum of the words read, triad a = b + 3 c, copy a = b, scale a = 3 b, or add a = b + c",
);
choice! { enum Access { Read = "read", Triad = "triad", Copy = "copy", Scale = "scale", Add = "add" } }
const PASSES: Key<u64> = key("passes", "passes over the memory in one run", integers(1..=1 << 32, 4));

fn words_per_array(point: &Point) -> usize {
    // Whole lines, so that each array begins at the start of a line.
    (region_words(point) / 3 / 8 * 8) as usize
}

type Pass = fn(&mut [u64], &[u64], &[u64]);

struct Operation {
    /// That it reads or writes, each once.
    arrays: u64,
    run: Pass,
    expected: fn(u64, u64) -> u64,
}

fn operation(point: &Point) -> Operation {
    let (arrays, run, expected): (_, Pass, fn(u64, u64) -> u64) = match ACCESS.of(point) {
        Access::Read => (1, |_, _, _| (), |_, _| 0),
        Access::Copy => (2, copy, |b, _| b),
        Access::Scale => (2, scale, |b, _| b.wrapping_mul(3)),
        Access::Add => (3, add, u64::wrapping_add),
        Access::Triad => (3, triad, |b, c| b.wrapping_add(c.wrapping_mul(3))),
    };
    Operation { arrays, run, expected }
}

impl Operation {
    fn words(&self, point: &Point) -> usize {
        if self.arrays == 1 { region_words(point) as usize } else { words_per_array(point) }
    }
}

pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let operation = operation(point);
    let (seconds, wrong, fault_name) = if operation.arrays == 1 {
        let (seconds, wrong) = run_read(comm, point, arena)?;
        (seconds, wrong, "ranks read wrong words")
    } else {
        let (seconds, wrong) = run_write(comm, point, arena, operation.run, operation.expected)?;
        (seconds, wrong, "words of the result are wrong")
    };
    let work = (KERNEL.work)(point);
    let mut outcome = gather_outcome(comm, seconds, work.operations / point.ranks as f64, wrong, fault_name);
    let read_first = if operation.arrays == 1 { 0 } else { 1 };
    add_traffic(&mut outcome, work.operations * (8 * (operation.arrays + read_first)) as f64);
    Ok(outcome)
}

fn run_read<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<(f64, u64)> {
    let (words, passes) = (region_words(point), PASSES.of(point));
    let pages = PAGES.of(point);
    let (memory, _) = arena.words(pages, words as usize, index_contents(), |index| index as u64)?;
    black_box(sum(memory));
    comm.barrier();
    let start = comm.wall_time();
    let found_sum = (0..passes).fold(0u64, |sum_so_far, _| sum_so_far.wrapping_add(sum(black_box(memory))));
    let seconds = comm.wall_time() - start;
    let sum_per_pass = words.wrapping_mul(words - 1) / 2;
    Ok((seconds, u64::from(found_sum != sum_per_pass.wrapping_mul(passes))))
}

/// Returns the seconds, and the number of words that differ from `expected` of their sources. Collective.
pub fn run_write<C: Collectives>(
    comm: &C,
    point: &Point,
    arena: &mut Arena,
    pass: impl Fn(&mut [u64], &[u64], &[u64]),
    expected: impl Fn(u64, u64) -> u64,
) -> Result<(f64, u64)> {
    let pages = PAGES.of(point);
    let (memory, _) = arena.words_mut(pages, region_words(point) as usize, index_contents(), |index| index as u64)?;
    let (result, sources) = memory.split_at_mut(words_per_array(point));
    let (b, c) = sources.split_at(words_per_array(point));
    // No result has this value, so a loop that writes nothing is wrong.
    result.fill(u64::MAX);
    comm.barrier();
    let start = comm.wall_time();
    (0..PASSES.of(point)).for_each(|_| pass(black_box(&mut *result), black_box(b), black_box(c)));
    let seconds = comm.wall_time() - start;
    let is_wrong = |(a, (b, c)): &(&u64, (&u64, &u64))| **a != expected(**b, **c);
    Ok((seconds, result.iter().zip(b.iter().zip(c)).filter(is_wrong).count() as u64))
}

/// With Apex-Map's loop over blocks, so that a bound of reading is that of the fastest loop.
pub(super) fn sum(words: &[u64]) -> u64 {
    if words.is_empty() { 0 } else { sum_all(words, &[0], words.len()) }
}

pub fn fill(words: &mut [u64], number: u64) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has AVX-512.
        return unsafe { vectors::fill_avx512(words, number) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { vectors::fill_avx2(words, number) };
    }
    words.fill(number);
}

pub fn scale(result: &mut [u64], b: &[u64], _c: &[u64]) {
    scale_and_add::<SCALE>(result, b, b, 0);
}

pub fn add(result: &mut [u64], b: &[u64], c: &[u64]) {
    scale_and_add::<ADD>(result, b, c, 0);
}

pub fn triad(result: &mut [u64], b: &[u64], c: &[u64]) {
    scale_and_add::<TRIAD>(result, b, c, 0);
}

/// A zero that the compiler does not know prevents a call of memcpy.
pub fn copy(result: &mut [u64], b: &[u64], _c: &[u64]) {
    scale_and_add::<COPY>(result, b, b, black_box(0));
}

const COPY: u8 = 0;
const SCALE: u8 = 1;
const ADD: u8 = 2;
const TRIAD: u8 = 3;

/// `zero` is 0.
fn apply<const OPERATION: u8>(b: u64, c: u64, zero: u64) -> u64 {
    match OPERATION {
        COPY => b.wrapping_add(zero),
        SCALE => b.wrapping_mul(3),
        ADD => b.wrapping_add(c),
        _ => b.wrapping_add(c.wrapping_mul(3)),
    }
}

fn scale_and_add<const OPERATION: u8>(result: &mut [u64], b: &[u64], c: &[u64], zero: u64) {
    let words = result.len().min(b.len()).min(c.len());
    let (result, b, c) = (&mut result[..words], &b[..words], &c[..words]);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { vectors::pass::<OPERATION>(result, b, c, zero) };
    }
    for (a, (&b, &c)) in result.iter_mut().zip(b.iter().zip(c)) {
        *a = apply::<OPERATION>(b, c, zero);
    }
}

/// Loops over whole vectors: prefetchers recognise single load and store instructions best.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{ADD, COPY, SCALE, apply};
    use std::arch::x86_64::{
        _mm256_add_epi64, _mm256_loadu_si256, _mm256_set1_epi64x, _mm256_storeu_si256, _mm512_set1_epi64,
        _mm512_storeu_si512,
    };

    /// Does nothing, but prevents the compiler from merging several iterations of a loop into one.
    #[inline(always)]
    fn keep_iterations_separate() {
        // SAFETY: the text contains no instruction.
        unsafe { std::arch::asm!("", options(nomem, nostack, preserves_flags)) };
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn fill_avx512(words: &mut [u64], number: u64) {
        let (vectors, rest) = words.as_chunks_mut::<8>();
        let numbers = _mm512_set1_epi64(number as i64);
        for vector in vectors {
            // SAFETY: a chunk is as long as a vector, and borrowed exclusively; the instruction needs no alignment.
            unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), numbers) };
            keep_iterations_separate();
        }
        rest.fill(number);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn fill_avx2(words: &mut [u64], number: u64) {
        let (vectors, rest) = words.as_chunks_mut::<4>();
        let numbers = _mm256_set1_epi64x(number as i64);
        for vector in vectors {
            // SAFETY: a chunk is as long as a vector, and borrowed exclusively; the instruction needs no alignment.
            unsafe { _mm256_storeu_si256(vector.as_mut_ptr().cast(), numbers) };
            keep_iterations_separate();
        }
        rest.fill(number);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn pass<const OPERATION: u8>(result: &mut [u64], b: &[u64], c: &[u64], zero: u64) {
        let (vectors, rest) = result.as_chunks_mut::<4>();
        let ((b, b_rest), (c, c_rest)) = (b.as_chunks::<4>(), c.as_chunks::<4>());
        let zeros = _mm256_set1_epi64x(zero as i64);
        for (a, (b, c)) in vectors.iter_mut().zip(b.iter().zip(c)) {
            // SAFETY: all three chunks are as long as a vector; the instructions need no alignment.
            unsafe {
                let (b, c) = (_mm256_loadu_si256(b.as_ptr().cast()), _mm256_loadu_si256(c.as_ptr().cast()));
                let value = match OPERATION {
                    COPY => _mm256_add_epi64(b, zeros),
                    SCALE => _mm256_add_epi64(b, _mm256_add_epi64(b, b)),
                    ADD => _mm256_add_epi64(b, c),
                    _ => _mm256_add_epi64(b, _mm256_add_epi64(c, _mm256_add_epi64(c, c))),
                };
                _mm256_storeu_si256(a.as_mut_ptr().cast(), value);
            }
            keep_iterations_separate();
        }
        for (a, (&b, &c)) in rest.iter_mut().zip(b_rest.iter().zip(c_rest)) {
            *a = apply::<OPERATION>(b, c, zero);
        }
    }
}
