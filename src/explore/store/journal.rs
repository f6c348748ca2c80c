//! Journals: append-only, one a launch, one JSON line an event, flushed line by line.

use super::compaction::Damage;
#[cfg(feature = "internals")]
use super::reader::Reader;
use crate::disturbance::Facts;
use crate::error::{Error, Result};
use crate::sample::{Event, Launch, Sample, Status};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines reach the kernel's page cache at once (they survive this program), the disk at most this much later.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// A journal being written.
pub struct Journal {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Journal {
    /// Fails if the file exists: a journal is never written over.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create_new(true).append(true).open(path);
        let file = file.map_err(|e| Error::file("create the journal", path, e))?;
        Ok(Self { file, path: path.to_owned(), synced: Instant::now() })
    }

    /// Appends one event as one line, in one write.
    pub fn append(&mut self, event: &Event) -> Result<()> {
        let mut line =
            serde_json::to_string(event).map_err(|e| Error::internal(format!("cannot write an event: {e}")))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| {
            if self.synced.elapsed() < SYNC_EVERY {
                return Ok(());
            }
            self.synced = Instant::now();
            self.file.sync_data()
        });
        written.map_err(|e| Error::file("write the journal", &self.path, e))
    }

    pub fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::file("write the journal", &self.path, e))
    }
}

/// What a journal says.
#[derive(Debug, PartialEq)]
pub struct Record<S = Sample> {
    /// Name of its file: `0001.jsonl`.
    pub journal: String,
    pub launch: Option<Launch>,
    /// What each canary told before the first sample.
    pub preflight: Vec<Facts>,
    pub samples: Vec<S>,
    /// The launch ran out of its time budget before all its points were as precise as asked.
    pub budget_spent: bool,
    pub ended: Option<(Status, String)>,
    /// Lines that are not events, or whose sample cannot be: the torn last line of a killed driver, or damage.
    pub unreadable: usize,
    /// Samples that came before, in this journal or an earlier one: lines or journals that were copied. They count once.
    pub repeated: usize,
}

impl<S> Default for Record<S> {
    fn default() -> Self {
        Self {
            journal: String::new(),
            launch: None,
            preflight: Vec::new(),
            samples: Vec::new(),
            budget_spent: false,
            ended: None,
            unreadable: 0,
            repeated: 0,
        }
    }
}

impl<S> Record<S> {
    /// What it lost; `None` if nothing.
    pub fn damage(&self) -> Option<Damage> {
        let damage = Damage { journal: self.journal.clone(), unreadable: self.unreadable, repeated: self.repeated };
        (damage.unreadable + damage.repeated > 0).then_some(damage)
    }
}

/// What plans ask of a sample.
pub trait Run {
    fn key(&self) -> &str;
    fn block(&self) -> u32;
    fn repetition(&self) -> u32;
    fn status(&self) -> Status;
    fn seconds(&self) -> Option<f64>;
}

/// The part of a sample that plans ask of.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleOutcome {
    pub key: String,
    pub block: u32,
    pub repetition: u32,
    pub status: Status,
    pub seconds: Option<f64>,
    /// Seconds since 1970 when the run ended.
    pub unix_seconds: f64,
    /// The whole sample, if it is not good.
    pub failure: Option<Box<Sample>>,
}

macro_rules! run {
    ($($record:ty),*) => { $(impl Run for $record {
        fn key(&self) -> &str {
            &self.key
        }
        fn block(&self) -> u32 {
            self.block
        }
        fn repetition(&self) -> u32 {
            self.repetition
        }
        fn status(&self) -> Status {
            self.status
        }
        fn seconds(&self) -> Option<f64> {
            self.seconds
        }
    })* };
}
run!(Sample, SampleOutcome);

impl From<Sample> for SampleOutcome {
    fn from(sample: Sample) -> Self {
        Self {
            key: sample.key.clone(),
            block: sample.block,
            repetition: sample.repetition,
            status: sample.status,
            seconds: sample.seconds,
            unix_seconds: sample.unix_seconds,
            failure: (sample.status != Status::Ok).then(|| Box::new(sample)),
        }
    }
}

/// Reads a single journal; [`Reader`] reads those of a result. For tests.
///
/// # Errors
/// If it cannot be read, or a newer apexmap wrote it.
#[cfg(feature = "internals")]
pub fn read(path: &Path) -> Result<Record> {
    Reader::default().read(path)
}

/// As [`read`], but of each good sample only what plans ask of it.
///
/// # Errors
/// As of [`read`].
#[cfg(feature = "internals")]
pub fn outcomes(path: &Path) -> Result<Record<SampleOutcome>> {
    Reader::default().outcomes(path)
}

/// For a file of a schema that this apexmap does not know.
pub(super) fn newer(path: &Path) -> Error {
    Error::environment(
        format!("{} was written by a newer apexmap", path.display()),
        "read this result with that apexmap, or a newer one",
    )
}
