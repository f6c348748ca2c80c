//! The end of what a job printed: it often says why a job ended where the batch system does not, and what to do follows from that.

use super::record::{Job, Jobs};
use crate::batch::{JobState, answer};
use crate::launch::causes::{self, Found};
use apexmap_base::error::Result;
use apexmap_base::regular_file;
use nix::libc::O_NOFOLLOW;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the end that are read.
const END: u64 = 16 << 10;

/// The known cause that the end of a job's log tells, for a job that ended in a way that has one.
pub fn cause(store: &Jobs, job: &str, how: JobState) -> Option<Found> {
    let untold = matches!(how, JobState::Failed | JobState::OutOfMemory | JobState::Ended);
    untold.then(|| end_of(&store.script(job).with_extension("log"))).flatten().and_then(|text| causes::find(&text))
}

/// The end of a file; `None` where it is none.
fn end_of(path: &Path) -> Option<String> {
    let mut file = regular_file::opened(OpenOptions::new().read(true), O_NOFOLLOW, path).ok()?;
    let meta = file.metadata().ok()?;
    file.seek(SeekFrom::Start(meta.len().saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What to do about a job that did not end well, as far as that is known: as its own driver advised, its log tells, or follows from
/// the batch system's reason.
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
