//! What a worker wrote elsewhere, into the result that its job was exported from. Nothing in it is run, and no path is made of it:
//! it is lines, which count if they are those of one launch of an exported job, and it becomes a journal as the driver writes it.

use super::script::VARIABLE;
use crate::sweep::environment::is_messaging;
use crate::sweep::execute::Ending;
use crate::sweep::faults;
use crate::sweep::lines::{Lines, event};
use crate::sweep::plan::Entry;
use crate::sweep::protocol::Protocol;
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{Journal, Record, Run, SampleOutcome};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest line of a worker in bytes, and what each rank adds to one that tells of all.
const LINE: usize = 1 << 20;
const RANK: usize = 1 << 10;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// A launch as its worker told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its name, which is that of an exported job.
    pub launch: String,
    /// The lines of its journal, from the first to the one that says how it ended.
    pub events: Vec<Event>,
    pub samples: usize,
    /// How it ended, if not by itself with all its points measured.
    pub broken: Option<String>,
}

/// What came of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// In this journal, with so many samples that the result did not have.
    New { journal: String, samples: usize },
    /// The result has all of it.
    Known,
}

/// Opens an output; pipes and devices are refused: whoever opens one may wait for ever.
///
/// # Errors
/// If it cannot be opened or is not a file.
pub fn open(path: &Path) -> Result<File> {
    regular_file::open(path).map_err(|error| match error.raw_os_error() {
        Some(_) => Error::file("read", path, error),
        None => Error::input(format!("cannot read {}: {error}", path.display()), "name a file NAME.out of an export"),
    })
}

/// Reads an output. `build`: the worker's, for which the plan was made. `Err`: why none of it counts.
pub fn read(mut output: impl Read, jobs: &BTreeMap<String, Job>, build: &str) -> std::result::Result<Told, String> {
    let ranks = jobs.values().map(|job| job.ranks).max().unwrap_or(0);
    let (mut lines, mut buffer) = (Lines::new(LINE + RANK * ranks), vec![0; CHUNK]);
    let mut hearing = Hearing { jobs, build, environment: BTreeMap::new(), heard: None, fatal: None };
    loop {
        let read = output.read(&mut buffer).map_err(|e| format!("it cannot be read: {e}"))?;
        if read == 0 {
            break;
        }
        lines.add(&buffer[..read], |line| hearing.line(line))?;
    }
    hearing.line(lines.rest())?;
    hearing.end()
}

/// The lines of one output so far.
struct Hearing<'a> {
    jobs: &'a BTreeMap<String, Job>,
    build: &'a str,
    /// Of the script that started the launch, what changes how messages are sent.
    environment: BTreeMap<String, String>,
    heard: Option<Heard<'a>>,
    /// The worker's last word.
    fatal: Option<String>,
}

struct Heard<'a> {
    job: &'a Job,
    protocol: Protocol,
    greeted: f64,
    events: Vec<Event>,
    samples: usize,
    /// Of the point whose run has begun.
    running: Option<(usize, u32)>,
}

impl<'a> Hearing<'a> {
    fn line(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        // Launchers print among the worker's lines.
        let Some(mut event) = event(line) else {
            self.environment.extend(variable(line).filter(|_| self.heard.is_none()));
            return Ok(());
        };
        if self.fatal.is_some() {
            // Other ranks may say something, too, before they end.
            let again = matches!(event, Event::Hello(_));
            return if again { Err("its lines do not fit together: a second launch speaks".into()) } else { Ok(()) };
        }
        if let Event::Fatal { message } = event {
            self.fatal = Some(message);
            return Ok(());
        }
        if self.heard.is_none() {
            self.heard = Some(self.greet(&event)?);
            if let Event::Hello(launch) = &mut event {
                launch.environment.append(&mut self.environment);
            }
        }
        self.heard.as_mut().map_or(Ok(()), |heard| heard.take(event))
    }

    /// The launch that a first line tells of.
    fn greet(&self, event: &Event) -> std::result::Result<Heard<'a>, String> {
        let Event::Hello(launch) = event else { return Err("its first line does not say what launch it is".into()) };
        let Some(job) = self.jobs.get(&launch.launch) else {
            return Err(format!("its launch \"{}\" was not exported from this result", launch.launch));
        };
        if launch.schema != SCHEMA_VERSION {
            return Err("another version of apexmap wrote it".into());
        }
        if launch.build != self.build {
            return Err("its worker is another build than the one that the plan was made for".into());
        }
        check_nodes(job, launch)?;
        Ok(Heard {
            job,
            protocol: Protocol::new(job.clone()),
            greeted: launch.unix_seconds,
            events: Vec::new(),
            samples: 0,
            running: None,
        })
    }

    fn end(self) -> std::result::Result<Told, String> {
        let Some(mut heard) = self.heard else {
            return Err(self
                .fatal
                .map_or("no line of a worker is in it".into(), |why| format!("no launch began: {why}")));
        };
        let broken = match self.fatal {
            Some(message) => {
                // Others of the kind would not go better: the point that ran then has failed.
                let ending = Ending::new(Status::Failed, message);
                heard.events.extend(heard.failure(&ending));
                Some(ending.message)
            }
            None if heard.protocol.done() => None,
            None => Some("its output ends before the launch was done".to_owned()),
        };
        let status = if broken.is_some() { Status::Failed } else { Status::Ok };
        heard.events.push(Event::Ended { status, message: broken.clone().unwrap_or_default(), doubtful: false });
        Ok(Told { launch: heard.job.launch.clone(), events: heard.events, samples: heard.samples, broken })
    }
}

/// A variable that changes how messages are sent, of a line that the script wrote.
fn variable(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line.strip_prefix(VARIABLE.as_bytes())?).into_owned();
    let (name, value) = text.trim_end_matches('\n').split_once('=')?;
    is_messaging(name).then(|| (name.to_owned(), value.to_owned()))
}

fn check_nodes(job: &Job, launch: &Launch) -> std::result::Result<(), String> {
    let size = job.tasks.first().map(|task| task.point.launch_size());
    size.map_or(Ok(()), |size| faults::check_nodes(size, launch).map_err(|error| error.what))
}

impl Heard<'_> {
    fn take(&mut self, event: Event) -> std::result::Result<(), String> {
        self.protocol.check(&event).map_err(|why| format!("its lines do not fit together: {why}"))?;
        match &event {
            Event::Start { index, repetition } => {
                self.running = Some((*index, *repetition));
                return Ok(());
            }
            Event::Progress { .. } => return Ok(()),
            Event::Sample(sample) => {
                let possible = sample.seconds.is_none_or(|seconds| seconds > 0.0 && seconds.is_finite());
                if !possible {
                    return Err("its lines do not fit together: a time that is not positive".into());
                }
                self.running = None;
                self.samples += 1;
            }
            _ => {}
        }
        self.events.push(event);
        Ok(())
    }

    /// The same whenever it is read: its time is that of the launch.
    fn failure(&self, ending: &Ending) -> Option<Event> {
        let (index, repetition) = self.running?;
        let task = &self.job.tasks[index];
        let entry = Entry { key: task.key.clone(), point: task.point.clone() };
        let sample = faults::failure(&entry, self.job.block, repetition, ending);
        Some(Event::Sample(Box::new(Sample { unix_seconds: self.greeted, ..sample })))
    }
}

/// What a result holds, for comparison with outputs.
pub struct Held {
    /// The journals of launches, by their names.
    journals: HashMap<String, PathBuf>,
    /// Which launch measured a point's run in a block.
    runs: HashMap<(String, u32, u32), String>,
}

impl Held {
    pub fn of(folder: &Folder, records: &[Record<SampleOutcome>]) -> Self {
        let mut held = Self { journals: HashMap::new(), runs: HashMap::new() };
        for record in records {
            let Some(launch) = &record.launch else { continue };
            held.journals.insert(launch.launch.clone(), folder.journals().join(&record.journal));
            for sample in &record.samples {
                held.runs.insert(run(sample), launch.launch.clone());
            }
        }
        held
    }

    /// Puts a launch into the result, unless it is there: as a new journal, or in place of its own one that holds less of it. The
    /// outer error is one of this machine, the inner says why the launch is not taken.
    ///
    /// # Errors
    /// If a journal cannot be read or written.
    pub fn take(&mut self, folder: &Folder, told: &Told) -> Result<std::result::Result<Taken, String>> {
        let samples: Vec<&Sample> = told.events.iter().filter_map(sample).collect();
        let foreign = |sample: &&&Sample| self.runs.get(&run(**sample)).is_some_and(|launch| *launch != told.launch);
        if let Some(sample) = samples.iter().find(foreign) {
            let (launch, label) = (&self.runs[&run(*sample)], sample.point.label());
            return Ok(Err(format!(
                "launch {launch} measured the same in the meantime: {label}, sample {}",
                sample.repetition
            )));
        }
        let lines: Vec<String> = told.events.iter().map(line).collect::<Result<_>>()?;
        let before = match self.journals.get(&told.launch) {
            None => {
                let (name, mut journal) = folder.begin_launch()?;
                append(&mut journal, &told.events)?;
                journal.finish()?;
                self.note(folder.journal(&name), told, &samples);
                return Ok(Ok(Taken::New { journal: name, samples: samples.len() }));
            }
            Some(path) => path.clone(),
        };
        let text = regular_file::read_text(&before).map_err(|e| Error::file("read the journal", &before, e))?;
        let mut old: Vec<&str> = text.lines().collect();
        if old == lines {
            return Ok(Ok(Taken::Known));
        }
        // The last line is not the worker's.
        old.pop_if(|line| matches!(serde_json::from_str(line), Ok(Event::Ended { .. })));
        let new = &lines[..lines.len() - 1];
        if old.len() >= new.len() && old.iter().zip(new).all(|(old, new)| old == new) {
            return Ok(Ok(Taken::Known));
        }
        if !old.iter().zip(new).all(|(old, new)| old == new) {
            return Ok(Err(format!("the result has another output of its launch, {}", told.launch)));
        }
        let known = samples.iter().filter(|sample| self.runs.contains_key(&run(**sample))).count();
        folder.replace_text(&before, &(lines.join("\n") + "\n"))?;
        let journal = before.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.note(before, told, &samples);
        Ok(Ok(Taken::New { journal, samples: samples.len() - known }))
    }

    fn note(&mut self, journal: PathBuf, told: &Told, samples: &[&Sample]) {
        self.journals.insert(told.launch.clone(), journal);
        self.runs.extend(samples.iter().map(|sample| (run(*sample), told.launch.clone())));
    }
}

fn sample(event: &Event) -> Option<&Sample> {
    if let Event::Sample(sample) = event { Some(sample) } else { None }
}

fn run(sample: &impl Run) -> (String, u32, u32) {
    (sample.key().to_owned(), sample.block(), sample.repetition())
}

fn line(event: &Event) -> Result<String> {
    serde_json::to_string(event).map_err(|e| Error::internal(format!("cannot write an event: {e}")))
}

fn append(journal: &mut Journal, events: &[Event]) -> Result<()> {
    events.iter().try_for_each(|event| journal.append(event))
}
