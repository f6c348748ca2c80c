//! Writes an imported result: its table, its manifest, and copies of the files that it was read from.

use super::recognise::{self, read_text};
use super::values::{Values, tabulate};
use super::{READERS, runs};
use crate::disk::compaction::{Compaction, Content};
use crate::disk::manifest::{Import, Manifest};
use crate::disk::{Folder, parquet};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::provenance::{Host, Processors};
use apexmap_base::sample::Status;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 64 << 20;
const COPIES: &str = "imported";

/// Imports files into a new result, each of their runs as a launch. The machine is `machine`, else the host in a file, else the name of the
/// first file. `cores`: those of the machine, if the user states them.
pub fn write(files: &[PathBuf], folder: &Path, machine: Option<&str>, cores: Option<u32>) -> Result<Manifest> {
    // All files are read before anything is written, so a file that cannot be read leaves no partial result.
    let mut read_files: Vec<(String, Vec<Values>, String)> = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text(path, MAX_BYTES)?;
        if let Some((other, ..)) = read_files.iter().find(|(.., other)| *other == text) {
            return Err(Error::input(
                format!("{} and {other} have the same contents, which would count twice", path.display()),
                "name one of them",
            ));
        }
        read_files.push((name, read(path, &text)?, text));
    }
    let copies = make_folder(folder)?;
    let folder = Folder { path: folder.to_owned() };
    fs::create_dir_all(folder.figures()).map_err(|e| Error::file("create", &folder.figures(), e))?;
    let (mut sources, mut tables) = (Vec::new(), Vec::new());
    for (index, (name, runs, text)) in read_files.into_iter().enumerate() {
        // The number keeps copies of files with the same name apart.
        let copy = copies.join(format!("{:04}-{name}", index + 1));
        new_file::replace_contents(&copy, text)?;
        sources.extend(Content::from_file(&folder, &copy)?);
        for (number, values) in (1..).zip(runs) {
            let run = if number == 1 { String::new() } else { format!(", run {number}") };
            tables.push((format!("{:04} {name}{run}", index + 1), values));
        }
    }
    let table = tabulate(&tables);
    folder.replace(&folder.samples(), |file| parquet::write(file, &folder.samples(), &table))?;
    let values: Vec<&Values> = tables.iter().map(|(_, values)| values).collect();
    let host = values.iter().find_map(|values| values.host.clone());
    let named = machine.map(str::to_owned).or_else(|| host.clone());
    let first = || files[0].file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut samples: BTreeMap<Status, usize> = BTreeMap::new();
    for row in 0..table.rows {
        *samples.entry(Status::from_name(table.word("status", row)).unwrap_or(Status::Ok)).or_default() += 1;
    }
    let keys: BTreeSet<&str> = (0..table.rows).map(|row| table.word("key", row)).collect();
    let distinct = |texts: Vec<String>| texts.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
    let programs = distinct(values.iter().map(|values| values.program.clone()).collect());
    let title = format!("Imported from {}", programs.join(" and "));
    let notes = distinct(values.iter().flat_map(|values| values.notes.clone()).collect());
    let compacted = Content::from_file(&folder, &folder.samples())?;
    let manifest = Manifest {
        machine: named.unwrap_or_else(first),
        points: keys.len(),
        blocks: tables.len() as u32,
        driver_host: unknown_host(host.unwrap_or_default(), cores),
        samples,
        imported: Some(Import { programs, notes }),
        compaction: compacted.map(|samples| Compaction { samples, sources, damages: Vec::new() }),
        ..Manifest::new(first(), title)
    };
    manifest.write(&folder)?;
    Ok(manifest)
}

fn make_folder(folder: &Path) -> Result<PathBuf> {
    let copies = folder.join(COPIES);
    // A folder with copies and without a manifest is an import that was interrupted.
    let is_interrupted = copies.is_dir() && !Folder { path: folder.to_owned() }.manifest().exists();
    let has_contents = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if has_contents && !is_interrupted || folder.is_file() {
        let message = format!("{} exists and is not empty", folder.display());
        return Err(Error::input(message, "name a new folder with --out; an import is never added to a result"));
    }
    if is_interrupted {
        fs::remove_dir_all(&copies).map_err(|e| Error::file("remove", &copies, e))?;
    }
    fs::create_dir_all(&copies).map_err(|e| Error::file("create", &copies, e))?;
    Ok(copies)
}

fn read(path: &Path, text: &str) -> Result<Vec<Values>> {
    let Some(runs) = runs::read(text) else {
        let names = READERS.iter().map(|reader| reader.name).collect::<Vec<_>>().join(", ");
        let (description, _) = recognise::describe(text.as_bytes());
        return Err(Error::input(
            format!("{} is {description}, which apexmap does not import", path.display()),
            format!("name the text output of one of these programs: {names}"),
        ));
    };
    runs.map_err(|(reader, problem)| {
        Error::input(format!("{} {problem}", path.display()), format!("name a complete output of {}", reader.name))
    })
}

/// Returns a host of which only the name and perhaps the cores are known. The machine of this program did not measure the values.
fn unknown_host(name: String, cores: Option<u32>) -> Host {
    Host {
        name,
        processors: Processors { cores, ..Processors::default() },
        cycle_source: "unknown".into(),
        ..Host::default()
    }
}
