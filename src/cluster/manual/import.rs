//! Imports a worker's output from another machine into the result that its job was exported from. The output is untrusted:
//! nothing in it runs, and no path is built from it. Its lines count only if they belong to one launch of an exported job. They
//! become a journal like the driver's.

use super::script::VARIABLE_PREFIX;
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::OtherOutput;
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{Journal, Record, Run, SampleOutcome};
use apexmap_results::table::columns::point_label;
use apexmap_run::sweep::environment::is_messaging;
use apexmap_run::sweep::execute::Ending;
use apexmap_run::sweep::faults;
use apexmap_run::sweep::lines::{Lines, parse_event};
use apexmap_run::sweep::plan::Entry;
use apexmap_run::sweep::protocol::Protocol;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Length limit of a worker's line in bytes, and the additional length per rank for lines that describe all ranks.
const LINE: usize = 1 << 20;
const RANK: usize = 1 << 10;
/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// A launch, as recorded in the worker's output.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLaunch {
    /// The launch's name, which is that of an exported job.
    pub launch: String,
    /// The lines of its journal, from the first to the one that records its end.
    pub events: Vec<Event>,
    pub samples: usize,
    /// Why the launch is incomplete, or `None` if it measured all its points.
    pub incomplete_reason: Option<String>,
}

/// The outcome of importing an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// A journal was written or extended, with this number of samples that the result did not have.
    New { journal: String, samples: usize },
    /// The result already has all of the output.
    Known,
}

/// Opens an output. Rejects pipes and devices, because opening one can block forever.
pub fn open(path: &Path) -> Result<File> {
    regular_file::open(path).map_err(|error| match error.raw_os_error() {
        Some(_) => Error::file("read", path, error),
        None => Error::input(format!("cannot read {}: {error}", path.display()), "pass a file NAME.out of an export"),
    })
}

/// Reads an output. `build` is the worker's build in the plan. Returns `Err` with the reason if none of the output counts.
pub fn read(
    mut output: impl Read,
    jobs: &BTreeMap<String, Job>,
    build: &str,
) -> std::result::Result<ReadLaunch, String> {
    let ranks = jobs.values().map(|job| job.ranks).max().unwrap_or(0);
    let (mut lines, mut buffer) = (Lines::new(LINE + RANK * ranks), vec![0; CHUNK]);
    let mut hearing = OutputReader { jobs, build, environment: BTreeMap::new(), launch: None, fatal: None };
    loop {
        let read = output.read(&mut buffer).map_err(|e| format!("it cannot be read: {e}"))?;
        if read == 0 {
            break;
        }
        lines.add(&buffer[..read], |line| hearing.read_line(line))?;
    }
    hearing.read_line(lines.rest())?;
    hearing.finish()
}

/// The state of reading one output.
struct OutputReader<'a> {
    jobs: &'a BTreeMap<String, Job>,
    build: &'a str,
    /// The script's environment variables that change how messages are sent.
    environment: BTreeMap<String, String>,
    launch: Option<LaunchReader<'a>>,
    /// The worker's fatal error.
    fatal: Option<String>,
}

struct LaunchReader<'a> {
    job: &'a Job,
    protocol: Protocol,
    started_at: f64,
    events: Vec<Event>,
    samples: usize,
    /// The point and repetition of the run that has begun.
    running: Option<(usize, u32)>,
}

impl<'a> OutputReader<'a> {
    fn read_line(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        // Launchers print between the worker's lines.
        let Some(mut event) = parse_event(line) else {
            self.environment.extend(parse_variable(line).filter(|_| self.launch.is_none()));
            return Ok(());
        };
        if self.fatal.is_some() {
            // Other ranks may still report errors before they end.
            let is_second_launch = matches!(event, Event::Hello(_));
            return if is_second_launch {
                Err("its lines are inconsistent: a second launch begins".into())
            } else {
                Ok(())
            };
        }
        if let Event::Fatal { message } = event {
            self.fatal = Some(message);
            return Ok(());
        }
        if self.launch.is_none() {
            self.launch = Some(self.begin_launch(&event)?);
            if let Event::Hello(launch) = &mut event {
                launch.environment.append(&mut self.environment);
            }
        }
        self.launch.as_mut().map_or(Ok(()), |launch| launch.add_event(event))
    }

    /// Checks the first line and returns the launch that it describes.
    fn begin_launch(&self, event: &Event) -> std::result::Result<LaunchReader<'a>, String> {
        let Event::Hello(launch) = event else { return Err("its first line does not name a launch".into()) };
        let Some(job) = self.jobs.get(&launch.launch) else {
            return Err(format!("its launch \"{}\" was not exported from this result", launch.launch));
        };
        if launch.schema != SCHEMA_VERSION {
            return Err("another version of apexmap wrote it".into());
        }
        if launch.build != self.build {
            return Err("its worker is another build than the plan's".into());
        }
        check_nodes(job, launch)?;
        Ok(LaunchReader {
            job,
            protocol: Protocol::new(job.clone()),
            started_at: launch.unix_seconds,
            events: Vec::new(),
            samples: 0,
            running: None,
        })
    }

    fn finish(self) -> std::result::Result<ReadLaunch, String> {
        let Some(mut launch) = self.launch else {
            return Err(self
                .fatal
                .map_or("it contains no line of a worker".into(), |reason| format!("no launch began: {reason}")));
        };
        let incomplete_reason = match self.fatal {
            Some(message) => {
                // The running point counts as failed, because it would fail the same way in another launch.
                let ending = Ending::new(Status::Failed, message);
                launch.events.extend(launch.failed_sample(&ending));
                Some(ending.message)
            }
            None if launch.protocol.is_done() => None,
            None => Some("its output ends before the launch was complete".to_owned()),
        };
        let status = if incomplete_reason.is_some() { Status::Failed } else { Status::Ok };
        launch.events.push(Event::Ended {
            status,
            message: incomplete_reason.clone().unwrap_or_default(),
            doubtful: false,
            output: OtherOutput::default(),
        });
        Ok(ReadLaunch {
            launch: launch.job.launch.clone(),
            events: launch.events,
            samples: launch.samples,
            incomplete_reason,
        })
    }
}

/// Parses a line of the script with a variable that changes how messages are sent.
fn parse_variable(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line.strip_prefix(VARIABLE_PREFIX.as_bytes())?).into_owned();
    let (name, value) = text.trim_end_matches('\n').split_once('=')?;
    is_messaging(name).then(|| (name.to_owned(), value.to_owned()))
}

fn check_nodes(job: &Job, launch: &Launch) -> std::result::Result<(), String> {
    let size = job.tasks.first().map(|task| task.point.launch_size());
    size.map_or(Ok(()), |size| faults::check_nodes(size, launch).map_err(|error| error.message))
}

impl LaunchReader<'_> {
    fn add_event(&mut self, event: Event) -> std::result::Result<(), String> {
        self.protocol.check(&event).map_err(|reason| format!("its lines are inconsistent: {reason}"))?;
        match &event {
            Event::Start { index, repetition } => {
                self.running = Some((*index, *repetition));
                return Ok(());
            }
            Event::Progress { .. } | Event::Simulation { .. } => return Ok(()),
            Event::Sample(sample) => {
                let is_valid = sample.seconds.is_none_or(|seconds| seconds > 0.0 && seconds.is_finite());
                if !is_valid {
                    return Err("its lines are inconsistent: a time is not positive".into());
                }
                self.running = None;
                self.samples += 1;
            }
            _ => {}
        }
        self.events.push(event);
        Ok(())
    }

    /// Returns the sample of the failed point. Its time is that of the launch, so the same output always gives the same sample.
    fn failed_sample(&self, ending: &Ending) -> Option<Event> {
        let (index, repetition) = self.running?;
        let task = &self.job.tasks[index];
        let (key, point, resampled_costs) = (task.key.clone(), task.point.clone(), Vec::new());
        let entry = Entry { key, costs: task.costs, resampled_costs, point };
        let sample = faults::failed_sample(&entry, self.job.block, repetition, ending);
        Some(Event::Sample(Box::new(Sample { unix_seconds: self.started_at, ..sample })))
    }
}

/// The contents of a result, to compare with outputs.
pub struct ImportIndex {
    /// The journals of launches, by their names.
    journals: HashMap<String, PathBuf>,
    /// The launch that measured a point's run in a block.
    runs: HashMap<(String, u32, u32), String>,
}

impl ImportIndex {
    /// Indexes the journals of a result.
    pub fn from_records(folder: &Folder, records: &[Record<SampleOutcome>]) -> Self {
        let mut index = Self { journals: HashMap::new(), runs: HashMap::new() };
        for record in records {
            let Some(launch) = &record.launch else { continue };
            index.journals.insert(launch.launch.clone(), folder.journals().join(&record.journal));
            for sample in &record.samples {
                index.runs.insert(run_key(sample), launch.launch.clone());
            }
        }
        index
    }

    /// Imports a launch into the result, unless the result has it: as a new journal, or in place of its journal that holds fewer
    /// lines. The outer error is a fault of this machine. The inner error is the reason why the launch is rejected.
    pub fn import(
        &mut self,
        folder: &Folder,
        read_launch: &ReadLaunch,
    ) -> Result<std::result::Result<ImportOutcome, String>> {
        let samples: Vec<&Sample> = read_launch.events.iter().filter_map(as_sample).collect();
        let is_foreign =
            |sample: &&&Sample| self.runs.get(&run_key(**sample)).is_some_and(|launch| *launch != read_launch.launch);
        if let Some(sample) = samples.iter().find(is_foreign) {
            let (launch, label) = (&self.runs[&run_key(*sample)], point_label(&sample.point, |_| true));
            return Ok(Err(format!("launch {launch} has already measured it: {label}, sample {}", sample.repetition)));
        }
        let lines: Vec<String> = read_launch.events.iter().map(to_line).collect::<Result<_>>()?;
        let journal_path = match self.journals.get(&read_launch.launch) {
            None => {
                let (name, mut journal) = folder.begin_launch()?;
                append(&mut journal, &read_launch.events)?;
                journal.finish()?;
                self.record(folder.journal(&name), read_launch, &samples);
                return Ok(Ok(ImportOutcome::New { journal: name, samples: samples.len() }));
            }
            Some(path) => path.clone(),
        };
        let text =
            regular_file::read_text(&journal_path).map_err(|e| Error::file("read the journal", &journal_path, e))?;
        let mut old_lines: Vec<&str> = text.lines().collect();
        if old_lines == lines {
            return Ok(Ok(ImportOutcome::Known));
        }
        // The worker did not write the last line.
        old_lines.pop_if(|line| matches!(serde_json::from_str(line), Ok(Event::Ended { .. })));
        let new_lines = &lines[..lines.len() - 1];
        if old_lines.len() >= new_lines.len() && old_lines.iter().zip(new_lines).all(|(old, new)| old == new) {
            return Ok(Ok(ImportOutcome::Known));
        }
        if !old_lines.iter().zip(new_lines).all(|(old, new)| old == new) {
            return Ok(Err(format!("the result already has a different output of its launch {}", read_launch.launch)));
        }
        let known_samples = samples.iter().filter(|sample| self.runs.contains_key(&run_key(**sample))).count();
        folder.replace_text(&journal_path, &(lines.join("\n") + "\n"))?;
        let journal = journal_path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.record(journal_path, read_launch, &samples);
        Ok(Ok(ImportOutcome::New { journal, samples: samples.len() - known_samples }))
    }

    fn record(&mut self, journal: PathBuf, read_launch: &ReadLaunch, samples: &[&Sample]) {
        self.journals.insert(read_launch.launch.clone(), journal);
        self.runs.extend(samples.iter().map(|sample| (run_key(*sample), read_launch.launch.clone())));
    }
}

fn as_sample(event: &Event) -> Option<&Sample> {
    if let Event::Sample(sample) = event { Some(sample) } else { None }
}

fn run_key(sample: &impl Run) -> (String, u32, u32) {
    (sample.key().to_owned(), sample.block(), sample.repetition())
}

fn to_line(event: &Event) -> Result<String> {
    serde_json::to_string(event).map_err(|e| Error::internal(format!("cannot write an event: {e}")))
}

fn append(journal: &mut Journal, events: &[Event]) -> Result<()> {
    events.iter().try_for_each(|event| journal.append(event))
}
