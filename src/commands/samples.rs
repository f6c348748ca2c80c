//! Reads the samples of a result, and resolves the columns that flags name.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_results::disk::parquet;
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use std::path::{Path, PathBuf};

/// Returns the result folder if the path names it or its samples, because the manifest is needed to check them; `None` for any
/// other file.
pub fn folder(named: &Path) -> Option<PathBuf> {
    if !named.is_file() {
        return Some(named.to_owned());
    }
    let parent = named.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = Folder { path: parent.unwrap_or(Path::new(".")).to_owned() };
    let of_folder = named.file_name() == folder.samples().file_name() && folder.manifest().is_file();
    of_folder.then_some(folder.path)
}

/// Reads all samples of a result folder or a Parquet file.
pub fn read(result: &Path) -> Result<Samples> {
    if let Some(folder) = folder(result) {
        return read_folder(&Folder::open(&folder)?);
    }
    let table = parquet::read(result)?;
    table.check_samples(&result.display().to_string())?;
    Ok(note_missing_checksum(table, result).into())
}

/// Prints notes on standard error about samples without a checksum, and marks invalid times as failed.
fn note_missing_checksum(mut table: Table, file: &Path) -> Table {
    let file = file.display();
    note(&format!(
        "note: {file} has no checksum, because no manifest.json for it is in its folder: changed values cannot be detected"
    ));
    let untimed = table.fail_untimed();
    if untimed > 0 {
        let runs = plural(untimed, "run");
        note(&format!("note: {runs} of {file} succeeded without a valid time; they count as failed"));
    }
    table
}

/// Reads all samples of a result folder. Prints notes about lost samples on standard error.
pub fn read_folder(folder: &Folder) -> Result<Samples> {
    let loaded = folder.load()?;
    if let Some(why) = &loaded.fallback {
        note(&format!("note: {why}; its journals are read instead; `apexmap run` writes the file again"));
    }
    for damage in &loaded.damages {
        note(&format!("note: {}", damage.sentence()));
    }
    let table = if loaded.unchecked { note_missing_checksum(loaded.table, &folder.samples()) } else { loaded.table };
    Ok(table.into())
}

/// Resolves the comma-separated columns of a flag.
pub fn names<'a>(flag: &str, list: &'a str, samples: &Samples) -> Result<Vec<&'a str>> {
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
pub fn column<'a>(flag: &str, given: &'a str, samples: &Samples) -> Result<&'a str> {
    let name = samples.resolve(given);
    let column = samples.require(name).map(|_| name);
    column.map_err(|error| Error { message: format!("{flag} {given}: {}", error.message), ..error })
}
