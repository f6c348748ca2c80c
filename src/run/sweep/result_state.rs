//! The state of a result: the numbers of its points in each state, and whether someone measures the others.

use super::plan::{Progress, State};
use serde::Serialize;
use std::fmt;

/// Numbers of points. As text: `18 done, 0 partial, 0 missing, 0 failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PointCounts {
    pub planned: usize,
    pub done: usize,
    pub partial: usize,
    pub missing: usize,
    pub failed: usize,
}

impl From<&Progress> for PointCounts {
    fn from(progress: &Progress) -> Self {
        let [done, partial, missing, failed] = progress.counts();
        Self { planned: done + partial + missing + failed, done, partial, missing, failed }
    }
}

impl fmt::Display for PointCounts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let counts = [self.done, self.partial, self.missing, self.failed];
        let texts = State::ALL.iter().zip(counts).map(|(state, count)| format!("{count} {}", state.name()));
        f.write_str(&texts.collect::<Vec<_>>().join(", "))
    }
}

/// The progress of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultState {
    /// All points are measured.
    Done,
    /// Points are missing or have failed, and neither a job nor a driver is at work.
    Incomplete,
    /// The last job ended because of its set-up.
    SetUpFault,
    /// Jobs wait in the queue, and none runs.
    Queued,
    /// A job or a driver measures.
    Running,
}

/// What is known about the jobs and the driver of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Whether a job or a driver measures.
    pub is_running: bool,
    /// Whether a job may still begin.
    pub is_queued: bool,
    /// Whether the last job ended because of its set-up.
    pub met_setup_fault: bool,
}

impl ResultState {
    /// Returns the state of a result. Jobs in the queue have nothing to do if all of at least one point are done.
    pub fn new(points: PointCounts, work: Work) -> Self {
        let nothing_open = points.done == points.planned;
        match work {
            Work { is_running: true, .. } => Self::Running,
            _ if nothing_open && points.done > 0 => Self::Done,
            Work { is_queued: true, .. } => Self::Queued,
            _ if nothing_open => Self::Done,
            Work { met_setup_fault: true, .. } => Self::SetUpFault,
            _ => Self::Incomplete,
        }
    }

    /// Returns the exit code of `apexmap status --exit-code`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Incomplete => 4,
            Self::SetUpFault => 6,
            Self::Queued => 10,
            Self::Running => 11,
        }
    }

    /// Returns the word for a list of results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::SetUpFault => "set-up fault",
            Self::Queued => "queued",
            Self::Running => "running",
        }
    }
}
