//! `--where` and flags with columns: the samples that a command uses, and their columns.

use apexmap_base::condition;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_results::samples::Samples;
use std::path::Path;

/// The flag of commands that select samples.
#[derive(clap::Args)]
pub struct Selection {
    /// Select samples, such as 'P == 2 && alpha <= 0.1' or 'M == 512 MiB'; given twice, both conditions must be true
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
}

impl Selection {
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Joined to one; `None` without a condition.
    pub fn condition(&self, samples: &Samples) -> Result<Option<String>> {
        for text in &self.conditions {
            samples.condition(text)?;
        }
        Ok(Some(&self.conditions)
            .filter(|conditions| !conditions.is_empty())
            .map(|conditions| condition::join(conditions)))
    }

    /// The argument that repeats the selection, behind a blank; nothing without a condition.
    pub fn argument(&self) -> String {
        let own = || format!(" --where '{}'", condition::join(&self.conditions).replace('\'', "'\\''"));
        if self.is_empty() { String::new() } else { own() }
    }

    /// The current samples that meet all conditions. A note says which bytes a condition means if it may mean others.
    pub fn choose(&self, samples: &Samples) -> Result<Samples> {
        let chosen = samples.choose(self.condition(samples)?.as_deref())?;
        for text in &self.conditions {
            let condition = samples.condition(text)?;
            condition.names().iter().filter_map(|name| samples.other_meaning(name)).for_each(|text| note(&text));
        }
        Ok(chosen)
    }

    /// A condition that the help suggests replaces the user's about the same name and joins the others; `RESULT` is the result.
    pub fn complete(&self, error: Error, result: &Path) -> Error {
        let path = result.display().to_string();
        if self.conditions.is_empty() {
            return Error { help: error.help.replace("RESULT", &path), ..error };
        }
        let name =
            |condition: &str| condition.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
        let suggested = error.help.split("--where '").nth(1).and_then(name);
        let parts =
            self.conditions.iter().flat_map(|text| text.split(if text.contains(['|', '(']) { "\0" } else { "&&" }));
        let others = parts.map(str::trim).filter(|part| suggested.is_none() || name(part) != suggested);
        // The empty last part stands for the suggested condition.
        let own = condition::join(&others.chain([""]).map(str::to_owned).collect::<Vec<_>>()).replace('\'', "'\\''");
        let help = error.help.replace("--where '", &format!("--where '{own}"));
        // Whole commands that an error suggests keep the conditions.
        let own = self.argument();
        let help = help.replace("RESULT curves", &format!("{path} curves{own}"));
        let help = help.replace("fit RESULT", &format!("fit {path}{own}"));
        Error { help: help.replace("RESULT", &path), ..error }
    }
}

pub fn names<'a>(flag: &str, list: &'a str, samples: &'a Samples) -> Result<Vec<&'a str>> {
    let mut columns = Vec::new();
    for given in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let name = column(flag, given, samples)?;
        if columns.contains(&name) {
            return Err(Error::input(format!("{flag} names {given} twice"), "name each column once"));
        }
        columns.push(name);
    }
    if columns.is_empty() && !list.trim().is_empty() {
        return Err(Error::input(
            format!("{flag} {list} names no column"),
            "separate columns by commas, such as alpha,L",
        ));
    }
    Ok(columns)
}

/// A column of a flag, by the column's or the paper's name.
pub fn column<'a>(flag: &str, given: &'a str, samples: &'a Samples) -> Result<&'a str> {
    let name = samples.resolve(given);
    let column = samples.require(name).map(|_| name);
    column.map_err(|error| Error { message: format!("{flag} {given}: {}", error.message), ..error })
}
