//! Quantities as users write them (`"64 Mwords"`, `"2 GiB"`, `"90 s"`) and as they are printed.
//!
//! Words are 8 bytes. `kwords`, `Mwords` and `Gwords` are powers of two (2^10, 2^20, 2^30), as the papers use
//! them; `kB`, `MB`, `GB` are powers of ten and `KiB`, `MiB`, `GiB`, `TiB` powers of two.

/// Bytes per word, in every kernel.
pub const WORD_BYTES: u64 = 8;

/// What a parameter or column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A pure number or count.
    None,
    /// 8-byte words.
    Words,
    Bytes,
    Seconds,
    Hertz,
    /// Clock cycles.
    Cycles,
    BytesPerSecond,
    PerSecond,
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
            Unit::SecondsPerByte => "s/B",
        }
    }
}

const K: f64 = 1024.0;

/// Suffixes accepted for a unit, with the factor to its base (words, bytes or seconds).
fn suffixes(unit: Unit) -> &'static [(&'static str, f64)] {
    const WORDS: &[(&str, f64)] = &[
        ("words", 1.0),
        ("word", 1.0),
        ("kwords", K),
        ("Mwords", K * K),
        ("Gwords", K * K * K),
        ("Twords", K * K * K * K),
        ("B", 0.125),
        ("KiB", K / 8.0),
        ("MiB", K * K / 8.0),
        ("GiB", K * K * K / 8.0),
        ("TiB", K * K * K * K / 8.0),
    ];
    const BYTES: &[(&str, f64)] = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", K),
        ("MiB", K * K),
        ("GiB", K * K * K),
        ("TiB", K * K * K * K),
        ("words", 8.0),
        ("kwords", 8.0 * K),
        ("Mwords", 8.0 * K * K),
        ("Gwords", 8.0 * K * K * K),
    ];
    const SECONDS: &[(&str, f64)] =
        &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    const BYTES_PER_SECOND: &[(&str, f64)] = &[("B/s", 1.0), ("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
    const SECONDS_PER_BYTE: &[(&str, f64)] = &[("s/B", 1.0), ("ns/B", 1e-9)];
    const HERTZ: &[(&str, f64)] = &[("Hz", 1.0), ("MHz", 1e6), ("GHz", 1e9)];
    match unit {
        Unit::Words => WORDS,
        Unit::Bytes => BYTES,
        Unit::Seconds => SECONDS,
        Unit::BytesPerSecond => BYTES_PER_SECOND,
        Unit::SecondsPerByte => SECONDS_PER_BYTE,
        Unit::Hertz => HERTZ,
        _ => &[],
    }
}

/// The suffixes accepted for a unit.
pub fn names(unit: Unit) -> Vec<&'static str> {
    suffixes(unit).iter().map(|(name, _)| *name).collect()
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
    if suffix.is_empty() {
        return Ok(number);
    }
    match suffixes(unit).iter().find(|(name, _)| *name == suffix) {
        Some((_, factor)) => Ok(number * factor),
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

/// A moment, in seconds since 1970: `2026-11-21 03:04 UTC` (Howard Hinnant's civil_from_days).
pub fn utc(unix_seconds: f64) -> String {
    let seconds = unix_seconds as i64;
    let (days, time) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", time / 3600, time % 3600 / 60)
}

/// A rate or count with an SI prefix and its unit: `935 MB/s`, `45.2 M/s`.
pub fn quantity(value: f64, unit: Unit) -> String {
    let text = scaled(value, 1000.0, &["", "k", "M", "G", "T", "P"]);
    let gap = if text.contains(' ') || unit.symbol().starts_with('1') { "" } else { " " };
    format!("{text}{gap}{}", unit.symbol().trim_start_matches('1')).trim_end().to_owned()
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
    /// At most so many significant digits, without trailing zeros: `1200` for 1234 in two.
    Rounded(usize),
    /// For calculations: whole numbers in full, others rounded to five digits.
    Table,
    /// So many significant digits, with trailing zeros: `2.500`.
    Fixed(usize),
    /// Three digits, or up to five that tell it from 1: an interval must not end at a 1 that it leaves out.
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

/// With so many significant digits, or as many as stand before the point.
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
