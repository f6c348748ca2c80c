//! One number of a card: its value, unit, uncertainty, domain and origin.

use super::catalogue::RECEIVE_PACKETS;
use super::domain::Domain;
use super::name::NumberName;
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{self, Scale, Unit};
use serde::{Deserialize, Serialize};

/// One number of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Value in `unit`; finite and not negative.
    pub value: f64,
    /// Unit of `value`, `low` and `high`; empty for pure numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Lower end of the 95 % interval. Both ends are given, or neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Smallest and largest of the medians of few launches, or of the runs of one launch, in the unit of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// Best of the runs, in the unit of the value. Bounds use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// Size that the system reports, in the unit of the value, if the value is measured and contradicts it; 0 if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<f64>,
    /// Launches of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<usize>,
    /// Runs of all launches together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// Runs in parts of which no two in a row took the same time, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsteady_runs: Option<usize>,
    /// Origin of the number: a method or a place in a paper.
    pub how: String,
    /// Where the number holds, if it does not have the domain of the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
}

impl Number {
    /// Creates a number without interval: `Number::new(7.0, "us", "MPI send and receive")`.
    pub fn new(value: f64, unit: &str, how: impl Into<String>) -> Self {
        Self {
            value,
            unit: unit.to_owned(),
            low: None,
            high: None,
            range: None,
            best: None,
            reported: None,
            launches: None,
            runs: None,
            unsteady_runs: None,
            how: how.into(),
            domain: None,
        }
    }

    /// Adds a 95 % interval, in the unit of the value.
    pub fn with_interval(self, low: f64, high: f64) -> Self {
        Self { low: Some(low), high: Some(high), ..self }
    }

    /// Adds the smallest and the largest of few launches or runs, in the unit of the value.
    pub fn with_range(self, least: f64, greatest: f64) -> Self {
        Self { range: Some((least, greatest)), ..self }
    }

    /// Adds the best run, in the unit of the value.
    pub fn with_best(self, best: f64) -> Self {
        Self { best: Some(best), ..self }
    }
}

/// Conversion of a number to its base unit.
pub enum Conversion {
    Scale(Scale),
    /// Cycles, converted with the card's `clock_hz`.
    Clock,
}

/// Units that only cards have: cycles of the card's clock.
const CLOCKED: [(Unit, &str); 2] = [(Unit::Seconds, "cycles"), (Unit::SecondsPerByte, "cycles/B")];

fn accepted_units(unit: Unit) -> Vec<&'static str> {
    let mut names = units::suffix_names(unit);
    names.extend(CLOCKED.iter().filter(|(kind, _)| *kind == unit).map(|(_, name)| *name));
    if names.is_empty() { vec![""] } else { names }
}

pub fn conversion(unit: Unit, name: &str) -> Option<Conversion> {
    match name {
        _ if CLOCKED.contains(&(unit, name)) => Some(Conversion::Clock),
        "" if units::suffix_names(unit).is_empty() => Some(Conversion::Scale(Scale::Times(1.0))),
        _ => units::scale(unit, name).map(Conversion::Scale),
    }
}

/// A limit that no simulation reaches says nothing.
const MAX_RECEIVE_PACKETS: f64 = 1_048_576.0;

pub fn check(name: &str, number: &Number, clocked: bool) -> Result<()> {
    let entry = NumberName::parse(name)?.entry;
    match conversion(entry.unit, &number.unit) {
        None => {
            let choices: Vec<_> = accepted_units(entry.unit).iter().map(|unit| format!("\"{unit}\"")).collect();
            let message = format!("{name} cannot be in \"{}\"", number.unit);
            return Err(Error::input(message, format!("write unit = {}", choices.join(" or "))));
        }
        Some(Conversion::Clock) if !clocked => {
            return Err(Error::input(format!("{name} is in cycles of an unknown clock"), "add [numbers.clock_hz]"));
        }
        Some(_) => {}
    }
    let [least, greatest] = [number.range.map(|ends| ends.0), number.range.map(|ends| ends.1)];
    let values = [Some(number.value), number.low, number.high, least, greatest, number.best, number.reported];
    if values.iter().flatten().any(|value| !value.is_finite() || *value < 0.0) {
        return Err(Error::input(
            format!("{name} must be finite and not negative"),
            "correct value, low, high, range, best or reported",
        ));
    }
    let is_count = number.value.fract() == 0.0 && (1.0..=MAX_RECEIVE_PACKETS).contains(&number.value);
    if entry.name == RECEIVE_PACKETS.name && !is_count {
        let message = format!("{name} must be a whole number from 1 to {MAX_RECEIVE_PACKETS}, found {}", number.value);
        return Err(Error::input(message, "write how many messages can wait; without the number, any number can"));
    }
    let within = match (number.low, number.high) {
        (None, None) => true,
        (Some(low), Some(high)) => low <= number.value && number.value <= high,
        _ => false,
    };
    if !within {
        let message = format!("the interval of {name} must have both ends, with the value between them");
        return Err(Error::input(message, "give low and high in the unit of the value, or neither"));
    }
    number.domain.as_ref().map_or(Ok(()), Domain::check)
}
