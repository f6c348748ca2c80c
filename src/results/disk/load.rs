//! Loads the samples of a result folder from its Parquet file or its journals.

use crate::disk::compaction::{Compaction, Content};
use crate::disk::folder::Folder;
use crate::disk::manifest::{LaunchEnd, Manifest};
use crate::disk::parquet;
use crate::disk::reader::Reader;
use crate::disk::record::{Damage, Record, SampleOutcome};
use crate::disk::tabulate::Tabulation;
use crate::table::Table;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::sample::{Sample, Status};
use apexmap_measure::kernels;
use apexmap_theory::bounds::Limits;
use serde::Deserialize;
use std::collections::HashMap;
use std::time::Duration;

/// A result without a new line in its journals for this time is not being measured.
const PATIENCE: Duration = Duration::from_secs(600);

pub struct LoadedSamples {
    pub table: Table,
    pub damages: Vec<Damage>,
    /// Reason for reading the journals although a `samples.parquet` should hold their samples.
    pub fallback: Option<String>,
    /// Whether no manifest describes `samples.parquet`, so that it was not checked.
    pub unchecked: bool,
}

impl Folder {
    /// Loads all samples: from the Parquet file if the manifest says that it is complete and current, else from the journals.
    pub fn table(&self) -> Result<Table> {
        Ok(self.load()?.table)
    }

    /// Loads all samples as [`Folder::table`] does, with notes about their source.
    pub fn load(&self) -> Result<LoadedSamples> {
        self.load_some(&|_| true)
    }

    /// Loads the samples as [`Folder::load`] does. The table may omit columns that are not `wanted`.
    pub fn load_some(&self, wanted: &dyn Fn(&str) -> bool) -> Result<LoadedSamples> {
        let compaction = Manifest::read(self).ok().and_then(|manifest| manifest.compaction);
        let mut fallback = None;
        match compaction {
            // The file was copied out of its folder.
            None if self.journal_files()?.is_empty() && self.samples().is_file() => {
                let table = parquet::read_some(&self.samples(), wanted)?;
                return Ok(LoadedSamples { table, damages: Vec::new(), fallback, unchecked: true });
            }
            Some(compaction) if compaction.is_current(self)? => match self.read_compacted(&compaction, wanted) {
                Ok(table) => {
                    return Ok(LoadedSamples { table, damages: compaction.damages, fallback, unchecked: false });
                }
                Err(error) if self.journal_files()?.is_empty() => return Err(error),
                Err(error) => fallback = Some(error.message),
            },
            _ => {}
        }
        let (table, damages) = self.tabulate()?;
        Ok(LoadedSamples { table, damages, fallback, unchecked: false })
    }

    /// Returns whether the journals have newer, recent samples than `samples.parquet`. Locks show no jobs elsewhere.
    pub fn is_being_measured(&self) -> bool {
        let compaction = Manifest::read(self).ok().and_then(|manifest| manifest.compaction);
        let is_complete = compaction.is_some_and(|compaction| compaction.is_current(self).unwrap_or(true));
        !is_complete && self.age().is_some_and(|age| age < PATIENCE)
    }

    /// Returns the time since the newest change of the journals.
    pub fn age(&self) -> Option<Duration> {
        let files = self.journal_files().ok()?.into_iter().chain([self.manifest()]);
        let times = files.filter_map(|path| path.metadata().ok()?.modified().ok());
        times.max().map(|time| time.elapsed().unwrap_or_default())
    }

    fn read_compacted(&self, compaction: &Compaction, wanted: &dyn Fn(&str) -> bool) -> Result<Table> {
        if !compaction.is_whole(self)? {
            let message = format!("{} does not match its checksum in manifest.json", self.samples().display());
            return Err(Error::environment(message, "restore a complete copy of it, or its journals"));
        }
        parquet::read_some(&self.samples(), wanted)
    }

    /// Reads the outcomes of all samples: from the journals or, in a copy without journals, from `samples.parquet` and the manifest.
    pub fn known_outcomes(&self) -> Result<Vec<Record<SampleOutcome>>> {
        if !self.journal_files()?.is_empty() || !self.samples().is_file() {
            return self.outcomes();
        }
        let table = self.table()?;
        let ends = Manifest::read(self).map(|manifest| manifest.launches).unwrap_or_default();
        let points: HashMap<String, Point> =
            self.plan_lines::<Planned>()?.unwrap_or_default().into_iter().map(|line| (line.key, line.point)).collect();
        let mut records: Vec<Record<SampleOutcome>> = Vec::new();
        for row in 0..table.rows {
            let journal = format!("{}.jsonl", table.word("launch", row));
            let index = records.iter().position(|record| record.journal == journal).unwrap_or_else(|| {
                let end = ends.iter().find(|end| end.launch.launch == table.word("launch", row));
                records.push(record_of(&journal, end));
                records.len() - 1
            });
            records[index].samples.push(SampleOutcome::from(sample_of(&table, row, &points)));
        }
        Ok(records)
    }

    fn tabulate(&self) -> Result<(Table, Vec<Damage>)> {
        let keys = self.planned_keys()?;
        let current = |key: &str| keys.as_ref().is_none_or(|keys| keys.contains(key));
        let mut table = Tabulation::new(self.card()?.map(|card| Limits::from_card(&card)));
        let add = |sample: Sample, record: &mut Record| {
            table.add(&sample, record.launch.as_ref(), current(&sample.key));
        };
        let records = Reader::default().read_each(&self.journal_files()?, add)?;
        records.iter().for_each(|record| table.end_launch(record));
        Ok((table.finish(), records.iter().filter_map(Record::damage).collect()))
    }

    /// Writes `samples.parquet` from the journals, records it in the manifest, and returns its table. Needs the lock.
    pub fn compact(&self) -> Result<Table> {
        // Checksums first: a line that another job adds meanwhile then makes the file stale, and not wrong.
        let sources = Compaction::sources(self)?;
        let (table, damages) = self.tabulate()?;
        if table.rows == 0 {
            return Ok(table);
        }
        let path = self.samples();
        self.replace(&path, |file| parquet::write(file, &path, &table))?;
        if let (Ok(manifest), Some(samples)) = (Manifest::read(self), Content::from_file(self, &path)?) {
            let compaction = Some(Compaction { samples, sources, damages });
            // After the samples: with the old checksum, readers take the journals instead.
            Manifest { compaction, ..manifest }.write(self)?;
        }
        Ok(table)
    }
}

#[derive(Deserialize)]
pub struct Planned {
    pub key: String,
    #[serde(flatten)]
    pub point: Point,
}

/// Returns the record of a launch without its samples, from the manifest.
fn record_of(journal: &str, end: Option<&LaunchEnd>) -> Record<SampleOutcome> {
    let record = Record { journal: journal.to_owned(), ..Record::default() };
    let Some(end) = end else { return record };
    Record {
        launch: Some(end.launch.clone()),
        budget_spent: end.budget_spent,
        ended: end.ended.map(|status| (status, end.message.clone())),
        output: end.output.clone(),
        unreadable: end.unreadable_lines,
        ..record
    }
}

/// Returns the sample of a row, without facts about disturbance. A point that is not planned has no parameters.
fn sample_of(table: &Table, row: usize, points: &HashMap<String, Point>) -> Sample {
    let key = table.word("key", row);
    let stale_point = || Point::new(table.word("kernel", row), table.number("ranks", row) as usize);
    let point = points.get(key).cloned().unwrap_or_else(stale_point);
    let number = |name: &str| Some(table.number(name, row)).filter(|number| !number.is_nan());
    let repeated = kernels::find(&point.kernel).ok().and_then(|kernel| (kernel.repeated_output)(&point));
    let output = repeated.and_then(|column| Some((column.to_string(), table.value(&column, row)?)));
    Sample {
        key: key.to_owned(),
        block: number("block").unwrap_or(0.0) as u32,
        repetition: number("repetition").unwrap_or(0.0) as u32,
        status: Status::from_name(table.word("status", row)).unwrap_or(Status::Ok),
        message: table.word("message", row).to_owned(),
        unix_seconds: number("unix_seconds").unwrap_or(0.0),
        load: None,
        pages_elsewhere: None,
        disturbance: Facts::default(),
        seconds: number("seconds"),
        outputs: output.into_iter().collect(),
        point,
    }
}
