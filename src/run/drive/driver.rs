//! The driver: runs the missing launches, keeps every line of their output, and continues after failures.

use super::attempt::Attempt;
use super::budget::{self, Budget};
use super::cost::{self, SampleCosts};
use super::execute::{Ending, Executor, LaunchLimits};
use super::faults::{self, FailedPoint};
pub use super::groups::remaining_launches;
use super::groups::{Group, NodeTypes, Pending, group_points, launch_job, launches_of_groups, messaging_variables};
use super::plan::{Plan, Progress};
use super::suspicion::{FailedLaunch, Suspicion};
pub use super::watch::Watcher;
use crate::launch::CommandLine;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::new_file;
use apexmap_base::point::LaunchSize;
use apexmap_base::sample::{Event, Sample};
use apexmap_measure::worker::Job;
use apexmap_results::disk::{Folder, journal::Journal};
use apexmap_theory::machine::catalogue;
use std::path::Path;
use std::time::{Duration, Instant};

pub struct DriverInputs<'a> {
    pub folder: &'a Folder,
    pub executor: &'a mut dyn Executor,
    /// The command line that runs this job file in a launch of this size.
    pub command: &'a dyn Fn(&Path, LaunchSize) -> CommandLine,
    pub limits: LaunchLimits,
    /// Whether points with much memory or work get a longer limit per sample, because the sweep sets none.
    pub limits_grow: bool,
    pub retry_failed: bool,
    /// Time that the first launch watches the machine before it measures, in seconds.
    pub preflight_seconds: f64,
    /// Whether a disturbed machine before the first sample is an error.
    pub ends_if_noisy: bool,
    /// Changes the environment of the next launches if that helps against this ending, and returns a note. No point is blamed then.
    pub remedy: &'a dyn Fn(&Ending) -> Result<Option<String>>,
    /// Adds advice about an ending to the error that ends the sweep because of it.
    pub explain: &'a dyn Fn(&Ending, Error) -> Error,
    pub watcher: &'a mut dyn Watcher,
    /// Types of the nodes of the result's samples and of the launches so far. The driver fills them.
    pub node_types: NodeTypes,
    /// The first point that failed. The driver fills it.
    pub failed: Option<FailedPoint>,
    /// Called several times a second. An error ends the launch and the sweep.
    pub interrupted: &'a dyn Fn() -> Result<()>,
}

const MAX_LAUNCHES_WITHOUT_SAMPLE: u32 = 3;
/// Maximum number of consecutive launches that end early and finish no point, although they measure samples.
const MAX_LAUNCHES_WITHOUT_POINT: u32 = 25;
/// Bytes per rank of a line that describes all ranks.
const RANK_BYTES: usize = 1 << 10;

/// Measures the points of the plan that the folder's journals do not contain.
pub fn drive(plan: &Plan, setting: &mut DriverInputs) -> Result<()> {
    let records = setting.folder.outcomes()?;
    let progress = Progress::new(plan, &records);
    setting.node_types = NodeTypes::new(&progress.node_types);
    let (mut groups, costs) = (group_points(plan, &progress, setting.retry_failed), SampleCosts::new(plan, &records));
    // Points that are left out count as missing.
    let open = launches_of_groups(plan, &groups, &|entry| costs.cost(entry));
    let note = budget::remove_long_points(plan, &mut groups, &costs)?;
    let [.., failed] = progress.counts();
    let failed = if setting.retry_failed { 0 } else { failed };
    setting.watcher.begin(&open, plan.repeat, failed);
    note.iter().for_each(|text| setting.watcher.say(text));
    let mut suspicion = Suspicion::new(progress.samples() > 0);
    let result = measure_groups(plan, groups, setting, &mut suspicion);
    let setup_fault = suspicion.known_setup_fault().cloned().filter(|_| result.is_ok());
    let launches = suspicion.launches();
    suspicion.finish(matches!(&result, Err(error) if error.kind == ErrorKind::Setup), setting.watcher)?;
    match setup_fault {
        Some(ending) => {
            let error = faults::setup_error(&ending, launches, count_waiting_points(plan, setting)?);
            Err((setting.explain)(&ending, error))
        }
        None => result,
    }
}

/// Checks that one sample of some unfinished point is expected to fit into the budget.
pub fn check_budget(plan: &Plan, folder: &Folder, retry_failed: bool) -> Result<()> {
    let records = folder.outcomes()?;
    let mut groups = group_points(plan, &Progress::new(plan, &records), retry_failed);
    budget::remove_long_points(plan, &mut groups, &SampleCosts::new(plan, &records)).map(drop)
}

fn count_waiting_points(plan: &Plan, setting: &DriverInputs) -> Result<usize> {
    let [_, partial, missing, _] = Progress::new(plan, &setting.folder.outcomes()?).counts();
    Ok(partial + missing)
}

/// Rest of a budget below which no further launch starts: as a fraction of the budget, and at most in seconds.
const MIN_REST: (f64, f64) = (0.02, 0.5);

/// Launches all groups. The rest of the budget goes to the points without a sample, or else to all unfinished ones.
fn measure_groups(
    plan: &Plan,
    mut groups: Vec<Group>,
    setting: &mut DriverInputs,
    suspicion: &mut Suspicion,
) -> Result<()> {
    let mut budget = plan.repeat.budget_seconds;
    let min_rest = budget.map_or(0.0, |budget| (MIN_REST.0 * budget).min(MIN_REST.1));
    let is_spent = |budget: Option<f64>| budget.is_some_and(|rest| rest < min_rest);
    let (mut has_started, mut failure) = (false, None);
    while !groups.is_empty() {
        let points: Vec<(u32, usize)> = groups.iter().map(|group| (group.block, group.pending.len())).collect();
        for (index, group) in groups.iter_mut().enumerate() {
            (setting.interrupted)()?;
            if has_started && is_spent(budget) {
                break;
            }
            // The rest is divided anew, so time that a group leaves goes to the later ones.
            let share = budget.map(|budget| Budget::of_first_group(budget, &points[index..]));
            let begun_at = Instant::now();
            match measure_group(plan, group, share, setting, suspicion)? {
                // A rank count that cannot start does not stop the others, once one has started.
                Some(error) if !has_started => return Err(error),
                Some(error) => {
                    failure = failure.or(Some(error));
                    group.pending.clear();
                }
                None => has_started = true,
            }
            budget = budget.map(|budget| (budget - begun_at.elapsed().as_secs_f64()).max(0.0));
        }
        if groups.iter().any(Group::has_unmeasured_point) {
            groups.iter_mut().for_each(|group| group.pending.retain(Pending::is_unmeasured));
        }
        groups.retain(|group| !group.pending.is_empty());
        if budget.is_none() || is_spent(budget) {
            break;
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The error inside means that the group gave up.
fn measure_group(
    plan: &Plan,
    group: &mut Group,
    budget: Option<Budget>,
    setting: &mut DriverInputs,
    suspicion: &mut Suspicion,
) -> Result<Option<Error>> {
    let begun_at = Instant::now();
    let (mut fruitless, mut unfinished, mut kills) = (0, 0, 0);
    while !group.pending.is_empty() {
        let left = match budget.map(|budget| budget.after(begun_at.elapsed().as_secs_f64(), group)) {
            Some(None) => return Ok(None),
            left => left.flatten(),
        };
        let (launch, journal) = setting.folder.begin_launch()?;
        let (attempt, ending) = launch_once(plan, group, (&launch, journal), left, setting)?;
        let ending = match ending {
            Ok(ending) => ending,
            Err(error) => return attempt.abandon(error, setting.watcher),
        };
        if let Some(text) = (setting.remedy)(&ending)? {
            settle_points(plan, group, None, &ending, &mut setting.failed);
            setting.watcher.report_end(&ending);
            setting.watcher.say(&text);
            FailedLaunch { journal: attempt.journal, failure: None, ending, place: String::new() }
                .write(false, setting.watcher)?;
            continue;
        }
        let points = group.pending.len();
        let (in_flight, has_greeted) = (attempt.protocol.in_flight(), attempt.protocol.has_greeted());
        let key = |index: usize| plan.entries[group.pending[index].entry].key.clone();
        let place = in_flight.map_or(group.size.to_string(), key);
        let failure = settle_points(plan, group, in_flight, &ending, &mut setting.failed);
        let (is_done, samples) = (attempt.protocol.is_done(), attempt.samples);
        let failed = FailedLaunch { journal: attempt.journal, failure, ending: ending.clone(), place };
        if is_done {
            setting.watcher.report_end(&ending);
            suspicion.record_success(setting.watcher)?;
            failed.write(true, setting.watcher)?;
            return Ok(None);
        }
        if suspicion.add_launch(failed, samples, setting.watcher)? {
            let waiting = count_waiting_points(plan, setting)?;
            return Err((setting.explain)(&ending, faults::setup_error(&ending, suspicion.launches(), waiting)));
        }
        if ending.is_over() {
            return Err(faults::job_over_error(&ending));
        }
        kills += u32::from(ending.lacked_memory);
        if kills > 1 {
            setting.watcher.report_end(&ending);
            return Ok(Some(faults::memory_error(plan, group.size, &launch)));
        }
        // A run that ended two launches is settled as failed, so it is not tried a third time.
        let progressed = samples > 0 || in_flight.is_some();
        fruitless = if progressed { 0 } else { fruitless + 1 };
        unfinished = if group.pending.len() < points { 0 } else { unfinished + 1 };
        // A process that dies before the greeting may have been killed by chance, once.
        let limit = if has_greeted { MAX_LAUNCHES_WITHOUT_SAMPLE } else { 1 + u32::from(ending.abrupt) };
        if fruitless >= limit || unfinished >= MAX_LAUNCHES_WITHOUT_POINT {
            let missing = if fruitless >= limit { "a sample" } else { "the last sample of any point" };
            let launches = if fruitless >= limit { fruitless } else { unfinished };
            let missing = has_greeted.then_some((launches, missing));
            let error = faults::giving_up_error(&launch, group.size, missing, &ending);
            return Ok(Some((setting.explain)(&ending, error)));
        }
        setting.watcher.report_end(&ending);
    }
    Ok(None)
}

fn launch_once(
    plan: &Plan,
    group: &mut Group,
    (launch, journal): (&str, Journal),
    budget: Option<Budget>,
    setting: &mut DriverInputs,
) -> Result<(Attempt, Result<Ending>)> {
    let path = setting.folder.journal(launch);
    // Watch the machine once per run, because it rarely changes between two consecutive launches.
    let preflight_seconds = std::mem::take(&mut setting.preflight_seconds);
    let job_file = path.with_extension("job");
    let absolute = std::path::absolute(&job_file).map_err(|e| Error::file("find", &job_file, e))?;
    let command = (setting.command)(&absolute, group.size);
    // The worker counts the preflight, which is not measuring time.
    let seconds = |measuring: f64| measuring + preflight_seconds;
    let card = setting.folder.card()?;
    let job = Job {
        environment: messaging_variables(&command.env),
        first_round_seconds: budget.map(|budget| seconds(budget.first_round)),
        eager_bytes: card.and_then(|card| card.get(catalogue::EAGER_BYTES.name)).map(|bytes| bytes as usize),
        ..launch_job(plan, group, launch, budget.map(|budget| seconds(budget.share)), preflight_seconds)?
    };
    let text = serde_json::to_string(&job).map_err(|e| Error::internal(format!("cannot write a job: {e}")))?;
    new_file::replace_contents(&job_file, text)?;

    let limit = budget.map(|budget| budget.limit() + Duration::from_secs_f64(preflight_seconds));
    let mut attempt = Attempt::new(journal, job, limit, setting.ends_if_noisy);
    setting.watcher.report_launch(launch, group.block, group.size, group.pending.len());
    let limits = limits(plan, group, setting);
    let (watcher, node_types, interrupted) = (&mut *setting.watcher, &mut setting.node_types, setting.interrupted);
    let ending = setting.executor.execute(&command, &path.with_extension("stderr"), limits, &mut |event| {
        interrupted()?;
        let Some(event) = event else {
            watcher.tick();
            return attempt.check_time();
        };
        let index = attempt.protocol.check(&event).map_err(|reason| {
            attempt.faulty = true;
            faults::misfit_error(launch, group.size, &reason)
        })?;
        if let Event::Hello(hello) = &event {
            group.begin_on(&hello.node_type());
            node_types.add(launch, &hello.node_type()).iter().for_each(|line| watcher.say(line));
        }
        let pending = index.map(|index| &mut group.pending[index]);
        attempt.record(plan, group.size, pending, event, watcher)
    });
    setting.failed = setting.failed.take().or(attempt.failed.take());
    Ok((attempt, ending))
}

/// The point with the most memory and work determines the limit of a sample.
fn limits(plan: &Plan, group: &Group, setting: &DriverInputs) -> LaunchLimits {
    let longest_silence = |pending: &Pending| cost::longest_silence(&plan.context, &plan.entries[pending.entry].point);
    let sample_limit = group.pending.iter().filter(|_| setting.limits_grow).map(longest_silence).fold(0.0, f64::max);
    let sample_limit = Duration::try_from_secs_f64(sample_limit).unwrap_or(Duration::MAX);
    let sample = setting.limits.sample.max(sample_limit);
    LaunchLimits { line: setting.limits.line + RANK_BYTES * group.size.ranks, sample, ..setting.limits }
}

/// Drops the points of an ended launch that need no further one. Returns the failed sample of the running point, if it is to blame.
fn settle_points(
    plan: &Plan,
    group: &mut Group,
    in_flight: Option<usize>,
    ending: &Ending,
    first_failed: &mut Option<FailedPoint>,
) -> Option<Sample> {
    let mut failure = None;
    // The running point is not to blame if memory ran out or the job ended.
    if let Some(index) = in_flight.filter(|_| !ending.lacked_memory && !ending.is_over()) {
        let pending = &mut group.pending[index];
        if ending.abrupt && !pending.crashed {
            pending.crashed = true;
            // A fault of the set-up meets other points too, so another point runs next.
            if ending.cause.is_some() {
                group.pending[index..].rotate_left(1);
            }
        } else {
            pending.failed = true;
            let entry = &plan.entries[pending.entry];
            first_failed.get_or_insert_with(|| FailedPoint::at_ending(&entry.point, ending));
            failure = Some(faults::failed_sample(entry, group.block, pending.next_repetition, ending));
        }
    }
    let repeat = plan.repeat;
    group.pending.retain(|pending| !pending.failed && !repeat.is_satisfied(&pending.values));
    failure
}
