//! The inputs of a follower, and the state that changes while it follows jobs.

use super::parts::Part;
use super::queue::Queue;
use super::record::{Job, Jobs, Line};
use crate::batch::{JobOptions, JobState};
use apexmap_base::error::Result;
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_run::sweep::driver::Watcher;
use apexmap_run::sweep::plan::{Entry, Plan, Progress, State};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Returns the wall time of the remaining launches of these sizes in seconds, and their number.
pub type Measuring<'a> = dyn Fn(&Progress, &[LaunchSize]) -> Result<(f64, usize)> + 'a;

/// The inputs of [`follow`](super::follow::follow).
pub struct Follower<'a> {
    pub plan: &'a Plan,
    pub folder: &'a Folder,
    pub parts: &'a [Part],
    pub options: &'a JobOptions,
    /// Whether failed points are measured again. The first job of each part that ends normally does this.
    pub retry_failed: bool,
    /// The user who submitted the jobs, if it is another one. Their jobs are only watched: nothing is submitted, cancelled or
    /// recorded.
    pub other_owner: Option<String>,
    /// Largest number of node hours that the jobs may take.
    pub max_node_hours: Option<f64>,
    /// Whether the follower ends after it has submitted what the queue accepts.
    pub detaches: bool,
    pub queue: &'a mut dyn Queue,
    pub watcher: &'a mut dyn Watcher,
    /// Writes the files of a job, from its name, its part and its time limit in seconds.
    pub prepare: &'a dyn Fn(&str, &Part, f64) -> Result<()>,
    pub measuring: &'a Measuring<'a>,
    /// Wall time of one sample of a point, in seconds.
    pub cost: &'a dyn Fn(&Entry) -> f64,
    pub interrupted: &'a dyn Fn() -> Result<()>,
    pub ask_every: Duration,
    pub look_every: Duration,
}

/// Reasons why parts are incomplete, by part.
pub type Stopped = BTreeMap<String, String>;

/// The state that changes while jobs are followed.
pub struct FollowState {
    pub store: Jobs,
    pub jobs: Vec<Job>,
    /// Number of samples at the last count, by part.
    sample_counts: BTreeMap<String, usize>,
    /// Number of jobs from earlier commands, by part.
    earlier_jobs: BTreeMap<String, usize>,
    /// The last reported state of each job.
    pub last_reports: BTreeMap<String, String>,
    pub stopped: Stopped,
    pub done_parts: Vec<String>,
    /// Why the queue did not accept the jobs of a part, by part.
    pub postponed: BTreeMap<String, String>,
    /// Time of the last decision about the parts.
    pub acted_at: Option<Instant>,
    /// Time of the last question about jobs of another user.
    pub asked_at: Option<Instant>,
    /// Number of bytes of the record at the last look.
    pub record_bytes: u64,
}

impl FollowState {
    /// Starts with the recorded jobs.
    pub fn new(follower: &Follower, progress: &Progress) -> Result<Self> {
        let store = Jobs::new(follower.folder);
        let record_bytes = store.record_bytes();
        let jobs = store.read()?.1;
        let mut earlier_jobs = BTreeMap::new();
        for job in jobs.iter().filter(|job| job.end.is_some()) {
            *earlier_jobs.entry(job.part.clone()).or_default() += 1;
        }
        let count = |part: &Part| (part.name.clone(), count_samples(follower.plan, progress, part).0);
        Ok(Self {
            store,
            jobs,
            sample_counts: follower.parts.iter().map(count).collect(),
            earlier_jobs,
            last_reports: BTreeMap::new(),
            stopped: Stopped::new(),
            done_parts: Vec::new(),
            postponed: BTreeMap::new(),
            acted_at: None,
            asked_at: None,
            record_bytes,
        })
    }

    /// Returns the number of the part's jobs that earlier commands submitted.
    pub fn earlier_jobs(&self, part: &str) -> usize {
        self.earlier_jobs.get(part).copied().unwrap_or(0)
    }

    pub fn is_settled(&self, part: &Part) -> bool {
        self.stopped.contains_key(&part.name) || self.done_parts.contains(&part.name)
    }

    pub fn open_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.end.is_none())
    }
}

/// Appends a line to the record, unless the jobs belong to another user.
pub fn record(follower: &Follower, store: &Jobs, line: &Line) -> Result<()> {
    if follower.other_owner.is_some() { Ok(()) } else { store.append(line) }
}

/// Records the end of a job, and reports it with the number of its samples.
pub fn record_end(
    follower: &mut Follower,
    state: &mut FollowState,
    index: usize,
    end_state: JobState,
    end_reason: &str,
) -> Result<()> {
    let progress = read_progress(follower)?;
    let job = &mut state.jobs[index];
    let part = follower.parts.iter().find(|part| part.name == job.part);
    let samples = part.map_or(0, |part| count_samples(follower.plan, &progress, part).0);
    let (name, end_reason) = (job.name.clone(), end_reason.to_owned());
    let ended_at = Some(unix_seconds());
    let why = end_reason.clone();
    let line = Line::Ended { job: name, state: end_state, why, samples, unix_seconds: ended_at };
    record(follower, &state.store, &line)?;
    let new_samples =
        samples.saturating_sub(std::mem::replace(state.sample_counts.entry(job.part.clone()).or_default(), samples));
    let reason = if end_reason.is_empty() { String::new() } else { format!(": {end_reason}") };
    let text = format!(
        "job {} ({}) {}{reason}; {} of its part added",
        job.shown_id(),
        job.part,
        end_state.predicate(),
        plural(new_samples, "sample")
    );
    follower.watcher.say(&text);
    (job.end, job.ended_at) = (Some((end_state, end_reason, samples)), ended_at);
    Ok(())
}

/// Reads the journals, and returns the progress of the plan.
pub fn read_progress(follower: &Follower) -> Result<Progress> {
    Ok(Progress::new(follower.plan, &follower.folder.outcomes()?))
}

/// Returns the number of samples of a part, and whether any of its points is open.
pub fn count_samples(plan: &Plan, progress: &Progress, part: &Part) -> (usize, bool) {
    let (mut samples, mut is_open) = (0, false);
    for entry in plan.entries.iter().filter(|entry| part.contains(&entry.point)) {
        samples += progress.count(&entry.key);
        is_open |=
            (0..plan.blocks).any(|block| matches!(progress.state(&entry.key, block), State::Missing | State::Partial));
    }
    (samples, is_open)
}

/// Returns true if a point of the part has failed.
pub fn has_failed(plan: &Plan, progress: &Progress, part: &Part) -> bool {
    let entries = plan.entries.iter().filter(|entry| part.contains(&entry.point));
    entries.into_iter().any(|entry| progress.point_state(&entry.key) == State::Failed)
}
