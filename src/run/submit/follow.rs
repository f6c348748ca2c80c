//! Follows jobs to their end.

use super::decide::{Next, next};
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
struct Followed {
    jobs: Vec<Job>,
    /// Number of samples at the last count, by part.
    counted: BTreeMap<String, usize>,
    /// Number of jobs from earlier commands, by part.
    before: BTreeMap<String, usize>,
    /// The last reported state of each job.
    said: BTreeMap<String, String>,
    stopped: Stopped,
    done: Vec<String>,
}

/// Submits the missing jobs, and follows all jobs until each part is done or stopped.
///
/// # Errors
/// If the batch system refuses a job, a file cannot be written, or `interrupted` returns an error. Submitted jobs continue.
pub fn follow(follower: &mut Follower) -> Result<Stopped> {
    let store = Jobs::of(follower.folder);
    let progress = progress(follower)?;
    let launches = driver::open(follower.plan, &progress, follower.cost);
    follower.watcher.begin(&launches, follower.plan.repeat);
    let mut tail = Tail::new(follower.folder, follower.plan, &progress)?;
    let jobs = store.read()?.1;
    let mut before = BTreeMap::new();
    jobs.iter().filter(|job| job.ended.is_some()).for_each(|job| *before.entry(job.part.clone()).or_default() += 1);
    let counted =
        follower.parts.iter().map(|part| (part.name.clone(), of_part(follower.plan, &progress, part).0)).collect();
    let mut state =
        Followed { jobs, counted, before, said: BTreeMap::new(), stopped: Stopped::new(), done: Vec::new() };
    let mut first = true;
    loop {
        let looked = Instant::now();
        tail.read(follower.folder, follower.plan, follower.watcher)?;
        let changed = look(follower, &store, &mut state)? | ask(follower, &store, &mut state)?;
        if changed || std::mem::take(&mut first) {
            decide(follower, &store, &mut state)?;
        }
        if state.stopped.len() + state.done.len() == follower.parts.len() {
            tail.read(follower.folder, follower.plan, follower.watcher)?;
            return Ok(state.stopped);
        }
        // Asking the batch system may have taken long.
        (follower.interrupted)()?;
        while looked.elapsed() < follower.look_every {
            (follower.interrupted)()?;
            std::thread::sleep(follower.look_every.min(Duration::from_millis(100)));
        }
        follower.watcher.waiting();
    }
}

fn progress(follower: &Follower) -> Result<Progress> {
    Ok(Progress::new(follower.plan, &follower.folder.outcomes()?))
}

/// Returns the number of samples of a part, and whether any of its points is open.
fn of_part(plan: &Plan, progress: &Progress, part: &Part) -> (usize, bool) {
    let (mut samples, mut open) = (0, false);
    for entry in plan.entries.iter().filter(|entry| part.sizes.contains(&entry.point.launch_size())) {
        for block in 0..plan.blocks {
            samples += progress.of_point(&entry.key, block).map_or(0, |held| held.seconds.len());
            open |= matches!(progress.state(&entry.key, block), State::Missing | State::Partial);
        }
    }
    (samples, open)
}

/// Returns true if a point of the part has failed.
fn has_failed(plan: &Plan, progress: &Progress, part: &Part) -> bool {
    let entries = plan.entries.iter().filter(|entry| part.sizes.contains(&entry.point.launch_size()));
    entries.into_iter().any(|entry| progress.point_state(&entry.key) == State::Failed)
}

/// Reads the records of the jobs' drivers. Returns true if a job has ended.
fn look(follower: &mut Follower, store: &Jobs, state: &mut Followed) -> Result<bool> {
    let mut ended = Vec::new();
    for (at, job) in state.jobs.iter_mut().enumerate().filter(|(_, job)| job.ended.is_none()) {
        let started = job.started;
        store.look(job)?;
        if job.started && !started {
            let text = format!("job {} ({}) has started", shown(job), job.part);
            follower.watcher.say(&text);
        }
        // A driver that was terminated by a signal may belong to a requeued job, so only the batch system knows whether the job
        // has ended.
        if let Some((code @ ..128, message)) = &job.own_end {
            let how = if *code == 0 { JobState::Completed } else { JobState::Failed };
            ended.push((at, how, message.clone()));
        }
    }
    for (at, how, why) in &ended {
        end(follower, store, state, *at, *how, why)?;
    }
    Ok(!ended.is_empty())
}

fn end(follower: &mut Follower, store: &Jobs, state: &mut Followed, at: usize, how: JobState, why: &str) -> Result<()> {
    let job = &mut state.jobs[at];
    let progress = progress(follower)?;
    let part = follower.parts.iter().find(|part| part.name == job.part);
    let samples = part.map_or(0, |part| of_part(follower.plan, &progress, part).0);
    let (name, why) = (job.name.clone(), why.to_owned());
    store.append(&Line::Ended { job: name, state: how, why: why.clone(), samples })?;
    let more = samples.saturating_sub(std::mem::replace(state.counted.entry(job.part.clone()).or_default(), samples));
    let reason = if why.is_empty() { String::new() } else { format!(": {why}") };
    let text = format!(
        "job {} ({}) {}{reason}; {} of its part added",
        shown(job),
        job.part,
        how.words(),
        plural(more, "sample")
    );
    follower.watcher.say(&text);
    job.ended = Some((how, why, samples));
    Ok(())
}

/// Returns the id that users know, or the job's name if it has no id.
fn shown(job: &Job) -> &str {
    job.id.as_deref().unwrap_or(&job.name)
}

/// Asks the batch system if a question is due. Returns true if a job has ended.
fn ask(follower: &mut Follower, store: &Jobs, state: &mut Followed) -> Result<bool> {
    let alive: Vec<usize> = (0..state.jobs.len()).filter(|at| state.jobs[*at].ended.is_none()).collect();
    if alive.is_empty() || !store.may_ask(follower.ask_every)? {
        return Ok(false);
    }
    let answers = match identify(follower, store, state).and_then(|()| {
        let ids: Vec<String> = alive.iter().filter_map(|at| state.jobs[*at].id.clone()).collect();
        follower.queue.ask(&ids)
    }) {
        Ok(answers) => answers,
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
        Err(error) => {
            // The jobs continue without the answer, and the next question may succeed.
            follower.watcher.say(&format!("note: {}", error.what));
            return Ok(false);
        }
    };
    let mut changed = false;
    for at in alive {
        let job = &state.jobs[at];
        // A result of another user may name an id under which another job now runs.
        let is_it = |answer: &&Answer| answer.name.is_empty() || answer.name == job.name;
        let answer = job.id.as_ref().and_then(|id| answers.get(id)).filter(is_it);
        changed |= hear(follower, store, state, at, answer)?;
    }
    Ok(changed)
}

/// Finds the ids of jobs by their names in the queue, if the batch system's answer to their submission is unknown.
fn identify(follower: &mut Follower, store: &Jobs, state: &mut Followed) -> Result<()> {
    let is_unknown = |job: &&mut Job| job.ended.is_none() && job.id.is_none();
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
fn hear(
    follower: &mut Follower,
    store: &Jobs,
    state: &mut Followed,
    at: usize,
    answer: Option<&Answer>,
) -> Result<bool> {
    let job = &mut state.jobs[at];
    let (how, why, start) = match answer {
        Some(answer) => (answer.state, answer.reason.as_str(), answer.start.as_str()),
        None if job.id.is_none() && !job.started => {
            (JobState::Ended, "it is unknown to the batch system, so it was never submitted", "")
        }
        None => (JobState::Ended, "", ""),
    };
    if matches!(how, JobState::NeverStarts | JobState::Unsatisfiable) {
        follower.queue.cancel(job.id.as_slice())?;
    }
    if !how.is_alive() {
        // The job's own driver knows the cause best, unless a signal terminated it.
        store.look(job)?;
        let (code, message) = job.own_end.clone().unwrap_or_default();
        let own = Some(message).filter(|message| !message.is_empty());
        let in_log = log::cause(store, &job.name, how).map(|found| found.sentence());
        let found = if code <= 128 { own.or(in_log) } else { in_log.or(own) };
        let why = found.unwrap_or_else(|| why.to_owned());
        end(follower, store, state, at, how, &why)?;
        return Ok(true);
    }
    let start = if start.is_empty() || start == "N/A" { String::new() } else { format!(", expected to start {start}") };
    let why = if why.is_empty() || why == "None" { String::new() } else { format!(" ({why})") };
    let text = format!("job {} ({}) {}{why}{start}", shown(job), job.part, how.words());
    if !job.started || how == JobState::Waiting {
        let last = state.said.insert(job.name.clone(), text.clone());
        if last.as_ref() != Some(&text) {
            follower.watcher.say(&text);
        }
    }
    Ok(false)
}

/// Submits the remaining points of parts whose jobs have ended, and cancels the jobs of parts that are done.
fn decide(follower: &mut Follower, store: &Jobs, state: &mut Followed) -> Result<()> {
    let progress = progress(follower)?;
    for part in follower.parts {
        if state.stopped.contains_key(&part.name) || state.done.contains(&part.name) {
            continue;
        }
        let (samples, open) = of_part(follower.plan, &progress, part);
        let own: Vec<&Job> = state.jobs.iter().filter(|job| job.part == part.name).collect();
        let before = state.before.get(&part.name).copied().unwrap_or(0);
        let retries = follower.retry_failed
            && has_failed(follower.plan, &progress, part)
            && !own.iter().skip(before).any(|job| job.is_through());
        match next(open || retries, &own, before, follower.options.tries) {
            Next::Wait => {}
            Next::Done => {
                let living: Vec<&Job> = own.into_iter().filter(|job| job.ended.is_none()).collect();
                cancel(follower.queue, store, &living)?;
                state.done.push(part.name.clone());
            }
            Next::Stop(why) => {
                state.stopped.insert(part.name.clone(), why);
                stop(follower, store, state, &part.name)?;
            }
            Next::Submit => {
                let submitted = submit(follower, store, part, &progress, samples, state.jobs.len())?;
                state.jobs.extend(submitted);
            }
        }
    }
    Ok(())
}

/// Cancels the rest of a chain, because it would fail like the first job.
fn stop(follower: &mut Follower, store: &Jobs, state: &mut Followed, part: &str) -> Result<()> {
    let is_living = |job: &Job| job.part == part && job.ended.is_none();
    let living: Vec<usize> = (0..state.jobs.len()).filter(|at| is_living(&state.jobs[*at])).collect();
    cancel(follower.queue, store, &living.iter().map(|at| &state.jobs[*at]).collect::<Vec<_>>())?;
    living.into_iter().try_for_each(|at| end(follower, store, state, at, JobState::Cancelled, ""))
}

/// Submits the jobs for the remaining points of a part: one job, or a chain of jobs that each wait for the one before.
fn submit(
    follower: &mut Follower,
    store: &Jobs,
    part: &Part,
    progress: &Progress,
    samples: usize,
    known: usize,
) -> Result<Vec<Job>> {
    let (measuring, launches) = (follower.measuring)(progress, &part.sizes);
    let (seconds, count) = chain(measuring, launches, follower.options.time_limit_seconds);
    let mut submitted: Vec<Job> = Vec::new();
    for at in 0..count.min(follower.options.tries as usize) {
        let after = submitted.last().cloned();
        let name = format!("am-{:03}-{}", known + at + 1, token());
        (follower.prepare)(&name, part, seconds)?;
        let line = Line::Submitting {
            job: name.clone(),
            part: part.name.clone(),
            seconds,
            after: after.as_ref().map(|job| job.name.clone()),
            samples,
        };
        store.append(&line)?;
        let script =
            std::path::absolute(store.script(&name)).map_err(|e| Error::file("find", &store.script(&name), e))?;
        let id = follower.queue.submit(&script, after.as_ref().and_then(|job| job.id.as_deref()));
        let id = match id {
            Ok(id) => id,
            Err(error) => {
                store.append(&Line::Refused { job: name, why: error.what.clone() })?;
                return Err(error);
            }
        };
        let nodes = plural(part.nodes, "node");
        let behind = after.as_ref().map_or(String::new(), |job| format!(", after job {}", shown(job)));
        let time = apexmap_base::units::seconds(seconds);
        follower.watcher.say(&match &id {
            Some(id) => format!("submitted job {id}: {nodes}, {time} at most{behind}"),
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
            after: after.map(|job| job.name),
            id,
            samples_before: samples,
            cancelling: false,
            ended: None,
            started: false,
            own_end: None,
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
