//! A sweep carried out: what is missing is measured; figures, report and verdict follow.

use super::card::CardArguments;
use super::interrupt::{self, Interrupt};
use super::progress::Progress;
use super::report;
use super::setup::Setup;
use super::shell::words;
use crate::error::{Error, ErrorKind, Result};
use crate::explore::launch::{self, CommandLine, Here, LaunchJob, Launcher, causes};
use crate::explore::store::health::Health;
use crate::explore::store::manifest::Manifest;
use crate::explore::store::quietness::Quietness;
use crate::explore::store::{Folder, Samples, Table};
use crate::explore::submit::parts;
use crate::explore::sweep::driver::{Setting, Watcher, drive};
use crate::explore::sweep::execute::{LaunchLimits, Processes};
use crate::explore::sweep::plan::{Context, Progress as Done};
use crate::measure::comm::TransportKind;
use crate::measure::worker::unix_seconds;
use crate::point::LaunchSize;
use crate::provenance;
use crate::terminal::note;
use crate::units::plural;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What a run does besides measuring what is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    pub retry_failed: bool,
    pub report: bool,
    pub ends_if_noisy: bool,
}

/// Time limit for a launch to end after its last sample.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Longest line that a worker writes, in bytes, apart from what it tells of each rank.
const LINE_LIMIT: usize = 1 << 20;

/// Measures what is missing, then draws figures and writes the report if asked.
pub fn carry_out(setup: &Setup, card: &CardArguments, conduct: Conduct) -> Result<()> {
    setup.check_memory()?;
    let launcher = (setup.sweep.launch.launcher.make)(&setup.sweep.launch.command)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let program = launch::check(launcher.as_ref(), &setup.worker, &search)?;
    check_nodes(setup)?;
    let card = card.find(&setup.plan.context.machine, &[&provenance::host()])?;
    let folder = Folder::create(&setup.folder)?;
    let _lock = folder.lock()?;
    folder.remove_abandoned();
    if let Some(card) = card {
        folder.replace_card(&card)?;
    }
    describe(setup, &folder)?;

    let (name, points) = (&setup.sweep.name, plural(setup.plan.entries.len(), "point"));
    note(&format!("{name}: {points} -> {} (Ctrl-C is safe: the same command resumes)", folder.path.display()));
    setup.crowd().into_iter().for_each(|text| note(&format!("note: {text}")));
    setup.worker_info.build.slow_copies().into_iter().for_each(|text| note(&format!("note: {text}")));
    if setup.plan.context.launcher.waits_in_queue() {
        note(
            "note: there is no allocation here: each launch waits in the queue, as a job of its own; --submit makes jobs that \
             take all launches of a number of nodes",
        );
    }
    let interrupt = Interrupt::catch();
    let mut watcher = Progress::new(&setup.plan);
    let interrupted = || interrupt.check();
    let driven = measure(setup, &folder, launcher.as_ref(), &program, conduct, &mut watcher, &interrupted);
    drop(watcher);
    // Samples are compacted even if the driver failed, but its error is the one to report.
    let compacted = compact(setup, &folder);
    driven.and_then(|()| interrupt.check()).map_err(|error| interrupt::explain(error, &setup.plan, &folder))?;
    drop(interrupt);
    conclude(setup, &folder, conduct, compacted?)
}

/// Checks that this job has as many nodes as the largest launch takes.
fn check_nodes(setup: &Setup) -> Result<()> {
    let here = Here::look();
    let context = &setup.plan.context;
    let launcher = context.launcher;
    if !launcher.remote || launcher.waits_in_queue() || !here.allocated {
        return Ok(());
    }
    let nodes = |size: LaunchSize| parts::nodes(size, context).map(|nodes| (nodes, size));
    let most = setup.plan.by_size().into_keys().filter_map(nodes).max_by_key(|(nodes, _)| *nodes);
    match most {
        Some((nodes, size)) if nodes > here.nodes => Err(Error::input(
            format!(
                "{}: {size} take {}, this job has {}",
                setup.sweep.path.display(),
                plural(nodes, "node"),
                plural(here.nodes, "node")
            ),
            "ask the batch system for as many nodes, or name fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}

/// Figures, report and verdict of what jobs have measured.
pub fn finish(setup: &Setup, folder: &Folder, conduct: Conduct) -> Result<()> {
    conclude(setup, folder, conduct, compact(setup, folder)?)
}

fn conclude(setup: &Setup, folder: &Folder, conduct: Conduct, (table, done): (Table, Done)) -> Result<()> {
    let samples = Samples::from(table);
    if conduct.report && !samples.is_empty() {
        report::make(folder, &samples)?;
    }
    let health = Health::of(&samples.current());
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and measure anew with --replace or into another folder";
        return Err(Error::new(ErrorKind::Regression, format!("the machine was {}", health.sentence()), next));
    }
    verdict(setup, folder, &done)
}

/// Runs the launches that the plan lacks.
pub fn measure(
    setup: &Setup,
    folder: &Folder,
    launcher: &dyn Launcher,
    program: &str,
    conduct: Conduct,
    watcher: &mut Progress,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let here = Here::look();
    let library = &setup.plan.context.library;
    let chosen = launcher.chosen(library);
    if let Some((name, value)) = &chosen {
        watcher.say(&format!("note: {name}={value} is set for the launches, as the worker is built for {library}"));
    }
    let command = |job: &Path, size: LaunchSize| -> CommandLine {
        let job = launch_job((&setup.plan.context, &setup.hosts), (program, &setup.worker), job, size, here);
        let mut line = launcher.command(&job);
        line.env.extend(chosen.clone());
        line
    };
    let limit = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let limits = LaunchLimits {
        start: limit(setup.sweep.launch.start_limit(launcher.entry().waits_in_queue())),
        sample: limit(setup.sweep.launch.timeout_seconds),
        end: END_LIMIT,
        line: LINE_LIMIT,
    };
    let driven = drive(
        &setup.plan,
        &mut Setting {
            folder,
            executor: &mut Processes,
            command: &command,
            limits,
            retry_failed: conduct.retry_failed,
            preflight_seconds: setup.sweep.launch.preflight_seconds,
            ends_if_noisy: conduct.ends_if_noisy,
            watcher,
            interrupted,
        },
    );
    driven.map_err(|error| match launcher.offers(library) {
        Some(offers) if causes::is_of_launcher(&error.what) => {
            Error { next: format!("{offers}; {}", error.next), ..error }
        }
        _ => error,
    })
}

/// A job for the ranks of a launch, which this program and worker start.
pub fn launch_job(
    (context, hosts): (&Context, &[String]),
    (program, worker): (&str, &Path),
    job: &Path,
    size: LaunchSize,
    here: Here,
) -> LaunchJob {
    LaunchJob {
        program: program.to_owned(),
        worker: worker.to_owned(),
        arguments: worker_arguments(job, context, size.ranks),
        ranks: size.ranks,
        nodes: size.nodes,
        ranks_per_node: size.ranks_per_node.or(context.ranks_per_node),
        hosts: hosts.to_vec(),
        here,
    }
}

fn worker_arguments(job: &Path, context: &Context, ranks: usize) -> Vec<String> {
    let (job, ranks) = (job.to_string_lossy().into_owned(), ranks.to_string());
    let mut arguments = vec!["worker", "--job", &job, "--transport", context.transport.name(), "--ranks", &ranks];
    if context.transport == TransportKind::Threads {
        arguments.extend(["--place", context.place.name()]);
    }
    arguments.into_iter().map(str::to_owned).collect()
}

/// Tells the manifest what the journals hold, and makes the table of it; also what is done then.
fn compact(setup: &Setup, folder: &Folder) -> Result<(Table, Done)> {
    let records = folder.outcomes()?;
    manifest(setup).with_records(&records).write(folder)?;
    let done = Done::new(&setup.plan, &records);
    drop(records);
    Ok((folder.compact()?, done))
}

/// Writes the plan into the result folder before it runs.
pub fn describe(setup: &Setup, folder: &Folder) -> Result<()> {
    folder.replace_text(&folder.sweep(), &setup.sweep.text)?;
    let mut lines = String::new();
    for entry in &setup.plan.entries {
        lines.push_str(&serde_json::to_string(entry).map_err(|e| Error::internal(e.to_string()))?);
        lines.push('\n');
    }
    folder.replace_text(&folder.points(), &lines)?;
    manifest(setup).with_records(&folder.outcomes()?).write(folder)
}

fn manifest(setup: &Setup) -> Manifest {
    Manifest {
        schema: crate::sample::SCHEMA_VERSION,
        name: setup.sweep.name.clone(),
        title: setup.sweep.title.clone(),
        sweep: setup.sweep.text.clone(),
        seed: setup.sweep.seed,
        machine: setup.plan.context.machine.clone(),
        hosts: setup.hosts.clone(),
        points: setup.plan.entries.len(),
        blocks: setup.plan.blocks,
        command: words(),
        driver: provenance::build(),
        driver_host: provenance::host(),
        worker: setup.worker_info.build.clone(),
        unix_seconds: unix_seconds(),
        samples: BTreeMap::new(),
        launches: Vec::new(),
        sized_for: setup.sized_for.clone(),
        compaction: None,
    }
}

/// The error for failed and incomplete points, if there are any.
fn verdict(setup: &Setup, folder: &Folder, done: &Done) -> Result<()> {
    let [_, partial, missing, failed] = done.counts();
    let (mut what, mut next) = (Vec::new(), Vec::new());
    if failed > 0 {
        what.push(format!("{} failed", plural(failed, "point")));
        let status = format!("`apexmap status {}`", folder.path.display());
        next.push(format!("{status} lists what failed and why; --retry-failed measures it again"));
    }
    if partial + missing > 0 {
        let points = plural(setup.plan.entries.len(), "point");
        let have = if partial + missing == 1 { "has" } else { "have" };
        what.push(format!("{} of {points} {have} too few samples", partial + missing));
        next.push("rerun the same command to continue, or raise `budget` in the sweep".to_owned());
    }
    if what.is_empty() { Ok(()) } else { Err(Error::measurement(what.join(", "), next.join("; "))) }
}
