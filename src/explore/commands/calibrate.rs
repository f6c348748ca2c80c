//! `apexmap calibrate`: measures what models take as given, and writes a machine card.

use super::card::CardArguments;
use super::run::carry_out;
use super::setup::{Setup, SweepArguments};
use crate::error::Result;
use crate::explore::calibrate;
use crate::explore::store::{Folder, Samples};
use crate::explore::sweep::{self, Machine};
use crate::provenance;
use crate::terminal::print;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap calibrate                                     the cores of this machine, messages between threads
  apexmap calibrate --card models/mine.toml
  apexmap calibrate --launcher srun --ranks-per-node 1 --worker target-mpi/release/apexmap --out results/network
  apexmap predict random_access.all_to_all --machine results/calibrate/card.toml --ranks 1..1024")]
pub struct Arguments {
    /// The machine card to write [default: card.toml in the result folder]
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Folder of the samples [default: results/calibrate]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measure over MPI, with this launcher
    #[arg(long, value_name = "LAUNCHER", value_parser = ["openmpi", "mpich", "srun"])]
    launcher: Option<String>,
    /// Ranks on a node, for a launcher
    #[arg(long, value_name = "NUMBER", requires = "launcher", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Another build of apexmap to start on the ranks
    #[arg(long, value_name = "PROGRAM")]
    worker: Option<PathBuf>,
    /// What this machine is called on the card [default: its host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let host = provenance::host();
    let probes = calibrate::probes(&host, provenance::cores());
    let mut launch = match &arguments.launcher {
        Some(launcher) => format!("transport = \"mpi\"\nlauncher = \"{launcher}\"\n"),
        None => "transport = \"threads\"\n".to_owned(),
    };
    if let Some(number) = arguments.ranks_per_node {
        launch.push_str(&format!("ranks_per_node = {number}\n"));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new("results").join("calibrate"));
    let text = calibrate::sweep(&probes, &launch);
    let sweep = sweep::parse(&text, &folder.join("sweep.toml"), Machine::here())?;
    let setup = Setup::of(
        sweep,
        &SweepArguments {
            sweep: None,
            out: Some(folder.clone()),
            worker: arguments.worker.clone(),
            machine: arguments.machine.clone(),
        },
    )?;
    let measured = carry_out(&setup, &CardArguments::default(), false, false);
    let samples = Samples::from(Folder::open(&folder)?.table()?).current();
    let card = calibrate::card(&probes, &samples, &setup.plan.context.machine, &host)?;
    let path = arguments.card.clone().unwrap_or_else(|| folder.join("card.toml"));
    card.write(&path)?;
    print(&format!("{}machine card: {}\n", calibrate::listed(&card), path.display()))?;
    measured
}
