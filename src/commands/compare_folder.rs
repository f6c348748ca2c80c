//! The folder of a comparison. It records which results it compares, so that no other comparison overwrites it.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::{new_file, regular_file};
use apexmap_pages::compare::machine::{Machine, Origin};
use apexmap_results::disk::Folder;
use serde::{Deserialize, Serialize};
use std::path::Path;

const RECORD_FILE: &str = "comparison.json";

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Record {
    /// The results in order: absolute paths, with a condition in brackets, or names of published machines.
    compares: Vec<String>,
}

pub fn record_entry(machine: &Machine) -> String {
    match (&machine.run, machine.origin) {
        (Some(run), Origin::Measured) => {
            let condition = machine.given.find('[').map_or("", |bracket| &machine.given[bracket..]);
            format!("{run}{condition}")
        }
        _ => machine.given.clone(),
    }
}

/// For the comparison of results that [`record_entry`] names. The same comparison may overwrite its own folder.
pub fn prepare(path: &Path, compares: Vec<String>, replace: bool) -> Result<()> {
    let record = Record { compares };
    if let Some(contents) = other_contents(path, &record)? {
        let shown = path.display();
        if !replace {
            return Err(Error::input(
                format!("{shown} holds {contents}"),
                format!("name another folder with --out, or add --replace, which keeps {shown} as {shown}.1"),
            ));
        }
        let folder = Folder { path: path.to_owned() };
        let kept = folder.move_aside()?;
        note(&format!("note: the earlier folder is now {}", kept.display()));
    }
    std::fs::create_dir_all(path).map_err(|e| Error::file("create", path, e))?;
    let text = serde_json::to_string_pretty(&record).map_err(|e| Error::internal(e.to_string()))?;
    new_file::replace_contents(&path.join(RECORD_FILE), text + "\n")
}

/// `None` if the folder is free or holds this comparison.
fn other_contents(path: &Path, wanted: &Record) -> Result<Option<String>> {
    let has = |name: &str| path.join(name).exists();
    let file = path.join(RECORD_FILE);
    if has("journals") || has("samples.parquet") {
        // Both keep figures in the same folder, so a comparison would remove those of the result.
        let contents = if file.is_file() { "a result and a comparison" } else { "a result" };
        return Ok(Some(contents.into()));
    }
    if !file.is_file() {
        let page = has("compare.html") || has("cells.csv");
        return Ok(page.then(|| format!("a comparison without {RECORD_FILE}")));
    }
    let text = regular_file::read_text(&file).map_err(|e| Error::file("read", &file, e))?;
    Ok(match serde_json::from_str::<Record>(&text) {
        Ok(record) if record == *wanted => None,
        Ok(record) => Some(format!("another comparison: {}", record.compares.join(" with "))),
        Err(_) => Some(format!("a comparison whose {RECORD_FILE} cannot be read")),
    })
}
