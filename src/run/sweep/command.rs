//! The kernel `command` in a sweep file: its specification in `[fixed]`, and parameters that the user names.

use super::spec::{File, Scalar};
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::toml_file::TomlSource;
use apexmap_base::units::{self, Unit};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::command::{KEYS, Specification, is_name};
use apexmap_results::table::columns::{self, Role};
use std::ops::Range;

/// The specification of the sweep's command as the points hold it; `None` without a command.
pub fn specification(file: &File, has_kernel: bool, page: &TomlSource) -> Result<Option<String>> {
    let keys = &file.fixed.command;
    match (keys.first(), has_kernel) {
        (None, false) => return Ok(None),
        (Some((name, _)), false) => {
            let message =
                format!("\"{}\" belongs to the kernel command, which this sweep does not have", name.get_ref());
            return Err(page.error_at(name.span(), message, "add kernel = \"command\" to [fixed], or remove the line"));
        }
        (None, true) => {
            let help = "add command = [\"./bench\", \"--size\", \"{bytes}\"] to [fixed], a list of the program and its arguments";
            return Err(page.error_at(0..0, "the sweep has the kernel command, but no command", help));
        }
        (Some(_), true) => {}
    }
    if let Some(transport) =
        file.launch.transport.as_ref().filter(|transport| *transport.get_ref() == TransportKind::Simulated)
    {
        let help = "remove the transport, or write transport = \"mpi\" and a launcher, which then starts the command on its ranks";
        return Err(page.error_at(transport.span(), "a command cannot run on simulated ranks", help));
    }
    let place = keys.iter().find(|(name, _)| name.get_ref() == "command").unwrap_or(&keys[0]).0.span();
    let table = keys.iter().map(|(name, value)| (name.get_ref().clone(), value.clone())).collect();
    let fault = |message: String, place: Range<usize>| page.error_at(place, message, "docs/command.md shows every key");
    let specification: Specification = serde_json::from_value(serde_json::Value::Object(table))
        .map_err(|error| fault(error.to_string(), place.clone()))?;
    specification.check().map_err(|message| fault(message, place.clone()))?;
    for value in &specification.value {
        let column = value.column();
        if !matches!(columns::describe(&column).role, Role::Unknown | Role::Output) {
            return Err(fault(format!("\"{column}\" is a column of every result; give the value another name"), place));
        }
        if file.has_parameter(&column) {
            return Err(fault(format!("\"{column}\" is a parameter and a value; give the value another name"), place));
        }
    }
    Ok(Some(specification.with_locale().to_json()))
}

/// Whether a word may name a parameter of a command, and why not.
pub fn check_name(name: &str) -> Result<(), String> {
    match is_name(name) {
        _ if KEYS.contains(&name) => Err(format!("{name} belongs to the command; write it in [fixed]")),
        true => Ok(()),
        false => Err(format!("\"{name}\" cannot be the name of a parameter; use letters, digits and _")),
    }
}

/// Units that a value of a user's parameter may have.
const UNITS: [Unit; 4] = [Unit::Bytes, Unit::Seconds, Unit::Hertz, Unit::BytesPerSecond];

/// Whether a text is a number, which may have a unit.
pub fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok() || !matches!(value(&Scalar::Text(text.to_owned())), Value::Text(_))
}

/// The value of a parameter that a user named. A text with a unit is a number in the base unit; any other text is a word.
pub fn value(scalar: &Scalar) -> Value {
    let whole = |number: f64| match number.fract() == 0.0 && (0.0..1.8e19).contains(&number) {
        true => Value::Integer(number as u64),
        false => Value::Real(number),
    };
    match scalar {
        Scalar::Integer(number) => u64::try_from(*number).map_or(Value::Real(*number as f64), Value::Integer),
        Scalar::Real(number) => Value::Real(*number),
        Scalar::Text(text) => {
            let has_unit = text.ends_with(|c: char| c.is_alphabetic());
            let number = UNITS.iter().find_map(|unit| units::parse(text, *unit).ok()).filter(|_| has_unit);
            number.map_or_else(|| Value::Text(text.clone()), whole)
        }
    }
}
