//! Resolves the columns that flags name.

use apexmap_base::error::{Error, Result};
use apexmap_results::samples::Samples;

/// Resolves the comma-separated columns of a flag.
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

/// Resolves a column that a flag names, by the column's or the paper's name.
pub fn column<'a>(flag: &str, given: &'a str, samples: &'a Samples) -> Result<&'a str> {
    let name = samples.resolve(given);
    let column = samples.require(name).map(|_| name);
    column.map_err(|error| Error { message: format!("{flag} {given}: {}", error.message), ..error })
}
