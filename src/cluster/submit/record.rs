//! The record of jobs, in the folder `jobs` of a result. `jobs.jsonl` holds the submissions and their ends. Each job has a
//! script, a file with its part of the plan, a log, and a file that its driver writes.

use crate::batch::answer::{Answer, is_id};
use crate::batch::{JobOptions, JobState};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::regular_file;
use apexmap_results::disk::Folder;
use apexmap_results::disk::lock::{self, Lock, Sharing};
use nix::unistd::{Uid, User};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use super::lines::{DriverEnd, DriverLine, Job, Line, PartFile};

/// The jobs of a result, on disk.
#[derive(Clone, Debug)]
pub struct Jobs {
    folder: PathBuf,
}

impl Jobs {
    /// Returns the jobs of this result.
    pub fn new(folder: &Folder) -> Self {
        Self { folder: folder.path.join("jobs") }
    }

    /// Returns true if jobs were ever submitted.
    pub fn exist(&self) -> bool {
        self.lines_file().is_file()
    }

    /// Returns the name of the user who submitted the jobs if it is another user, judged by the owner of their record.
    pub fn other_owner(&self) -> Result<Option<String>> {
        let path = self.lines_file();
        if !self.exist() {
            return Ok(None);
        }
        let metadata = regular_file::open(&path).and_then(|file| file.metadata());
        let owner = Uid::from_raw(metadata.map_err(|e| Error::file("read", &path, e))?.uid());
        Ok((owner != Uid::effective()).then(|| user_name(owner)))
    }

    /// Returns the number of bytes of the record; 0 without one.
    pub fn record_bytes(&self) -> u64 {
        self.lines_file().metadata().map_or(0, |metadata| metadata.len())
    }

    /// Creates the folder.
    pub fn create(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::file("create", &self.folder, e))
    }

    fn lines_file(&self) -> PathBuf {
        self.folder.join("jobs.jsonl")
    }

    /// Returns the path of a job's script.
    pub fn script(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.sh"))
    }

    /// Returns the path of a job's part file.
    pub fn part_file(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.json"))
    }

    /// Returns the path of the job's log, relative to the result folder.
    pub fn log(job: &str) -> String {
        format!("jobs/{job}.log")
    }

    fn driver_file(&self, job: &str) -> PathBuf {
        self.folder.join(format!("{job}.jsonl"))
    }

    /// Returns the path of the file with the last answers. Its modification time is that of the last question.
    pub fn asked_file(&self) -> PathBuf {
        self.folder.join("asked")
    }

    /// Returns true if the time `every` has passed since the last question of any process to the batch system. If so, records a
    /// question now.
    pub fn may_ask(&self, every: Duration) -> Result<bool> {
        let due = self.time_since_question().is_none_or(|passed| passed >= every);
        if due {
            new_file::replace_contents(&self.asked_file(), "")?;
        }
        Ok(due)
    }

    /// Records the answers to the last question, by id. `apexmap status` shows them until the next question.
    pub fn keep_answers(&self, answers: &BTreeMap<String, Answer>) -> Result<()> {
        let text = serde_json::to_string(answers).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_contents(&self.asked_file(), text)
    }

    /// Returns the answers to the last question; none if it is open or was never asked.
    pub fn last_answers(&self) -> BTreeMap<String, Answer> {
        let text = regular_file::read_text(&self.asked_file()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Returns the time of the last recorded question.
    pub fn asked_at(&self) -> Option<SystemTime> {
        self.asked_file().metadata().and_then(|metadata| metadata.modified()).ok()
    }

    /// Returns the time since the last recorded question; 0 for a time in the future, which another clock may write.
    pub fn time_since_question(&self) -> Option<Duration> {
        Some(SystemTime::now().duration_since(self.asked_at()?).unwrap_or_default())
    }

    /// Returns true if a program follows the jobs, and submits further ones.
    pub fn is_followed(&self) -> bool {
        lock::is_held_exclusively(&self.folder.join(".follower"))
    }

    /// Locks the jobs against a second follower.
    pub fn lock(&self) -> Result<Lock> {
        Lock::acquire(&self.folder.join(".follower"), Sharing::Exclusive)?.ok_or_else(|| {
            let result = self.folder.parent().unwrap_or(&self.folder).display();
            let message = format!("another apexmap already follows the jobs of {result}");
            Error::environment(message, format!("`apexmap status {result}` shows them"))
        })
    }

    /// Locks a part against other jobs; returns `None` if another job holds the lock.
    pub fn lock_part(&self, part: &str) -> Result<Option<Lock>> {
        Lock::acquire(&self.folder.join(format!(".{part}")), Sharing::Exclusive)
    }

    /// Appends a line in one write and syncs it to disk, because a submitted job must not be lost.
    pub fn append(&self, line: &Line) -> Result<()> {
        append(&self.lines_file(), line)
    }

    /// Appends a line to the file of a job's driver.
    pub fn append_driver_line(&self, job: &str, line: &DriverLine) -> Result<()> {
        append(&self.driver_file(job), line)
    }

    /// Writes the script and the part file of a job.
    pub fn prepare(&self, script: &str, part: &PartFile) -> Result<()> {
        let text = serde_json::to_string(part).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_contents(&self.part_file(&part.job), text)?;
        new_file::replace_contents(&self.script(&part.job), script)
    }

    /// Reads the part file of a job's driver.
    pub fn read_part(path: &Path) -> Result<PartFile> {
        let text = regular_file::read_text(path).map_err(|e| Error::file("read the job's part", path, e))?;
        serde_json::from_str(&text).map_err(|e| Error::file("read the job's part", path, e))
    }

    /// Reads the last options, and all jobs in the order of their submission.
    pub fn read(&self) -> Result<(Option<JobOptions>, Vec<Job>)> {
        let (mut options, mut jobs) = (None, Vec::<Job>::new());
        for line in read::<Line>(&self.lines_file())? {
            let name = match &line {
                Line::Options { .. } | Line::Submitting { .. } => None,
                Line::Submitted { job, .. }
                | Line::Refused { job, .. }
                | Line::Postponed { job, .. }
                | Line::Cancelling { job }
                | Line::Ended { job, .. } => Some(job.clone()),
            };
            let job = name.and_then(|name| jobs.iter_mut().find(|job| job.name == name));
            match (line, job) {
                (Line::Options { options: new_options, .. }, _) => options = Some(*new_options),
                (Line::Submitting { job: name, part, seconds, after: predecessor, samples: samples_before }, _) => {
                    jobs.push(Job { name, part, seconds, predecessor, samples_before, ..Job::default() });
                }
                (Line::Submitted { id, .. }, Some(job)) => job.id = Some(id).filter(|id| is_id(id)),
                (Line::Refused { why, .. }, Some(job)) => job.end = Some((JobState::Failed, why, job.samples_before)),
                (Line::Postponed { job: postponed, .. }, Some(_)) => jobs.retain(|job| job.name != postponed),
                (Line::Cancelling { .. }, Some(job)) => job.cancel_requested = true,
                (Line::Ended { state, why, samples, unix_seconds, .. }, Some(job)) => {
                    (job.end, job.ended_at) = (Some((state, why, samples)), unix_seconds);
                }
                (_, None) => {}
            }
        }
        jobs.iter_mut().try_for_each(|job| self.update(job))?;
        Ok((options, jobs))
    }

    /// Returns the advice of a job's driver that ended with an error.
    pub fn driver_advice(&self, job: &str) -> Result<Option<String>> {
        let lines = read::<DriverLine>(&self.driver_file(job))?;
        Ok(lines.into_iter().rev().find_map(|line| match line {
            DriverLine::Ended { code: 1..=128, help, .. } if !help.is_empty() => Some(help),
            _ => None,
        }))
    }

    /// Updates a job from the lines of its driver.
    pub fn update(&self, job: &mut Job) -> Result<()> {
        for line in read::<DriverLine>(&self.driver_file(&job.name))? {
            match line {
                // A requeued job starts again.
                DriverLine::Started { id, unix_seconds, .. } => {
                    job.has_started = true;
                    job.started_at = Some(unix_seconds);
                    job.driver_end = None;
                    job.id = job.id.take().or(id.filter(|id| is_id(id)));
                }
                DriverLine::Ended { code, message, ran_seconds, .. } => {
                    job.driver_end = Some(DriverEnd { code, message, ran_seconds });
                }
            }
        }
        Ok(())
    }
}

/// Returns the user's name, or the number of a user without a name.
pub fn user_name(user: Uid) -> String {
    User::from_uid(user).ok().flatten().map_or_else(|| user.to_string(), |user| user.name)
}

fn append(path: &Path, line: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(line).map_err(|e| Error::internal(e.to_string()))? + "\n";
    let write = || {
        let mut file = regular_file::append(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    write().map_err(|e| new_file::access_error("write", path, e))
}

/// Returns the complete lines of a file; an absent file has none.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    match regular_file::read_text(path) {
        // A killed writer leaves an incomplete last line.
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::file("read", path, error)),
    }
}
