//! Quantities as users write them (`"64 Mwords"`, `"2 GiB"`, `"90 s"`) and as they are printed.
//!
//! Words are 8 bytes. `kwords`, `Mwords` and `Gwords` are powers of two (2^10, 2^20, 2^30), as the papers use
//! them; `kB`, `MB`, `GB` are powers of ten and `KiB`, `MiB`, `GiB`, `TiB` powers of two.

/// Bytes per word, in every kernel.
pub const WORD_BYTES: u64 = 8;
/// Of a base page, as on x86_64.
pub const BASE_PAGE_BYTES: u64 = 4 << 10;
/// Of a huge page, as on x86_64.
pub const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// What a parameter or column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A pure number or count.
    None,
    /// 8-byte words.
    Words,
    /// Bytes. Read with `kB`, `MB`, `GB` (powers of ten), `KiB` to `TiB` (powers of two) or `words` (8 bytes).
    Bytes,
    /// Seconds. Read with `ns`, `us`, `ms`, `s`, `min` or `h`.
    Seconds,
    /// Hertz: of clocks. Read with `MHz` or `GHz`, too.
    Hertz,
    /// Clock cycles.
    Cycles,
    /// Bytes per second. Read with `MB/s`, `GB/s` or `TB/s` (powers of ten), too.
    BytesPerSecond,
    /// Operations per second: accesses, updates, messages.
    PerSecond,
    /// Updates per second of RandomAccess, printed in GUPS: 10^9 updates per second.
    UpdatesPerSecond,
    /// Seconds per byte: one over a bandwidth. Read with `ns/B`, too.
    SecondsPerByte,
}

impl Unit {
    /// The unit as written on an axis or in a table head.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Words => "words",
            Unit::Bytes => "B",
            Unit::Seconds => "s",
            Unit::Hertz => "Hz",
            Unit::Cycles => "cycles",
            Unit::BytesPerSecond => "B/s",
            Unit::PerSecond => "1/s",
            Unit::UpdatesPerSecond => "GUPS",
            Unit::SecondsPerByte => "s/B",
        }
    }
}

const K: f64 = 1024.0;

/// From a unit to the base unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Times(f64),
    /// For powers of ten below one: no double is 1e-9, but 1e9 is one, so that `7 ns` is the double nearest to 7e-9.
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

/// The units that a kind of quantity may be given in, with the scale to its base unit.
fn suffixes(unit: Unit) -> &'static [(&'static str, Scale)] {
    use Scale::{Per, Times};
    match unit {
        Unit::Words => &[
            ("words", Times(1.0)),
            ("word", Times(1.0)),
            ("kwords", Times(K)),
            ("Mwords", Times(K * K)),
            ("Gwords", Times(K * K * K)),
            ("Twords", Times(K * K * K * K)),
            ("B", Times(0.125)),
            ("KiB", Times(K / 8.0)),
            ("MiB", Times(K * K / 8.0)),
            ("GiB", Times(K * K * K / 8.0)),
            ("TiB", Times(K * K * K * K / 8.0)),
        ],
        Unit::Bytes => &[
            ("B", Times(1.0)),
            ("kB", Times(1e3)),
            ("MB", Times(1e6)),
            ("GB", Times(1e9)),
            ("KiB", Times(K)),
            ("MiB", Times(K * K)),
            ("GiB", Times(K * K * K)),
            ("TiB", Times(K * K * K * K)),
            ("words", Times(8.0)),
            ("kwords", Times(8.0 * K)),
            ("Mwords", Times(8.0 * K * K)),
            ("Gwords", Times(8.0 * K * K * K)),
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

/// The names of the units that a kind of quantity may be given in; pure numbers have none.
pub fn names(unit: Unit) -> Vec<&'static str> {
    suffixes(unit).iter().map(|(name, _)| *name).collect()
}

/// The scale of one of these names; `None` if it is none.
pub fn scale(unit: Unit, name: &str) -> Option<Scale> {
    suffixes(unit).iter().find(|(known, _)| *known == name).map(|(_, scale)| *scale)
}

/// Reads a quantity such as `64 Mwords` into its base unit (words, bytes or seconds).
///
/// Errors list the accepted suffixes.
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
        None => Err(format!("\"{text}\": unit \"{suffix}\" is not one of {}", names(unit).join(", "))),
    }
}

/// A count of bytes for printing: `1.5 GiB`.
pub fn bytes(count: f64) -> String {
    scaled(count, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A count with its noun: `1 point`, `2 points`.
pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("ch") => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// Seconds for printing: `12.3 us`.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".into(),
        0.0 => "0 s".into(),
        v if v < 1e-6 => format!("{} ns", significant(value * 1e9)),
        v if v < 1e-3 => format!("{} us", significant(value * 1e6)),
        v if v < 1.0 => format!("{} ms", significant(value * 1e3)),
        v if v < 120.0 => format!("{} s", significant(value)),
        v if v < 7200.0 => format!("{} min", significant(value / 60.0)),
        _ => format!("{} h", significant(value / 3600.0)),
    }
}

/// A rate or count with an SI prefix and its unit: `935 MB/s`, `45.2 M/s`; GUPS have no prefix: `0.0182 GUPS`.
pub fn quantity(value: f64, unit: Unit) -> String {
    if unit == Unit::UpdatesPerSecond {
        return format!("{} GUPS", significant(value / 1e9));
    }
    let text = scaled(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
    let gap = if text.contains(' ') || unit.symbol().starts_with('1') { "" } else { " " };
    format!("{text}{gap}{}", unit.symbol().trim_start_matches('1')).trim_end().to_owned()
}

/// An interval whose ends are this factor apart, or more, says nothing of its value.
pub const WIDEST_INTERVAL: f64 = 30.0;

/// Whether an interval says anything of its value: tables, axes and bounds ask here. One that reaches 0 or below is no matter of
/// factors: it says how large the value is at most.
pub fn is_known((low, high): (f64, f64)) -> bool {
    low <= 0.0 || high < WIDEST_INTERVAL * low
}

/// An interval, with its unit once if both ends have the same: `682 to 709 MB/s`.
pub fn interval((low, high): (f64, f64), unit: Unit) -> String {
    let (low, high) = (quantity(low, unit), quantity(high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, low)), Some((_, high_unit))) if low == high_unit => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A value with its unit, for printing, whatever the unit.
pub fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value),
        Unit::SecondsPerByte => format!("{}/B", seconds(value)),
        Unit::None => significant(value),
        unit => quantity(value, unit),
    }
}

/// A plain number with an SI suffix: `1.5M`.
pub fn si(value: f64) -> String {
    let text = scaled(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
    text.replace(' ', "")
}

fn scaled(value: f64, base: f64, names: &[&str]) -> String {
    let mut value = value;
    let mut at = 0;
    while value.abs() >= base && at + 1 < names.len() {
        value /= base;
        at += 1;
    }
    format!("{} {}", significant(value), names[at]).trim_end().to_owned()
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// Three significant digits, more before the point, without trailing zeros: `0.5`, `1234`, `1.50e7`.
    Short,
    /// A parameter's value: whole numbers in full, others as `Short`.
    Exact,
    /// At most this many significant digits, without trailing zeros: `1200` for 1234 in two.
    Rounded(usize),
    /// For calculations: whole numbers in full, others rounded to five digits.
    Table,
    /// So many significant digits, with trailing zeros: `2.500`.
    Fixed(usize),
    /// Three digits, or up to five if needed to differ from 1: an interval must not end at a 1 that it leaves out.
    Ratio,
    /// As `Short`; from 100 on rounded to three digits and grouped by thousands: `12,300`.
    Factor,
}

/// A number as text; `-` for what is none.
pub fn number(value: f64, style: NumberStyle) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    match style {
        _ if !value.is_finite() => "-".into(),
        NumberStyle::Fixed(digits) => match order(value) {
            -3..=5 => decimals(value, digits),
            _ => format!("{value:.*e}", digits - 1),
        },
        _ if value == 0.0 => "0".into(),
        NumberStyle::Exact | NumberStyle::Table if whole => value.to_string(),
        NumberStyle::Short | NumberStyle::Exact => match order(value) {
            -4..=6 => trimmed(decimals(value, 3)),
            _ => format!("{value:.2e}"),
        },
        NumberStyle::Table => number(value, NumberStyle::Rounded(5)),
        NumberStyle::Rounded(digits) => {
            let rounded = rounded(value, digits);
            if (-4..15).contains(&order(rounded)) { rounded.to_string() } else { format!("{rounded:e}") }
        }
        NumberStyle::Ratio => {
            let known = (3..6).map(|digits| decimals(value, digits)).find(|text| text.parse() != Ok(1.0));
            known.unwrap_or_else(|| decimals(value, 3))
        }
        NumberStyle::Factor if value < 99.5 => number(value, NumberStyle::Short),
        NumberStyle::Factor => grouped(&format!("{:.0}", rounded(value, 3))),
    }
}

/// The power of ten below a magnitude; that of 0 is below all.
fn order(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// With this many significant digits, or as many as there are before the point.
fn decimals(value: f64, digits: usize) -> String {
    let decimals = (digits as i32 - 1).saturating_sub(order(value)).max(0) as usize;
    format!("{value:.decimals$}")
}

fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `12345` as `12,345`.
fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A parameter's value: whole numbers in full, others to three significant digits.
pub fn exact(value: f64) -> String {
    number(value, NumberStyle::Exact)
}

/// Three significant digits, without an exponent for everyday magnitudes and without trailing zeros.
pub fn significant(value: f64) -> String {
    number(value, NumberStyle::Short)
}
