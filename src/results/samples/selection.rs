//! Selects samples by a condition of the user, and the columns that tables and figures show by default.

use crate::samples::Samples;
use crate::table::columns::{self, IMPORTED_FROM};
use crate::table::quietness::{QUIETNESS, Quietness};
use crate::table::similar;
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{self, Unit, WORD_BYTES};
use apexmap_measure::kernels::command::{COMMAND, Specification, static_name};
use apexmap_measure::kernels::{self, Kernel};

/// The column of the bytes that a run moved. Parameters of some kernels have the same name.
const MOVED_BYTES: &str = "bytes";

impl Samples {
    /// Parses a condition over the columns, which have their names or the papers' names: `alpha > 0.1 && kernel == "..."`.
    pub fn condition(&self, text: &str) -> Result<Condition> {
        let mut typed_names = Vec::new();
        for name in self.table().names() {
            let kind = match self.column(name) {
                // Also on samples that are all quiet.
                _ if name == QUIETNESS => NameType::Word(Quietness::ALL.map(|word| word.name().into()).to_vec()),
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

    /// Returns a note if a condition selects by the bytes that a run moved, but could mean the size of memory.
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
        let help = format!("relax the condition; in this result {}", values.join("; "));
        Error::input("no sample meets the condition", help)
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

impl Samples {
    /// Returns the headline columns of the kernels: of a foreign one its first imported value, and `seconds` if there is none.
    pub fn headlines(&self) -> Vec<&str> {
        let mut headlines: Vec<&str> = Vec::new();
        for word in self.words("kernel") {
            let headline = match kernels::find(word) {
                Ok(kernel) => Some(self.with_kernel(word).headline(kernel)),
                Err(_) => {
                    let column = self.with_kernel(word).first_imported_value().map(str::to_owned);
                    self.table.names().iter().find(|name| Some(*name) == column.as_ref()).map(String::as_str)
                }
            };
            headlines.extend(headline.filter(|name| !headlines.contains(name)));
        }
        if headlines.is_empty() { vec!["seconds"] } else { headlines }
    }

    /// Returns the column that figures of a kernel's samples show: of a command, its first value.
    pub fn headline(&self, kernel: &Kernel) -> &'static str {
        match self.specification().filter(|_| kernel.has_own_parameters) {
            Some(command) => command.value.first().map_or(kernel.headline, |value| static_name(&value.column())),
            None => kernel.headline,
        }
    }

    pub fn is_smaller_better(&self, column: &str) -> bool {
        let value =
            self.specification().and_then(|command| command.value.into_iter().find(|value| value.column() == column));
        let by_unit = || matches!(columns::describe(column).unit, Unit::Seconds | Unit::Cycles);
        value.map_or_else(by_unit, |value| value.is_smaller_better())
    }

    pub fn own_parameters(&self) -> Vec<&str> {
        let is_own = |name: &&str| columns::describe(name).role == columns::Role::Unknown;
        columns::point_columns(self.table()).into_iter().filter(is_own).collect()
    }

    fn specification(&self) -> Option<Specification> {
        Specification::parse(self.first_word(COMMAND)).ok()
    }

    pub fn first_imported_value(&self) -> Option<&str> {
        let names = self.table.names();
        let import = names.iter().position(|name| name == IMPORTED_FROM)?;
        let is_value = |name: &&String| {
            use columns::Role::{Output, Rate, Unknown};
            [Output, Rate, Unknown].contains(&columns::describe(name).role) && self.has(name)
        };
        names[import..].iter().find(is_value).map(String::as_str)
    }
}
