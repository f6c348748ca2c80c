//! Parsing of quantities as users write them (`"64 Mwords"`, `"2 GiB"`, `"90 s"`), and formatting for output.
//!
//! A word is 8 bytes. `kwords`, `Mwords` and `Gwords` are powers of two (2^10, 2^20, 2^30), as in the papers. `kB`, `MB`, `GB`
//! are powers of ten; `KiB`, `MiB`, `GiB`, `TiB` are powers of two.

pub const WORD_BYTES: u64 = 8;
/// On x86_64.
pub const BASE_PAGE_BYTES: u64 = 4 << 10;
/// On x86_64.
pub const HUGE_PAGE_BYTES: u64 = 2 << 20;

crate::words! {
    /// The unit of a parameter or column. Its word is the symbol on an axis or in a table head.
    pub enum Unit {
        /// A pure number or count.
        None = "",
        /// 8-byte words.
        Words = "words",
        /// Bytes. Also parsed from `kB`, `MB`, `GB` (powers of ten), `KiB` to `TiB` (powers of two) or `words` (8 bytes).
        Bytes = "B",
        /// Seconds. Also parsed from `ns`, `us`, `ms`, `min` or `h`.
        Seconds = "s",
        /// Hertz, for clocks. Also parsed from `MHz` or `GHz`.
        Hertz = "Hz",
        /// Clock cycles.
        Cycles = "cycles",
        /// Bytes per second. Also parsed from `MB/s`, `GB/s` or `TB/s` (powers of ten).
        BytesPerSecond = "B/s",
        /// Operations per second: accesses, updates, messages.
        PerSecond = "1/s",
        /// RandomAccess updates per second, printed in GUPS: 10^9 updates per second.
        UpdatesPerSecond = "GUPS",
        /// Seconds per byte: the inverse of a bandwidth. Also parsed from `ns/B`.
        SecondsPerByte = "s/B",
    }
}

impl Unit {
    /// Returns the unit as written on an axis or in a table head.
    pub fn symbol(self) -> &'static str {
        self.name()
    }
}

const KIBI: f64 = 1024.0;

/// The conversion from a unit to the base unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Times(f64),
    /// For negative powers of ten: 1e9 is a double and 1e-9 is not, so `7 ns` becomes the double nearest to 7e-9.
    Per(f64),
}

impl Scale {
    pub fn apply(self, number: f64) -> f64 {
        match self {
            Scale::Times(factor) => number * factor,
            Scale::Per(divisor) => number / divisor,
        }
    }
}

fn suffixes(unit: Unit) -> &'static [(&'static str, Scale)] {
    use Scale::{Per, Times};
    match unit {
        Unit::Words => &[
            ("words", Times(1.0)),
            ("word", Times(1.0)),
            ("kwords", Times(KIBI)),
            ("Mwords", Times(KIBI * KIBI)),
            ("Gwords", Times(KIBI * KIBI * KIBI)),
            ("Twords", Times(KIBI * KIBI * KIBI * KIBI)),
            ("B", Times(0.125)),
            ("KiB", Times(KIBI / 8.0)),
            ("MiB", Times(KIBI * KIBI / 8.0)),
            ("GiB", Times(KIBI * KIBI * KIBI / 8.0)),
            ("TiB", Times(KIBI * KIBI * KIBI * KIBI / 8.0)),
        ],
        Unit::Bytes => &[
            ("B", Times(1.0)),
            ("kB", Times(1e3)),
            ("MB", Times(1e6)),
            ("GB", Times(1e9)),
            ("KiB", Times(KIBI)),
            ("MiB", Times(KIBI * KIBI)),
            ("GiB", Times(KIBI * KIBI * KIBI)),
            ("TiB", Times(KIBI * KIBI * KIBI * KIBI)),
            ("words", Times(8.0)),
            ("kwords", Times(8.0 * KIBI)),
            ("Mwords", Times(8.0 * KIBI * KIBI)),
            ("Gwords", Times(8.0 * KIBI * KIBI * KIBI)),
        ],
        Unit::Seconds => &[
            ("ns", Per(1e9)),
            ("us", Per(1e6)),
            ("ms", Per(1e3)),
            ("s", Times(1.0)),
            ("min", Times(60.0)),
            ("h", Times(3600.0)),
        ],
        Unit::BytesPerSecond => {
            &[("B/s", Times(1.0)), ("MB/s", Times(1e6)), ("GB/s", Times(1e9)), ("TB/s", Times(1e12))]
        }
        Unit::PerSecond => &[("1/s", Times(1.0)), ("M/s", Times(1e6))],
        Unit::UpdatesPerSecond => &[("GUPS", Times(1e9)), ("1/s", Times(1.0))],
        Unit::SecondsPerByte => &[("s/B", Times(1.0)), ("ns/B", Per(1e9))],
        Unit::Hertz => &[("Hz", Times(1.0)), ("MHz", Times(1e6)), ("GHz", Times(1e9))],
        Unit::None | Unit::Cycles => &[],
    }
}

/// Returns the names of the units that a kind of quantity may be written in; pure numbers have none.
pub fn suffix_names(unit: Unit) -> Vec<&'static str> {
    suffixes(unit).iter().map(|(name, _)| *name).collect()
}

/// Returns the conversion for one of these names, or `None` for another name.
pub fn scale(unit: Unit, name: &str) -> Option<Scale> {
    suffixes(unit).iter().find(|(suffix, _)| *suffix == name).map(|(_, scale)| *scale)
}

/// Parses a quantity such as `64 Mwords` and converts it to its base unit (words, bytes or seconds).
pub fn parse(text: &str, unit: Unit) -> Result<f64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-'))).unwrap_or(text.len());
    // An exponent belongs to the number: 1e6 words.
    let split = match text[split..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
            split + 2 + digits
        }
        _ => split,
    };
    let (number, suffix) = (text[..split].replace('_', ""), text[split..].trim());
    let number: f64 = number.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    let finite = |value: f64| {
        value.is_finite().then_some(value).ok_or_else(|| format!("\"{text}\" is above 1.8e308, the largest number"))
    };
    if suffix.is_empty() {
        return finite(number);
    }
    match scale(unit, suffix) {
        Some(scale) => finite(scale.apply(number)),
        None if suffixes(unit).is_empty() => Err(format!("\"{text}\": this is a pure number, it takes no unit")),
        None => Err(format!("\"{text}\": unit \"{suffix}\" is not one of {}", suffix_names(unit).join(", "))),
    }
}

/// Formats a number of bytes: `1.5 GiB`.
pub fn bytes(count: f64) -> String {
    format_with_prefix(count, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Formats a number of bytes without rounding, in the largest unit that divides it: `512 MiB`, `24584 B`.
pub fn exact_bytes(count: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| count >> bits > 0 && count.is_multiple_of(1 << bits));
    unit.map_or_else(|| format!("{count} B"), |(bits, name)| format!("{} {name}", count >> bits))
}

/// Formats the size of this number of words in bytes without rounding: `512 MiB`.
pub fn size_of_words(count: u64) -> String {
    count.checked_mul(WORD_BYTES).map_or_else(|| format!("{count} words"), exact_bytes)
}

pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("ch") => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

pub fn seconds(value: f64) -> String {
    // The printed digits choose the unit: 999.9 us are 1 ms.
    match round_to_digits(value.abs(), 3) {
        v if !v.is_finite() => "-".into(),
        0.0 => "0 s".into(),
        v if v < 1e-6 => format!("{} ns", short_number(value * 1e9)),
        v if v < 1e-3 => format!("{} us", short_number(value * 1e6)),
        v if v < 1.0 => format!("{} ms", short_number(value * 1e3)),
        v if v < 120.0 => format!("{} s", short_number(value)),
        v if v < 7200.0 => format!("{} min", short_number(value / 60.0)),
        _ => format!("{} h", short_number(value / 3600.0)),
    }
}

/// Formats with an SI prefix, but `0.0182 GUPS`, and binary prefixes of words: `935 MB/s`, `45.2 M/s`, `82 ns`, `1 kwords`.
pub fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::UpdatesPerSecond => return format!("{} GUPS", short_number(value / 1e9)),
        Unit::Seconds => return seconds(value),
        Unit::Words => return format_with_prefix(value, KIBI, &["words", "kwords", "Mwords", "Gwords", "Twords"]),
        _ => {}
    }
    let text = format_with_prefix(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
    let gap = if text.contains(' ') || unit.symbol().starts_with('1') { "" } else { " " };
    format!("{text}{gap}{}", unit.symbol().trim_start_matches('1')).trim_end().to_owned()
}

/// An interval is useless if its upper end is this factor above its lower end, or more.
pub const MAX_INTERVAL_RATIO: f64 = 30.0;

/// Returns whether an interval is narrow enough to be useful. One that reaches 0 is, because its upper end limits the value.
pub fn is_informative((low, high): (f64, f64)) -> bool {
    low <= 0.0 || high < MAX_INTERVAL_RATIO * low
}

/// Formats an interval of rates or counts, with one unit if both ends have the same: `682 to 709 MB/s`.
pub fn interval((low, high): (f64, f64), unit: Unit) -> String {
    join_ends(&quantity(low, unit), &quantity(high, unit))
}

/// Formats an interval with any unit, written once if both ends have the same: `1.2 to 1.4 us`.
pub fn amount_interval((low, high): (f64, f64), unit: Unit) -> String {
    join_ends(&amount(low, unit), &amount(high, unit))
}

/// Formats a rate or count with an interval, whose unit is left out where the value has it: `106 GB/s (89.9 to 125)`.
pub fn quantity_with_interval(value: f64, ends: (f64, f64), unit: Unit) -> String {
    let (text, ends) = (quantity(value, unit), interval(ends, unit));
    let unit_of_value = text.split_once(' ').map_or("", |(_, unit)| unit);
    format!("{text} ({})", ends.strip_suffix(unit_of_value).unwrap_or(&ends).trim_end())
}

pub fn join_ends(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, low)), Some((_, high_unit))) if low == high_unit => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

pub fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value),
        Unit::SecondsPerByte => format!("{}/B", seconds(value)),
        Unit::None => short_number(value),
        unit => quantity(value, unit),
    }
}

pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Formats a number with an SI suffix: `1.5M`.
pub fn si_number(value: f64) -> String {
    let text = format_with_prefix(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
    text.replace(' ', "")
}

fn format_with_prefix(mut value: f64, base: f64, prefixes: &[&str]) -> String {
    let mut index = 0;
    // As rounded in the text: 999.99 M is 1 G.
    while value.abs().round() >= base && index + 1 < prefixes.len() {
        value /= base;
        index += 1;
    }
    format!("{} {}", short_number(value), prefixes[index]).trim_end().to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// Three significant digits, or all digits before the point, without trailing zeros: `0.5`, `1234`, `1.50e7`.
    Short,
    /// Integers in full, others as `Short`; for values of parameters.
    Exact,
    /// At most this number of significant digits, without trailing zeros: two digits give `1200` for 1234.
    Rounded(usize),
    /// Integers in full, others with five significant digits; for further calculations.
    Table,
    /// Exactly this number of significant digits, with trailing zeros: `2.500`.
    Fixed(usize),
    /// Three significant digits, or up to five to differ from 1: an interval that excludes 1 must not seem to end at 1.
    Ratio,
    /// As `Short`; from 100 on, three significant digits with thousands separators: `12,300`.
    Factor,
}

/// Formats a number in a style. Infinity and NaN become `-`.
pub fn number(value: f64, style: NumberStyle) -> String {
    // A double holds whole numbers of 15 digits exactly.
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    match style {
        _ if !value.is_finite() => "-".into(),
        NumberStyle::Fixed(digits) => match order_of_magnitude(value) {
            -3..=5 => with_significant_digits(value, digits),
            _ => format!("{value:.*e}", digits - 1),
        },
        _ if value == 0.0 => "0".into(),
        NumberStyle::Exact | NumberStyle::Table if whole => value.to_string(),
        NumberStyle::Short | NumberStyle::Exact => match order_of_magnitude(value) {
            -4..=6 => trim_zeros(with_significant_digits(value, 3)),
            _ => format!("{value:.2e}"),
        },
        NumberStyle::Table => number(value, NumberStyle::Rounded(5)),
        NumberStyle::Rounded(digits) => {
            let rounded_value = round_to_digits(value, digits);
            if (-4..15).contains(&order_of_magnitude(rounded_value)) {
                rounded_value.to_string()
            } else {
                format!("{rounded_value:e}")
            }
        }
        NumberStyle::Ratio | NumberStyle::Factor if value.abs() >= 1e7 => format!("{value:.2e}"),
        NumberStyle::Ratio => {
            let text = (3..6).map(|digits| with_significant_digits(value, digits)).find(|text| text.parse() != Ok(1.0));
            text.unwrap_or_else(|| with_significant_digits(value, 3))
        }
        NumberStyle::Factor if value < 99.5 => number(value, NumberStyle::Short),
        NumberStyle::Factor => insert_separators(&format!("{:.0}", round_to_digits(value, 3))),
    }
}

/// Returns the exponent of the largest power of ten that is not above the magnitude. The exponent of 0 is the smallest integer.
fn order_of_magnitude(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// Formats with this number of significant digits, but always with all digits before the point.
fn with_significant_digits(value: f64, digits: usize) -> String {
    let decimals = (digits as i32 - 1).saturating_sub(order_of_magnitude(value)).max(0) as usize;
    format!("{value:.decimals$}")
}

fn round_to_digits(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

fn trim_zeros(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn insert_separators(digits: &str) -> String {
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats the value of a parameter: integers in full, others with three significant digits.
pub fn exact_number(value: f64) -> String {
    number(value, NumberStyle::Exact)
}

/// Formats with three significant digits, without trailing zeros, and without an exponent for everyday magnitudes.
pub fn short_number(value: f64) -> String {
    number(value, NumberStyle::Short)
}
