//! Powers of many numbers at once, as block numbers.
//!
//! For up to 2^26 blocks, the scalar power takes 10 to 54 ns, and one of these 1.8 to 3.7 ns with AVX-512 and 3.4 to 8.9 ns with AVX2 (AMD
//! Zen 5 beside other programs, November 2026).

use std::f64::consts::{LN_2, LOG2_E};

/// Numbers per step.
const LANES: usize = 8;
/// Largest relative error of [`power`] that is assumed. The largest seen is 6e-15.
const TOLERANCE: f64 = 1e-13;
/// Half-way between two doubles of distance 1 that hold all whole numbers up to 2^51: adding it rounds to a whole number.
const TO_WHOLE: f64 = 6_755_399_441_055_744.0;
/// 2^52, above which doubles are whole.
const WHOLE: f64 = 4_503_599_627_370_496.0;
const ONE: u64 = 1.0_f64.to_bits();
/// The bits of the square root of 1/2.
const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const FRACTION: u64 = (1 << 52) - 1;

/// Writes `floor(number^exponent * blocks)`, at most `blocks - 1`, for each number. Each is equal to what the scalar power gives: where a
/// product is so close to a whole number that rounding could decide, the scalar power decides.
///
/// Numbers are at least 0 and less than 1, the exponent at least 1, and `blocks` at most 2^50.
pub fn block_powers(numbers: &[f64], exponent: f64, blocks: u64, results: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the instructions.
            return unsafe { with_avx512(numbers, exponent, blocks, results) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { with_avx2(numbers, exponent, blocks, results) };
        }
    }
    each_step::<{ cfg!(target_arch = "aarch64") }>(numbers, exponent, blocks, results);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,fma")]
fn with_avx512(numbers: &[f64], exponent: f64, blocks: u64, results: &mut [u64]) {
    each_step::<true>(numbers, exponent, blocks, results);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2(numbers: &[f64], exponent: f64, blocks: u64, results: &mut [u64]) {
    each_step::<true>(numbers, exponent, blocks, results);
}

#[inline(always)]
fn each_step<const FUSED: bool>(numbers: &[f64], exponent: f64, blocks: u64, results: &mut [u64]) {
    let (steps, rest) = numbers.as_chunks::<LANES>();
    let (whole_results, last_results) = results.as_chunks_mut::<LANES>();
    for (numbers, results) in steps.iter().zip(whole_results) {
        step::<FUSED>(numbers, exponent, blocks, results);
    }
    for (&number, result) in rest.iter().zip(last_results) {
        *result = scalar(number, exponent, blocks);
    }
}

#[inline(always)]
fn step<const FUSED: bool>(numbers: &[f64; LANES], exponent: f64, blocks: u64, results: &mut [u64; LANES]) {
    let mut undecided = false;
    for (&number, result) in numbers.iter().zip(&mut *results) {
        let product = power::<FUSED>(number, exponent) * blocks as f64;
        let nearest = (product + WHOLE) - WHOLE;
        let distance = product - nearest;
        undecided |= distance.abs() <= TOLERANCE * product;
        let floor = nearest - if distance < 0.0 { 1.0 } else { 0.0 };
        *result = (floor + WHOLE).to_bits() & FRACTION;
    }
    if undecided {
        for (&number, result) in numbers.iter().zip(results) {
            *result = scalar(number, exponent, blocks);
        }
    }
}

/// Rounding may turn the product of a number below 1 into `blocks`.
pub fn scalar(number: f64, exponent: f64, blocks: u64) -> u64 {
    ((number.powf(exponent) * blocks as f64) as u64).min(blocks - 1)
}

/// Returns `a * b + c`, rounded once if the processor can.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Evaluates a polynomial whose coefficients begin with the constant one.
#[inline(always)]
fn polynomial<const FUSED: bool>(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, &coefficient| multiply_add::<FUSED>(value, x, coefficient))
}

#[inline(always)]
fn power<const FUSED: bool>(number: f64, exponent: f64) -> f64 {
    // Smaller powers are 0 blocks, and their own exponents would be too small for a double.
    exponential::<FUSED>((exponent * logarithm::<FUSED>(number)).max(-60.0))
}

/// number = 2^k m, with m between the roots of 1/2 and 2. The series of log(m) = 2 atanh((m - 1) / (m + 1)) has the coefficients of
/// fdlibm's `log`, whose order of operations keeps the relative error small near 1.
#[inline(always)]
fn logarithm<const FUSED: bool>(number: f64) -> f64 {
    const SERIES: [f64; 8] = [
        0.0,
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let bits = number.to_bits().wrapping_add(ONE - ROOT_HALF);
    let k = f64::from_bits(bits >> 52 | WHOLE.to_bits()) - (WHOLE + 1023.0);
    let f = f64::from_bits((bits & FRACTION) + ROOT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let half = 0.5 * f * f;
    let log = f - (half - s * (half + polynomial::<FUSED>(s * s, &SERIES)));
    multiply_add::<FUSED>(k, LN_2, log)
}

/// x = n ln 2 + r; the series of exp(r) ends at r^13. `x` is between -60 and 0.
#[inline(always)]
fn exponential<const FUSED: bool>(x: f64) -> f64 {
    const SERIES: [f64; 14] = inverse_factorials();
    /// ln 2 in two parts, of which n times the first is exact.
    const LN_2_PARTS: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    let n = multiply_add::<FUSED>(x, LOG2_E, TO_WHOLE);
    let scale = f64::from_bits((n.to_bits() << 52).wrapping_add(ONE));
    let n = n - TO_WHOLE;
    let r = multiply_add::<FUSED>(n, -LN_2_PARTS[1], multiply_add::<FUSED>(n, -LN_2_PARTS[0], x));
    polynomial::<FUSED>(r, &SERIES) * scale
}

const fn inverse_factorials<const TERMS: usize>() -> [f64; TERMS] {
    let (mut terms, mut k) = ([1.0; TERMS], 1);
    while k < TERMS {
        terms[k] = terms[k - 1] / k as f64;
        k += 1;
    }
    terms
}
