//! `apexmap calibrate`: measures basic latencies and bandwidths, and writes a machine card.

use super::conclude::{conclude, display};
use super::fit_progress::FitProgress;
use super::show_card;
use apexmap_base::error::{ErrorKind, Result};
use apexmap_base::terminal::print;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::provenance;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_run::campaign::carriers::local;
use apexmap_run::campaign::{Campaign, Conduct, Request};
use apexmap_run::launch::{self, LauncherEntry, hosts};
use apexmap_run::sweep::{self, Machine};
use apexmap_study::calibrate::counts::{Costs, shorten};
use apexmap_study::calibrate::{self, Probe};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap calibrate                                     this machine, messages between threads
  apexmap calibrate --card models/mine.toml
  apexmap calibrate --launcher srun --ranks-per-node 1 \\
      --worker target/release/apexmap-worker --out results/network
  apexmap predict random_access.all_to_all --machine results/calibrate/card.toml --ranks 1..1024")]
pub struct Arguments {
    /// Also write the machine card to this file, next to card.toml in the result folder
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Folder for the samples [default: results/calibrate]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measure over MPI, with this launcher
    #[arg(long, value_name = "LAUNCHER", value_parser = mpi_launcher())]
    launcher: Option<&'static LauncherEntry>,
    /// Ranks on each node
    #[arg(long, value_name = "NUMBER", requires = "launcher", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    /// Hosts for the ranks, such as node1,node2
    #[arg(long, value_name = "HOST,...", requires = "launcher", value_delimiter = ',')]
    hosts: Vec<String>,
    /// File that lists the hosts, one per line
    #[arg(long, value_name = "FILE", requires = "launcher", conflicts_with = "hosts")]
    hostfile: Option<PathBuf>,
    /// Worker program to start on the ranks, such as a build for the cluster's MPI [default: this program]
    #[arg(long, value_name = "PROGRAM")]
    worker: Option<PathBuf>,
    /// Launches per rank count; with several, the intervals of the card include the differences between launches
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Write the card even if the machine was disturbed; the card then says so
    #[arg(long)]
    allow_disturbed: bool,
    /// If the folder holds another result, keep that as FOLDER.1 and start again
    #[arg(long)]
    replace: bool,
    /// Name of this machine on the card [default: in a Slurm allocation the cluster's name, otherwise the host's]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// Returns a parser for the MPI launchers that need no command.
fn mpi_launcher() -> impl TypedValueParser<Value = &'static LauncherEntry> {
    let launchers = launch::launchers_for(TransportKind::Mpi).filter(|launcher| !launcher.takes_command);
    let values = launchers.map(|launcher| PossibleValue::new(launcher.id).help(launcher.summary.as_str()));
    PossibleValuesParser::new(values).try_map(|id| launch::find(&id))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let host = provenance::host();
    let cores = Hardware::this_machine().cores_or_threads();
    // A network measurement needs two ranks, even if this machine has one core.
    let cores = if arguments.launcher.is_some() { cores.max(2) } else { cores };
    let probes = calibrate::probes(&host, cores);
    let mut launch = match arguments.launcher {
        Some(launcher) => format!("transport = \"{}\"\nlauncher = \"{}\"\n", launcher.transport, launcher.id),
        None => format!("transport = \"{}\"\n", TransportKind::Threads),
    };
    if let Some(number) = arguments.ranks_per_node {
        launch.push_str(&format!("ranks_per_node = {number}\n"));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new("results").join("calibrate"));
    // Only threads that share the node's memory measure the numbers of the node itself.
    let node = if arguments.launcher.is_none() { calibrate::node_probes(&host, cores) } else { Vec::new() };
    let mut probes = [probes, node].concat();
    let mut shapes = calibrate::shapes(&host, cores);
    if let Some(source) = hosts::choose_source(&arguments.hosts, arguments.hostfile.as_deref()) {
        let hosts = source.read()?;
        let each = hosts.ranks_per_node(arguments.ranks_per_node.map(|ranks| ranks as usize))?;
        // Probes of the whole node run only if the hosts have ranks for all its cores.
        probes.retain(|probe| probe.ranks <= hosts.names.len() * each);
        shapes.retain(|probe| probe.ranks <= hosts.names.len() * each);
    }
    if arguments.launcher.is_some() {
        let first = calibrate::counts::first_probes();
        measure(&[], &first, &launch, arguments, &folder)?.1?;
        if let Some(costs) = Costs::from_samples(&current(&folder)?) {
            for group in [&mut probes, &mut shapes] {
                *group = std::mem::take(group).into_iter().map(|probe| shorten(probe, costs)).collect();
            }
        }
        // Keep these points in the plan: a resumed run reads them and chooses the same numbers of messages.
        shapes.extend(first);
    }
    let (campaign, mut measured) = measure(&probes, &shapes, &launch, arguments, &folder)?;
    let further = calibrate::second_stage(&probes, &current(&folder)?, &host)?;
    let mut machine = campaign.plan.context.machine;
    if !further.is_empty() {
        probes = calibrate::merge_stages(probes, further);
        let (campaign, result) = measure(&probes, &shapes, &launch, arguments, &folder)?;
        (machine, measured) = (campaign.plan.context.machine, result);
    }
    let samples = current(&folder)?;
    if samples.is_empty() {
        return measured;
    }
    if !arguments.allow_disturbed {
        calibrate::require_quiet(&samples)?;
    }
    let card = calibrate::card(&probes, &samples, &machine, &host)?;
    let folder = Folder::open(&folder)?;
    let path = arguments.card.clone().unwrap_or_else(|| folder.own_card());
    card.write(&folder.own_card())?;
    card.write(&path)?;
    let odd: String = calibrate::contradictions(&card, &host).iter().map(|text| format!("warning: {text}\n")).collect();
    let progress = FitProgress::new();
    report::make(&folder, &Samples::from(folder.table()?), &|text| progress.show(text))?;
    drop(progress);
    let (card, report) = (show_card::text(&card), folder.report());
    print(&format!("{card}{odd}machine card: {}\nreport: {}\n", path.display(), report.display()))?;
    measured
}

/// Measures the missing points of these probes. Failed points are returned as the inner result, because the caller continues with
/// the rest.
fn measure(
    probes: &[Probe],
    shapes: &[Probe],
    launch: &str,
    arguments: &Arguments,
    folder: &Path,
) -> Result<(Campaign, Result<()>)> {
    let text = calibrate::sweep(&[probes, shapes].concat(), launch, arguments.launches);
    let sweep = sweep::parse(&text, &folder.join("sweep.toml"), Machine::detect())?;
    let request = Request {
        out: Some(folder.to_owned()),
        worker: arguments.worker.clone(),
        machine: arguments.machine.clone(),
        hosts: arguments.hosts.clone(),
        hostfile: arguments.hostfile.clone(),
        ..Request::default()
    };
    let campaign = Campaign::plan_sweep(sweep, &request)?;
    campaign.check_result_folder(arguments.replace)?;
    let measured = local::carry_out(&campaign, None, Conduct::default(), &display)
        .and_then(|measured| conclude(&campaign, measured, Conduct::default(), false));
    match measured {
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => Err(error),
        measured => Ok((campaign, measured)),
    }
}

/// Returns the samples of the folder that belong to its current plan.
fn current(folder: &Path) -> Result<Samples> {
    Ok(Samples::from(Folder::open(folder)?.table()?).current())
}
