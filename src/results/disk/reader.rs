//! Journals read back. Here, and nowhere else, is checked what their lines say: whoever gets a sample may rely on it.
//!
//! A line counts as unreadable if it is no event, or if its sample cannot be: a point that its kernel does not accept, no ranks, a
//! time that is not positive, a repetition after which no other can be numbered. A sample that came before is left out, as journals and
//! lines may have been copied. So are all of a launch whose lines did not fit together, which the driver says at the end of its journal.

use crate::disk::lines::{Identity, Kept, Line, Parser, Part, parts};
use crate::disk::record::{self, Record, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::in_order::in_order;
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, SCHEMA_VERSION};
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Reads the journals of a result.
#[derive(Default)]
pub struct Reader {
    /// The samples that were read.
    seen: HashSet<Identity, RandomState>,
}

impl Reader {
    /// Reads journals, in this order: `take` gets every sample that counts, with what is known of its journal by then. The records
    /// that are returned hold everything else. Damaged lines are counted, never fatal: what is readable is kept.
    ///
    /// # Errors
    /// If one cannot be read, or a newer apexmap wrote it.
    pub fn each<K: Kept, S>(
        &mut self,
        journals: &[PathBuf],
        mut take: impl FnMut(K, &mut Record<S>),
    ) -> Result<Vec<Record<S>>> {
        let parser = || {
            let mut parser = Parser::default();
            move |(journal, part): (usize, Result<Part>)| part.map(|part| (journal, parser.read(&part)))
        };
        let mut records: Vec<Record<S>> = journals.iter().map(|path| Record::of(path)).collect();
        let doubtful: Vec<bool> = journals.iter().map(|path| is_doubtful(path)).collect::<Result<_>>()?;
        let all = journals.iter().enumerate().flat_map(|(at, path)| parts(path).map(move |part| (at, part)));
        in_order(all, parser, |part| {
            let (journal, lines) = part?;
            let record = &mut records[journal];
            for line in lines {
                match line {
                    Line::Sample(..) if doubtful[journal] => record.doubtful += 1,
                    Line::Sample(sample, identity) if self.seen.insert(identity) => take(sample, record),
                    Line::Sample(..) => record.repeated += 1,
                    Line::Other(event) => note(event, record),
                    Line::Unreadable => record.unreadable += 1,
                }
            }
            Ok(())
        })?;
        let newer = |record: &Record<S>| record.launch.as_ref().is_some_and(|launch| launch.schema > SCHEMA_VERSION);
        match records.iter().position(newer) {
            Some(at) => Err(record::newer(&journals[at])),
            None => Ok(records),
        }
    }

    /// Journals as a whole.
    ///
    /// # Errors
    /// As of [`Reader::each`].
    pub fn read(&mut self, journals: &[PathBuf]) -> Result<Vec<Record>> {
        self.each(journals, |sample, record| record.samples.push(sample))
    }

    /// Journals as a whole, but of each good sample only what plans ask of it.
    ///
    /// # Errors
    /// As of [`Reader::each`].
    pub fn outcomes(&mut self, journals: &[PathBuf]) -> Result<Vec<Record<SampleOutcome>>> {
        self.each(journals, |sample, record| record.samples.push(sample))
    }
}

/// Longest last line of a driver, in bytes, whose message is of bounded length.
const LONGEST_END: u64 = 64 << 10;

/// Whether the last line of a journal says that its launch's lines did not fit together.
fn is_doubtful(path: &Path) -> Result<bool> {
    let wrong = |e| Error::file("read the journal", path, e);
    let mut file = regular_file::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END))).map_err(wrong)?;
    let mut end = Vec::new();
    file.take(LONGEST_END).read_to_end(&mut end).map_err(wrong)?;
    let last = end.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(matches!(serde_json::from_slice(last), Ok(Event::Ended { doubtful: true, .. })))
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
        Event::Start { .. } | Event::Progress { .. } | Event::Fatal { .. } | Event::Sample(_) => {}
    }
}
