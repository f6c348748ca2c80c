//! The lines of the record of jobs, and the job that they describe.

use super::Part;
use crate::batch::{JobOptions, JobState};
use apexmap_base::error::ErrorKind;
use apexmap_run::sweep::Machine;
use serde::{Deserialize, Serialize};

/// A line of `jobs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Line {
    /// The options of the jobs submitted after this line.
    Options { options: Box<JobOptions>, command: Vec<String> },
    /// A job is about to be submitted.
    Submitting { job: String, part: String, seconds: f64, after: Option<String>, samples: usize },
    /// The batch system accepted the job.
    Submitted { job: String, id: String },
    /// The batch system refused the job. Or the submitting program was killed before it recorded the answer, and the queue has no
    /// such job.
    Refused { job: String, why: String },
    /// The batch system accepts no more jobs of this user now, so the job is submitted later under another name.
    Postponed { job: String, why: String },
    /// The user asked to cancel the job.
    Cancelling { job: String },
    Ended {
        job: String,
        state: JobState,
        why: String,
        samples: usize,
        /// When the end was noticed.
        #[serde(default)]
        unix_seconds: Option<f64>,
    },
}

/// A line of the file that a job's driver writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum DriverLine {
    Started {
        id: Option<String>,
        host: String,
        unix_seconds: f64,
    },
    /// The driver ended normally.
    Ended {
        code: u8,
        message: String,
        /// The next step.
        #[serde(default)]
        help: String,
        /// The time since its start, in seconds.
        #[serde(default)]
        ran_seconds: Option<f64>,
    },
}

/// The end of a job's driver, as it recorded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverEnd {
    /// Its exit code: 128 plus the signal's number, if a signal ended it.
    pub code: u8,
    pub message: String,
    /// The time since its start in seconds, if recorded.
    pub ran_seconds: Option<f64>,
}

impl DriverEnd {
    /// Returns true if a signal ended the driver within the first `seconds`.
    pub fn was_ended_early(&self, seconds: f64) -> bool {
        self.code > 128 && self.ran_seconds.is_some_and(|ran| ran < seconds)
    }
}

/// The inputs of a job's driver besides the sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartFile {
    pub job: String,
    pub part: Part,
    /// The machine that the sweep was read for.
    pub machine: Machine,
    /// The time limit, in seconds.
    pub seconds: f64,
    /// Whether failed points are measured again.
    #[serde(default)]
    pub retry_failed: bool,
}

/// A job, as its lines record it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    pub name: String,
    pub part: String,
    pub seconds: f64,
    pub predecessor: Option<String>,
    /// The id from the batch system.
    pub id: Option<String>,
    /// Number of samples of its part at submission.
    pub samples_before: usize,
    pub cancel_requested: bool,
    /// The final state, its reason, and the number of samples of the part at the end.
    pub end: Option<(JobState, String, usize)>,
    /// Whether the driver recorded its start.
    pub has_started: bool,
    /// The driver's last start, and the time when the job's end was noticed.
    pub started_at: Option<f64>,
    pub ended_at: Option<f64>,
    pub driver_end: Option<DriverEnd>,
}

impl Job {
    /// Returns the time since the job's last start in seconds, up to its end; `now` is the present time. Its time limit bounds it.
    pub fn ran_seconds(&self, now: f64) -> f64 {
        let by_driver = self.driver_end.as_ref().and_then(|end| end.ran_seconds);
        let by_clock = || Some(self.ended_at.unwrap_or(now) - self.started_at?);
        by_driver.or_else(by_clock).map_or(0.0, |seconds| seconds.clamp(0.0, self.seconds))
    }

    /// Returns the id that users know, or the job's name if it has no id.
    pub fn shown_id(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.name)
    }

    /// Returns true if the job's driver runs, as far as its record shows.
    pub fn is_measuring(&self) -> bool {
        self.end.is_none() && self.has_started && self.driver_end.is_none()
    }

    /// Returns true if the job has measured all points of its part.
    pub fn is_through(&self) -> bool {
        self.end.is_some() && self.driver_end.as_ref().is_some_and(|end| end.code == 0 && end.message.is_empty())
    }

    /// Returns true if the driver found a fault of the set-up, which another job would meet too.
    pub fn met_setup_fault(&self) -> bool {
        let code = ErrorKind::Setup.exit_code();
        self.driver_end.as_ref().is_some_and(|end| end.code == code)
    }
}
