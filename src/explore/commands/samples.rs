//! The samples that a command is about: read from a result, chosen by a condition, and columns of them by name.

use crate::error::{Error, Result};
use crate::explore::condition::{Condition, NameType};
use crate::explore::store::folder::Damage;
use crate::explore::store::table::Column;
use crate::explore::store::{Folder, Samples, columns, parquet};
use std::path::Path;

/// All samples of a result folder, or of a Parquet file.
pub fn read(result: &Path) -> Result<Samples> {
    if !result.is_file() {
        return of_folder(&Folder::open(result)?);
    }
    let table = parquet::read(result)?;
    table.check_samples(&result.display().to_string())?;
    Ok(table.into())
}

/// All samples of a result folder. Lost samples are reported on standard error.
pub fn of_folder(folder: &Folder) -> Result<Samples> {
    let (table, damages) = folder.table_and_damage()?;
    for Damage { journal, lines } in damages {
        let journal = journal.display();
        eprintln!(
            "note: unreadable lines in {journal}: {lines}; their samples are missing until the sweep is run again"
        );
    }
    Ok(table.into())
}

/// A condition over the samples' columns, by their own or the papers' names.
pub fn condition(text: &str, samples: &Samples) -> Result<Condition> {
    let mut known = Vec::new();
    for name in samples.table().names() {
        let kind = match samples.column(name) {
            Some(Column::Words { dictionary, .. }) => NameType::Word(dictionary.clone()),
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
pub fn chosen(samples: &Samples, text: Option<&str>) -> Result<Samples> {
    let condition = text.map(|text| condition(text, samples)).transpose()?;
    let current = samples.current();
    let found = condition.as_ref().map_or_else(|| current.clone(), |condition| current.filter(condition));
    if found.is_empty() { Err(none(&current, condition.as_ref())) } else { Ok(found) }
}

/// That none of the `current` ones meets a condition, and what there is.
pub fn none(current: &Samples, condition: Option<&Condition>) -> Error {
    let Some(condition) = condition.filter(|_| !current.is_empty()) else {
        return Error::input("the result contains no samples", "run its sweep first: apexmap run");
    };
    let there = |name: &String| format!("{name} is {}", current.value_list(current.resolve(name)));
    let known: Vec<String> = condition.names().iter().map(there).collect();
    Error::input("no sample meets the condition", format!("relax the condition; in this result {}", known.join("; ")))
}

/// The columns that a flag lists with commas.
pub fn names<'a>(flag: &str, list: &'a str, samples: &Samples) -> Result<Vec<&'a str>> {
    let mut found = Vec::new();
    for given in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let name = column(flag, given, samples)?;
        if found.contains(&name) {
            return Err(Error::input(format!("{flag} names {given} twice"), "name each column once"));
        }
        found.push(name);
    }
    if found.is_empty() && !list.trim().is_empty() {
        return Err(Error::input(
            format!("{flag} {list} names no column"),
            "separate columns by commas, such as alpha,L",
        ));
    }
    Ok(found)
}

/// A column that a flag names, by its own or the paper's name.
pub fn column<'a>(flag: &str, given: &'a str, samples: &Samples) -> Result<&'a str> {
    let name = samples.resolve(given);
    let known = samples.require(name).map(|_| name);
    known.map_err(|error| Error { what: format!("{flag} {given}: {}", error.what), ..error })
}
