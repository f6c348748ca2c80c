//! The samples that a command is about: read from a result, chosen by a condition, and columns of them by name.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_results::disk::parquet;
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use std::path::{Path, PathBuf};

/// The result folder that is named, itself or by its samples: a manifest beside them tells whether they are whole. `None` for
/// any other file.
pub fn folder(named: &Path) -> Option<PathBuf> {
    if !named.is_file() {
        return Some(named.to_owned());
    }
    let parent = named.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = Folder { path: parent.unwrap_or(Path::new(".")).to_owned() };
    let of_folder = named.file_name() == folder.samples().file_name() && folder.manifest().is_file();
    of_folder.then_some(folder.path)
}

/// All samples of a result folder, or of a Parquet file.
pub fn read(result: &Path) -> Result<Samples> {
    if let Some(folder) = folder(result) {
        return of_folder(&Folder::open(&folder)?);
    }
    let table = parquet::read(result)?;
    table.check_samples(&result.display().to_string())?;
    Ok(unchecked(table, result).into())
}

/// Samples of a file without a manifest: what that leaves open is told on standard error.
fn unchecked(mut table: Table, file: &Path) -> Table {
    let file = file.display();
    note(&format!(
        "note: {file} has no checksum, as no manifest.json beside it is of it: values that changed on the way are not noticed"
    ));
    let untimed = table.fail_untimed();
    if untimed > 0 {
        let runs = plural(untimed, "run");
        note(&format!("note: {runs} of {file} ended well after no time, or one that cannot be: they count as failed"));
    }
    table
}

/// All samples of a result folder. What was lost is told on standard error.
pub fn of_folder(folder: &Folder) -> Result<Samples> {
    let loaded = folder.load()?;
    if let Some(why) = &loaded.fallback {
        note(&format!("note: {why}; its journals are read instead, and `apexmap run` writes it again"));
    }
    for damage in &loaded.damages {
        note(&format!("note: {}", damage.sentence()));
    }
    let table = if loaded.unchecked { unchecked(loaded.table, &folder.samples()) } else { loaded.table };
    Ok(table.into())
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
