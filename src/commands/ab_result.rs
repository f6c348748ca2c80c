//! The result of `apexmap ab --out`: its samples, and its page.

use super::ab_sides::Measured;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::other_output::OtherOutput;
use apexmap_base::point;
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_base::shell::{command_line, command_words};
use apexmap_base::terminal::note;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::paired::{SIDE, Side};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// A new result folder.
pub struct PairedResult {
    folder: Folder,
}

impl PairedResult {
    /// Checks that the folder can be made, before anything is measured.
    ///
    /// # Errors
    /// If it has contents.
    pub fn prepare(path: &Path) -> Result<Self> {
        if path.is_file() || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            let message = format!("{} exists and is not empty", path.display());
            return Err(Error::input(message, "name a new folder with --out; a comparison is never added to a result"));
        }
        Ok(Self { folder: Folder::create(path)? })
    }

    /// Writes the samples of the pairs and the page.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, names: &[String; 2], measured: &Measured) -> Result<()> {
        let folder = &self.folder;
        let name = folder.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let question = format!("Is B faster than A? A: {}. B: {}.", names[0], names[1]);
        let title = format!("{} against {}", names[1], names[0]);
        let launches = Table::from_iter([("launches".to_owned(), (measured.pairs.runs.len() as i64).into())]);
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
        self.write_journals(measured)?;
        self.manifest(name, title, sweep, measured).with_records(&folder.outcomes()?).write(folder)?;
        let samples = Samples::from(folder.compact()?);
        report::make(folder, &samples, report::Additions::default())?;
        note(&format!("result: {}, page: {}", folder.path.display(), folder.report().display()));
        Ok(())
    }

    /// Writes a journal for each launch: all runs of two commands are one, and each run of a sweep is another.
    fn write_journals(&self, measured: &Measured) -> Result<()> {
        let pairs = (0..).zip(&measured.pairs.runs);
        let side_of = |(pair, [a, b]): (u32, &[usize; 2])| [(*a, (Side::A, pair)), (*b, (Side::B, pair))];
        let sides: BTreeMap<usize, (Side, u32)> = pairs.flat_map(side_of).collect();
        let runs: Vec<_> = sides.iter().map(|(run, side)| (&measured.runs[*run], *side)).collect();
        for runs in runs.chunk_by(|(first, _), (second, _)| Arc::ptr_eq(&first.0, &second.0)) {
            let (name, mut journal) = self.folder.begin_launch()?;
            let launch = Launch { launch: name, block: runs[0].1.1, ..Launch::clone(&runs[0].0.0) };
            journal.append(&Event::Hello(Box::new(launch)))?;
            for ((_, samples), (side, pair)) in runs {
                for sample in samples {
                    journal.append(&Event::Sample(Box::new(of_pair(sample, *side, *pair))))?;
                }
            }
            journal.append(&Event::Done { budget_spent: false })?;
            let (message, output) = (String::new(), OtherOutput::default());
            journal.append(&Event::Ended { status: Status::Ok, message, doubtful: false, output })?;
            journal.finish()?;
        }
        Ok(())
    }

    fn manifest(&self, name: String, title: String, sweep: String, measured: &Measured) -> Manifest {
        Manifest {
            schema: SCHEMA_VERSION,
            name,
            title,
            sweep,
            seed: 0,
            machine: provenance::host_name(),
            hosts: Vec::new(),
            points: 2 * measured.runs.first().map_or(0, |(_, samples)| samples.len()),
            blocks: measured.pairs.runs.len() as u32,
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
fn of_pair(sample: &Sample, side: Side, pair: u32) -> Sample {
    let mut sample = Sample { block: pair, repetition: 0, ..sample.clone() };
    sample.point.params.insert(SIDE.into(), point::Value::from(side.name()));
    sample.key = format!("{}-{}", side.name(), sample.key);
    sample
}
