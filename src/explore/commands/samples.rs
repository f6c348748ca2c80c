//! The samples that a command is about: read from a result, chosen by a condition, and columns of them by name.

use crate::error::{Error, Result};
use crate::explore::condition::{Condition, Kind};
use crate::explore::figure::select;
use crate::explore::store::folder::Damage;
use crate::explore::store::table::Column;
use crate::explore::store::{Folder, Table, columns, parquet};
use std::path::Path;

/// The samples of a result folder, or of a Parquet file.
pub fn read(result: &Path) -> Result<Table> {
    if !result.is_file() {
        return table(&Folder::open(result)?);
    }
    let table = parquet::read(result)?;
    table.check_samples(&result.display().to_string())?;
    Ok(table)
}

/// The samples of a result folder. Damage that has cost some is told on standard error.
pub fn table(folder: &Folder) -> Result<Table> {
    let (table, damages) = folder.table_and_damage()?;
    for Damage { journal, lines } in damages {
        let journal = journal.display();
        eprintln!(
            "note: unreadable lines in {journal}: {lines}; their samples are missing until the sweep is run again"
        );
    }
    Ok(table)
}

/// A condition over the table's columns, by their own or the papers' names.
pub fn condition(text: &str, table: &Table) -> Result<Condition> {
    let mut known = Vec::new();
    for name in table.names() {
        let kind = match table.column(name) {
            Some(Column::Words { dictionary, .. }) => Kind::Word(dictionary.clone()),
            _ => Kind::Number,
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

/// The current rows that meet a condition, if one is given.
///
/// # Errors
/// If the condition is wrong, or none does: then the values that there are of its columns are named.
pub fn rows(table: &Table, text: Option<&str>) -> Result<Vec<usize>> {
    let condition = text.map(|text| condition(text, table)).transpose()?;
    let rows = select::rows(table, condition.as_ref());
    if rows.is_empty() { Err(none(table, condition.as_ref())) } else { Ok(rows) }
}

/// That there is nothing, and what there is.
pub fn none(table: &Table, condition: Option<&Condition>) -> Error {
    let all = select::rows(table, None);
    let Some(condition) = condition.filter(|_| !all.is_empty()) else {
        return Error::input("the result contains no samples", "run its sweep first: apexmap run");
    };
    let there = |name: &String| format!("{name} is {}", columns::listed(table, columns::resolve(name), &all));
    let known: Vec<String> = condition.names().iter().map(there).collect();
    Error::input("no sample meets the condition", format!("relax the condition; in this result {}", known.join("; ")))
}

/// The columns that a flag lists with commas.
pub fn names<'a>(flag: &str, list: &'a str, table: &Table) -> Result<Vec<&'a str>> {
    let mut found = Vec::new();
    for given in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let name = column(flag, given, table)?;
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
pub fn column<'a>(flag: &str, given: &'a str, table: &Table) -> Result<&'a str> {
    let name = columns::resolve(given);
    let known = table.require(name).map(|_| name);
    known.map_err(|error| Error { what: format!("{flag} {given}: {}", error.what), ..error })
}
