//! Journals: append-only, one a launch, one JSON line an event, flushed line by line.

use crate::error::{Error, Result};
use crate::sample::{Event, Launch, Sample, Status};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
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
#[derive(Debug, Default, PartialEq)]
pub struct Record {
    pub launch: Option<Launch>,
    pub samples: Vec<Sample>,
    /// The launch ran out of its time budget before all its points were as precise as asked.
    pub budget_spent: bool,
    pub ended: Option<(Status, String)>,
    /// Lines that are not events: the torn last line of a killed driver, or damage.
    pub unreadable: usize,
}

/// Reads a journal. Damaged lines are counted, never fatal: what is readable is kept.
pub fn read(path: &Path) -> Result<Record> {
    let file = File::open(path).map_err(|e| Error::file("read the journal", path, e))?;
    let mut record = Record::default();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|e| Error::file("read the journal", path, e))?;
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(Event::Hello(launch)) => record.launch = Some(*launch),
            Ok(Event::Sample(sample)) => record.samples.push(*sample),
            Ok(Event::Done { budget_spent }) => record.budget_spent = budget_spent,
            Ok(Event::Ended { status, message, .. }) => record.ended = Some((status, message)),
            Ok(Event::Start { .. } | Event::Fatal { .. }) => {}
            Err(_) => record.unreadable += 1,
        }
    }
    Ok(record)
}
