//! Reads the end of a job's log. The log often shows why a job ended if the batch system does not. The advice follows from that
//! cause.

use super::record::{Job, Jobs};
use crate::batch::{JobState, answer};
use apexmap_base::error::Result;
use apexmap_base::regular_file;
use apexmap_run::launch::causes::{self, CauseMatch};
use nix::libc::O_NOFOLLOW;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Number of bytes to read from the end of the log.
const MAX_LOG_BYTES: u64 = 16 << 10;

/// Returns the known cause in the end of a job's log, if the job's final state leaves the cause open.
pub fn cause(store: &Jobs, job: &str, state: JobState) -> Option<CauseMatch> {
    let is_cause_open = matches!(state, JobState::Failed | JobState::OutOfMemory | JobState::Ended);
    is_cause_open
        .then(|| read_end(&store.script(job).with_extension("log")))
        .flatten()
        .and_then(|text| causes::find(&text))
}

/// Returns the end of a file, or `None` if it is not a readable regular file.
fn read_end(path: &Path) -> Option<String> {
    // In a result of another user, a link may lead to any file.
    let mut file = regular_file::open_with(OpenOptions::new().read(true), O_NOFOLLOW, path).ok()?;
    let metadata = file.metadata().ok()?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(MAX_LOG_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns advice for a job that did not end well, if any is known. The sources are the batch system's reason, the job's driver
/// and the job's log.
pub fn advice(store: &Jobs, job: &Job) -> Result<Option<String>> {
    let Some((state, reason, _)) = &job.end else { return Ok(None) };
    if *state == JobState::Unsatisfiable {
        return Ok(Some(answer::advice(reason).to_owned()));
    }
    if matches!(state, JobState::Completed | JobState::Cancelled) {
        return Ok(None);
    }
    let by_log = || cause(store, &job.name, *state).map(|cause_match| cause_match.cause.advice);
    let by_state = || (*state == JobState::OutOfMemory).then_some(answer::LOWER_MEMORY);
    Ok(store.driver_advice(&job.name)?.or_else(|| by_log().or_else(by_state).map(str::to_owned)))
}
