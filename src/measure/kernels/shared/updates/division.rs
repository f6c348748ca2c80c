//! Divides a list of updates into those that a rank keeps and those that it sends in a stage of the hypercube.

use super::random_stream::Index;
use super::recursive_halving::Stage;

/// Appends each value to `keep` or to `send`.
pub fn divide(values: &[u64], index: Index, stage: &Stage, keep: &mut Vec<u64>, send: &mut Vec<u64>) {
    keep.reserve(values.len() + LANES);
    send.reserve(values.len() + LANES);
    // SAFETY: `reserve` has made room for all values and one more vector in each list, and the instructions are detected. Both
    // functions initialise `kept` values at the end of `keep` and `values.len() - kept` values at the end of `send`. The lengths grow
    // by these numbers.
    unsafe {
        let to = Ends { keep: keep.as_mut_ptr().add(keep.len()), send: send.as_mut_ptr().add(send.len()) };
        #[cfg(target_arch = "x86_64")]
        let kept = if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            divide_vectors(values, index, stage, to)
        } else {
            divide_scalar(values, index, stage, to)
        };
        #[cfg(not(target_arch = "x86_64"))]
        let kept = divide_scalar(values, index, stage, to);
        keep.set_len(keep.len() + kept);
        send.set_len(send.len() + values.len() - kept);
    }
}

const LANES: usize = 4;

/// The ends of the two lists, where the next values are written.
struct Ends {
    keep: *mut u64,
    send: *mut u64,
}

/// Each value is written to both lists, and then one of the two ends advances. This avoids a branch that would be mispredicted half
/// of the time. Returns the number of kept values.
///
/// # Safety
/// Both lists have room for all values after their end.
unsafe fn divide_scalar(values: &[u64], index: Index, stage: &Stage, to: Ends) -> usize {
    let mut kept = 0;
    for (i, &value) in values.iter().enumerate() {
        // SAFETY: `kept` of the `i` values before this one were kept and the others sent, so both lists have room for one more value.
        unsafe {
            *to.keep.add(kept) = value;
            *to.send.add(i - kept) = value;
        }
        kept += usize::from(stage.keeps(index.word(value)));
    }
    kept
}

/// Divides four values at a time. A permutation moves the kept values of the four to the front, and another one those to send. This
/// takes a third of the time of [`divide_scalar`].
///
/// # Safety
/// Both lists have room for all values and four more after their end.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn divide_vectors(values: &[u64], index: Index, stage: &Stage, to: Ends) -> usize {
    use std::arch::x86_64::*;
    let fours = values.chunks_exact(LANES);
    let rest = fours.remainder();
    let shift = _mm_cvtsi64_si128(i64::from(index.shift()));
    let mask = _mm256_set1_epi64x(index.mask() as i64);
    // A boundary is at least 1, and less than 2^63.
    let last_below = _mm256_set1_epi64x(stage.boundary as i64 - 1);
    let lower = if stage.upper { 0 } else { 0b1111 };
    let mut kept = 0;
    for (i, four) in fours.enumerate() {
        // SAFETY: a chunk has four values. `kept` of the values before it were kept and the others sent, and both lists have room for
        // four more values than all. `keeps` has four bits, and `PERMUTATIONS` has an order for each combination.
        unsafe {
            let four = _mm256_loadu_si256(four.as_ptr().cast());
            let words = _mm256_and_si256(_mm256_srl_epi64(four, shift), mask);
            let above = _mm256_castsi256_pd(_mm256_cmpgt_epi64(words, last_below));
            let keeps = (_mm256_movemask_pd(above) ^ lower) as usize & 0b1111;
            let order = |first: usize| _mm256_loadu_si256(PERMUTATIONS[first].as_ptr().cast());
            let (to_keep, to_send) = (to.keep.add(kept), to.send.add(i * LANES - kept));
            _mm256_storeu_si256(to_keep.cast(), _mm256_permutevar8x32_epi32(four, order(keeps)));
            _mm256_storeu_si256(to_send.cast(), _mm256_permutevar8x32_epi32(four, order(keeps ^ 0b1111)));
            kept += keeps.count_ones() as usize;
        }
    }
    let done = values.len() - rest.len();
    // SAFETY: `done` values were written and `kept` of them kept, so both lists have room for the rest.
    unsafe {
        let to = Ends { keep: to.keep.add(kept), send: to.send.add(done - kept) };
        kept + divide_scalar(rest, index, stage, to)
    }
}

/// For each set of lanes, a permutation of the 32-bit halves of all lanes with the lanes of the set first.
#[cfg(target_arch = "x86_64")]
static PERMUTATIONS: [[u32; 2 * LANES]; 1 << LANES] = {
    let mut orders = [[0; 2 * LANES]; 1 << LANES];
    let mut set = 0;
    while set < orders.len() {
        let (mut place, mut turn) = (0, 0);
        while turn < 2 * LANES {
            let lane = turn % LANES;
            if (set >> lane & 1 == 1) == (turn < LANES) {
                orders[set][2 * place] = 2 * lane as u32;
                orders[set][2 * place + 1] = 2 * lane as u32 + 1;
                place += 1;
            }
            turn += 1;
        }
        set += 1;
    }
    orders
};
