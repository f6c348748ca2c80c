//! Samples chosen by a condition that a user wrote.

use crate::samples::Samples;
use crate::table::columns;
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};

impl Samples {
    /// A condition over their columns, by the columns' own or the papers' names: `alpha > 0.1 && kernel == "..."`.
    ///
    /// # Errors
    /// If it is wrong: the error has the place within the text, which is called `--where` there.
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

    /// The current ones that meet a condition, if one is given.
    ///
    /// # Errors
    /// If the condition is wrong, or none does: then the values that there are of its columns are named.
    pub fn choose(&self, condition: Option<&str>) -> Result<Self> {
        let condition = condition.map(|text| self.condition(text)).transpose()?;
        let current = self.current();
        let chosen = condition.as_ref().map_or_else(|| current.clone(), |condition| current.filter(condition));
        if chosen.is_empty() { Err(current.none_meets(condition.as_ref())) } else { Ok(chosen) }
    }

    /// That none of them meets a condition, and what there is.
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
