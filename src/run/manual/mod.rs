//! Launches on a machine where only the worker runs: job files and scripts out, the worker's output in.
//!
//! ```text
//! plan -> RESULT/journals/ID-1.job, a copy in DIR with a script -> (another machine) DIR/ID-1.out -> a journal of RESULT
//! ```
//!
//! The job in the result folder is the one that counts: what comes back is checked against it line by line, as the driver checks a
//! launch that it started.

pub mod export;
pub mod import;
mod jobs;
mod script;

pub use jobs::jobs as open_jobs;

use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file::read_text;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{Record, Run};
use std::collections::{BTreeMap, HashSet};

/// The jobs that were exported from a result, by the names of their launches. Those of the driver's own launches have numbers.
///
/// # Errors
/// If the folder cannot be listed, or one of its jobs cannot be read.
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
                let what = format!("{} is not a job", path.display());
                return Err(Error::environment(
                    what,
                    "remove it; the launches that it was for are to be exported again",
                ));
            }
        }
    }
    Ok(jobs)
}

/// The exported launches of which nothing was imported.
///
/// # Errors
/// As of [`exported_jobs`].
pub fn outstanding<S: Run>(folder: &Folder, records: &[Record<S>]) -> Result<Vec<Job>> {
    if !folder.journals().is_dir() {
        return Ok(Vec::new());
    }
    let imported: HashSet<&str> = records.iter().flat_map(|record| &record.launch).map(|l| l.launch.as_str()).collect();
    Ok(exported_jobs(folder)?.into_values().filter(|job| !imported.contains(job.launch.as_str())).collect())
}
