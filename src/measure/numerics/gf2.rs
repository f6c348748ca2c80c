//! The streams of RandomAccess, with jump-ahead: a shift register over GF(2), and a linear congruential generator.

/// In steps (HPCC reference implementation, `PERIOD`).
pub const PERIOD: u64 = 1_317_624_576_693_539_401;

/// x^64 = x^2 + x + 1.
const TAIL: u64 = 7;

/// Multiplication by x modulo x^64 + x^2 + x + 1, as in the HPCC reference implementation (shift left, xor 7 if a one was shifted
/// out). The definition's text names another polynomial.
#[inline(always)]
pub const fn step(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64 & TAIL)
}

/// At most 62: the bits shifted out, times x^2 + x + 1, do not reach x^64 again.
#[inline(always)]
pub const fn take_steps<const STEPS: u32>(value: u64) -> u64 {
    const { assert!(STEPS > 0 && STEPS <= 62) };
    let shifted_out = value >> (64 - STEPS);
    (value << STEPS) ^ shifted_out ^ (shifted_out << 1) ^ (shifted_out << 2)
}

/// As polynomials.
pub const fn multiply(mut a: u64, mut b: u64) -> u64 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = step(a);
        b >>= 1;
    }
    product
}

/// x^position; position 0 holds 1. This is `HPCC_starts` of the reference implementation.
pub const fn value_at(position: u64) -> u64 {
    let position = position % PERIOD;
    let mut value = 1;
    let mut bit = 64 - position.leading_zeros();
    while bit > 0 {
        bit -= 1;
        value = multiply(value, value);
        if position >> bit & 1 == 1 {
            value = step(value);
        }
    }
    value
}

/// A linear congruential generator modulo 2^64 (Knuth's multiplier; HPCC's second stream, `HPCC_starts_LCG`).
pub mod lcg {
    pub const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    pub const INCREMENT: u64 = 1;

    #[inline(always)]
    pub const fn step(value: u64) -> u64 {
        value.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT)
    }

    /// The factor and the summand of `steps` steps at once, by doubling.
    pub const fn leap(mut steps: u64) -> (u64, u64) {
        let (mut factor, mut summand) = (1u64, 0u64);
        let (mut double_factor, mut double_summand) = (MULTIPLIER, INCREMENT);
        while steps > 0 {
            if steps & 1 == 1 {
                factor = factor.wrapping_mul(double_factor);
                summand = summand.wrapping_mul(double_factor).wrapping_add(double_summand);
            }
            double_summand = double_summand.wrapping_mul(double_factor.wrapping_add(1));
            double_factor = double_factor.wrapping_mul(double_factor);
            steps >>= 1;
        }
        (factor, summand)
    }

    /// The cycle has length 2^64; position 0 holds 1.
    pub const fn value_at(position: u64) -> u64 {
        let (factor, summand) = leap(position);
        factor.wrapping_add(summand)
    }
}
