//! What is kept of jobs, in the folder `jobs` of a result: `jobs.jsonl`, what was submitted and how it ended; for each job its
//! script, the part of the plan that it measures, what it printed, and what its driver says of itself.

use super::Part;
use crate::batch::answer::is_id;
use crate::batch::{JobOptions, JobState};
use crate::sweep::Machine;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::new_file;
use apexmap_base::regular_file;
use apexmap_results::disk::Folder;
use apexmap_results::disk::folder::lock_file;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The jobs of a result, on disk.
#[derive(Clone, Debug)]
pub struct Jobs {
    folder: PathBuf,
}

/// A line of `jobs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Line {
    /// What jobs are submitted with from here on.
    Options {
        options: Box<JobOptions>,
        command: Vec<String>,
    },
    /// A job is about to be submitted.
    Submitting {
        job: String,
        part: String,
        seconds: f64,
        after: Option<String>,
        samples: usize,
    },
    /// The batch system took it.
    Submitted {
        job: String,
        id: String,
    },
    /// The batch system refused it, or its driver was killed before it took note of the answer and no such job is found.
    Refused {
        job: String,
        why: String,
    },
    /// The user asked to cancel it.
    Cancelling {
        job: String,
    },
    Ended {
        job: String,
        state: JobState,
        why: String,
        samples: usize,
    },
}

/// A line that a job's own driver writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Own {
    Started {
        id: Option<String>,
        host: String,
        unix_seconds: f64,
    },
    /// Its driver ended in order.
    Ended {
        code: u8,
        message: String,
        /// What to do about it.
        #[serde(default)]
        help: String,
    },
}

/// What a job's driver must know besides the sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartFile {
    pub job: String,
    pub part: Part,
    /// For which the sweep was read.
    pub machine: Machine,
    /// The time limit, in seconds.
    pub seconds: f64,
    /// Points that failed before are measured again.
    #[serde(default)]
    pub retry_failed: bool,
}

/// A job, as its lines tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub name: String,
    pub part: String,
    pub seconds: f64,
    pub after: Option<String>,
    /// The batch system's.
    pub id: Option<String>,
    /// Samples of its part when it was submitted.
    pub samples_before: usize,
    pub cancelling: bool,
    /// How it ended, why, and the samples of its part then.
    pub ended: Option<(JobState, String, usize)>,
    /// Told by its own driver.
    pub started: bool,
    pub own_end: Option<(u8, String)>,
}

impl Job {
    /// It has been through all that it was to measure.
    pub fn is_through(&self) -> bool {
        self.ended.is_some() && self.own_end.as_ref().is_some_and(|(code, message)| *code == 0 && message.is_empty())
    }

    /// Its driver found that launches fail for a reason that is the set-up's: another job would find the same.
    pub fn met_setup_fault(&self) -> bool {
        let code = ErrorKind::Setup.exit_code();
        self.own_end.as_ref().is_some_and(|(own, _)| *own == code)
    }
}

impl Jobs {
    pub fn of(folder: &Folder) -> Self {
        Self { folder: folder.path.join("jobs") }
    }

    /// Whether jobs were ever submitted.
    pub fn exist(&self) -> bool {
        self.lines_file().is_file()
    }

    /// Whether this user has submitted them, as far as the file's owner tells.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_own(&self) -> Result<bool> {
        let path = self.lines_file();
        let about = regular_file::open(&path).and_then(|file| file.metadata());
        let about = about.map_err(|e| Error::file("read", &path, e))?;
        Ok(about.uid() == Uid::effective().as_raw())
    }

    /// Creates the folder.
    pub fn create(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::file("create", &self.folder, e))
    }

    fn lines_file(&self) -> PathBuf {
        self.folder.join("jobs.jsonl")
    }

    pub fn script(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.sh"))
    }

    pub fn part_file(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.json"))
    }

    /// What the job prints, relative to the result folder.
    pub fn log(job: &str) -> String {
        format!("jobs/{job}.log")
    }

    fn own_file(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.jsonl"))
    }

    /// Whose time is that of the last question.
    pub fn asked_file(&self) -> PathBuf {
        self.folder.join("asked")
    }

    /// Whether so much time has passed since anybody asked the batch system; if so, notes that it is asked now.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn may_ask(&self, every: Duration) -> Result<bool> {
        let asked = self.asked_file().metadata().and_then(|meta| meta.modified());
        let passed = |asked| SystemTime::now().duration_since(asked).is_ok_and(|passed| passed >= every);
        let due = asked.map_or(true, passed);
        if due {
            new_file::replace_by(&self.asked_file(), "")?;
        }
        Ok(due)
    }

    /// Keeps a second follower out.
    ///
    /// # Errors
    /// If there is one.
    pub fn lock(&self) -> Result<Flock<File>> {
        lock_file(&self.folder.join(".follower"), FlockArg::LockExclusiveNonblock)?.ok_or_else(|| {
            let result = self.folder.parent().unwrap_or(&self.folder).display();
            let what = format!("another apexmap follows the jobs of {result}");
            Error::environment(what, format!("`apexmap status {result}` shows them"))
        })
    }

    /// Keeps other jobs from the same part; `None` if one has it.
    pub fn lock_part(&self, part: &str) -> Result<Option<Flock<File>>> {
        lock_file(&self.folder.join(format!(".{part}")), FlockArg::LockExclusiveNonblock)
    }

    /// Appends a line, in one write, and sees that it is on the disk: a job that is submitted must not be forgotten.
    pub fn append(&self, line: &Line) -> Result<()> {
        append(&self.lines_file(), line)
    }

    /// Appends a line about itself; for a job's driver.
    pub fn append_own(&self, job: &str, line: &Own) -> Result<()> {
        append(&self.own_file(job), line)
    }

    /// Writes the script and the part of a job.
    pub fn prepare(&self, script: &str, part: &PartFile) -> Result<()> {
        let text = serde_json::to_string(part).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_by(&self.part_file(&part.job), text)?;
        new_file::replace_by(&self.script(&part.job), script)
    }

    /// What a job's driver was given.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_part(path: &Path) -> Result<PartFile> {
        let text = regular_file::read_text(path).map_err(|e| Error::file("read the job's part", path, e))?;
        serde_json::from_str(&text).map_err(|e| Error::file("read the job's part", path, e))
    }

    /// All jobs in the order in which they were submitted, and with what.
    pub fn read(&self) -> Result<(Option<JobOptions>, Vec<Job>)> {
        let (mut options, mut jobs) = (None, Vec::<Job>::new());
        for line in read::<Line>(&self.lines_file())? {
            let name = match &line {
                Line::Options { .. } | Line::Submitting { .. } => None,
                Line::Submitted { job, .. }
                | Line::Refused { job, .. }
                | Line::Cancelling { job }
                | Line::Ended { job, .. } => Some(job.clone()),
            };
            let job = name.and_then(|name| jobs.iter_mut().find(|job| job.name == name));
            match (line, job) {
                (Line::Options { options: given, .. }, _) => options = Some(*given),
                (Line::Submitting { job, part, seconds, after, samples }, _) => jobs.push(Job {
                    name: job,
                    part,
                    seconds,
                    after,
                    id: None,
                    samples_before: samples,
                    cancelling: false,
                    ended: None,
                    started: false,
                    own_end: None,
                }),
                (Line::Submitted { id, .. }, Some(job)) => job.id = Some(id).filter(|id| is_id(id)),
                (Line::Refused { why, .. }, Some(job)) => job.ended = Some((JobState::Failed, why, job.samples_before)),
                (Line::Cancelling { .. }, Some(job)) => job.cancelling = true,
                (Line::Ended { state, why, samples, .. }, Some(job)) => job.ended = Some((state, why, samples)),
                (_, None) => {}
            }
        }
        jobs.iter_mut().filter(|job| job.ended.is_none()).try_for_each(|job| self.look(job))?;
        Ok((options, jobs))
    }

    /// What a job's own driver advised when it ended with an error.
    pub fn own_advice(&self, job: &str) -> Result<Option<String>> {
        let lines = read::<Own>(&self.own_file(job))?;
        Ok(lines.into_iter().rev().find_map(|line| match line {
            Own::Ended { code: 1..=128, help, .. } if !help.is_empty() => Some(help),
            _ => None,
        }))
    }

    /// Takes note of what a job's own driver says.
    pub fn look(&self, job: &mut Job) -> Result<()> {
        for line in read::<Own>(&self.own_file(&job.name))? {
            match line {
                // A job that was put back into the queue starts again.
                Own::Started { id, .. } => {
                    job.started = true;
                    job.own_end = None;
                    job.id = job.id.take().or(id.filter(|id| is_id(id)));
                }
                Own::Ended { code, message, .. } => job.own_end = Some((code, message)),
            }
        }
        Ok(())
    }
}

fn append(path: &Path, line: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(line).map_err(|e| Error::internal(e.to_string()))? + "\n";
    let write = || {
        let mut file = regular_file::append(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    write().map_err(|e| new_file::refused("write", path, e))
}

/// The lines of a file that are whole; none if it is not there.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    match regular_file::read_text(path) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::file("read", path, error)),
    }
}
