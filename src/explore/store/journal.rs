//! Journals: append-only, one a launch, one JSON line an event, flushed line by line.

use crate::disturbance::Facts;
use crate::error::{Error, Result};
use crate::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use std::borrow::Cow;
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
#[derive(Debug, PartialEq)]
pub struct Record<S = Sample> {
    pub launch: Option<Launch>,
    /// What each canary told before the first sample.
    pub preflight: Vec<Facts>,
    pub samples: Vec<S>,
    /// The launch ran out of its time budget before all its points were as precise as asked.
    pub budget_spent: bool,
    pub ended: Option<(Status, String)>,
    /// Lines that are not events: the torn last line of a killed driver, or damage.
    pub unreadable: usize,
}

impl<S> Default for Record<S> {
    fn default() -> Self {
        Self {
            launch: None,
            preflight: Vec::new(),
            samples: Vec::new(),
            budget_spent: false,
            ended: None,
            unreadable: 0,
        }
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

/// The part of a sample that plans ask of: read several times as fast as the whole.
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

/// Reads a journal. Damaged lines are counted, never fatal: what is readable is kept.
///
/// # Errors
/// If it cannot be read, or a newer apexmap wrote it.
pub fn read(path: &Path) -> Result<Record> {
    lines(path, |line, record| match serde_json::from_slice(line) {
        Ok(Event::Sample(sample)) => record.samples.push(*sample),
        Ok(event) => note(event, record),
        Err(_) => record.unreadable += 1,
    })
}

/// Reads of each good sample what plans ask of it, and everything else as [`read`] does.
pub fn outcomes(path: &Path) -> Result<Record<SampleOutcome>> {
    /// The fields of a good sample; of other lines some are missing.
    #[derive(serde::Deserialize)]
    struct GoodSample<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
        key: String,
        block: u32,
        repetition: u32,
        status: Status,
        seconds: f64,
        unix_seconds: f64,
    }
    lines(path, |line, record| {
        match serde_json::from_slice(line) {
            Ok(GoodSample { event, key, block, repetition, status: Status::Ok, seconds, unix_seconds })
                if event == "sample" =>
            {
                let seconds = Some(seconds);
                return record.samples.push(SampleOutcome {
                    key,
                    block,
                    repetition,
                    status: Status::Ok,
                    seconds,
                    unix_seconds,
                    failure: None,
                });
            }
            _ => {}
        }
        match serde_json::from_slice(line) {
            Ok(Event::Sample(sample)) => record.samples.push(SampleOutcome {
                key: sample.key.clone(),
                block: sample.block,
                repetition: sample.repetition,
                status: sample.status,
                seconds: sample.seconds,
                unix_seconds: sample.unix_seconds,
                failure: Some(sample).filter(|sample| sample.status != Status::Ok),
            }),
            Ok(event) => note(event, record),
            Err(_) => record.unreadable += 1,
        }
    })
}

fn note<S>(event: Event, record: &mut Record<S>) {
    match event {
        Event::Hello(launch) => record.launch = Some(*launch),
        Event::Preflight { canaries } => record.preflight = canaries,
        Event::Done { budget_spent } => record.budget_spent = budget_spent,
        Event::Ended { status, message, .. } => record.ended = Some((status, message)),
        Event::Memory { ranks } => {
            let places = record.launch.iter_mut().flat_map(|launch| &mut launch.placement);
            places.zip(ranks).for_each(|(place, memory)| place.memory = memory);
        }
        Event::Start { .. } | Event::Fatal { .. } | Event::Sample(_) => {}
    }
}

fn lines<S>(path: &Path, mut take: impl FnMut(&[u8], &mut Record<S>)) -> Result<Record<S>> {
    let wrong = |e| Error::file("read the journal", path, e);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(wrong)?);
    let (mut record, mut line) = (Record::default(), Vec::new());
    while file.read_until(b'\n', &mut line).map_err(wrong)? > 0 {
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.is_empty() {
            take(text, &mut record);
        }
        line.clear();
    }
    if record.launch.as_ref().is_some_and(|launch| launch.schema > SCHEMA_VERSION) {
        return Err(newer(path));
    }
    Ok(record)
}

/// For a file of a schema that this apexmap does not know.
pub(super) fn newer(path: &Path) -> Error {
    Error::environment(
        format!("{} was written by a newer apexmap", path.display()),
        "read this result with that apexmap, or a newer one",
    )
}
