//! A trial: runs the largest launch of a sweep for a few seconds before the sweep.

use super::{Campaign, Conduct, Display, starter::Starter};
use crate::drive::plan::{Plan, Progress, uses_remote_memory};
use crate::{drive::faults::FailedPoint, sweep::Sweep};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::{LaunchSize, Point, Value};
use apexmap_base::provenance::Placement;
use apexmap_base::sample::Launch;
use apexmap_base::terminal::note;
use apexmap_base::units::{amount, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::lock::{Lock, Sharing};
use apexmap_results::disk::{Folder, manifest::Manifest, trial::Trial};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub struct TrialOutcome {
    pub launch: Launch,
    pub manifest: Manifest,
    pub samples: Samples,
    by_messages: bool,
}

pub fn largest_launch(campaign: &Campaign) -> Option<LaunchSize> {
    campaign.plan.by_size().into_keys().max_by_key(|size| size.ranks)
}

/// Runs a launch of this size with a few runs, in a folder within the result, which stays only if the trial fails.
pub fn carry_out(
    campaign: &Campaign,
    size: LaunchSize,
    starter: &Starter,
    display: Display,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<TrialOutcome> {
    let expected = campaign.plan.context.node_count(size);
    let result = Folder { path: campaign.folder.clone() };
    let mut place = TrialPlace::lock(&result, size.ranks, expected)?;
    let trial = plan_trial(campaign, size, place.folder.clone())?;
    let folder = Folder::create(&place.folder)?;
    // The trial runs with the component that the sweep will use.
    if result.is_one_sided_by_messages()? {
        folder.keep_one_sided_by_messages()?;
    }
    let outcome = measure(&trial, &folder, starter, display, interrupted);
    // The folder of a failed trial stays for its output. An interrupted one shows nothing.
    if let Err(Error { kind: ErrorKind::Interrupted(_), .. }) = outcome {
        let _ = place.remove();
    }
    let path = folder.path.display();
    outcome.map_err(|error: Error| match error.kind {
        ErrorKind::Input | ErrorKind::Interrupted(_) => error,
        _ => Error { help: format!("{}; the launch's output is in {path}", error.help), ..error },
    })?;
    let manifest = Manifest::read(&folder)?;
    let samples = Samples::from(folder.table()?);
    let Some(end) = manifest.launches.last() else { return Err(Error::internal("a launch without a greeting")) };
    let launch = end.launch.clone();
    check_node_count(&launch, expected)?;
    // Read while the folder exists.
    let by_messages = folder.is_one_sided_by_messages()?;
    place.remove()?;
    Ok(TrialOutcome { launch, manifest, samples, by_messages })
}

/// Locked against other trials of the same size.
struct TrialPlace {
    folder: PathBuf,
    lock_path: PathBuf,
    lock: Option<Lock>,
}

impl TrialPlace {
    fn lock(result: &Folder, ranks: usize, nodes: Option<usize>) -> Result<Self> {
        let trials = result.path.join("trials");
        std::fs::create_dir_all(&trials).map_err(|e| Error::file("create", &trials, e))?;
        let name = format!("{ranks}-ranks{}", nodes.map_or(String::new(), |nodes| format!("-{nodes}-nodes")));
        let lock_path = trials.join(format!(".{name}"));
        let lock = Lock::acquire(&lock_path, Sharing::Exclusive)?.ok_or_else(|| {
            let message = format!("another apexmap runs the trial of {}", result.path.display());
            Error::environment(message, "wait for it to end")
        })?;
        let folder = trials.join(name);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", &folder, error)),
            _ => Ok(Self { folder, lock_path, lock: Some(lock) }),
        }
    }

    fn remove(&mut self) -> Result<()> {
        std::fs::remove_dir_all(&self.folder).map_err(|e| Error::file("remove", &self.folder, e))?;
        // Removed while locked, because another trial could otherwise lock the removed file.
        let _ = std::fs::remove_file(&self.lock_path);
        self.lock = None;
        // These are `trials` and the result. Only empty folders can be removed this way.
        for parent in self.folder.ancestors().skip(1).take(2) {
            let _ = std::fs::remove_dir(parent);
        }
        Ok(())
    }
}

fn measure(
    trial: &Campaign,
    folder: &Folder,
    starter: &Starter,
    display: Display,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<()> {
    trial.write_plan(folder)?;
    let mut watcher = display(&trial.plan);
    let result = starter.measure(trial, folder, Conduct::default(), watcher.as_mut(), interrupted);
    drop(watcher);
    let failed = result?;
    let records = folder.outcomes()?;
    trial.manifest().with_records(&records).write(folder)?;
    match failed {
        Some(point) => Err(setup_error(&point)),
        None => trial.verdict(folder, &Progress::new(&trial.plan, &records), false),
    }
}

/// It blames the set-up, not a point of the sweep.
fn setup_error(point: &FailedPoint) -> Error {
    Error::new(
        ErrorKind::Setup,
        format!("the trial of the largest launch failed in {}: {}", point.kernel, point.reason),
        format!("{}; then rerun the same command", point.advice.unwrap_or("fix the cause")),
    )
}

/// Runs a trial before the first sample of a sweep on several nodes. Prints the first numbers, and keeps them for the report.
pub fn run_before_sweep(
    campaign: &Campaign,
    folder: &Folder,
    starter: &Starter,
    display: Display,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let (context, Some(size)) = (&campaign.plan.context, largest_launch(campaign)) else { return Ok(()) };
    let nodes = context.node_count(size).unwrap_or(1);
    let has_preflight = campaign.sweep.launch.preflight_seconds > 0.0;
    // If each launch waits in the queue, the trial would wait as long as a launch that measures.
    let waits = context.launcher.waits_in_queue();
    if nodes < 2 || campaign.sweep.runs_commands() || context.transport != TransportKind::Mpi || !has_preflight || waits
    {
        return Ok(());
    }
    if folder.trial()?.is_some_and(|trial| size.ranks <= trial.ranks) {
        return Ok(());
    }
    note("trial of the largest launch (preflight = \"0 s\" in [launch] skips it)");
    let outcome = carry_out(campaign, size, starter, display, interrupted)?;
    describe(&outcome.launch, &outcome.samples).lines().for_each(note);
    if outcome.by_messages {
        folder.keep_one_sided_by_messages()?;
    }
    folder.replace_trial(&to_trial(&outcome))
}

fn to_trial(outcome: &TrialOutcome) -> Trial {
    let median = |kernel: &str, column: &str| outcome.samples.with_kernel(kernel).good().median(column);
    Trial {
        ranks: outcome.launch.ranks,
        nodes: count_ranks_by_node(&outcome.launch.placement).len(),
        message_seconds: median(PING_PONG, "message_seconds_p50"),
        bytes_per_second: median(STREAMING, "bytes_per_second"),
    }
}

/// A few runs on the ranks of one launch, with the sweep's launch settings.
fn plan_trial(campaign: &Campaign, size: LaunchSize, folder: PathBuf) -> Result<Campaign> {
    let mut points = trial_points(size.ranks);
    let threads = campaign.plan.context.transport == TransportKind::Threads;
    // The kernel's verification puts to all ranks, so it needs remote memory, and more than one rank.
    if size.ranks > 1 && (threads || campaign.sweep.points.iter().any(uses_remote_memory)) {
        points.push(Point::new("calibrate.barrier", size.ranks).with_parameter("barriers", OPERATIONS_PER_RUN));
    }
    let node_parameters = [("nodes", size.nodes), ("ranks_per_node", size.ranks_per_node)];
    for point in &mut points {
        let parameters = node_parameters
            .iter()
            .filter_map(|(name, count)| Some(((*name).to_owned(), Value::Integer((*count)? as u64))));
        point.params.extend(parameters);
    }
    let complete = |point| kernels::complete(point).map_err(Error::internal);
    let points: Vec<Point> = points.into_iter().map(complete).collect::<Result<_>>()?;
    let repeat = Repeat { min: 3, max: 3, width: None, budget_seconds: None };
    let sweep = &campaign.sweep;
    let title = format!("{}, tried", sweep.title);
    let plan = Plan::new(campaign.plan.context.clone(), points.clone(), 1, repeat, sweep.seed)?;
    let sweep = Sweep { points, repeat, text: String::new(), title, ..sweep.clone() };
    Ok(Campaign { sweep, plan, folder, ..campaign.clone() })
}

/// They use only messages, because not every network has remote memory.
fn trial_points(ranks: usize) -> Vec<Point> {
    // Kernels of messages pair the first half of the ranks with the second.
    if !ranks.is_multiple_of(2) {
        let words = 4096 * ranks as u64;
        return vec![
            Point::new("apex_map.two_sided", ranks)
                .with_parameter("M", words)
                .with_parameter("I", OPERATIONS_PER_RUN)
                .with_parameter("N", 1_u64),
        ];
    }
    let message_point = |kernel, bytes: u64| {
        Point::new(kernel, ranks).with_parameter("messages", OPERATIONS_PER_RUN).with_parameter("message_bytes", bytes)
    };
    vec![message_point(PING_PONG, 8), message_point(STREAMING, 64 << 10)]
}

pub fn describe(launch: &Launch, samples: &Samples) -> String {
    let mut text =
        format!("launcher   {}, {}\nranks      {}\n", launch.launcher, launch.library, describe_ranks(launch));
    for (kernel, label, column, condition) in SHOWN_NUMBERS {
        if let Some(median) =
            samples.with_kernel(kernel).good().median(column).or_else(|| barrier_before_runs(samples, label))
        {
            text += &format!("{label:<10} {}{condition}\n", amount(median, columns::describe(column).unit));
        }
    }
    text
}

/// Describes the placement: `4 on 2 nodes (n1, n2), 2 on each; 4 pinned to one hardware thread`.
pub fn describe_ranks(launch: &Launch) -> String {
    let ranks_by_node = count_ranks_by_node(&launch.placement);
    let counts: Vec<usize> = ranks_by_node.values().copied().collect();
    let ranks_text = match (counts.iter().min(), counts.iter().max()) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (min, max) => format!("{} to {}", min.unwrap_or(&0), max.unwrap_or(&0)),
    };
    let names: Vec<&str> = ranks_by_node.keys().copied().take(MAX_NODE_NAMES).collect();
    let ellipsis = if ranks_by_node.len() > MAX_NODE_NAMES { ", ..." } else { "" };
    let pinned = launch.placement.iter().filter(|rank| rank.pinned).count();
    format!(
        "{} on {} ({}{ellipsis}), {ranks_text} on each; {pinned} pinned to one hardware thread",
        launch.ranks,
        plural(ranks_by_node.len(), "node"),
        names.join(", ")
    )
}

/// The median time of the barriers before each run, which need no remote memory, if the barrier's own kernel did not run.
fn barrier_before_runs(samples: &Samples, label: &str) -> Option<f64> {
    samples.good().median("canary_barrier_seconds").filter(|_| label == BARRIER)
}

const MAX_NODE_NAMES: usize = 8;

const PING_PONG: &str = "message_rate.ping_pong";
const BARRIER: &str = "barrier";
const STREAMING: &str = "message_rate.streaming";

/// Number of messages or barriers of a run.
const OPERATIONS_PER_RUN: u64 = 64;

/// The numbers to show: kernel, label, column and condition.
const SHOWN_NUMBERS: [(&str, &str, &str, &str); 3] = [
    ("calibrate.barrier", BARRIER, "operation_seconds", " of all ranks"),
    (PING_PONG, "ping-pong", "message_seconds_p50", " one way, 8 bytes, all pairs at once"),
    (STREAMING, "streaming", "bytes_per_second", " of all pairs together, 64 KiB per message"),
];

fn count_ranks_by_node(placement: &[Placement]) -> BTreeMap<&str, usize> {
    let mut nodes = BTreeMap::new();
    placement.iter().for_each(|rank| *nodes.entry(rank.node.as_str()).or_default() += 1);
    nodes
}

fn check_node_count(launch: &Launch, expected: Option<usize>) -> Result<()> {
    let node_count = count_ranks_by_node(&launch.placement).len();
    match expected {
        Some(expected) if expected != node_count && launch.transport == "mpi" => Err(Error::environment(
            format!(
                "{} are on {}, but the sweep asks for {}",
                plural(launch.ranks, "rank"),
                plural(node_count, "node"),
                plural(expected, "node")
            ),
            "check the number of nodes of this job, and the ranks per node that the launcher uses",
        )),
        _ => Ok(()),
    }
}
