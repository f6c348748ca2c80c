//! The lines of a worker, one JSON object each, which the driver keeps in the journal in the order of their arrival.

use crate::point::{Point, Value};
use crate::provenance::{Host, MemoryPlacement, Placement, PlainNode};
use crate::{disturbance::Facts, other_output::OtherOutput, place::PlacementOrder, units::plural};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The version of the line format and of the Parquet columns that are made from it.
pub const SCHEMA_VERSION: u32 = 1;

crate::words! {
    /// How a run of a point ended.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Status {
        /// Measured and verified.
        Ok = "ok",
        /// The run finished, but its verification found wrong results. Its times do not count.
        Wrong = "wrong",
        /// The kernel refused the point or panicked, or a rank died.
        Failed = "failed",
        /// The run exceeded the time limit of one sample.
        TimedOut = "timed-out",
        /// All samples were written, but the worker did not end.
        Hung = "hung",
    }
}

/// One run of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    #[serde(flatten)]
    pub point: Point,
    /// Identity of the point together with everything that must not be mixed (transport, machine, build): see `drive::plan`.
    pub key: String,
    /// Number of the launch among the sweep's launches of this rank count, from 0.
    pub block: u32,
    /// Number of the sample within its point and block, from 0.
    pub repetition: u32,
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Seconds since 1970 when the run ended.
    pub unix_seconds: f64,
    /// One-minute load average of rank 0's host when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Largest share of a rank's pages that are not on the NUMA node where it ran, by a subset of them, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_elsewhere: Option<f64>,
    /// Disturbance of the run, as far as the system reports it.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub disturbance: Facts,
    /// Time of the slowest rank, in seconds. Absent unless the kernel finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The kernel's other measurements, by the columns of its `outputs()`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Value>,
}

/// A launch, as rank 0 reports it before its first sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub schema: u32,
    /// Number of the launch, unique within a result: `0003`.
    pub launch: String,
    pub block: u32,
    /// `threads`, `mpi` or `simulated`.
    pub transport: String,
    /// The library that carries the messages, with its version: `threads (in one process)`, `Open MPI v4.1.4 ...`.
    pub library: String,
    /// Id of the launcher that started the worker.
    pub launcher: String,
    pub ranks: usize,
    pub host: Host,
    /// Environment variables of the driver and of the launch that affect how messages are sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The order for placing ranks; absent if the launcher decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlacementOrder>,
    /// The place of each rank, in rank order; empty for simulated ranks.
    pub placement: Vec<Placement>,
    /// Types of the nodes with ranks, each with the names of its nodes; empty in launches of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_types: BTreeMap<String, Vec<String>>,
    /// Whether some node has more ranks than hardware threads.
    pub oversubscribed: bool,
    /// Fingerprint of the measuring source code (see build.rs).
    pub build: String,
    pub unix_seconds: f64,
}

/// The beginning of the type of several unlike nodes.
pub const MIXED_NODES: &str = "mixed: ";

impl Launch {
    pub fn plain_node(&self) -> PlainNode {
        let is_one_node = !self.placement.is_empty() && self.placement.iter().all(|place| place.node == self.host.name);
        let cores = self.host.processors.cores.filter(|_| is_one_node);
        PlainNode { cores, granularity: Some(self.host.granularity) }
    }

    /// Returns the number of nodes with ranks; `None` for simulated ranks.
    pub fn nodes(&self) -> Option<usize> {
        let nodes: BTreeSet<&str> = self.placement.iter().map(|place| place.node.as_str()).collect();
        Some(nodes.len()).filter(|&count| count > 0)
    }

    /// Returns the type of the nodes, or `mixed: 1 node of A; 3 nodes of B`; in old launches, that of rank 0's host.
    pub fn node_type(&self) -> Cow<'_, str> {
        let mut types = self.node_types.iter();
        match (types.next(), types.next()) {
            (None, _) => Cow::Owned(self.host.node_type()),
            (Some((only, _)), None) => Cow::Borrowed(only),
            _ => {
                let describe =
                    |(name, nodes): (&String, &Vec<String>)| format!("{} of {name}", plural(nodes.len(), "node"));
                Cow::Owned(format!(
                    "{MIXED_NODES}{}",
                    self.node_types.iter().map(describe).collect::<Vec<_>>().join("; ")
                ))
            }
        }
    }
}

crate::words! {
    /// The part of a run that a rank is executing.
    pub enum Phase {
        Filling = "filling",
        /// The clock is running.
        Measuring = "measuring",
        /// The rank compares the result with the expected one.
        Verifying = "verifying",
    }
}

/// One line of the worker's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Hello(Box<Launch>),
    /// The worker begins a run; `index` is the position of the point in the job. Not kept in the journal.
    Start {
        index: usize,
        repetition: u32,
    },
    /// Progress of the parts of a run that are not timed. Not kept in the journal.
    Progress {
        phase: Phase,
        /// The fraction that is done, from 0 to 1. Absent for the timed part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// State of a run on simulated ranks. Not kept in the journal.
    Simulation {
        /// Messages since the start of the run.
        messages: u64,
        /// Virtual time since the start of the run, in seconds.
        seconds: f64,
    },
    Sample(Box<Sample>),
    /// The placement of each rank's memory, in rank order. Sent only when it changes.
    Memory {
        ranks: Vec<Option<MemoryPlacement>>,
    },
    /// The disturbance before the first sample: over the whole preflight, or one entry per canary.
    Preflight {
        canaries: Vec<Facts>,
    },
    /// The worker has finished its job. `budget_spent`: before every point had the requested precision.
    Done {
        budget_spent: bool,
    },
    Fatal {
        message: String,
    },
    /// The last line of a journal, written by the driver: how the launch ended, as the driver saw it.
    Ended {
        status: Status,
        message: String,
        /// The lines contradict each other, so two launches may have written them. None of the samples counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        doubtful: bool,
        /// Lines besides the events, if the launch succeeded.
        #[serde(default, skip_serializing_if = "OtherOutput::is_empty")]
        output: OtherOutput,
    },
}

const MAX_MESSAGE_CHARACTERS: usize = 2000;

pub fn shorten_message(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARACTERS) {
        message.truncate(end);
        message.push_str(" ...");
    }
    message
}

impl Event {
    pub fn with_short_message(mut self) -> Self {
        match &mut self {
            Event::Sample(sample) => sample.message = shorten_message(std::mem::take(&mut sample.message)),
            Event::Fatal { message } | Event::Ended { message, .. } => {
                *message = shorten_message(std::mem::take(message));
            }
            Event::Hello(_)
            | Event::Start { .. }
            | Event::Progress { .. }
            | Event::Simulation { .. }
            | Event::Memory { .. }
            | Event::Preflight { .. }
            | Event::Done { .. } => {}
        }
        self
    }
}
