//! Selects samples by a condition of the user.

use crate::samples::Samples;
use crate::table::columns;
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};

impl Samples {
    /// Parses a condition over the columns, which have their names or the papers' names: `alpha > 0.1 && kernel == "..."`.
    ///
    /// # Errors
    /// If it is invalid. The error has the place within the text, which it calls `--where`.
    pub fn condition(&self, text: &str) -> Result<Condition> {
        let mut known = Vec::new();
        for name in self.table().names() {
            let kind = match self.column(name) {
                Some(column) if column.is_words() => NameType::Word(column.dictionary().to_vec()),
                _ => NameType::Number,
            };
            let short = columns::short(name);
            if short != name {
                known.push((short, kind.clone()));
            }
            known.push((name.as_str(), kind));
        }
        Condition::parse(text, &known).map_err(|mut error| {
            if let Some(place) = &mut error.place {
                place.file = "--where".into();
            }
            error
        })
    }

    /// Returns the current samples that meet a condition, or all current samples without one.
    ///
    /// # Errors
    /// If the condition is invalid, or no sample meets it. The second error lists the existing values of its columns.
    pub fn choose(&self, condition: Option<&str>) -> Result<Self> {
        let condition = condition.map(|text| self.condition(text)).transpose()?;
        let current = self.current();
        let chosen = condition.as_ref().map_or_else(|| current.clone(), |condition| current.filter(condition));
        if chosen.is_empty() { Err(current.none_meets(condition.as_ref())) } else { Ok(chosen) }
    }

    /// Creates the error that no sample meets a condition. It lists the existing values.
    pub fn none_meets(&self, condition: Option<&Condition>) -> Error {
        let Some(condition) = condition.filter(|_| !self.is_empty()) else {
            return Error::input("the result contains no samples", "run its sweep first: apexmap run");
        };
        let there = |name: &String| format!("{name} is {}", self.value_list(self.resolve(name)));
        let known: Vec<String> = condition.names().iter().map(there).collect();
        Error::input(
            "no sample meets the condition",
            format!("relax the condition; in this result {}", known.join("; ")),
        )
    }
}
