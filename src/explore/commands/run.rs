//! `apexmap run`: measures what a sweep asks for and the result lacks, then draws and reports.

use super::card::CardArguments;
use super::progress::Progress;
use super::report;
use super::setup::{Setup, SweepArguments};
use crate::error::{Error, Result};
use crate::explore::launch::{self, Here, LaunchJob, Launcher};
use crate::explore::store::manifest::Manifest;
use crate::explore::store::{Folder, Table};
use crate::explore::sweep::driver::{Setting, drive};
use crate::explore::sweep::execute::{CommandLine, Limits, Processes};
use crate::explore::sweep::plan::{Progress as Done, State};
use crate::measure::worker::unix_seconds;
use crate::provenance;
use crate::terminal::print;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap run                                   the quickstart
  apexmap run sweeps/protocol.toml              measure, or continue what was interrupted
  apexmap run sweeps/paper-figure-2.toml --worker target-mpi/release/apexmap
  apexmap run my.toml --out results/monday --machine node17
  apexmap run --card results/calibrate/card.toml   with the share of the machine's own limit (see apexmap calibrate)")]
pub struct Arguments {
    #[command(flatten)]
    pub sweep: SweepArguments,
    #[command(flatten)]
    pub card: CardArguments,
    /// Measure again the points that failed in an earlier run
    #[arg(long)]
    pub retry_failed: bool,
    /// Continue an existing result (always done; the flag is there for scripts that want to say so)
    #[arg(long)]
    pub resume: bool,
    /// Leave out the figures and the report
    #[arg(long)]
    pub no_report: bool,
}

/// Time that a launcher gets until the worker speaks, and a worker between two samples.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Time that a launch gets to end once its work is done.
const END_LIMIT: Duration = Duration::from_secs(15);

pub fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::new(&arguments.sweep)?;
    carry_out(&setup, &arguments.card, arguments.retry_failed, !arguments.no_report)
}

/// Measures what is missing; then draws and reports, if asked.
pub fn carry_out(setup: &Setup, card: &CardArguments, retry_failed: bool, with_report: bool) -> Result<()> {
    setup.check_memory()?;
    let launcher = launch::find(setup.sweep.launch.launcher.name(), &setup.sweep.launch.command)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let program = launch::check(launcher.as_ref(), &setup.worker, &search)?;
    let card = card.find(&setup.plan.context.machine, &[&provenance::host()])?;
    let folder = Folder::create(&setup.folder)?;
    let _lock = folder.lock()?;
    if let Some(card) = card {
        folder.replace_card(&card)?;
    }
    describe(setup, &folder)?;

    let (name, points) = (&setup.sweep.name, setup.plan.entries.len());
    eprintln!("{name}: {points} points into {}; interrupted, the same command goes on", folder.path.display());
    let driven = measure(setup, &folder, launcher.as_ref(), &program, retry_failed);
    // What was measured is put in order even if the driver failed, but its failure is the one to tell.
    let compacted = compact(setup, &folder);
    driven?;
    let table = compacted?;
    if with_report && table.rows > 0 {
        let summary = report::make(&folder, &table.into())?;
        print(&summary)?;
    }
    verdict(setup, &folder)
}

fn measure(setup: &Setup, folder: &Folder, launcher: &dyn Launcher, program: &str, retry_failed: bool) -> Result<()> {
    let here = Here::look();
    let command = |job: &Path, ranks: usize| -> CommandLine {
        launcher.command(&LaunchJob {
            program: program.to_owned(),
            worker: setup.worker.clone(),
            arguments: worker_arguments(job, &setup.plan.context.transport, ranks),
            ranks,
            ranks_per_node: setup.plan.context.ranks_per_node,
            here,
        })
    };
    let limits = Limits {
        start: START_LIMIT,
        sample: Duration::from_secs_f64(setup.sweep.launch.timeout_seconds),
        end: END_LIMIT,
    };
    let mut watcher = Progress::new(setup.plan.repeat.min);
    drive(
        &setup.plan,
        &mut Setting {
            folder,
            executor: &mut Processes,
            command: &command,
            limits,
            retry_failed,
            watcher: &mut watcher,
        },
    )
}

fn worker_arguments(job: &Path, transport: &str, ranks: usize) -> Vec<String> {
    let job = job.to_string_lossy().into_owned();
    ["worker", "--job", &job, "--transport", transport, "--ranks", &ranks.to_string()].map(str::to_owned).to_vec()
}

fn compact(setup: &Setup, folder: &Folder) -> Result<Table> {
    let table = folder.compact()?;
    manifest(setup).with_records(&folder.outcomes()?).write(folder)?;
    Ok(table)
}

/// Writes what will be run before it is run.
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
        command: std::env::args().collect(),
        driver: provenance::build(),
        driver_host: provenance::host(),
        worker: setup.worker_info.build.clone(),
        unix_seconds: unix_seconds(),
        samples: BTreeMap::new(),
        launches: Vec::new(),
    }
}

/// Failed and missing points end the program with an exit code of their own.
fn verdict(setup: &Setup, folder: &Folder) -> Result<()> {
    let done = Done::new(&setup.plan, &folder.outcomes()?);
    let states: Vec<State> = (0..setup.plan.entries.len()).map(|entry| done.point_state(&setup.plan, entry)).collect();
    let count = |state: State| states.iter().filter(|&&s| s == state).count();
    let (failed, missing) = (count(State::Failed), count(State::Missing) + count(State::Partial));
    let mut next = Vec::new();
    if failed > 0 {
        next.push("`apexmap status` lists what failed and why; --retry-failed measures it again".to_owned());
    }
    if missing > 0 {
        next.push("run the same command again to continue, or raise `budget` in the sweep".to_owned());
    }
    match failed + missing {
        0 => Ok(()),
        _ => {
            Err(Error::measurement(format!("{failed} points failed, {missing} have too few samples"), next.join("; ")))
        }
    }
}
