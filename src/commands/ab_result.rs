//! The result of `apexmap ab --out`: its samples, which are kept run by run, and its page.

use super::ab_sides::{Measured, SideRun};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::other_output::OtherOutput;
use apexmap_base::point::{Point, Value as PointValue};
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_base::shell::{command_line, command_words};
use apexmap_base::terminal::note;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::disk::lock::Lock;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_run::sweep::plan::Entry;
use apexmap_study::paired::{SIDE, Side, Turn, log_speed, pairs_of};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// A result folder, locked while it is measured.
pub struct PairedResult {
    folder: Folder,
    _lock: Lock,
    names: [String; 2],
    points: usize,
    /// The journal of the launch whose runs are being measured.
    journal: Option<Journal>,
}

impl PairedResult {
    /// Makes a result of these points of both sides, or continues the one in the folder.
    ///
    /// # Errors
    /// If the folder holds another result, or cannot be written.
    pub fn open(path: &Path, names: &[String; 2], points: &[Vec<Entry>; 2]) -> Result<Self> {
        let folder = Folder { path: path.to_owned() };
        let lines = [Side::A, Side::B].into_iter().zip(points).flat_map(|(side, entries)| {
            entries.iter().map(move |entry| Entry {
                key: key_of(side, &entry.key),
                point: point_of(side, &entry.point),
                ..entry.clone()
            })
        });
        let lines = lines.map(|entry| serde_json::to_string(&entry).map(|line| line + "\n"));
        let text = lines.collect::<serde_json::Result<String>>().map_err(|error| Error::internal(error.to_string()))?;
        let is_same = regular_file::read_text(&folder.points()).is_ok_and(|planned| planned == text);
        // A folder without a manifest is no result of others.
        if path.is_file() || !is_same && folder.manifest().exists() {
            let message = format!("{} holds something other than this comparison", path.display());
            return Err(Error::input(message, "name a new folder with --out; the same command continues a comparison"));
        }
        let folder = Folder::create(path)?;
        let lock = folder.lock()?;
        folder.remove_abandoned();
        folder.replace_text(&folder.points(), &text)?;
        let points = points.iter().map(Vec::len).sum();
        let result = Self { folder, _lock: lock, names: names.clone(), points, journal: None };
        // Before the first sample, so that every command takes the result, however this one ends.
        result.describe(0)?;
        Ok(result)
    }

    /// Returns the runs that the folder has. They are compared by `column`, or by the mean of their points.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn earlier_runs(&self, column: Option<&str>) -> Result<Measured> {
        let samples = Samples::from(self.folder.table()?);
        let pairs = pairs_of(&samples).unwrap_or_default();
        let mut measured = Measured::default();
        measured.pairs = pairs;
        for side in [Side::A, Side::B] {
            let runs = samples.with_word(SIDE, &[side.name()]).good();
            measured.values[side as usize] = match column {
                Some(column) => runs.numbers(column),
                None => {
                    let runs = runs.group_by(&["block", "repetition"]);
                    runs.iter().filter_map(log_speed).map(f64::exp).collect()
                }
            };
        }
        Ok(measured)
    }

    /// Writes a run to its journal: all runs of two commands are a launch, and each run of a sweep is another.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn keep(&mut self, turn: Turn, run: &SideRun) -> Result<()> {
        let mut journal = match self.journal.take() {
            Some(journal) => journal,
            None => {
                let (name, mut journal) = self.folder.begin_launch()?;
                let launch = Launch { launch: name, block: turn.pair, ..run.launch.clone() };
                journal.append(&Event::Hello(Box::new(launch)))?;
                journal
            }
        };
        for sample in &run.samples {
            journal.append(&Event::Sample(Box::new(of_pair(sample, turn))))?;
        }
        self.journal = Some(journal);
        if run.is_whole_launch { self.end_launch() } else { Ok(()) }
    }

    fn end_launch(&mut self) -> Result<()> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        journal.append(&Event::Done { budget_spent: false })?;
        let (message, output) = (String::new(), OtherOutput::default());
        journal.append(&Event::Ended { status: Status::Ok, message, doubtful: false, output })?;
        journal.finish()
    }

    /// Writes the table of all samples and the page.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&mut self, pairs: usize) -> Result<()> {
        self.end_launch()?;
        self.describe(pairs)?;
        let folder = &self.folder;
        let samples = Samples::from(folder.compact()?);
        if samples.is_empty() {
            return Ok(());
        }
        report::make(folder, &samples, &|_| ())?;
        note(&format!("result: {}, page: {}", folder.path.display(), folder.report().display()));
        Ok(())
    }

    /// Writes the question and the manifest.
    fn describe(&self, pairs: usize) -> Result<()> {
        let (folder, names) = (&self.folder, &self.names);
        let question = format!("Is B faster than A? A: {}. B: {}.", names[0], names[1]);
        let title = format!("{} against {}", names[1], names[0]);
        let launches = Table::from_iter([("launches".to_owned(), (pairs as i64).into())]);
        let repeat = Table::from_iter([("min".to_owned(), 1.into())]);
        let record: [(&str, Value); 4] = [
            ("title", title.as_str().into()),
            ("question", question.into()),
            ("launch", launches.into()),
            ("repeat", repeat.into()),
        ];
        let record = Table::from_iter(record.map(|(key, value)| (key.to_owned(), value)));
        let sweep = format!("# Written by: {}\n\n{record}", command_line().replace('\n', " "));
        new_file::replace_contents(&folder.sweep(), &sweep)?;
        self.manifest(title, sweep, pairs).with_records(&folder.outcomes()?).write(folder)
    }

    fn manifest(&self, title: String, sweep: String, pairs: usize) -> Manifest {
        Manifest {
            schema: SCHEMA_VERSION,
            name: self.folder.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            title,
            sweep,
            seed: 0,
            machine: provenance::host_name(),
            hosts: Vec::new(),
            points: self.points,
            blocks: pairs as u32,
            budget_seconds: None,
            command: command_words(),
            driver: provenance::build(),
            driver_host: provenance::host(),
            worker: provenance::build(),
            unix_seconds: unix_seconds(),
            samples: BTreeMap::new(),
            launches: Vec::new(),
            sized_for: None,
            simulated: None,
            imported: None,
            compaction: None,
        }
    }
}

/// Returns the sample with its side as a parameter, and the number of its pair as its block.
fn of_pair(sample: &Sample, Turn { side, pair, repetition }: Turn) -> Sample {
    let point = point_of(side, &sample.point);
    Sample { key: key_of(side, &sample.key), point, block: pair, repetition, ..sample.clone() }
}

fn point_of(side: Side, point: &Point) -> Point {
    let mut point = point.clone();
    point.params.insert(SIDE.into(), PointValue::from(side.name()));
    point
}

fn key_of(side: Side, key: &str) -> String {
    format!("{}-{key}", side.name())
}
