//! Selects samples by a condition of the user.

use crate::samples::Samples;
use crate::table::{columns, similar};
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{self, Unit, WORD_BYTES};

/// The column of the bytes that a run moved. Parameters of some kernels have the same name.
const MOVED_BYTES: &str = "bytes";

impl Samples {
    /// Parses a condition over the columns, which have their names or the papers' names: `alpha > 0.1 && kernel == "..."`.
    pub fn condition(&self, text: &str) -> Result<Condition> {
        let mut typed_names = Vec::new();
        for name in self.table().names() {
            let kind = match self.column(name) {
                Some(column) if column.is_words() => NameType::Word(column.dictionary().to_vec()),
                _ => NameType::Quantity(columns::describe(name).unit),
            };
            let short = columns::short(name);
            if short != name {
                typed_names.push((short, kind.clone()));
            }
            typed_names.push((name.as_str(), kind));
        }
        let advise = |name: &str| similar::advise(name, self.table().names());
        Condition::parse_with_advice(text, &typed_names, &advise).map_err(|mut error| {
            if let Some(place) = &mut error.location {
                place.file = "--where".into();
            }
            error
        })
    }

    /// Returns the current samples that meet a condition, or all current samples without one.
    pub fn choose(&self, condition: Option<&str>) -> Result<Self> {
        let condition = condition.map(|text| self.condition(text)).transpose()?;
        let current = self.current();
        let chosen = condition.as_ref().map_or_else(|| current.clone(), |condition| current.filter(condition));
        if chosen.is_empty() { Err(current.no_match_error(condition.as_ref())) } else { Ok(chosen) }
    }

    /// Returns a note if a condition on this name selects by the bytes that a run moved, but could mean the size of memory, which these
    /// samples have too.
    pub fn other_meaning(&self, name: &str) -> Option<String> {
        let column = self.resolve(name);
        if column != MOVED_BYTES {
            return None;
        }
        let memory = self.table().names().iter().find(|name| columns::is_memory(name))?;
        let example = self.first_value(memory).map(|value| columns::value_name(memory, &value))?;
        let symbol = columns::short(memory);
        Some(format!("note: \"{name}\" is what a run moved; the size of memory is {symbol}: '{symbol} == {example}'"))
    }

    /// Creates the error that no sample meets a condition. It lists the existing values.
    pub fn no_match_error(&self, condition: Option<&Condition>) -> Error {
        let Some(condition) = condition.filter(|_| !self.is_empty()) else {
            return Error::input("the result contains no samples", "run its sweep first: apexmap run");
        };
        let describe_values = |name: &String| format!("{name} is {}", self.values_in_units(self.resolve(name)));
        let values: Vec<String> = condition.names().iter().map(describe_values).collect();
        Error::input(
            "no sample meets the condition",
            format!("relax the condition; in this result {}", values.join("; ")),
        )
    }

    /// Lists the values of a column. Lengths in words are listed in bytes, too.
    fn values_in_units(&self, name: &str) -> String {
        let values = self.value_list(name);
        if columns::describe(name).unit != Unit::Words || columns::is_memory(name) {
            return values;
        }
        let shown =
            self.distinct_numbers(name).into_iter().take(values.split(", ").filter(|value| *value != "...").count());
        let bytes: Vec<String> = shown.map(|words| units::bytes(words * WORD_BYTES as f64)).collect();
        format!("{values} words ({})", bytes.join(", "))
    }
}
