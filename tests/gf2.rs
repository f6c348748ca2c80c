//! Tests of the random streams of RandomAccess.

use apexmap_measure::numerics::gf2::{PERIOD, lcg, multiply, step, take_steps, value_at};
use proptest::prelude::*;

#[test]
fn the_register_starts_at_one_and_doubles_until_a_bit_is_shifted_out() {
    assert_eq!(value_at(0), 1);
    assert_eq!(value_at(1), 2);
    assert_eq!(value_at(63), 1 << 63);
    assert_eq!(value_at(64), 7);
    assert_eq!(value_at(65), 14);
}

#[test]
fn the_register_repeats_after_exactly_the_published_period() {
    let power = |mut exponent: u64| {
        let (mut base, mut result) = (2, 1);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = multiply(result, base);
            }
            base = multiply(base, base);
            exponent >>= 1;
        }
        result
    };
    assert_eq!(power(PERIOD), 1);
    assert_eq!(value_at(PERIOD), 1);
    assert_eq!(value_at(PERIOD + 5), 32);
    let (mut rest, mut primes, mut factor) = (PERIOD, Vec::new(), 2);
    while rest > 1 && factor < 10_000_000 {
        if rest % factor == 0 {
            primes.push(factor);
            while rest % factor == 0 {
                rest /= factor;
            }
        }
        factor += 1;
    }
    if rest > 1 {
        primes.push(rest);
    }
    for prime in primes {
        assert_ne!(power(PERIOD / prime), 1, "the order divides PERIOD / {prime}");
    }
}

/// Values computed with Python's integers, from the reference's definition of each step.
#[test]
fn known_values_are_reproduced() {
    assert_eq!(lcg::value_at(0), 1);
    assert_eq!(lcg::value_at(1), 6_364_136_223_846_793_006);
    KNOWN_VALUES.iter().for_each(|&(position, value)| assert_eq!(value_at(position), value, "position {position}"));
    KNOWN_LCG_VALUES
        .iter()
        .for_each(|&(position, value)| assert_eq!(lcg::value_at(position), value, "position {position}"));
}

proptest! {
    #[test]
    fn a_register_jump_equals_repeated_steps(position in 0..PERIOD, steps in 0u64..300) {
        let walked = (0..steps).fold(value_at(position), |value, _| step(value));
        prop_assert_eq!(walked, value_at(position + steps));
        prop_assert_eq!(walked, multiply(value_at(position), value_at(steps)));
    }

    #[test]
    fn a_leap_equals_repeated_steps(value: u64) {
        prop_assert_eq!(take_steps::<1>(value), step(value));
        prop_assert_eq!(take_steps::<16>(value), (0..16).fold(value, |v, _| step(v)));
        prop_assert_eq!(take_steps::<62>(value), (0..62).fold(value, |v, _| step(v)));
    }

    #[test]
    fn a_jump_of_the_congruential_generator_equals_repeated_steps(position: u64, steps in 0u64..300) {
        let walked = (0..steps).fold(lcg::value_at(position), |value, _| lcg::step(value));
        prop_assert_eq!(walked, lcg::value_at(position.wrapping_add(steps)));
    }
}

const KNOWN_VALUES: [(u64, u64); 4] = [
    (100, 0x0000007000000000),
    (67108864, 0x0000000000000016),
    (834568137686317453, 0x4afab41f6e495c92),
    (1317624576693539400, 0x8000000000000003),
];
const KNOWN_LCG_VALUES: [(u64, u64); 3] =
    [(1000, 0x2d5aa01dbbf77019), (67108864, 0x80cfd1533c000001), (834568137686317453, 0xe2f84dedcbfbeab2)];
