//! `apexmap job`: exports launches to a machine that runs only the worker, and imports their outputs.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::print;
use apexmap_base::units::plural;
use apexmap_cluster::carriers::manual::{self, Imported};
use apexmap_cluster::cluster::Cluster;
use apexmap_run::campaign::Request;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::sweep::result_state::PointCounts;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap job export paper-figure-2 jobs --worker target/release/apexmap-worker
  apexmap job import jobs --out results/paper-figure-2")]
pub struct Arguments {
    #[command(subcommand)]
    what: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write the missing launches of a sweep into a new folder: job files, scripts, and instructions in README.txt
    Export(ExportArguments),
    /// Add the worker's outputs to the result that the launches were exported from
    Import(ImportArguments),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap job export my.toml jobs --worker target/release/apexmap-worker
  apexmap job export my.toml jobs --worker /opt/apexmap-worker --worker-info worker.json --machine node17

On the other machine, `apexmap-worker worker --info > worker.json` describes its worker. Sizes that depend on the machine \
(\"cores\" and the like) are those of this one.")]
struct ExportArguments {
    /// A sweep file (TOML), or the name of a ready sweep (see apexmap sweeps)
    sweep: PathBuf,
    /// Folder to write; it must not exist yet
    folder: PathBuf,
    /// Result folder that the outputs are imported into [default: results/NAME, NAME being the sweep's]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Worker program to start on the ranks; with --worker-info its path on the other machine [default: this program, with --worker-info ./apexmap-worker]
    #[arg(long, value_name = "PROGRAM")]
    worker: Option<PathBuf>,
    /// Description of the worker (worker.json), if the worker cannot be started here
    #[arg(long, value_name = "FILE", requires = "machine")]
    worker_info: Option<PathBuf>,
    /// Name of the machine in results [default: this one's host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Ranks on each node [default: the sweep's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Include the points that failed in an earlier run
    #[arg(long)]
    retry_failed: bool,
    /// Start the programs that the sweep or a site file names without a question, although the file may come from somebody else
    #[arg(long)]
    trust: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap job import jobs --out results/paper-figure-2

Outputs that were imported before are skipped, so you can repeat the command whenever new outputs arrive.")]
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
        Action::Export(arguments) => export(arguments),
        Action::Import(arguments) => import(arguments),
    }
}

fn export(arguments: &ExportArguments) -> Result<()> {
    let request = Request {
        sweep: Some(arguments.sweep.clone()),
        out: arguments.out.clone(),
        worker: arguments.worker.clone(),
        worker_info: arguments.worker_info.clone(),
        machine: arguments.machine.clone(),
        ranks_per_node: arguments.ranks_per_node,
        consent: Consent::from_flag(arguments.trust),
        ..Request::default()
    };
    let campaign = Cluster::load()?.planner(&request).plan()?;
    let Some(exported) = manual::export(&campaign, &arguments.folder, arguments.retry_failed)? else {
        return print("nothing is left to measure\n");
    };
    print(&format!(
        "{} of {}: {}\ninstructions: {}; then run: {}\n",
        plural(exported.launches, "launch"),
        plural(exported.points, "point"),
        arguments.folder.display(),
        arguments.folder.join("README.txt").display(),
        exported.import,
    ))
}

fn import(arguments: &ImportArguments) -> Result<()> {
    let Imported { tally, points, progress } = manual::import(&arguments.out, &arguments.outputs)?;
    let imported_before =
        if tally.duplicates > 0 { format!("; {} had been imported before", tally.duplicates) } else { String::new() };
    print(&format!(
        "imported {} with {}{imported_before}\npoints: {} planned, {}\n",
        plural(tally.launches, "launch"),
        plural(tally.samples, "sample"),
        points,
        PointCounts::from(&progress)
    ))?;
    let counted = [
        (tally.refused, "output", "refused"),
        (tally.broken, "launch", "not complete"),
        (tally.absent, "output", "missing"),
    ];
    let parts = counted.into_iter().filter(|(count, ..)| *count > 0);
    let problems: Vec<String> = parts.map(|(count, noun, how)| format!("{}: {how}", plural(count, noun))).collect();
    match (tally.refused, problems.is_empty()) {
        (_, true) => Ok(()),
        (0, _) => Err(Error::measurement(
            problems.join(", "),
            "import again when the other outputs arrive; `apexmap job export` or `apexmap run` measures missing points",
        )),
        _ => Err(Error::environment(problems.join(", "), "see the notes above; imported samples are kept")),
    }
}
