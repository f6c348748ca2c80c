//! Journals: append-only, one a launch, one JSON line an event, flushed line by line.

use crate::disk::reader::Reader;
pub use crate::disk::record::{Record, Run, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::sample::Event;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
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
    /// Fails if the file exists: a journal is never written over. For tests.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_new(path)?.ok_or_else(|| Error::file("create the journal", path, "it exists"))
    }

    /// `None` if the file exists.
    #[expect(clippy::disallowed_methods, reason = "a new file is nobody else's")]
    pub fn create_new(path: &Path) -> Result<Option<Self>> {
        match OpenOptions::new().create_new(true).append(true).open(path) {
            Ok(file) => Ok(Some(Self { file, path: path.to_owned(), synced: Instant::now() })),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(new_file::refused("create the journal", path, error)),
        }
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

/// Reads a single journal; [`Reader`] reads those of a result. For tests.
///
/// # Errors
/// If it cannot be read, or a newer apexmap wrote it.
pub fn read(path: &Path) -> Result<Record> {
    Reader::default().read(&[path.to_owned()]).map(|mut records| records.remove(0))
}

/// As [`read`], but of each good sample only what plans ask of it.
///
/// # Errors
/// As of [`read`].
pub fn outcomes(path: &Path) -> Result<Record<SampleOutcome>> {
    Reader::default().outcomes(&[path.to_owned()]).map(|mut records| records.remove(0))
}
