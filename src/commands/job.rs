//! `apexmap job`: launches for a machine where only the worker runs.

use super::launching::{describe, launch_job};
use super::run::keep_apart;
use super::setup::{Setup, SweepArguments};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::regular_file::read_text;
use apexmap_base::terminal::{note, print};
use apexmap_base::units::plural;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::batch::script::quoted;
use apexmap_run::exported::export::{self, JOB, Start, WORKER};
use apexmap_run::exported::import::{self, Held, Taken};
use apexmap_run::exported::jobs;
use apexmap_run::launch::Here;
use apexmap_run::sweep;
use apexmap_run::sweep::by_hand;
use apexmap_run::sweep::plan::Progress;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap job export paper-figure-2 jobs --worker target/release/apexmap-worker
  apexmap job import jobs --out results/paper-figure-2")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Write the launches that a sweep still lacks into a new folder: job files, scripts, and a README.txt with what to do
    Export(ExportArguments),
    /// Take what the worker wrote into the result that the launches were exported from
    Import(ImportArguments),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap job export my.toml jobs --worker target/release/apexmap-worker
  apexmap job export my.toml jobs --worker /opt/apexmap --worker-info worker.json --machine node17

On the other machine, `apexmap worker --info > worker.json` writes what its worker says of itself. Sizes that follow the machine
(\"cores\" and the like) are those of this one.")]
struct ExportArguments {
    /// A sweep file (TOML), or the name of a ready sweep (see apexmap sweeps)
    sweep: PathBuf,
    /// The folder to write, which is not there yet
    folder: PathBuf,
    /// Result folder, which the outputs are imported into [default: results/NAME, NAME being the sweep's]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Worker program to start on the ranks; with --worker-info its path on the other machine [default: this program]
    #[arg(long, value_name = "PROGRAM")]
    worker: Option<PathBuf>,
    /// What the worker says of itself, if it cannot be started here
    #[arg(long, value_name = "FILE", requires = "machine")]
    worker_info: Option<PathBuf>,
    /// Name of the machine in results [default: this one's host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Ranks on each node [default: the sweep's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Also the points that failed in an earlier run
    #[arg(long)]
    retry_failed: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap job import jobs --out results/paper-figure-2

What was imported before is not taken twice, so the same command may be given again while outputs still come.")]
struct ImportArguments {
    /// Folders of exported launches, or single outputs (NAME.out)
    #[arg(required = true, value_name = "FOLDER|FILE")]
    outputs: Vec<PathBuf>,
    /// The result folder that the launches were exported from
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Export(arguments) => export(arguments),
        What::Import(arguments) => import(arguments),
    }
}

/// What a launch on another machine knows of it: each rank has a core there.
const ELSEWHERE: Here = Here {
    cores: usize::MAX,
    hardware_threads: usize::MAX,
    packages: usize::MAX,
    nodes: 1,
    allocated: false,
    root: false,
};

fn export(arguments: &ExportArguments) -> Result<()> {
    let setup = Setup::new(&SweepArguments {
        sweep: Some(arguments.sweep.clone()),
        out: arguments.out.clone(),
        worker: arguments.worker.clone(),
        machine: arguments.machine.clone(),
        ranks_per_node: arguments.ranks_per_node,
        submit: None,
        worker_info: arguments.worker_info.clone(),
        hosts: Vec::new(),
        hostfile: None,
    })?;
    let context = &setup.plan.context;
    let launcher = (setup.sweep.launch.launcher.make)(&setup.sweep.launch.command)?;
    keep_apart(&setup, false)?;
    let folder = Folder::create(&setup.folder)?;
    let _lock = folder.lock()?;
    let progress = Progress::new(&setup.plan, &folder.outcomes()?);
    let preflight = setup.sweep.launch.preflight_seconds;
    let mut open = by_hand::jobs(&setup.plan, &progress, arguments.retry_failed, preflight);
    if open.is_empty() {
        return print("nothing is left to measure\n");
    }
    describe(&setup, &folder)?;
    let id = export::new_id(&open)?;
    open.iter_mut().enumerate().for_each(|(index, (_, job))| job.launch = format!("{id}-{}", index + 1));
    let programs = launcher.programs();
    let program = programs.first().copied().unwrap_or(WORKER);
    let command = |size: LaunchSize| {
        launcher.command(&launch_job(
            (context, &setup.hosts),
            (program, Path::new(WORKER)),
            Path::new(JOB),
            size,
            ELSEWHERE,
        ))
    };
    let worker = setup.worker.to_string_lossy();
    let back = format!(
        "apexmap job import {} --out {}",
        quoted(&arguments.folder.to_string_lossy()),
        quoted(&setup.folder.to_string_lossy())
    );
    let start = Start { command: &command, programs: &programs, worker: &worker, import: &back };
    export::write(&folder, &arguments.folder, &open, &start)?;
    let points: usize = open.iter().map(|(_, job)| job.tasks.len()).sum();
    print(&format!(
        "{} of {}: {}\nwhat to do there stands in {}; then: {back}\n",
        plural(open.len(), "launch"),
        plural(points, "point"),
        arguments.folder.display(),
        arguments.folder.join("README.txt").display(),
    ))
}

/// What became of outputs.
#[derive(Default)]
struct Tally {
    launches: usize,
    samples: usize,
    known: usize,
    broken: usize,
    absent: usize,
    refused: usize,
}

fn import(arguments: &ImportArguments) -> Result<()> {
    let folder = Folder::open(&arguments.out)?;
    let _lock = folder.lock()?;
    let jobs = jobs(&folder)?;
    let manifest = Manifest::read(&folder)?;
    let mut held = Held::of(&folder, &folder.outcomes()?);
    let mut tally = Tally::default();
    for path in &arguments.outputs {
        for file in outputs(path, &jobs, &mut tally)? {
            let file_name = file.display();
            let taken = match import::read(import::open(&file)?, &jobs, &manifest.worker.fingerprint) {
                Ok(told) => {
                    if let Some(why) = &told.broken {
                        tally.broken += 1;
                        note(&format!("note: {file_name}: launch {} is not complete: {why}", told.launch));
                    }
                    held.take(&folder, &told)?
                }
                Err(why) => Err(why),
            };
            match taken {
                Ok(Taken::New { journal, samples }) => {
                    tally.launches += 1;
                    tally.samples += samples;
                    note(&format!("{file_name}: {} -> journal {journal}", plural(samples, "sample")));
                }
                Ok(Taken::Known) => tally.known += 1,
                Err(why) => {
                    tally.refused += 1;
                    note(&format!("note: {file_name} is not taken: {why}"));
                }
            }
        }
    }
    conclude(&folder, manifest, &tally)
}

/// The outputs at a path: itself, or in a folder those of exported launches.
fn outputs(path: &Path, jobs: &BTreeMap<String, Job>, tally: &mut Tally) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut exported = 0;
    for name in jobs
        .keys()
        .filter(|name| path.join(format!("{name}.job")).exists() || path.join(format!("{name}.out")).exists())
    {
        exported += 1;
        let output = path.join(format!("{name}.out"));
        if output.exists() {
            found.push(output);
        } else {
            tally.absent += 1;
            note(&format!("note: launch {name} has no output: {} is not there", output.display()));
        }
    }
    if exported == 0 {
        return Err(Error::input(
            format!("{} has no launch that was exported from this result", path.display()),
            "name the folder of an export, or its outputs, and with --out the result that it was exported from",
        ));
    }
    Ok(found)
}

/// Brings the result up to date, and says what it has now.
fn conclude(folder: &Folder, manifest: Manifest, tally: &Tally) -> Result<()> {
    let records = folder.outcomes()?;
    if tally.launches > 0 {
        let bare = Manifest { samples: BTreeMap::new(), launches: Vec::new(), compaction: None, ..manifest.clone() };
        bare.with_records(&records).write(folder)?;
        folder.compact()?;
    }
    let text = read_text(&folder.sweep()).unwrap_or(manifest.sweep);
    let (repeat, blocks) = sweep::repeat(&text, &folder.sweep())?;
    let keys = folder.planned_keys()?.unwrap_or_default();
    let progress = Progress::of(keys.iter().cloned(), blocks, repeat, &records);
    let known = if tally.known > 0 { format!("; {} had been imported before", tally.known) } else { String::new() };
    print(&format!(
        "imported {} with {}{known}\npoints: {} planned, {}\n",
        plural(tally.launches, "launch"),
        plural(tally.samples, "sample"),
        keys.len(),
        progress.summary()
    ))?;
    let counted = [
        (tally.refused, "output", "not taken"),
        (tally.broken, "launch", "not complete"),
        (tally.absent, "output", "missing"),
    ];
    let parts = counted.into_iter().filter(|(count, ..)| *count > 0);
    let what: Vec<String> = parts.map(|(count, noun, how)| format!("{}: {how}", plural(count, noun))).collect();
    match (tally.refused, what.is_empty()) {
        (_, true) => Ok(()),
        (0, _) => Err(Error::measurement(
            what.join(", "),
            "import again when the rest is there; `apexmap job export` or `apexmap run` measures what is left",
        )),
        _ => Err(Error::environment(what.join(", "), "see the notes above; what was taken is kept")),
    }
}
