//! Launches on a machine that has only the worker: writes job files and scripts, and reads the worker's output.
//!
//! ```text
//! plan -> RESULT/journals/ID-1.job, a copy in DIR with a script -> (another machine) DIR/ID-1.out -> a journal of RESULT
//! ```
//!
//! The job in the result folder is authoritative. The import checks the output against it line by line, as the driver checks its
//! own launches.

pub mod export;
pub mod import;
mod jobs;
mod script;

pub use jobs::open_jobs;

use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file::read_text;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{Record, Run};
use std::collections::{BTreeMap, HashSet};

/// Returns the jobs exported from a result, by the names of their launches. Their names contain a hyphen; those of the driver's
/// launches are numbers.
pub fn exported_jobs(folder: &Folder) -> Result<BTreeMap<String, Job>> {
    let journals = folder.journals();
    let entries = std::fs::read_dir(&journals).map_err(|e| Error::file("list", &journals, e))?;
    let mut jobs = BTreeMap::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.contains('-'));
        let (Some(name), true) = (stem, path.extension().is_some_and(|end| end == "job")) else { continue };
        let text = read_text(&path).map_err(|e| Error::file("read the job", &path, e))?;
        match serde_json::from_str::<Job>(&text) {
            Ok(job) if job.launch == name && !job.tasks.is_empty() => _ = jobs.insert(name.to_owned(), job),
            _ => {
                let message = format!("{} is not a valid job file", path.display());
                return Err(Error::environment(message, "remove it and export its launches again"));
            }
        }
    }
    Ok(jobs)
}

/// Returns the exported launches without any imported output.
pub fn outstanding_jobs<S: Run>(folder: &Folder, records: &[Record<S>]) -> Result<Vec<Job>> {
    if !folder.journals().is_dir() {
        return Ok(Vec::new());
    }
    let imported: HashSet<&str> =
        records.iter().flat_map(|record| &record.launch).map(|launch| launch.launch.as_str()).collect();
    Ok(exported_jobs(folder)?.into_values().filter(|job| !imported.contains(job.launch.as_str())).collect())
}
