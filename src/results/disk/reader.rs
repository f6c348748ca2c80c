//! Reads journals. All checks of their lines are here, so code that receives a sample can rely on it.
//!
//! A line is unreadable if it is no event, or an invalid sample: a point that its kernel refuses, no ranks, a time that is
//! not positive, or the largest repetition number. Repeated samples are ignored, because journals may have been copied, and
//! so are all of a launch whose lines are inconsistent, as the driver records at the end of the journal.

use crate::disk::lines::{Identity, KeptSample, Line, Parser, Part, parts};
use crate::disk::record::{self, Record, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::parallel::map_in_order;
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, SCHEMA_VERSION};
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Reads the journals of a result.
#[derive(Default)]
pub struct Reader {
    /// The samples read so far.
    seen: HashSet<Identity, RandomState>,
}

impl Reader {
    /// Reads journals in this order. `take` receives every valid sample, with the record of its journal so far, and the
    /// records hold everything else. Damaged lines are counted and never fatal.
    pub fn read_each<K: KeptSample, S>(
        &mut self,
        journals: &[PathBuf],
        mut take: impl FnMut(K, &mut Record<S>),
    ) -> Result<Vec<Record<S>>> {
        let parser = || {
            let mut parser = Parser::default();
            move |(journal, part): (usize, Result<Part>)| part.map(|part| (journal, parser.read(&part)))
        };
        let mut records: Vec<Record<S>> = journals.iter().map(|path| Record::from_path(path)).collect();
        let doubtful: Vec<bool> = journals.iter().map(|path| is_doubtful(path)).collect::<Result<_>>()?;
        let all_parts =
            journals.iter().enumerate().flat_map(|(index, path)| parts(path).map(move |part| (index, part)));
        map_in_order(all_parts, parser, |part| {
            let (journal, lines) = part?;
            let record = &mut records[journal];
            for line in lines {
                match line {
                    Line::Sample(..) if doubtful[journal] => record.doubtful += 1,
                    Line::Sample(sample, identity) if self.seen.insert(identity) => take(sample, record),
                    Line::Sample(..) => record.repeated += 1,
                    Line::Other(event) => record_event(event, record),
                    Line::Unreadable => record.unreadable += 1,
                }
            }
            Ok(())
        })?;
        let newer = |record: &Record<S>| record.launch.as_ref().is_some_and(|launch| launch.schema > SCHEMA_VERSION);
        match records.iter().position(newer) {
            Some(index) => Err(record::newer_schema_error(&journals[index])),
            None => Ok(records),
        }
    }

    pub fn read(&mut self, journals: &[PathBuf]) -> Result<Vec<Record>> {
        self.read_each(journals, |sample, record| record.samples.push(sample))
    }

    /// Reads complete journals, but keeps only what plans need of each good sample.
    pub fn read_outcomes(&mut self, journals: &[PathBuf]) -> Result<Vec<Record<SampleOutcome>>> {
        self.read_each(journals, |sample, record| record.samples.push(sample))
    }
}

/// Maximum bytes of a driver's last line. The length of its message is limited.
const MAX_LAST_LINE_BYTES: u64 = 64 << 10;

/// Returns whether the last line of a journal marks the launch's lines as inconsistent.
fn is_doubtful(path: &Path) -> Result<bool> {
    let wrong = |e| Error::file("read the journal", path, e);
    let mut file = regular_file::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_LAST_LINE_BYTES))).map_err(wrong)?;
    let mut end = Vec::new();
    file.take(MAX_LAST_LINE_BYTES).read_to_end(&mut end).map_err(wrong)?;
    let last = end.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(matches!(serde_json::from_slice(last), Ok(Event::Ended { doubtful: true, .. })))
}

fn record_event<S>(event: Event, record: &mut Record<S>) {
    match event {
        Event::Hello(launch) => record.launch = Some(*launch),
        Event::Preflight { canaries } => record.preflight = canaries,
        Event::Done { budget_spent } => record.budget_spent = budget_spent,
        Event::Ended { status, message, output, .. } => {
            (record.ended, record.output) = (Some((status, message)), output);
        }
        Event::Memory { ranks } => {
            let places = record.launch.iter_mut().flat_map(|launch| &mut launch.placement);
            places.zip(ranks).for_each(|(place, memory)| place.memory = memory);
        }
        Event::Start { .. }
        | Event::Progress { .. }
        | Event::Simulation { .. }
        | Event::Fatal { .. }
        | Event::Sample(_) => {}
    }
}
