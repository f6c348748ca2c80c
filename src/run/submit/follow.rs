//! Jobs followed to their ends.

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

/// Shortest time between two questions to the batch system, whoever asks: schedulers of large sites must not be asked more often.
pub const ASK_EVERY: Duration = Duration::from_secs(30);
/// Time between two looks at the journals.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Wall time of the launches of some sizes that are still to be made, in seconds, and how many they are.
pub type Measuring<'a> = dyn Fn(&Progress, &[LaunchSize]) -> (f64, usize) + 'a;

/// What a follower needs.
pub struct Follower<'a> {
    pub plan: &'a Plan,
    pub folder: &'a Folder,
    pub parts: &'a [Part],
    pub options: &'a JobOptions,
    /// Points that failed before are measured again, by the first job of each part that ends in order.
    pub retry_failed: bool,
    pub queue: &'a mut dyn Queue,
    pub watcher: &'a mut dyn Watcher,
    /// Writes the files of a job: its name, its part, its time limit in seconds.
    pub prepare: &'a dyn Fn(&str, &Part, f64) -> Result<()>,
    pub measuring: &'a Measuring<'a>,
    /// Wall time of one sample of a point, in seconds.
    pub cost: &'a dyn Fn(&Entry) -> f64,
    pub interrupted: &'a dyn Fn() -> Result<()>,
    pub ask_every: Duration,
    pub look_every: Duration,
}

/// How it ended: parts that are not done, and why.
pub type Stopped = BTreeMap<String, String>;

/// What changes on the way.
struct Followed {
    jobs: Vec<Job>,
    /// Samples that were last counted, by part.
    counted: BTreeMap<String, usize>,
    /// Jobs of earlier commands, by part.
    before: BTreeMap<String, usize>,
    /// What was last said of a job.
    said: BTreeMap<String, String>,
    stopped: Stopped,
    done: Vec<String>,
}

/// Submits what must be, and follows until nothing is left or to be hoped for.
///
/// # Errors
/// If a job is refused, a file cannot be written, or `interrupted` says so: the jobs go on then.
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
        // The batch system may have been waited for meanwhile.
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

/// Samples of a part, and whether points of it are open.
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

/// Whether points of a part have failed.
fn has_failed(plan: &Plan, progress: &Progress, part: &Part) -> bool {
    let entries = plan.entries.iter().filter(|entry| part.sizes.contains(&entry.point.launch_size()));
    entries.into_iter().any(|entry| progress.point_state(&entry.key) == State::Failed)
}

/// Takes note of what the jobs' own drivers say; whether one has ended.
fn look(follower: &mut Follower, store: &Jobs, state: &mut Followed) -> Result<bool> {
    let mut ended = Vec::new();
    for (at, job) in state.jobs.iter_mut().enumerate().filter(|(_, job)| job.ended.is_none()) {
        let started = job.started;
        store.look(job)?;
        if job.started && !started {
            let text = format!("job {} ({}) has started", shown(job), job.part);
            follower.watcher.say(&text);
        }
        // A driver that was told to end may be one whose job is put back into the queue: the batch system knows.
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
        "job {} ({}) {}{reason}; {} of its part are new",
        shown(job),
        job.part,
        how.words(),
        plural(more, "sample")
    );
    follower.watcher.say(&text);
    job.ended = Some((how, why, samples));
    Ok(())
}

/// The id that users know, or the name where there is none.
fn shown(job: &Job) -> &str {
    job.id.as_deref().unwrap_or(&job.name)
}

/// Asks the batch system, if that is due; whether a job has ended.
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
            // The jobs do not need the answer: the next question may get one.
            follower.watcher.say(&format!("note: {}", error.what));
            return Ok(false);
        }
    };
    let mut changed = false;
    for at in alive {
        let job = &state.jobs[at];
        // Under an id that a result of other hands names, another job may run.
        let is_it = |answer: &&Answer| answer.name.is_empty() || answer.name == job.name;
        let answer = job.id.as_ref().and_then(|id| answers.get(id)).filter(is_it);
        changed |= hear(follower, store, state, at, answer)?;
    }
    Ok(changed)
}

/// Finds the ids of jobs by their names in the queue, where the batch system may have taken them and its answer is not known.
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

/// Takes note of what the batch system says of a job; whether it has ended.
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
            (JobState::Ended, "the batch system does not know it: it was never submitted", "")
        }
        None => (JobState::Ended, "", ""),
    };
    if matches!(how, JobState::NeverStarts | JobState::Unsatisfiable) {
        follower.queue.cancel(job.id.as_slice())?;
    }
    if !how.is_alive() {
        // Its own driver knows best what went wrong, unless it was told to end.
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

/// Submits what is left of parts whose jobs have ended, and cancels jobs of those that are done.
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

/// Cancels the rest of a chain: it would find what the first job found.
fn stop(follower: &mut Follower, store: &Jobs, state: &mut Followed, part: &str) -> Result<()> {
    let is_living = |job: &Job| job.part == part && job.ended.is_none();
    let living: Vec<usize> = (0..state.jobs.len()).filter(|at| is_living(&state.jobs[*at])).collect();
    cancel(follower.queue, store, &living.iter().map(|at| &state.jobs[*at]).collect::<Vec<_>>())?;
    living.into_iter().try_for_each(|at| end(follower, store, state, at, JobState::Cancelled, ""))
}

/// Submits the jobs for what is left of a part: one, or a chain in which each waits for the one before.
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
            None => format!("job {name}: the batch system does not say whether it took it; it is looked for in the queue by its name"),
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
        // A job can wait for one only that has an id.
        if !is_known {
            break;
        }
    }
    Ok(submitted)
}

/// Tells apart jobs of different results, and of this one should its record be lost.
fn token() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{:06x}", (now as u64 ^ u64::from(std::process::id()) << 40) % (1 << 24))
}
