//! The driver: launches what is missing, keeps every line, continues after failures.

use super::cost;
use super::environment::messaging;
use super::execute::{Ending, Executor, LaunchLimits};
use super::faults;
use super::forecast::{OpenLaunch, OpenPoint};
use super::plan::{Entry, Plan, Progress, State};
use super::protocol::Protocol;
use super::watch::Watch;
use crate::disturbance::Facts;
use crate::error::{Error, ErrorKind, Result};
use crate::explore::launch::CommandLine;
use crate::explore::new_file;
use crate::explore::store::Folder;
use crate::explore::store::journal::Journal;
use crate::explore::store::quietness::Quietness;
use crate::measure::worker::{Job, Repeat, Task, unix_seconds};
use crate::point::{LaunchSize, Point};
use crate::sample::{Event, Launch, Sample, Status};
use std::path::Path;
use std::time::Instant;

/// Follows a run, to show it to the user.
pub trait Watcher {
    /// What is still to be measured, in the order of the launches.
    fn begin(&mut self, launches: &[OpenLaunch], repeat: Repeat);
    fn launched(&mut self, launch: &str, block: u32, size: LaunchSize, points: usize);
    /// The ranks are there, and say where.
    fn greeted(&mut self, launch: &Launch);
    /// A run of this point begins; these are its samples in this block so far.
    fn started(&mut self, point: &Point, seconds: &[f64]);
    /// The machine was watched before the first sample: the verdict about it, and why.
    fn preflight(&mut self, verdict: Quietness, text: &str);
    /// A sample came; `finished` if its point needs no more. `watch` tells how quiet the machine was over the last ones.
    fn sample(&mut self, sample: &Sample, finished: bool, watch: &Watch);
    /// A line about what happened.
    fn say(&mut self, text: &str);
    /// Nothing has come for a moment.
    fn waiting(&mut self);
    fn ended(&mut self, ending: &Ending);
    /// The lines of the last launch do not fit together: none of its samples counts.
    fn doubted(&mut self);
}

/// What a driver needs besides the plan.
pub struct Setting<'a> {
    pub folder: &'a Folder,
    pub executor: &'a mut dyn Executor,
    /// The command line that runs this job file in a launch of this size.
    pub command: &'a dyn Fn(&Path, LaunchSize) -> CommandLine,
    pub limits: LaunchLimits,
    pub retry_failed: bool,
    /// For so long the first launch watches the machine before it measures.
    pub preflight_seconds: f64,
    /// Whether a disturbed machine before the first sample is an error.
    pub ends_if_noisy: bool,
    pub watcher: &'a mut dyn Watcher,
    /// Asked several times a second; its error ends the launch and the sweep.
    pub interrupted: &'a dyn Fn() -> Result<()>,
}

/// Launches in a row that may end without a sample before the driver gives up.
const FRUITLESS_LAUNCHES: u32 = 3;
/// Launches in a row that may end early, with samples, but without the last one of any point.
const UNFINISHED_LAUNCHES: u32 = 25;
/// Bytes of a line that tells of every rank, for each.
const RANK_BYTES: usize = 1 << 10;

/// A point on its way.
struct Pending {
    entry: usize,
    seconds: Vec<f64>,
    next_repetition: u32,
    /// A launch already died in it.
    crashed: bool,
    /// It has given something that is not a number; more of the same would not help.
    failed: bool,
}

/// The points of one size of launch in one block.
struct Group {
    block: u32,
    size: LaunchSize,
    pending: Vec<Pending>,
}

/// Measures what the folder's journals lack of the plan.
pub fn drive(plan: &Plan, setting: &mut Setting) -> Result<()> {
    let records = setting.folder.outcomes()?;
    let progress = Progress::new(plan, &records);
    let groups = groups(plan, &progress, setting.retry_failed);
    let mut left: usize = groups.iter().map(|group| group.pending.len()).sum();
    let costs = cost::measured(&records);
    let expected = |entry: &Entry| {
        (costs.get(&entry.key).copied())
            .unwrap_or_else(|| cost::rough(&entry.point) + cost::of_crowd(&plan.context, entry.point.ranks))
    };
    setting.watcher.begin(&to_do(plan, &groups, &expected), plan.repeat);
    let mut budget = plan.repeat.budget_seconds;
    let (mut started, mut failure) = (false, None);
    for group in groups {
        (setting.interrupted)()?;
        let points = group.pending.len();
        let share = budget.map(|budget| budget * points as f64 / left as f64);
        let begun = Instant::now();
        match measure(plan, group, share, setting)? {
            // A rank count that cannot be started does not keep others from being measured, if any can.
            Some(error) if !started => return Err(error),
            Some(error) => failure = failure.or(Some(error)),
            None => started = true,
        }
        budget = budget.map(|budget| (budget - begun.elapsed().as_secs_f64()).max(0.0));
        left -= points;
    }
    failure.map_or(Ok(()), Err)
}

/// The launches that are still to be made. `cost`: wall time of one sample of a point, in seconds.
pub fn open(plan: &Plan, progress: &Progress, cost: &dyn Fn(&Entry) -> f64) -> Vec<OpenLaunch> {
    to_do(plan, &groups(plan, progress, false), cost)
}

fn to_do(plan: &Plan, groups: &[Group], cost: &dyn Fn(&Entry) -> f64) -> Vec<OpenLaunch> {
    let point = |pending: &Pending| {
        let entry = &plan.entries[pending.entry];
        OpenPoint { key: entry.key.clone(), seconds: pending.seconds.clone(), cost: cost(entry) }
    };
    let launch = |group: &Group| OpenLaunch {
        block: group.block,
        size: group.size,
        points: group.pending.iter().map(point).collect(),
    };
    groups.iter().map(launch).collect()
}

fn groups(plan: &Plan, progress: &Progress, retry_failed: bool) -> Vec<Group> {
    let by_size = plan.by_size();
    let mut groups = Vec::new();
    for block in 0..plan.blocks {
        for (&size, entries) in &by_size {
            let open = |&&entry: &&usize| match progress.state(&plan.entries[entry].key, block) {
                State::Done => false,
                State::Failed => retry_failed,
                State::Missing | State::Partial => true,
            };
            let pending = |&entry: &usize| {
                let held = progress.of_point(&plan.entries[entry].key, block).cloned().unwrap_or_default();
                Pending {
                    entry,
                    seconds: held.seconds,
                    next_repetition: held.next_repetition,
                    crashed: false,
                    failed: false,
                }
            };
            let pending: Vec<_> = entries.iter().filter(open).map(pending).collect();
            if !pending.is_empty() {
                groups.push(Group { block, size, pending });
            }
        }
    }
    groups
}

/// Launches a group until none of its points is left; returns why it had to give up.
fn measure(plan: &Plan, mut group: Group, budget: Option<f64>, setting: &mut Setting) -> Result<Option<Error>> {
    let begun = Instant::now();
    let (mut fruitless, mut unfinished, mut kills) = (0, 0, 0);
    while !group.pending.is_empty() {
        let left = budget.map(|budget| budget - begun.elapsed().as_secs_f64());
        if left.is_some_and(|left| left <= 0.0) {
            return Ok(None);
        }
        let (launch, journal) = setting.folder.begin_launch()?;
        let (mut attempt, ending) = launch_once(plan, &mut group, (&launch, journal), left, setting)?;
        let ending = match ending {
            Ok(ending) => ending,
            Err(error) => return break_off(attempt, error, setting.watcher),
        };
        let (points, in_flight, hello) =
            (group.pending.len(), attempt.protocol.in_flight(), attempt.protocol.greeted());
        conclude(plan, &mut group, &mut attempt, &ending, setting)?;
        attempt.journal.finish()?;
        if attempt.protocol.done() {
            setting.watcher.ended(&ending);
            return Ok(None);
        }
        kills += u32::from(ending.lacked_memory);
        if kills > 1 {
            setting.watcher.ended(&ending);
            return Ok(Some(faults::lacked_memory(plan, group.size, &launch)));
        }
        // A run that ended its launch is settled; it does not come a third time.
        let progressed = attempt.samples > 0 || in_flight.is_some();
        fruitless = if progressed { 0 } else { fruitless + 1 };
        unfinished = if group.pending.len() < points { 0 } else { unfinished + 1 };
        // Whoever dies before the first word may have been killed by chance, once.
        let most = if hello { FRUITLESS_LAUNCHES } else { 1 + u32::from(ending.abrupt) };
        if fruitless >= most || unfinished >= UNFINISHED_LAUNCHES {
            let what = if fruitless >= most { "a sample" } else { "the last sample of any point" };
            let launches = if fruitless >= most { fruitless } else { unfinished };
            return Ok(Some(faults::given_up(&launch, group.size, hello.then_some((launches, what)), &ending)));
        }
        setting.watcher.ended(&ending);
    }
    Ok(None)
}

/// For a launch that the driver ended. If its lines do not fit together, none of its samples counts; those of other rank counts
/// may fit.
fn break_off(mut attempt: Attempt, error: Error, watcher: &mut dyn Watcher) -> Result<Option<Error>> {
    // Where the journal cannot be written either, the first error is the one to tell.
    if !matches!(error.kind, ErrorKind::Interrupted(_)) {
        let ended = Event::Ended { status: Status::Failed, message: error.what.clone(), doubtful: attempt.faulty };
        let _ = attempt.journal.append(&ended);
    }
    let _ = attempt.journal.finish();
    if !attempt.faulty {
        return Err(error);
    }
    watcher.doubted();
    Ok(Some(error))
}

/// What a launch has shown so far.
struct Attempt {
    journal: Journal,
    protocol: Protocol,
    /// It said what does not fit.
    faulty: bool,
    samples: u32,
    watch: Watch,
    ends_if_noisy: bool,
}

fn launch_once(
    plan: &Plan,
    group: &mut Group,
    (launch, journal): (&str, Journal),
    budget: Option<f64>,
    setting: &mut Setting,
) -> Result<(Attempt, Result<Ending>)> {
    let path = setting.folder.journal(launch);
    // Once a run: the machine does not change its ways between two launches that follow each other.
    let preflight_seconds = std::mem::take(&mut setting.preflight_seconds);
    let job = job(plan, group, launch, budget, preflight_seconds);
    let job_file = path.with_extension("job");
    let text = serde_json::to_string(&job).map_err(|e| Error::internal(format!("cannot write a job: {e}")))?;
    new_file::replace_by(&job_file, text)?;
    let job_file = job_file.canonicalize().map_err(|e| Error::file("find", &job_file, e))?;

    let mut attempt = Attempt {
        journal,
        protocol: Protocol::new(job),
        faulty: false,
        samples: 0,
        watch: Watch::default(),
        ends_if_noisy: setting.ends_if_noisy,
    };
    setting.watcher.launched(launch, group.block, group.size, group.pending.len());
    let command = (setting.command)(&job_file, group.size);
    let (watcher, interrupted) = (&mut *setting.watcher, setting.interrupted);
    let limits = LaunchLimits { line: setting.limits.line + RANK_BYTES * group.size.ranks, ..setting.limits };
    let ending = setting.executor.execute(&command, &path.with_extension("stderr"), limits, &mut |event| {
        interrupted()?;
        let Some(event) = event else {
            watcher.waiting();
            return Ok(());
        };
        let index = attempt.protocol.check(&event).map_err(|why| {
            attempt.faulty = true;
            faults::misfit(launch, group.size, &why)
        })?;
        let pending = index.map(|index| &mut group.pending[index]);
        note(plan, group.size, pending, &mut attempt, event, watcher)
    });
    Ok((attempt, ending))
}

fn job(plan: &Plan, group: &Group, launch: &str, budget_seconds: Option<f64>, preflight_seconds: f64) -> Job {
    let task = |pending: &Pending| Task {
        key: plan.entries[pending.entry].key.clone(),
        point: plan.entries[pending.entry].point.clone(),
        seconds_so_far: pending.seconds.clone(),
        next_repetition: pending.next_repetition,
    };
    Job {
        launch: launch.to_owned(),
        block: group.block,
        launcher: plan.context.launcher.id.into(),
        transport: plan.context.transport.name().into(),
        ranks: group.size.ranks,
        seed: plan.seed,
        repeat: Repeat { budget_seconds, ..plan.repeat },
        preflight_seconds,
        environment: messaging(),
        tasks: group.pending.iter().map(task).collect(),
    }
}

/// Takes note of one event, which fits its launch.
fn note(
    plan: &Plan,
    size: LaunchSize,
    pending: Option<&mut Pending>,
    attempt: &mut Attempt,
    event: Event,
    watcher: &mut dyn Watcher,
) -> Result<()> {
    match (&event, pending) {
        (Event::Hello(launch), _) => {
            if launch.build != plan.context.build {
                return Err(Error::input(
                    "the worker was rebuilt while the sweep ran: samples of two builds are not comparable",
                    "rerun: the plan is then made for the new build",
                ));
            }
            faults::check_nodes(size, launch)?;
            attempt.watch.launched(launch);
            watcher.greeted(launch);
        }
        (Event::Start { .. }, Some(pending)) => {
            watcher.started(&plan.entries[pending.entry].point, &pending.seconds);
            return Ok(());
        }
        (Event::Sample(sample), Some(pending)) => {
            attempt.samples += 1;
            pending.next_repetition = sample.repetition + 1;
            match (sample.status, sample.seconds) {
                (Status::Ok, Some(seconds)) => pending.seconds.push(seconds),
                _ => pending.failed = true,
            }
            attempt.journal.append(&event)?;
            attempt.watch.sample(sample);
            let finished = pending.failed || plan.repeat.satisfied(&pending.seconds);
            watcher.sample(sample, finished, &attempt.watch);
            return Ok(());
        }
        (Event::Preflight { canaries }, _) => {
            let (verdict, text) = attempt.watch.preflight(canaries);
            watcher.preflight(verdict, &text);
            if verdict == Quietness::Disturbed && attempt.ends_if_noisy {
                attempt.journal.append(&event)?;
                return Err(faults::noisy(&text));
            }
        }
        (Event::Memory { .. } | Event::Done { .. }, _) => {}
        // Told by the ending.
        (Event::Fatal { .. }, _) => return Ok(()),
        (Event::Start { .. } | Event::Sample(_) | Event::Ended { .. }, _) => {
            return Err(Error::internal("a line of a launch was not checked"));
        }
    }
    attempt.journal.append(&event)
}

/// Settles what the end of a launch means for its points, and drops those that need no other.
fn conclude(
    plan: &Plan,
    group: &mut Group,
    attempt: &mut Attempt,
    ending: &Ending,
    setting: &mut Setting,
) -> Result<()> {
    if let Some(pending) = attempt.protocol.in_flight().map(|index| &mut group.pending[index]) {
        if ending.lacked_memory {
            // The point that ran then is not to blame.
        } else if ending.abrupt && !pending.crashed {
            pending.crashed = true;
        } else {
            pending.failed = true;
            let sample = failure(plan, group.block, pending, ending);
            setting.watcher.sample(&sample, true, &attempt.watch);
            attempt.journal.append(&Event::Sample(Box::new(sample)))?;
        }
    }
    let (status, message) = (ending.status, ending.message.clone());
    attempt.journal.append(&Event::Ended { status, message, doubtful: false })?;
    let repeat = plan.repeat;
    group.pending.retain(|pending| !pending.failed && !repeat.satisfied(&pending.seconds));
    Ok(())
}

/// A point that gave no number is a result with a status.
fn failure(plan: &Plan, block: u32, pending: &Pending, ending: &Ending) -> Sample {
    Sample {
        point: plan.entries[pending.entry].point.clone(),
        key: plan.entries[pending.entry].key.clone(),
        block,
        repetition: pending.next_repetition,
        status: if ending.status == Status::Ok { Status::Failed } else { ending.status },
        message: faults::reason(ending).to_owned(),
        unix_seconds: unix_seconds(),
        load: None,
        pages_elsewhere: None,
        disturbance: Facts::default(),
        seconds: None,
        outputs: Default::default(),
    }
}
