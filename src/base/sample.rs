//! A worker's output: the lines that go from rank 0 to the driver and into the journal.
//!
//! One JSON object per line. A journal is the sequence of these lines as they arrived, and nothing else.

use crate::disturbance::Facts;
use crate::place::Place;
use crate::point::{Point, Value};
use crate::provenance::{Host, MemoryPlacement, Placement};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the line format and of the Parquet columns made from it.
pub const SCHEMA_VERSION: u32 = 1;

/// How a run of a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Measured and verified.
    Ok,
    /// Ran to the end, but the verification found wrong results: the times do not count.
    Wrong,
    /// The kernel refused, panicked, or a rank died.
    Failed,
    /// Longer than the time limit of one sample.
    TimedOut,
    /// All samples had been written, but the worker did not end.
    Hung,
}

impl Status {
    /// As in journals and stores: `ok`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Wrong => "wrong",
            Status::Failed => "failed",
            Status::TimedOut => "timed-out",
            Status::Hung => "hung",
        }
    }

    /// The status of a name such as `ok`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Status::Ok, Status::Wrong, Status::Failed, Status::TimedOut, Status::Hung]
            .into_iter()
            .find(|s| s.name() == name)
    }
}

/// One run of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    #[serde(flatten)]
    pub point: Point,
    /// Identity of the point with everything that must not be mixed (transport, machine, build): see `sweep::plan`.
    pub key: String,
    /// Which of the sweep's launches of this rank count this sample belongs to, from 0.
    pub block: u32,
    /// Running number of the sample within its point and block, from 0.
    pub repetition: u32,
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Seconds since 1970 when the run ended.
    pub unix_seconds: f64,
    /// One-minute load average of rank 0's host when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Share of the pages of a rank's memory that are not on the NUMA node where it ran, by a sample of them: that of the rank
    /// with the largest share. Absent where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_elsewhere: Option<f64>,
    /// What disturbed the run, as far as the system tells.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub disturbance: Facts,
    /// Time of the slowest rank in seconds; absent unless the kernel ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The kernel's other measurements, by the names of its `outputs()`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Value>,
}

/// A launch, as rank 0 reports it before its first sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub schema: u32,
    /// Unique within a result: `0003` and so on.
    pub launch: String,
    pub block: u32,
    /// `threads` or `mpi`.
    pub transport: String,
    /// What carries the messages, with its version: `threads (in one process)`, `Open MPI v4.1.4 ...`.
    pub library: String,
    /// Id of the launcher that started the worker.
    pub launcher: String,
    pub ranks: usize,
    /// Host of rank 0.
    pub host: Host,
    /// Environment variables of the driver and of the launch that change how messages are sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Where ranks were to be put; absent where that was left to their launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Where each rank ran, in rank order.
    pub placement: Vec<Placement>,
    /// More ranks than hardware threads on some node.
    pub oversubscribed: bool,
    /// Fingerprint of the measuring source code (see build.rs).
    pub build: String,
    pub unix_seconds: f64,
}

/// What a rank does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its memory gets its contents.
    Filling,
    /// Its clock runs.
    Measuring,
    /// The result is compared with what it must be.
    Verifying,
}

impl Phase {
    /// As in lines: `filling`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Filling => "filling",
            Phase::Measuring => "measuring",
            Phase::Verifying => "verifying",
        }
    }
}

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Hello(Box<Launch>),
    /// The worker begins a run; `index` counts the points of the job. Not kept in the journal.
    Start {
        index: usize,
        repetition: u32,
    },
    /// How far a run is in what no clock measures. Not kept in the journal.
    Progress {
        phase: Phase,
        /// The part that is done, from 0 to 1; absent of what is timed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    Sample(Box<Sample>),
    /// Where the memory of each rank is, in rank order, when it is not where it was before.
    Memory {
        ranks: Vec<Option<MemoryPlacement>>,
    },
    /// What disturbed the machine in the time before the first sample: over that time, or each canary's.
    Preflight {
        canaries: Vec<Facts>,
    },
    /// The worker has finished its job. `budget_spent` if the time ran out before every point was as precise as asked.
    Done {
        budget_spent: bool,
    },
    /// The worker cannot continue; the message says why.
    Fatal {
        message: String,
    },
    /// The driver's last line of a journal: how the launch ended, as the driver saw it.
    Ended {
        status: Status,
        message: String,
        /// Its lines did not fit together: what it measured may be of two launches at once, and none of its samples counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        doubtful: bool,
    },
}

/// Characters of a message that are kept.
const LONGEST_MESSAGE: usize = 2000;

/// A message of a length that a line on a terminal can have.
pub fn shortened(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
        message.truncate(end);
        message.push_str(" ...");
    }
    message
}

impl Event {
    /// The same with messages that are not too long.
    pub fn shortened(mut self) -> Self {
        match &mut self {
            Event::Sample(sample) => sample.message = shortened(std::mem::take(&mut sample.message)),
            Event::Fatal { message } | Event::Ended { message, .. } => *message = shortened(std::mem::take(message)),
            Event::Hello(_)
            | Event::Start { .. }
            | Event::Progress { .. }
            | Event::Memory { .. }
            | Event::Preflight { .. }
            | Event::Done { .. } => {}
        }
        self
    }
}
