//! `apexmap run`: measures whatever the sweep still lacks, then draws figures and writes the report.

use super::card::CardArguments;
use super::interrupt::{self, Interrupt};
use super::progress::Progress;
use super::report;
use super::setup::{Setup, SweepArguments};
use super::shell::words;
use crate::error::{Error, ErrorKind, Result};
use crate::explore::launch::{self, CommandLine, Here, LaunchJob, Launcher};
use crate::explore::store::health::Health;
use crate::explore::store::manifest::Manifest;
use crate::explore::store::quietness::Quietness;
use crate::explore::store::{Folder, Samples, Table};
use crate::explore::sweep::driver::{Setting, drive};
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

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap run                      the quickstart
  apexmap run protocol             a ready sweep (see apexmap sweeps); the same command resumes it
  apexmap run paper-figure-2 --worker target-mpi/release/apexmap
  apexmap run my.toml --out results/monday --machine node17
  apexmap run --card results/calibrate/card.toml     with the fraction of the limit")]
pub struct Arguments {
    #[command(flatten)]
    pub sweep: SweepArguments,
    #[command(flatten)]
    pub card: CardArguments,
    /// Measure again the points that failed in an earlier run
    #[arg(long)]
    pub retry_failed: bool,
    /// If the result folder holds another sweep, keep that as FOLDER.1 and begin anew
    #[arg(long)]
    pub replace: bool,
    /// Do not draw figures, do not write the report
    #[arg(long)]
    pub no_report: bool,
    /// noisy: end with an error if the machine is disturbed, before the first sample or over all samples
    #[arg(long, value_name = "WHAT")]
    pub fail_if: Option<FailIf>,
}

/// What makes a run an error besides failed and missing points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailIf {
    /// Something else took time from the ranks
    Noisy,
}

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

pub fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::new(&arguments.sweep)?;
    keep_apart(&setup, arguments.replace)?;
    let conduct = Conduct {
        retry_failed: arguments.retry_failed,
        report: !arguments.no_report,
        ends_if_noisy: arguments.fail_if == Some(FailIf::Noisy),
    };
    carry_out(&setup, &arguments.card, conduct)
}

/// Sees to it that the result folder has no result of another sweep.
pub fn keep_apart(setup: &Setup, replace: bool) -> Result<()> {
    let Some(other) = setup.other_sweep() else { return Ok(()) };
    let path = setup.folder.display();
    if !replace {
        return Err(Error::input(
            format!("{path} holds the result of another sweep, {other}"),
            format!(
                "name another folder with --out, or begin anew with --replace, which keeps that result as {path}.1"
            ),
        ));
    }
    let folder = Folder { path: setup.folder.clone() };
    let lock = folder.lock()?;
    let kept = folder.move_aside()?;
    drop(lock);
    note(&format!("note: the earlier result is now {}", kept.display()));
    Ok(())
}

/// Measures what is missing, then draws figures and writes the report if asked.
pub fn carry_out(setup: &Setup, card: &CardArguments, conduct: Conduct) -> Result<()> {
    setup.check_memory()?;
    let launcher = (setup.sweep.launch.launcher.make)(&setup.sweep.launch.command)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let program = launch::check(launcher.as_ref(), &setup.worker, &search)?;
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
    let interrupt = Interrupt::catch();
    let driven = measure(setup, &folder, launcher.as_ref(), &program, conduct, &interrupt);
    // Samples are compacted even if the driver failed, but its error is the one to report.
    let compacted = compact(setup, &folder);
    driven.and_then(|()| interrupt.check()).map_err(|error| interrupt::explain(error, &setup.plan, &folder))?;
    drop(interrupt);
    let (table, done) = compacted?;
    let samples = Samples::from(table);
    if conduct.report && !samples.is_empty() {
        report::make(&folder, &samples)?;
    }
    let health = Health::of(&samples.current());
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and measure anew with --replace or into another folder";
        return Err(Error::new(ErrorKind::Regression, format!("the machine was {}", health.sentence()), next));
    }
    verdict(setup, &folder, &done)
}

fn measure(
    setup: &Setup,
    folder: &Folder,
    launcher: &dyn Launcher,
    program: &str,
    conduct: Conduct,
    interrupt: &Interrupt,
) -> Result<()> {
    let here = Here::look();
    let command = |job: &Path, size: LaunchSize| -> CommandLine {
        launcher.command(&LaunchJob {
            program: program.to_owned(),
            worker: setup.worker.clone(),
            arguments: worker_arguments(job, &setup.plan.context, size.ranks),
            ranks: size.ranks,
            nodes: size.nodes,
            ranks_per_node: size.ranks_per_node.or(setup.plan.context.ranks_per_node),
            here,
        })
    };
    let limit = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let limits = LaunchLimits {
        start: limit(setup.sweep.launch.start_timeout_seconds),
        sample: limit(setup.sweep.launch.timeout_seconds),
        end: END_LIMIT,
        line: LINE_LIMIT,
    };
    let mut watcher = Progress::new(&setup.plan);
    drive(
        &setup.plan,
        &mut Setting {
            folder,
            executor: &mut Processes,
            command: &command,
            limits,
            retry_failed: conduct.retry_failed,
            preflight_seconds: setup.sweep.launch.preflight_seconds,
            ends_if_noisy: conduct.ends_if_noisy,
            watcher: &mut watcher,
            interrupted: &|| interrupt.check(),
        },
    )
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
fn describe(setup: &Setup, folder: &Folder) -> Result<()> {
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
        points: setup.plan.entries.len(),
        blocks: setup.plan.blocks,
        command: words(),
        driver: provenance::build(),
        driver_host: provenance::host(),
        worker: setup.worker_info.build.clone(),
        unix_seconds: unix_seconds(),
        samples: BTreeMap::new(),
        launches: Vec::new(),
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
