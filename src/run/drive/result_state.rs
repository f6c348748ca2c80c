//! The state of a result: which points are measured, missing or failed, and whether someone measures the others.

use super::plan::{Entry, Progress, State};
use crate::sweep::repeat;
use apexmap_base::error::Result;
use apexmap_base::regular_file::read_text;
use apexmap_base::sample::{Sample, Status};
use apexmap_base::terminal::note;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_results::disk::{Folder, lock, manifest::Manifest};
use apexmap_results::table::columns::point_label;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
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

apexmap_base::words! {
    pub enum ResultState {
        Done = "done",
        Running = "running",
        /// A job was submitted and has not started, and none runs.
        Queued = "queued",
        /// A node whose points have all ended, and some have failed.
        Failed = "failed",
        /// Points are missing or have failed, and no process is at work.
        Incomplete = "incomplete",
    }
}

impl ResultState {
    /// The code of `apexmap status --exit-code`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Incomplete | Self::Failed => 4,
            Self::Queued => 10,
            Self::Running => 11,
        }
    }
}

/// A node of a sweep that each node runs alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeStatus {
    pub node: String,
    pub state: ResultState,
}

#[derive(Serialize)]
pub struct Failure {
    pub status: &'static str,
    pub point: String,
    pub message: String,
}

/// The contents of a result folder that its state follows from.
pub struct Facts {
    pub folder: Folder,
    pub manifest: Option<Manifest>,
    pub records: Vec<Record<SampleOutcome>>,
    pub progress: Progress,
    keys: HashSet<String>,
}

/// One sample completes a point of simulated ranks, and of a result without a sweep file.
const ONE_SAMPLE: Repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };

impl Facts {
    pub fn read(folder: &Folder) -> Result<Self> {
        let folder = folder.clone();
        let records = folder.known_outcomes()?;
        let samples = records.iter().flat_map(|record| &record.samples);
        let keys = folder.planned_keys()?.unwrap_or_else(|| samples.map(|sample| sample.key.clone()).collect());
        let manifest = read_manifest(&folder);
        // The manifest contains a copy of the sweep.
        let copy = || manifest.as_ref().map(|manifest| manifest.sweep.clone()).filter(|text| !text.is_empty());
        let text = read_text(&folder.sweep()).ok().or_else(copy);
        let is_simulated = manifest.as_ref().is_some_and(|manifest| !manifest.is_measured());
        let (repeat, blocks) = match text.filter(|_| !is_simulated) {
            Some(text) => {
                let (repeat, launches) = repeat(&text, &folder.sweep())?;
                // Flags may have replaced the launches of the sweep.
                (repeat, manifest.as_ref().map_or(launches, |manifest| manifest.blocks))
            }
            None => (ONE_SAMPLE, 1),
        };
        let progress = Progress::from_keys(keys.iter().cloned(), blocks, repeat, &records);
        Ok(Self { folder, manifest, records, progress, keys })
    }

    /// The numbers of points, and of successful samples. Imported values have no times, and nothing was planned.
    pub fn counts(&self) -> (PointCounts, usize) {
        match self.manifest.as_ref().filter(|manifest| manifest.imported.is_some()) {
            Some(import) => {
                let done = import.points;
                let points = PointCounts { planned: done, done, partial: 0, missing: 0, failed: 0 };
                (points, import.samples.get(&Status::Ok).copied().unwrap_or(0))
            }
            None => (PointCounts::from(&self.progress), self.progress.samples()),
        }
    }

    /// A job in the queue has nothing to do if all of at least one point are done.
    pub fn state(&self, has_queued_jobs: bool) -> ResultState {
        let (points, _) = self.counts();
        let nothing_open = points.done == points.planned;
        match () {
            () if lock::is_held(&self.folder.path.join(".lock")) => ResultState::Running,
            () if nothing_open && points.done > 0 => ResultState::Done,
            () if has_queued_jobs => ResultState::Queued,
            () if nothing_open => ResultState::Done,
            () => ResultState::Incomplete,
        }
    }

    /// The nodes of the plan by name; none for other sweeps. `open_job` returns the state of a node that has a job.
    pub fn nodes(&self, open_job: impl Fn(&str) -> Option<ResultState>) -> Result<Vec<NodeStatus>> {
        let entries: Vec<Entry> = self.folder.plan_lines()?.unwrap_or_default();
        let mut states: BTreeMap<&str, Vec<State>> = BTreeMap::new();
        for entry in &entries {
            if let Some(node) = entry.point.node() {
                states.entry(node).or_default().push(self.progress.point_state(&entry.key));
            }
        }
        let state_of = |node: &str, states: &[State]| {
            let is_open = |state: &State| matches!(state, State::Missing | State::Partial);
            match () {
                () if states.iter().all(|state| *state == State::Done) => ResultState::Done,
                () if states.iter().any(is_open) => open_job(node).unwrap_or(ResultState::Incomplete),
                () => open_job(node).unwrap_or(ResultState::Failed),
            }
        };
        let nodes = states.iter().map(|(node, states)| (node.to_string(), state_of(node, states)));
        Ok(nodes.map(|(node, state)| NodeStatus { node, state }).collect())
    }

    pub fn failures(&self) -> Vec<Failure> {
        let planned = self.records.iter().flat_map(|record| &record.samples).filter(|s| self.keys.contains(&s.key));
        let failed = planned.filter_map(|sample| sample.failure.as_deref());
        let failure = |sample: &Sample| Failure {
            status: sample.status.name(),
            point: point_label(&sample.point, |_| true),
            message: sample.message.clone(),
        };
        failed.map(failure).collect()
    }
}

/// Prints a note if the manifest cannot be read.
fn read_manifest(folder: &Folder) -> Option<Manifest> {
    let read = Manifest::read(folder);
    if let (Err(error), true) = (&read, folder.manifest().is_file()) {
        note(&format!("note: {error}"));
    }
    read.ok()
}
