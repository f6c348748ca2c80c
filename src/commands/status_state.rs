//! The state of a result for `apexmap status`: its points, samples and jobs. The fields are those of `--json`.

use super::status_nodes::{self, NodeState, NodeStatus};
use apexmap_base::error::Result;
use apexmap_base::regular_file::read_text;
use apexmap_base::sample::Status;
use apexmap_base::terminal::note;
use apexmap_measure::worker::{Repeat, unix_seconds};
use apexmap_results::disk::Folder;
use apexmap_results::disk::folder::lock_file;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::columns::point_label;
use apexmap_run::batch::answer::{self, Answer};
use apexmap_run::batch::{self, JobOptions, JobState};
use apexmap_run::site::Site;
use apexmap_run::submit::follow::ASK_EVERY;
use apexmap_run::submit::record::Job;
use apexmap_run::submit::{Jobs, Queue, System, log, node_hours};
use apexmap_run::sweep;
use apexmap_run::sweep::plan::Progress;
use nix::fcntl::FlockArg;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// Version of the fields of `--json`. It changes when a field changes its meaning or is removed.
const VERSION: u32 = 1;

/// The progress of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
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

impl State {
    /// Returns the exit code of `apexmap status --exit-code`.
    pub fn exit_code(self) -> u8 {
        match self {
            State::Done => 0,
            State::Incomplete => 4,
            State::SetUpFault => 6,
            State::Queued => 10,
            State::Running => 11,
        }
    }

    /// Returns the word for a list of results.
    pub fn name(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Incomplete => "incomplete",
            State::SetUpFault => "set-up fault",
            State::Queued => "queued",
            State::Running => "running",
        }
    }
}

/// The state of a result.
#[derive(Serialize)]
pub struct ResultState {
    pub version: u32,
    pub result: PathBuf,
    pub name: Option<String>,
    pub machine: Option<String>,
    pub state: State,
    pub exit_code: u8,
    pub points: Points,
    pub samples: SampleCounts,
    pub jobs: Vec<JobRow>,
    /// The nodes of a sweep that each node runs alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeStatus>,
    /// The user who submitted the jobs, if it is another one.
    pub owner: Option<String>,
    pub node_hours: f64,
    pub failures: Vec<Failure>,
}

/// Numbers of points.
#[derive(Serialize)]
pub struct Points {
    pub planned: usize,
    pub done: usize,
    pub partial: usize,
    pub missing: usize,
    pub failed: usize,
}

/// Numbers of samples.
#[derive(Serialize)]
pub struct SampleCounts {
    pub successful: usize,
    pub stale: usize,
}

/// A job of a batch system.
#[derive(Serialize)]
pub struct JobRow {
    pub id: Option<String>,
    pub name: String,
    pub part: String,
    /// `None` if the batch system was not asked and the job's driver has not started.
    pub state: Option<JobState>,
    pub reason: String,
    pub has_started: bool,
    pub time_limit_seconds: f64,
    pub ran_seconds: f64,
    /// The next step, if the job did not end well.
    pub help: Option<String>,
}

/// A failed sample.
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
    pub keys: HashSet<String>,
    pub progress: Progress,
    store: Jobs,
    options: Option<JobOptions>,
    jobs: Vec<Job>,
    owner: Option<String>,
}

/// One sample completes a point of simulated ranks, and of a result without a sweep file.
const ONE_SAMPLE: Repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };

impl Facts {
    /// Reads a result.
    pub fn read(folder: &Folder) -> Result<Self> {
        let folder = folder.clone();
        let records = folder.outcomes()?;
        let samples = records.iter().flat_map(|record| &record.samples);
        let keys = folder.planned_keys()?.unwrap_or_else(|| samples.clone().map(|sample| sample.key.clone()).collect());
        let manifest = read_manifest(&folder);
        // The manifest contains a copy of the sweep.
        let text = read_text(&folder.sweep()).ok();
        let text =
            text.or_else(|| manifest.as_ref().map(|manifest| manifest.sweep.clone()).filter(|text| !text.is_empty()));
        let is_simulated = manifest.as_ref().is_some_and(|manifest| !manifest.is_measured());
        let (repeat, blocks) = match text.filter(|_| !is_simulated) {
            Some(text) => sweep::repeat(&text, &folder.sweep())?,
            None => (ONE_SAMPLE, 1),
        };
        let progress = Progress::from_keys(keys.iter().cloned(), blocks, repeat, &records);
        let store = Jobs::new(&folder);
        let (options, jobs) = if store.exist() { store.read()? } else { (None, Vec::new()) };
        let owner = store.other_owner()?;
        Ok(Self { folder, manifest, records, keys, progress, store, options, jobs, owner })
    }

    fn open_ids(&self) -> Vec<String> {
        self.jobs.iter().filter(|job| job.end.is_none()).filter_map(|job| job.id.clone()).collect()
    }

    /// Returns true if the last question about these jobs is old enough for a new one. Another user may not be allowed to write
    /// into the result, so their questions are not counted.
    fn may_ask(&self) -> Result<bool> {
        match (self.open_ids().is_empty(), &self.owner) {
            (true, _) => Ok(false),
            (false, Some(_)) => Ok(true),
            (false, None) => self.store.may_ask(ASK_EVERY),
        }
    }

    /// Returns the state. `answers` are those of the batch system, by id.
    pub fn state(&self, answers: &BTreeMap<String, Answer>) -> Result<ResultState> {
        let rows = self.jobs.iter().map(|job| self.job_row(job, answers)).collect::<Result<Vec<_>>>()?;
        let [done, partial, missing, failed] = self.progress.counts();
        let is_open = |job: &&Job| job.end.is_none();
        let is_running = |job: &Job| {
            let answer = job.id.as_ref().and_then(|id| answers.get(id));
            answer.map_or(job.is_measuring(), |answer| answer.state == JobState::Running)
        };
        let state = match self.jobs.last() {
            _ if self.jobs.iter().filter(is_open).any(is_running) || self.is_locked() => State::Running,
            _ if self.jobs.iter().any(|job| is_open(&job)) => State::Queued,
            _ if partial + missing + failed == 0 => State::Done,
            Some(job) if job.met_setup_fault() => State::SetUpFault,
            _ => State::Incomplete,
        };
        let open_job = |node: &str| {
            let is_of_node = |job: &&JobRow| job.part == node && job.state.is_none_or(JobState::is_alive);
            let job = rows.iter().rev().find(is_of_node)?;
            let is_running = job.state == Some(JobState::Running);
            Some(if is_running { NodeState::Running } else { NodeState::Queued })
        };
        let import = self.manifest.as_ref().filter(|manifest| manifest.imported.is_some());
        let planned = import.map_or(self.keys.len(), |manifest| manifest.points);
        let done = import.map_or(done, |manifest| manifest.points);
        let successful =
            import.map_or(self.progress.samples(), |manifest| manifest.samples.get(&Status::Ok).copied().unwrap_or(0));
        Ok(ResultState {
            version: VERSION,
            result: self.folder.path.clone(),
            name: self.manifest.as_ref().map(|manifest| manifest.name.clone()),
            machine: self.manifest.as_ref().map(|manifest| manifest.machine.clone()),
            state,
            exit_code: state.exit_code(),
            points: Points { planned, done, partial, missing, failed },
            samples: SampleCounts { successful, stale: self.progress.stale },
            nodes: status_nodes::list(&self.folder, &self.progress, open_job)?,
            jobs: rows,
            owner: self.owner.clone(),
            node_hours: node_hours::hours_used(&self.store, &self.jobs, unix_seconds()),
            failures: self.failures(),
        })
    }

    /// Returns true if a driver on this machine measures.
    fn is_locked(&self) -> bool {
        let path = self.folder.path.join(".lock");
        path.is_file() && matches!(lock_file(&path, FlockArg::LockSharedNonblock), Ok(None))
    }

    fn job_row(&self, job: &Job, answers: &BTreeMap<String, Answer>) -> Result<JobRow> {
        let answer = job.id.as_ref().and_then(|id| answers.get(id)).filter(|_| job.end.is_none());
        let (state, reason) = match (&job.end, answer) {
            (Some((state, why, _)), _) => (Some(*state), why.clone()),
            (None, Some(answer)) => (Some(answer.state), answer.reason.clone()),
            (None, None) => (job.is_measuring().then_some(JobState::Running), String::new()),
        };
        let help = match answer.filter(|answer| answer.state == JobState::Unsatisfiable) {
            Some(answer) => Some(answer::advice(&answer.reason).to_owned()),
            None => log::advice(&self.store, job)?,
        };
        Ok(JobRow {
            id: job.id.clone(),
            name: job.name.clone(),
            part: job.part.clone(),
            state,
            reason,
            has_started: job.has_started,
            time_limit_seconds: job.seconds,
            ran_seconds: job.ran_seconds(unix_seconds()),
            help,
        })
    }

    fn failures(&self) -> Vec<Failure> {
        let samples = self.records.iter().flat_map(|record| &record.samples);
        let failed = samples.filter(|sample| self.keys.contains(&sample.key));
        let failed = failed.filter_map(|sample| sample.failure.as_deref());
        let failure = |sample: &apexmap_base::sample::Sample| Failure {
            status: sample.status.name(),
            point: point_label(&sample.point, |_| true),
            message: sample.message.clone(),
        };
        failed.map(failure).collect()
    }
}

/// Reads the manifest; prints a note if that fails.
fn read_manifest(folder: &Folder) -> Option<Manifest> {
    let read = Manifest::read(folder);
    if let (Err(error), true) = (&read, folder.manifest().is_file()) {
        note(&format!("note: {error}"));
    }
    read.ok()
}

/// Asks the batch systems about the open jobs of results: one question for each system and owner. Results about which it was asked
/// a short time ago are left out.
///
/// # Errors
/// If the time of a question cannot be recorded.
pub fn ask(results: &[Facts], site: &Site) -> Result<BTreeMap<String, Answer>> {
    let mut ids_by_system: BTreeMap<(String, Option<String>), (Vec<String>, PathBuf)> = BTreeMap::new();
    for facts in results {
        let Some(options) = facts.options.as_ref().filter(|_| !facts.open_ids().is_empty()) else { continue };
        if facts.may_ask()? {
            let group = ids_by_system.entry((options.system.clone(), facts.owner.clone()));
            group.or_insert_with(|| (Vec::new(), facts.folder.path.clone())).0.extend(facts.open_ids());
        }
    }
    let mut answers = BTreeMap::new();
    for ((system, owner), (ids, folder)) in ids_by_system {
        let ask = |template| System::new(template, &folder, &|| Ok(())).for_user(owner).ask(&ids);
        match batch::find_trusted(&system, &site.templates()).and_then(ask) {
            Ok(states) => answers.extend(states),
            Err(error) => note(&format!("note: {error}")),
        }
    }
    Ok(answers)
}
