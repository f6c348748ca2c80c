use super::program::Finished;
use apexmap_base::units::{self, Unit};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const USER_SECONDS: &str = "user_seconds";
pub const SYSTEM_SECONDS: &str = "system_seconds";
pub const PEAK_BYTES: &str = "peak_bytes";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ValueSpec {
    /// Measured by the system.
    Usage(Usage),
    /// In the output.
    Printed(Printed),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Usage {
    Wall,
    User,
    System,
    Maxrss,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// `value` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its first group is the number. The last match counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The path of the number in JSON output: `results.0.median`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Results hold the number in the base unit if apexmap knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// `lower` for times and bytes if absent, otherwise `higher`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

impl Default for ValueSpec {
    fn default() -> Self {
        Self::Usage(Usage::Wall)
    }
}

/// Base units of printed values with the ends of their columns, which say the unit.
const UNITS: [(Unit, &str); 4] = [
    (Unit::BytesPerSecond, "bytes_per_second"),
    (Unit::PerSecond, "per_second"),
    (Unit::Seconds, "seconds"),
    (Unit::Bytes, "bytes"),
];

/// The base unit with the end of its column and the factor; `None` for a unit that apexmap does not know.
fn known_unit(name: &str) -> Option<(Unit, &'static str, units::Scale)> {
    UNITS.into_iter().find_map(|(unit, end)| Some((unit, end, units::scale(unit, name)?)))
}

pub fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl ValueSpec {
    /// Its end says the unit: `value_bytes_per_second`.
    pub fn column(&self) -> String {
        let printed = match self {
            Self::Usage(Usage::Wall) => return "seconds".into(),
            Self::Usage(Usage::User) => return USER_SECONDS.into(),
            Self::Usage(Usage::System) => return SYSTEM_SECONDS.into(),
            Self::Usage(Usage::Maxrss) => return PEAK_BYTES.into(),
            Self::Printed(printed) => printed,
        };
        let (name, unit) = (printed.name.as_deref().unwrap_or("value"), printed.unit.as_deref().unwrap_or_default());
        match known_unit(unit) {
            Some((_, end, _)) => format!("{name}_{end}"),
            None if unit.is_empty() => name.to_owned(),
            None => {
                let words = unit.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
                format!("{name}_{}", words.collect::<Vec<_>>().join("_per_"))
            }
        }
    }

    pub fn is_smaller_better(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::Printed(printed) => match (printed.better, printed.unit.as_deref().and_then(known_unit)) {
                (Some(better), _) => better == Better::Lower,
                (None, Some((unit, ..))) => matches!(unit, Unit::Seconds | Unit::Bytes),
                (None, None) => false,
            },
        }
    }

    pub fn check(&self) -> Result<(), String> {
        let Self::Printed(printed) = self else { return Ok(()) };
        if let Some(name) = printed.name.as_ref().filter(|name| !is_name(name)) {
            return Err(format!("\"{name}\" cannot be the name of a value; use letters, digits and _"));
        }
        match (&printed.regex, &printed.json) {
            (Some(pattern), None) => {
                let regex =
                    Regex::new(pattern).map_err(|error| format!("the pattern '{pattern}' is not valid: {error}"))?;
                match regex.captures_len() {
                    1 => Err(format!(
                        "the pattern '{pattern}' has no group; put the number in parentheses: 'rate: ([0-9.]+)'"
                    )),
                    _ => Ok(()),
                }
            }
            (None, Some(path)) if !path.is_empty() => Ok(()),
            _ => {
                Err("a value needs regex or json; write value = { regex = 'rate: ([0-9.]+)', unit = \"GB/s\" }".into())
            }
        }
    }

    /// In the base unit; `None` for the wall time, which every sample has.
    pub fn extract(&self, finished: &Finished) -> Result<Option<f64>, String> {
        let printed = match self {
            Self::Usage(_) => return Ok(None),
            Self::Printed(printed) => printed,
        };
        let result = match (&printed.regex, &printed.json) {
            (Some(pattern), _) => find_regex(pattern, finished),
            (None, path) => find_json(path.as_deref().unwrap_or_default(), finished),
        };
        let number = result.map_err(|why| format!("{why}; {}", finished.beginning()))?;
        let value = match printed.unit.as_deref().and_then(known_unit) {
            Some((_, _, scale)) => scale.apply(number),
            None => number,
        };
        // A large number exceeds the range in the base unit.
        if !value.is_finite() {
            return Err(format!("the program printed {number:?} as {}; {}", self.column(), finished.beginning()));
        }
        Ok(Some(value))
    }
}

pub fn find_regex(pattern: &str, finished: &Finished) -> Result<f64, String> {
    let regex = regex::bytes::Regex::new(pattern).map_err(|error| error.to_string())?;
    let last = |text: &[u8]| {
        let groups = regex.captures_iter(text).last()?;
        let (whole, group) = (groups.get(0)?, groups.get(1)?);
        let is_cut = whole.end() == group.end() && matches!(text[group.end()..], [b',', b'0'..=b'9', ..]);
        Some((String::from_utf8_lossy(group.as_bytes()).trim().to_owned(), is_cut))
    };
    let (text, is_cut) = last(&finished.output)
        .or_else(|| last(&finished.errors))
        .ok_or_else(|| format!("the output does not match '{pattern}'"))?;
    let number = match parse_number(&text) {
        Ok(_) if is_cut => Err("may end at a decimal comma: print a point, or add the comma to the pattern"),
        number => number,
    };
    number.map_err(|why| format!("the pattern '{pattern}' found \"{text}\", which {why}"))
}

/// A comma divides thousands in `1,234.5` and `1,234,567`, and is a decimal sign in `12,5`, `0,063` and `1.234,5`. In `1,234` it may be
/// either.
pub fn parse_number(text: &str) -> Result<f64, &'static str> {
    const THOUSANDS: &str = r"^[+-]?[1-9]\d{0,2}(,\d{3})+((,\d{3})|(\.\d*([eE].*)?))$";
    const DECIMAL: &str =
        r"^[+-]?((0|\d{4,})?,\d+|\d{1,3},(\d{1,2}|\d{4,})|[1-9]\d{0,2}(\.\d{3})+,\d+)([eE][+-]?\d+)?$";
    let text = text.trim_end_matches(',');
    let is_like = |pattern: &str| text.contains(',') && Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    let plain = if is_like(DECIMAL) { text.replace('.', "").replace(',', ".") } else { text.replace(',', "") };
    let number = plain.parse().map_err(|_| "is not a number")?;
    let is_certain = !text.contains(',') || is_like(THOUSANDS) || is_like(DECIMAL);
    if is_certain { Ok(number) } else { Err("may have a decimal comma: print a point, or no comma") }
}

pub fn find_json(path: &str, finished: &Finished) -> Result<f64, String> {
    let mut value: &Value =
        &serde_json::from_slice(&finished.output).map_err(|error| format!("the output is not JSON: {error}"))?;
    for part in path.split('.') {
        let next = match value {
            Value::Array(list) => part.parse::<usize>().ok().and_then(|position| list.get(position)),
            value => value.get(part),
        };
        value = next.ok_or_else(|| format!("the JSON output has no \"{part}\" of {path}"))?;
    }
    value.as_f64().ok_or_else(|| format!("{path} in the JSON output is {value}, not a number"))
}
