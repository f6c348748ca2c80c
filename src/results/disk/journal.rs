//! Journals: append-only files, one per launch, with one JSON line per event, flushed after each line.

use crate::disk::reader::Reader;
pub use crate::disk::record::{Record, Run, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::sample::Event;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum delay until lines reach the disk. They reach the kernel's page cache at once and survive this program.
const SYNC_EVERY: Duration = Duration::from_secs(2);

pub struct Journal {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Journal {
    /// Creates a journal. Fails if the file exists, because journals are never overwritten. For tests.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_new(path)?.ok_or_else(|| Error::file("create the journal", path, "it exists"))
    }

    #[expect(clippy::disallowed_methods, reason = "a new file has no other writer")]
    pub fn create_new(path: &Path) -> Result<Option<Self>> {
        match OpenOptions::new().create_new(true).append(true).open(path) {
            Ok(file) => Ok(Some(Self { file, path: path.to_owned(), synced: Instant::now() })),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(new_file::access_error("create the journal", path, error)),
        }
    }

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

/// Reads a single journal. For tests; [`Reader`] reads the journals of a result.
pub fn read(path: &Path) -> Result<Record> {
    Reader::default().read(&[path.to_owned()]).map(|mut records| records.remove(0))
}

/// Reads a single journal as [`read`] does, but keeps only what plans need of each good sample.
pub fn read_outcomes(path: &Path) -> Result<Record<SampleOutcome>> {
    Reader::default().read_outcomes(&[path.to_owned()]).map(|mut records| records.remove(0))
}
