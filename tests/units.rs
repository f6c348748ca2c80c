//! Tests of quantities with units.

use apexmap_base::units::{
    NumberStyle, Unit, amount, bytes, is_informative, number, parse, quantity, seconds, short_number, si_number,
};
use proptest::prelude::*;

#[test]
fn updates_per_second_are_printed_in_gups() {
    assert_eq!(quantity(18.2e6, Unit::UpdatesPerSecond), "0.0182 GUPS");
    assert_eq!(amount(2.5e12, Unit::UpdatesPerSecond), "2500 GUPS");
    assert_eq!(parse("0.5 GUPS", Unit::UpdatesPerSecond), Ok(5e8));
}

#[test]
fn a_number_that_is_rounded_up_to_the_next_prefix_has_it() {
    assert_eq!(quantity(999.99e6, Unit::BytesPerSecond), "1 GB/s");
    assert_eq!(quantity(999.4e6, Unit::PerSecond), "999 M/s");
    assert_eq!(bytes(1023.7 * 1024.0), "1 MiB");
    assert_eq!(si_number(-999.6), "-1k");
    let times = [999.7e-6, 0.9999e-6, 0.9997, 119.7, 7199.0, -999.7e-6, 1234.0, 998.0e-6].map(seconds);
    assert_eq!(times, ["1 ms", "1 us", "1 s", "2 min", "2 h", "-1 ms", "20.6 min", "998 us"]);
}

#[test]
fn known_quantities_parse_to_their_known_values() {
    for (text, unit, value) in [
        ("64 Mwords", Unit::Words, 67_108_864.0),
        ("2 GiB", Unit::Words, 268_435_456.0),
        ("1 word", Unit::Words, 1.0),
        ("8 B", Unit::Words, 1.0),
        ("1_000", Unit::Words, 1000.0),
        ("1e6 words", Unit::Words, 1e6),
        ("1 kwords", Unit::Bytes, 8192.0),
        ("1.5 KiB", Unit::Bytes, 1536.0),
        ("1 GB", Unit::Bytes, 1e9),
        ("90 s", Unit::Seconds, 90.0),
        ("2min", Unit::Seconds, 120.0),
        ("250 ms", Unit::Seconds, 0.25),
        ("3 ns", Unit::Seconds, 3e-9),
        ("0.5 ns/B", Unit::SecondsPerByte, 5e-10),
        ("45.2 M/s", Unit::PerSecond, 45.2e6),
        ("1 1/s", Unit::PerSecond, 1.0),
        ("0.001", Unit::None, 0.001),
    ] {
        assert_eq!(parse(text, unit), Ok(value), "{text}");
    }
}

#[test]
fn numbers_are_printed_in_each_style() {
    use NumberStyle::{Exact, Factor, Fixed, Ratio, Rounded, Short, Table};
    for (value, style, text) in [
        (0.5, Short, "0.5"),
        (-0.012345, Short, "-0.0123"),
        (999.6, Short, "1000"),
        (1234.5, Short, "1234"),
        (1.5e7, Short, "1.50e7"),
        (2e-5, Short, "2.00e-5"),
        (0.0, Short, "0"),
        (f64::NAN, Short, "-"),
        (f64::INFINITY, Exact, "-"),
        (16777216.0, Exact, "16777216"),
        (0.123456, Exact, "0.123"),
        (1234.0, Rounded(2), "1200"),
        (0.10049, Rounded(3), "0.1"),
        (12.345e15, Rounded(3), "1.23e16"),
        (16777216.0, Table, "16777216"),
        (123456.7, Table, "123460"),
        (0.0000123456, Table, "1.2346e-5"),
        (2.5, Fixed(4), "2.500"),
        (123456.7, Fixed(4), "123457"),
        (1234567.0, Fixed(4), "1.235e6"),
        (0.0, Fixed(4), "0.000e0"),
        (2.0, Ratio, "2.00"),
        (1.0, Ratio, "1.00"),
        (1.0004, Ratio, "1.0004"),
        (0.9999, Ratio, "0.9999"),
        (123.4, Ratio, "123"),
        (1e303, Ratio, "1.00e303"),
        (1e20, Factor, "1.00e20"),
        (99.4, Factor, "99.4"),
        (12345.0, Factor, "12,300"),
        (1234567.0, Factor, "1,230,000"),
    ] {
        assert_eq!(number(value, style), text, "{value} {style:?}");
    }
}

#[test]
fn invalid_quantities_are_refused_with_the_known_units() {
    assert!(parse("64 Mword", Unit::Words).unwrap_err().contains("Mwords"));
    assert!(parse("3 s", Unit::None).unwrap_err().contains("pure number"));
    for text in ["", "words", "-", "1e", "1 2", "1.2.3 s", "--1", "1e- s", "µs", "1 µs", "9é", "1eé"] {
        assert!(parse(text, Unit::Seconds).is_err(), "{text:?}");
    }
}

#[test]
fn wide_intervals_are_unknown_and_those_from_0_are_upper_bounds() {
    for interval in [(1.0, 29.9), (0.0, 1e9), (-1.0, 1e9), (2.0, 2.0), (0.0, 0.0)] {
        assert!(is_informative(interval), "{interval:?}");
    }
    for unknown in [(1.0, 30.0), (0.339e-9, 16.1e-3), (1.0, f64::INFINITY), (f64::NAN, f64::NAN)] {
        assert!(!is_informative(unknown), "{unknown:?}");
    }
}

#[test]
fn numbers_of_words_have_binary_prefixes() {
    let words = |value: f64| amount(value, Unit::Words);
    assert_eq!([1.0, 16384.0, 268_435_456.0].map(words), ["1 words", "16 kwords", "256 Mwords"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_size_parses_to_three_digits(count in 0u64..1 << 50) {
        let text = bytes(count as f64);
        prop_assume!(!text.contains("PiB"));
        let read = parse(&text, Unit::Bytes).unwrap();
        prop_assert!((read - count as f64).abs() <= 0.005 * count as f64 + 1e-9, "{} is not {}", text, count);
    }

    #[test]
    fn a_printed_time_parses_to_three_digits(value in 1e-8f64..1e6) {
        let read = parse(&seconds(value), Unit::Seconds).unwrap();
        prop_assert!((read - value).abs() <= 0.005 * value + 1e-12, "{} is not {}", seconds(value), value);
    }

    #[test]
    fn a_parsed_time_is_the_nearest_double(number in 1u32.., suffix_index in 0usize..3) {
        let (suffix, power) = [("ns", -9), ("us", -6), ("ms", -3)][suffix_index];
        prop_assert_eq!(parse(&format!("{number} {suffix}"), Unit::Seconds), Ok(format!("{number}e{power}").parse().unwrap()));
    }

    #[test]
    fn words_and_bytes_agree(number in 1u32..1000, unit in prop::sample::select(vec!["KiB", "MiB", "GiB", "kwords", "Mwords"])) {
        let text = format!("{number} {unit}");
        prop_assert_eq!(parse(&text, Unit::Words).unwrap() * 8.0, parse(&text, Unit::Bytes).unwrap());
    }

    #[test]
    fn no_text_makes_the_quantity_parser_panic(text in "\\PC{0,12}", digits in "[0-9eE+._-]{0,6}[a-zé ]{0,4}") {
        for unit in [Unit::None, Unit::Words, Unit::Bytes, Unit::Seconds] {
            let _ = (parse(&text, unit), parse(&digits, unit));
        }
    }

    #[test]
    fn every_number_prints(value in proptest::num::f64::ANY) {
        prop_assert!(!short_number(value).is_empty() && !si_number(value).is_empty());
        let _ = (bytes(value), seconds(value));
        for style in [NumberStyle::Exact, NumberStyle::Rounded(5), NumberStyle::Table, NumberStyle::Fixed(4), NumberStyle::Ratio, NumberStyle::Factor] {
            prop_assert!(!number(value, style).is_empty());
        }
    }
}
