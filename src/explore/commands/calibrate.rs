//! `apexmap calibrate`: measures basic latencies and bandwidths, and writes a machine card.

use super::card::CardArguments;
use super::conduct::{Conduct, carry_out};
use super::setup::{Setup, SweepArguments};
use crate::error::{ErrorKind, Result};
use crate::explore::calibrate;
use crate::explore::launch::{self, LauncherEntry};
use crate::explore::store::{Folder, Samples};
use crate::explore::sweep::{self, Machine};
use crate::measure::comm::TransportKind;
use crate::measure::hardware::Hardware;
use crate::provenance;
use crate::terminal::{print, width};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap calibrate                                     this machine, messages between threads
  apexmap calibrate --card models/mine.toml
  apexmap calibrate --launcher srun --ranks-per-node 1 \\
      --worker target-mpi/release/apexmap --out results/network
  apexmap predict random_access.all_to_all --machine results/calibrate/card.toml --ranks 1..1024")]
pub struct Arguments {
    /// The machine card to write [default: card.toml in the result folder]
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Folder of the samples [default: results/calibrate]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measure over MPI, started by this launcher
    #[arg(long, value_name = "LAUNCHER", value_parser = mpi_launcher())]
    launcher: Option<&'static LauncherEntry>,
    /// Ranks on each node, for the launcher
    #[arg(long, value_name = "NUMBER", requires = "launcher", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Worker program to start on the ranks, such as a build for the cluster's MPI [default: this program]
    #[arg(long, value_name = "PROGRAM")]
    worker: Option<PathBuf>,
    /// Launches of each rank count: with several, intervals of the card's numbers include how launches differ
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Write the card also if the machine was disturbed while it was measured; the card then says so
    #[arg(long)]
    allow_disturbed: bool,
    /// Name of this machine on the card [default: its host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// The launchers of MPI that need no command.
fn mpi_launcher() -> impl TypedValueParser<Value = &'static LauncherEntry> {
    let known = launch::starting(TransportKind::Mpi).filter(|launcher| !launcher.takes_command);
    let values = known.map(|launcher| PossibleValue::new(launcher.id).help(launcher.summary));
    PossibleValuesParser::new(values).try_map(|id| launch::find(&id))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let host = provenance::host();
    let cores = Hardware::here().cores_or_threads();
    let probes = calibrate::probes(&host, cores);
    let mut launch = match arguments.launcher {
        Some(launcher) => format!("transport = \"{}\"\nlauncher = \"{}\"\n", launcher.transport, launcher.id),
        None => format!("transport = \"{}\"\n", TransportKind::Threads),
    };
    if let Some(number) = arguments.ranks_per_node {
        launch.push_str(&format!("ranks_per_node = {number}\n"));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new("results").join("calibrate"));
    let all = [probes.clone(), calibrate::shapes(&host, cores)].concat();
    let text = calibrate::sweep(&all, &launch, arguments.launches);
    let sweep = sweep::parse(&text, &folder.join("sweep.toml"), Machine::here())?;
    let setup = Setup::of(
        sweep,
        &SweepArguments {
            sweep: None,
            out: Some(folder.clone()),
            worker: arguments.worker.clone(),
            machine: arguments.machine.clone(),
            ranks_per_node: None,
        },
    )?;
    let measured = carry_out(&setup, &CardArguments::default(), Conduct::default());
    if measured.as_ref().is_err_and(|error| matches!(error.kind, ErrorKind::Interrupted(_))) {
        return measured;
    }
    let samples = Samples::from(Folder::open(&folder)?.table()?).current();
    if !arguments.allow_disturbed {
        calibrate::require_quiet(&samples)?;
    }
    let card = calibrate::card(&probes, &samples, &setup.plan.context.machine, &host)?;
    let path = arguments.card.clone().unwrap_or_else(|| folder.join("card.toml"));
    card.write(&path)?;
    let odd: String = calibrate::contradictions(&card, &host).iter().map(|text| format!("warning: {text}\n")).collect();
    print(&format!("{}{odd}machine card: {}\n", calibrate::card_text(&card, width()), path.display()))?;
    measured
}
