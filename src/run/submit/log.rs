//! Reads the end of a job's log. The log often shows why a job ended if the batch system does not. The advice follows from that
//! cause.

use super::record::{Job, Jobs};
use crate::batch::{JobState, answer};
use crate::launch::causes::{self, Found};
use apexmap_base::error::Result;
use apexmap_base::regular_file;
use nix::libc::O_NOFOLLOW;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Number of bytes to read from the end of the log.
const END: u64 = 16 << 10;

/// Returns the known cause in the end of a job's log, if the job's final state leaves the cause open.
pub fn cause(store: &Jobs, job: &str, how: JobState) -> Option<Found> {
    let untold = matches!(how, JobState::Failed | JobState::OutOfMemory | JobState::Ended);
    untold.then(|| end_of(&store.script(job).with_extension("log"))).flatten().and_then(|text| causes::find(&text))
}

/// Returns the end of a file, or `None` if it is not a readable regular file.
fn end_of(path: &Path) -> Option<String> {
    let mut file = regular_file::opened(OpenOptions::new().read(true), O_NOFOLLOW, path).ok()?;
    let meta = file.metadata().ok()?;
    file.seek(SeekFrom::Start(meta.len().saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns advice for a job that did not end well, if any is known. The sources are the batch system's reason, the job's driver
/// and the job's log.
///
/// # Errors
/// If the files of the job cannot be read.
pub fn advice(store: &Jobs, job: &Job) -> Result<Option<String>> {
    let Some((state, why, _)) = &job.ended else { return Ok(None) };
    if *state == JobState::Unsatisfiable {
        return Ok(Some(answer::advice(why).to_owned()));
    }
    if matches!(state, JobState::Completed | JobState::Cancelled) {
        return Ok(None);
    }
    let own = store.own_advice(&job.name)?;
    Ok(own.or_else(|| cause(store, &job.name, *state).map(|found| found.cause.next.to_owned())))
}
