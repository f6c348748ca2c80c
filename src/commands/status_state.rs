//! The state of a result for `apexmap status`: its points, samples and jobs. The fields are those of `--json`.

use super::status_nodes::{self, NodeState, NodeStatus};
use apexmap_base::error::Result;
use apexmap_base::regular_file::read_toml;
use apexmap_base::sample::Status;
use apexmap_base::terminal::note;
use apexmap_cluster::batch::answer::Answer;
use apexmap_cluster::batch::{self, JobOptions, JobState};
use apexmap_cluster::site::Site;
use apexmap_cluster::submit::ends::{end_by_answer, end_by_driver, find_answer};
use apexmap_cluster::submit::follow::ASK_EVERY;
use apexmap_cluster::submit::known::find_in_queue;
use apexmap_cluster::submit::record::{Job, Line};
use apexmap_cluster::submit::{Jobs, Queue, System, log, node_hours};
use apexmap_measure::worker::{Repeat, unix_seconds};
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::{Folder, lock};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::point_label;
use apexmap_run::sweep;
use apexmap_run::sweep::plan::{Entry, Progress};
use apexmap_run::sweep::result_state::{PointCounts, ResultState, Work};
use apexmap_study::answers::declared::{self, Declared};
use apexmap_study::nodes;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// Version of the fields of `--json`. It changes when a field changes its meaning or is removed.
const VERSION: u32 = 1;

/// What is known about a result.
#[derive(Serialize)]
pub struct StatusReport {
    pub version: u32,
    pub result: PathBuf,
    pub name: Option<String>,
    pub machine: Option<String>,
    pub state: ResultState,
    pub exit_code: u8,
    pub points: PointCounts,
    pub samples: SampleCounts,
    /// The question of the sweep with its answer; only for a single result with samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Declared>,
    pub jobs: Vec<JobRow>,
    /// The nodes of a sweep that each node runs alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeStatus>,
    /// The user who submitted the jobs, if it is another one.
    pub owner: Option<String>,
    pub node_hours: f64,
    pub failures: Vec<Failure>,
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
    /// The last answers of the batch system by id, and their time in seconds since 1970.
    answers: BTreeMap<String, Answer>,
    asked_at: f64,
}

/// One sample completes a point of simulated ranks, and of a result without a sweep file.
const ONE_SAMPLE: Repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };

impl Facts {
    /// Reads a result.
    pub fn read(folder: &Folder) -> Result<Self> {
        let folder = folder.clone();
        let records = folder.known_outcomes()?;
        let samples = records.iter().flat_map(|record| &record.samples);
        let keys = folder.planned_keys()?.unwrap_or_else(|| samples.clone().map(|sample| sample.key.clone()).collect());
        let manifest = read_manifest(&folder);
        // The manifest contains a copy of the sweep.
        let text = read_toml(&folder.sweep()).ok();
        let text =
            text.or_else(|| manifest.as_ref().map(|manifest| manifest.sweep.clone()).filter(|text| !text.is_empty()));
        let is_simulated = manifest.as_ref().is_some_and(|manifest| !manifest.is_measured());
        let (repeat, blocks) = match text.filter(|_| !is_simulated) {
            Some(text) => {
                let (repeat, launches) = sweep::repeat(&text, &folder.sweep())?;
                // Flags may have replaced the launches of the sweep.
                (repeat, manifest.as_ref().map_or(launches, |manifest| manifest.blocks))
            }
            None => (ONE_SAMPLE, 1),
        };
        let progress = Progress::from_keys(keys.iter().cloned(), blocks, repeat, &records);
        let store = Jobs::new(&folder);
        let (options, jobs) = if store.exist() { store.read()? } else { (None, Vec::new()) };
        let owner = store.other_owner()?;
        let is_recent = store.time_since_question().is_some_and(|passed| passed < ASK_EVERY);
        let answers = if is_recent { store.last_answers() } else { BTreeMap::new() };
        let asked_at = store.asked_at().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let asked_at = asked_at.map_or(0.0, |time| time.as_secs_f64());
        let mut facts =
            Self { folder, manifest, records, keys, progress, store, options, jobs, owner, answers, asked_at };
        for index in facts.open_jobs() {
            if let Some(end) = end_by_driver(&facts.jobs[index]) {
                facts.end_job(index, end);
            }
        }
        Ok(facts)
    }

    /// Returns the indices of the jobs without a recorded end.
    fn open_jobs(&self) -> Vec<usize> {
        (0..self.jobs.len()).filter(|index| self.jobs[*index].end.is_none()).collect()
    }

    fn open_ids(&self) -> Vec<String> {
        self.open_jobs().into_iter().filter_map(|index| self.jobs[index].id.clone()).collect()
    }

    /// Finds the open jobs without an id by their names in the queue, unless a program may still be submitting them.
    fn identify(&mut self, queue: &mut dyn Queue) -> Result<()> {
        let indices: Vec<usize> = self.open_jobs().into_iter().filter(|index| self.jobs[*index].id.is_none()).collect();
        if indices.is_empty() || self.store.is_followed() {
            return Ok(());
        }
        let ids = find_in_queue(queue, &indices.iter().map(|index| &self.jobs[*index]).collect::<Vec<_>>())?;
        for index in indices {
            self.jobs[index].id = ids.get(&self.jobs[index].name).cloned();
            if self.jobs[index].id.is_none() {
                let reason = "it is unknown to the batch system, so it was never submitted";
                self.end_job(index, (JobState::Ended, reason.to_owned()));
            }
        }
        Ok(())
    }

    /// Notes the end of a job. Records it as a follower does, because the batch system forgets jobs.
    fn end_job(&mut self, index: usize, (state, why): (JobState, String)) {
        let samples = self.count_samples(&self.jobs[index]);
        let job = &mut self.jobs[index];
        job.end = Some((state, why.clone(), samples));
        // Another user may not write here, and a follower records the end.
        if self.owner.is_some() || self.store.is_followed() {
            return;
        }
        let line = Line::Ended { job: job.name.clone(), state, why, samples, unix_seconds: Some(unix_seconds()) };
        if let Err(error) = self.store.append(&line) {
            note(&format!("note: {error}"));
        }
    }

    /// Returns the number of samples of a job's part.
    fn count_samples(&self, job: &Job) -> usize {
        let Ok(file) = Jobs::read_part(&self.store.part_file(&job.name)) else { return 0 };
        let entries: Vec<Entry> = self.folder.plan_lines().ok().flatten().unwrap_or_default();
        let entries = entries.iter().filter(|entry| file.part.contains(&entry.point));
        entries.map(|entry| self.progress.count(&entry.key)).sum()
    }

    /// Takes the answers to a question about all open jobs. A job without an answer has left the queue.
    fn take_answers(&mut self, answers: &BTreeMap<String, Answer>) -> Result<()> {
        let ids = self.open_ids();
        let is_own = |(id, _): &(&String, &Answer)| ids.contains(id);
        self.answers = answers.iter().filter(is_own).map(|(id, answer)| (id.clone(), answer.clone())).collect();
        self.asked_at = unix_seconds();
        if self.owner.is_none() {
            self.store.keep_answers(&self.answers)?;
        }
        for index in self.open_jobs() {
            let answer = find_answer(&self.jobs[index], &self.jobs, &self.answers);
            let (state, reason) = match (answer, &self.jobs[index].id) {
                (Some(answer), _) => (answer.state, answer.reason),
                (None, Some(_)) => (JobState::Ended, String::new()),
                (None, None) => continue,
            };
            // A job that can never start remains in the queue until someone cancels it.
            if !state.is_alive() && !can_never_start(state) {
                let end = end_by_answer(&self.store, &mut self.jobs[index], state, &reason)?;
                self.end_job(index, end);
            }
        }
        Ok(())
    }

    /// Returns the last answer about an open job, unless the job has started since.
    fn answer(&self, job: &Job) -> Option<Answer> {
        let is_current = job.end.is_none() && job.started_at.is_none_or(|started_at| started_at <= self.asked_at);
        find_answer(job, &self.jobs, &self.answers).filter(|_| is_current)
    }

    /// Returns true if the last question about these jobs is old enough for a new one. Another user may not be allowed to write
    /// into the result, so their questions are not counted.
    fn may_ask(&self) -> Result<bool> {
        match (self.open_jobs().is_empty(), &self.owner) {
            (true, _) => Ok(false),
            (false, Some(_)) => Ok(true),
            (false, None) => self.store.may_ask(ASK_EVERY),
        }
    }

    /// Returns the state by the records of the jobs and the last answers of the batch system.
    pub fn state(&self) -> Result<StatusReport> {
        let rows = self.jobs.iter().map(|job| self.job_row(job)).collect::<Result<Vec<_>>>()?;
        let mut points = PointCounts::from(&self.progress);
        let is_running = |row: &JobRow| row.state == Some(JobState::Running);
        let is_queued = |row: &JobRow| row.state.is_none_or(JobState::is_alive);
        let work = Work {
            is_running: rows.iter().any(is_running) || self.is_locked(),
            is_queued: rows.iter().any(is_queued),
            met_setup_fault: self.jobs.last().is_some_and(Job::met_setup_fault),
        };
        let import = self.manifest.as_ref().filter(|manifest| manifest.imported.is_some());
        let mut successful = self.progress.samples();
        if let Some(manifest) = import {
            // Its values have no times, and nothing was planned.
            let done = manifest.points;
            points = PointCounts { planned: done, done, partial: 0, missing: 0, failed: 0 };
            successful = manifest.samples.get(&Status::Ok).copied().unwrap_or(0);
        }
        let state = ResultState::new(points, work);
        let open_job = |node: &str| {
            let is_of_node = |job: &&JobRow| job.part == node && job.state.is_none_or(JobState::is_alive);
            let job = rows.iter().rev().find(is_of_node)?;
            let is_running = job.state == Some(JobState::Running);
            Some(if is_running { NodeState::Running } else { NodeState::Queued })
        };
        Ok(StatusReport {
            version: VERSION,
            result: self.folder.path.clone(),
            name: self.manifest.as_ref().map(|manifest| manifest.name.clone()),
            machine: self.manifest.as_ref().map(|manifest| manifest.machine.clone()),
            state,
            exit_code: state.exit_code(),
            points,
            samples: SampleCounts { successful, stale: self.progress.stale },
            answer: None,
            nodes: status_nodes::list(&self.folder, &self.progress, open_job)?,
            jobs: rows,
            owner: self.owner.clone(),
            node_hours: node_hours::hours_used(&self.store, &self.jobs, unix_seconds()),
            failures: self.failures(),
        })
    }

    /// Returns the answer of the report and of the end of a run; `None` without samples or a manifest.
    pub fn answer_of_sweep(&self) -> Result<Option<Declared>> {
        let samples = Samples::from(self.folder.table()?).current();
        match self.manifest.as_ref().filter(|_| !samples.is_empty() && !nodes::is_of_each_node(&samples)) {
            Some(manifest) => declared::of_result((&self.folder, manifest), &samples),
            None => Ok(None),
        }
    }

    /// Returns true if a driver on this machine measures.
    fn is_locked(&self) -> bool {
        lock::is_held_exclusively(&self.folder.path.join(".lock"))
    }

    fn job_row(&self, job: &Job) -> Result<JobRow> {
        let answer = self.answer(job);
        let (state, reason) = match (&job.end, answer.clone()) {
            (Some((state, why, _)), _) => (Some(*state), why.clone()),
            (None, Some(answer)) => (Some(answer.state), answer.reason),
            (None, None) => (job.is_measuring().then_some(JobState::Running), String::new()),
        };
        let help = match &answer {
            Some(answer) => Some(answer.help.clone()).filter(|help| !help.is_empty()),
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
        let planned = self.records.iter().flat_map(|record| &record.samples).filter(|s| self.keys.contains(&s.key));
        let failed = planned.filter_map(|sample| sample.failure.as_deref());
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

fn can_never_start(state: JobState) -> bool {
    matches!(state, JobState::NeverStarts | JobState::Unsatisfiable)
}

/// Asks the batch systems about the open jobs of results: one question for each system and owner. Results about which it was asked
/// a short time ago are left out. The ends of jobs are recorded.
pub fn ask(results: &mut [Facts], site: &Site) -> Result<()> {
    let mut results_by_system: BTreeMap<(String, Option<String>), Vec<&mut Facts>> = BTreeMap::new();
    for facts in results {
        let Some(system) = facts.options.as_ref().map(|options| options.system.clone()) else { continue };
        if facts.may_ask()? {
            results_by_system.entry((system, facts.owner.clone())).or_default().push(facts);
        }
    }
    for ((system, owner), mut results) in results_by_system {
        let folder = results[0].folder.path.clone();
        let mut ask_about_all = |template| {
            let mut queue = System::new(template, &folder, &|| Ok(())).for_user(owner.clone());
            results.iter_mut().try_for_each(|facts| facts.identify(&mut queue))?;
            let ids: Vec<String> = results.iter().flat_map(|facts| facts.open_ids()).collect();
            let answers = if ids.is_empty() { BTreeMap::new() } else { queue.ask(&ids)? };
            results.iter_mut().try_for_each(|facts| facts.take_answers(&answers))
        };
        let template = batch::find_trusted(&system, &site.templates());
        if let Err(error) = template.and_then(&mut ask_about_all) {
            note(&format!("note: {error}"));
        }
    }
    Ok(())
}
