//! Follows jobs to their end.

use super::decide::{NextStep, choose_step};
use super::known::cancel;
use super::log;
use super::parts::{Part, chain};
use super::queue::Queue;
use super::record::{Job, Jobs, Line};
use super::tail::Tail;
use crate::batch::answer::{Answer, is_id};
use crate::batch::{JobOptions, JobState};
use crate::sweep::driver::{self, Watcher};
use crate::sweep::plan::{Entry, Plan, Progress, State};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// Shortest time between two questions to the batch system by any process of this result. Schedulers of large sites must not be
/// asked more often.
pub const ASK_EVERY: Duration = Duration::from_secs(30);
/// Time between two reads of the journals.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Returns the wall time of the remaining launches of these sizes in seconds, and their number.
pub type Measuring<'a> = dyn Fn(&Progress, &[LaunchSize]) -> (f64, usize) + 'a;

/// The inputs of [`follow`].
pub struct Follower<'a> {
    pub plan: &'a Plan,
    pub folder: &'a Folder,
    pub parts: &'a [Part],
    pub options: &'a JobOptions,
    /// Whether failed points are measured again. The first job of each part that ends normally does this.
    pub retry_failed: bool,
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
struct FollowState {
    jobs: Vec<Job>,
    /// Number of samples at the last count, by part.
    sample_counts: BTreeMap<String, usize>,
    /// Number of jobs from earlier commands, by part.
    earlier_jobs: BTreeMap<String, usize>,
    /// The last reported state of each job.
    last_reports: BTreeMap<String, String>,
    stopped: Stopped,
    done_parts: Vec<String>,
}

/// Submits the missing jobs, and follows all jobs until each part is done or stopped.
///
/// # Errors
/// If the batch system refuses a job, a file cannot be written, or `interrupted` returns an error. Submitted jobs continue.
pub fn follow(follower: &mut Follower) -> Result<Stopped> {
    let store = Jobs::new(follower.folder);
    let progress = progress(follower)?;
    let launches = driver::remaining_launches(follower.plan, &progress, follower.cost);
    let [.., failed] = progress.counts();
    follower.watcher.begin(&launches, follower.plan.repeat, failed);
    let mut tail = Tail::new(follower.folder, follower.plan, &progress)?;
    let jobs = store.read()?.1;
    let mut earlier_jobs = BTreeMap::new();
    jobs.iter().filter(|job| job.end.is_some()).for_each(|job| *earlier_jobs.entry(job.part.clone()).or_default() += 1);
    let sample_counts = follower
        .parts
        .iter()
        .map(|part| (part.name.clone(), count_samples(follower.plan, &progress, part).0))
        .collect();
    let mut state = FollowState {
        jobs,
        sample_counts,
        earlier_jobs,
        last_reports: BTreeMap::new(),
        stopped: Stopped::new(),
        done_parts: Vec::new(),
    };
    let mut first = true;
    loop {
        let looked_at = Instant::now();
        tail.read(follower.folder, follower.plan, follower.watcher)?;
        let has_changed = read_driver_records(follower, &store, &mut state)? | ask_queue(follower, &store, &mut state)?;
        if has_changed || std::mem::take(&mut first) {
            act_on_parts(follower, &store, &mut state)?;
        }
        if state.stopped.len() + state.done_parts.len() == follower.parts.len() {
            tail.read(follower.folder, follower.plan, follower.watcher)?;
            return Ok(state.stopped);
        }
        // Asking the batch system may have taken long.
        (follower.interrupted)()?;
        while looked_at.elapsed() < follower.look_every {
            (follower.interrupted)()?;
            std::thread::sleep(follower.look_every.min(Duration::from_millis(100)));
        }
        follower.watcher.tick();
    }
}

fn progress(follower: &Follower) -> Result<Progress> {
    Ok(Progress::new(follower.plan, &follower.folder.outcomes()?))
}

/// Returns the number of samples of a part, and whether any of its points is open.
fn count_samples(plan: &Plan, progress: &Progress, part: &Part) -> (usize, bool) {
    let (mut samples, mut is_open) = (0, false);
    for entry in plan.entries.iter().filter(|entry| part.sizes.contains(&entry.point.launch_size())) {
        for block in 0..plan.blocks {
            samples += progress.samples_of(&entry.key, block).map_or(0, |point_samples| point_samples.seconds.len());
            is_open |= matches!(progress.state(&entry.key, block), State::Missing | State::Partial);
        }
    }
    (samples, is_open)
}

/// Returns true if a point of the part has failed.
fn has_failed(plan: &Plan, progress: &Progress, part: &Part) -> bool {
    let entries = plan.entries.iter().filter(|entry| part.sizes.contains(&entry.point.launch_size()));
    entries.into_iter().any(|entry| progress.point_state(&entry.key) == State::Failed)
}

/// Reads the records of the jobs' drivers. Returns true if a job has ended.
fn read_driver_records(follower: &mut Follower, store: &Jobs, state: &mut FollowState) -> Result<bool> {
    let mut ended_jobs = Vec::new();
    for (index, job) in state.jobs.iter_mut().enumerate().filter(|(_, job)| job.end.is_none()) {
        let was_started = job.has_started;
        store.update(job)?;
        if job.has_started && !was_started {
            let text = format!("job {} ({}) has started", shown_id(job), job.part);
            follower.watcher.say(&text);
        }
        // A driver that was terminated by a signal may belong to a requeued job, so only the batch system knows whether the job
        // has ended.
        if let Some((code @ ..128, message)) = &job.driver_end {
            let end_state = if *code == 0 { JobState::Completed } else { JobState::Failed };
            ended_jobs.push((index, end_state, message.clone()));
        }
    }
    for (index, end_state, end_reason) in &ended_jobs {
        record_end(follower, store, state, *index, *end_state, end_reason)?;
    }
    Ok(!ended_jobs.is_empty())
}

fn record_end(
    follower: &mut Follower,
    store: &Jobs,
    state: &mut FollowState,
    index: usize,
    end_state: JobState,
    end_reason: &str,
) -> Result<()> {
    let job = &mut state.jobs[index];
    let progress = progress(follower)?;
    let part = follower.parts.iter().find(|part| part.name == job.part);
    let samples = part.map_or(0, |part| count_samples(follower.plan, &progress, part).0);
    let (name, end_reason) = (job.name.clone(), end_reason.to_owned());
    store.append(&Line::Ended { job: name, state: end_state, why: end_reason.clone(), samples })?;
    let new_samples =
        samples.saturating_sub(std::mem::replace(state.sample_counts.entry(job.part.clone()).or_default(), samples));
    let reason = if end_reason.is_empty() { String::new() } else { format!(": {end_reason}") };
    let text = format!(
        "job {} ({}) {}{reason}; {} of its part added",
        shown_id(job),
        job.part,
        end_state.predicate(),
        plural(new_samples, "sample")
    );
    follower.watcher.say(&text);
    job.end = Some((end_state, end_reason, samples));
    Ok(())
}

/// Returns the id that users know, or the job's name if it has no id.
fn shown_id(job: &Job) -> &str {
    job.id.as_deref().unwrap_or(&job.name)
}

/// Asks the batch system if a question is due. Returns true if a job has ended.
fn ask_queue(follower: &mut Follower, store: &Jobs, state: &mut FollowState) -> Result<bool> {
    let alive: Vec<usize> = (0..state.jobs.len()).filter(|index| state.jobs[*index].end.is_none()).collect();
    if alive.is_empty() || !store.may_ask(follower.ask_every)? {
        return Ok(false);
    }
    let answers = match identify(follower, store, state).and_then(|()| {
        let ids: Vec<String> = alive.iter().filter_map(|index| state.jobs[*index].id.clone()).collect();
        follower.queue.ask(&ids)
    }) {
        Ok(answers) => answers,
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
        Err(error) => {
            // The jobs continue without the answer, and the next question may succeed.
            follower.watcher.say(&format!("note: {}", error.message));
            return Ok(false);
        }
    };
    let mut has_ended = false;
    for index in alive {
        let job = &state.jobs[index];
        // A result of another user may name an id under which another job now runs.
        let is_same_job = |answer: &&Answer| answer.name.is_empty() || answer.name == job.name;
        let answer = job.id.as_ref().and_then(|id| answers.get(id)).filter(is_same_job);
        has_ended |= record_answer(follower, store, state, index, answer)?;
    }
    Ok(has_ended)
}

/// Finds the ids of jobs by their names in the queue, if the batch system's answer to their submission is unknown.
fn identify(follower: &mut Follower, store: &Jobs, state: &mut FollowState) -> Result<()> {
    let is_unknown = |job: &&mut Job| job.end.is_none() && job.id.is_none();
    let mut unknown = state.jobs.iter_mut().filter(is_unknown).peekable();
    if unknown.peek().is_none() {
        return Ok(());
    }
    let names = follower.queue.names(&[])?;
    for job in unknown {
        let id = names.iter().find(|(_, name)| name.as_ref() == Some(&job.name)).map(|(id, _)| id.clone());
        if let Some(id) = id.filter(|id| is_id(id)) {
            store.append(&Line::Submitted { job: job.name.clone(), id: id.clone() })?;
            job.id = Some(id);
        }
    }
    Ok(())
}

/// Records the batch system's answer about a job. Returns true if the job has ended.
fn record_answer(
    follower: &mut Follower,
    store: &Jobs,
    state: &mut FollowState,
    index: usize,
    answer: Option<&Answer>,
) -> Result<bool> {
    let job = &mut state.jobs[index];
    let (job_state, reason, start) = match answer {
        Some(answer) => (answer.state, answer.reason.as_str(), answer.start.as_str()),
        None if job.id.is_none() && !job.has_started => {
            (JobState::Ended, "it is unknown to the batch system, so it was never submitted", "")
        }
        None => (JobState::Ended, "", ""),
    };
    if matches!(job_state, JobState::NeverStarts | JobState::Unsatisfiable) {
        follower.queue.cancel(job.id.as_slice())?;
    }
    if !job_state.is_alive() {
        // The job's own driver knows the cause best, unless a signal terminated it.
        store.update(job)?;
        let (code, message) = job.driver_end.clone().unwrap_or_default();
        let driver_message = Some(message).filter(|message| !message.is_empty());
        let log_message = log::cause(store, &job.name, job_state).map(|cause_match| cause_match.sentence());
        let message = if code <= 128 { driver_message.or(log_message) } else { log_message.or(driver_message) };
        let reason = message.unwrap_or_else(|| reason.to_owned());
        record_end(follower, store, state, index, job_state, &reason)?;
        return Ok(true);
    }
    let start = if start.is_empty() || start == "N/A" { String::new() } else { format!(", expected to start {start}") };
    let reason_text = if reason.is_empty() || reason == "None" { String::new() } else { format!(" ({reason})") };
    let text = format!("job {} ({}) {}{reason_text}{start}", shown_id(job), job.part, job_state.predicate());
    if !job.has_started || job_state == JobState::Waiting {
        let last = state.last_reports.insert(job.name.clone(), text.clone());
        if last.as_ref() != Some(&text) {
            follower.watcher.say(&text);
        }
    }
    Ok(false)
}

/// Submits the remaining points of parts whose jobs have ended, and cancels the jobs of parts that are done.
fn act_on_parts(follower: &mut Follower, store: &Jobs, state: &mut FollowState) -> Result<()> {
    let progress = progress(follower)?;
    for part in follower.parts {
        if state.stopped.contains_key(&part.name) || state.done_parts.contains(&part.name) {
            continue;
        }
        let (samples, is_open) = count_samples(follower.plan, &progress, part);
        let part_jobs: Vec<&Job> = state.jobs.iter().filter(|job| job.part == part.name).collect();
        let earlier_jobs = state.earlier_jobs.get(&part.name).copied().unwrap_or(0);
        let retries = follower.retry_failed
            && has_failed(follower.plan, &progress, part)
            && !part_jobs.iter().skip(earlier_jobs).any(|job| job.is_through());
        match choose_step(is_open || retries, &part_jobs, earlier_jobs, follower.options.tries) {
            NextStep::Wait => {}
            NextStep::Done => {
                let open_jobs: Vec<&Job> = part_jobs.into_iter().filter(|job| job.end.is_none()).collect();
                cancel(follower.queue, store, &open_jobs)?;
                state.done_parts.push(part.name.clone());
            }
            NextStep::Stop(why) => {
                state.stopped.insert(part.name.clone(), why);
                cancel_part(follower, store, state, &part.name)?;
            }
            NextStep::Submit => {
                let submitted = submit(follower, store, part, &progress, samples, state.jobs.len())?;
                state.jobs.extend(submitted);
            }
        }
    }
    Ok(())
}

/// Cancels the rest of a chain, because it would fail like the first job.
fn cancel_part(follower: &mut Follower, store: &Jobs, state: &mut FollowState, part: &str) -> Result<()> {
    let is_open = |job: &Job| job.part == part && job.end.is_none();
    let open_jobs: Vec<usize> = (0..state.jobs.len()).filter(|index| is_open(&state.jobs[*index])).collect();
    cancel(follower.queue, store, &open_jobs.iter().map(|index| &state.jobs[*index]).collect::<Vec<_>>())?;
    open_jobs.into_iter().try_for_each(|index| record_end(follower, store, state, index, JobState::Cancelled, ""))
}

/// Submits the jobs for the remaining points of a part: one job, or a chain of jobs that each wait for the one before.
fn submit(
    follower: &mut Follower,
    store: &Jobs,
    part: &Part,
    progress: &Progress,
    samples: usize,
    earlier_jobs: usize,
) -> Result<Vec<Job>> {
    let (measuring, launches) = (follower.measuring)(progress, &part.sizes);
    let (seconds, count) = chain(measuring, launches, follower.options.time_limit_seconds);
    let mut submitted: Vec<Job> = Vec::new();
    for position in 0..count.min(follower.options.tries as usize) {
        let predecessor = submitted.last().cloned();
        let name = format!("am-{:03}-{}", earlier_jobs + position + 1, token());
        (follower.prepare)(&name, part, seconds)?;
        let line = Line::Submitting {
            job: name.clone(),
            part: part.name.clone(),
            seconds,
            after: predecessor.as_ref().map(|job| job.name.clone()),
            samples,
        };
        store.append(&line)?;
        let script =
            std::path::absolute(store.script(&name)).map_err(|e| Error::file("find", &store.script(&name), e))?;
        let id = follower.queue.submit(&script, predecessor.as_ref().and_then(|job| job.id.as_deref()));
        let id = match id {
            Ok(id) => id,
            Err(error) => {
                store.append(&Line::Refused { job: name, why: error.message.clone() })?;
                return Err(error);
            }
        };
        let nodes = plural(part.nodes, "node");
        let dependency = predecessor.as_ref().map_or(String::new(), |job| format!(", after job {}", shown_id(job)));
        let time = apexmap_base::units::seconds(seconds);
        follower.watcher.say(&match &id {
            Some(id) => format!("submitted job {id}: {nodes}, {time} at most{dependency}"),
            None => format!("note: job {name}: the batch system did not confirm the submission; apexmap looks for the job's name in the queue"),
        });
        if let Some(id) = &id {
            store.append(&Line::Submitted { job: name.clone(), id: id.clone() })?;
        }
        let is_known = id.is_some();
        submitted.push(Job {
            name,
            part: part.name.clone(),
            seconds,
            predecessor: predecessor.map(|job| job.name),
            id,
            samples_before: samples,
            cancel_requested: false,
            end: None,
            has_started: false,
            driver_end: None,
        });
        // The next job can only wait for a job whose id is known.
        if !is_known {
            break;
        }
    }
    Ok(submitted)
}

/// Returns a token that distinguishes jobs of different results, and jobs of this result if its record is lost.
fn token() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{:06x}", (now as u64 ^ u64::from(std::process::id()) << 40) % (1 << 24))
}
