//! `apexmap calibrate`: measures basic latencies and bandwidths, and writes a machine card.

use super::card::classic_text;
use super::conclude::{Shown, conclude, display_stage};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::provenance::Host;
use apexmap_base::terminal::{can_answer, note, print};
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::gpu::platforms::{choose, list_apart};
use apexmap_measure::provenance;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_run::campaign::{Campaign, Conduct, Measured, Request, local};
use apexmap_run::drive::plan::Plan;
use apexmap_run::launch::{self, LauncherEntry, hosts};
use apexmap_run::sweep::{self, Machine, parse_budget};
use apexmap_study::calibrate::counts::{Costs, shorten};
use apexmap_study::calibrate::{self, Probe};
use apexmap_theory::machine::Card;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap calibrate                                     this machine, messages between threads
  apexmap calibrate --card models/mine.toml
  apexmap calibrate --budget 60s                        less precise; again to continue
  apexmap calibrate --device gpu0                       a GPU, as apexmap devices lists it
  apexmap calibrate --launcher srun --ranks-per-node 1 \\
      --worker target/release/apexmap-worker --out results/network
  apexmap predict random_access.all_to_all --machine results/calibrate/card.toml --ranks 1..1024")]
pub struct Arguments {
    /// Also write the machine card to this file, next to card.toml in the result folder
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Folder for the samples [default: results/calibrate, results/calibrate-gpu0 of a device]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measure this device instead of the machine: gpu0 is the first that `apexmap devices` lists
    #[arg(long, value_name = "DEVICE", value_parser = device_number, conflicts_with = "launcher")]
    device: Option<u64>,
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
    /// Time for all stages together, such as 90s; the same command later continues [default: at most 2 min for each stage and launch]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<f64>,
    /// Launches per rank count; with several, the intervals of the card include the differences between launches
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Write the card even if the machine was disturbed; the card then says so
    #[arg(long)]
    allow_disturbed: bool,
    /// Keep the result that the folder holds as FOLDER.1, and start afresh
    #[arg(long)]
    replace: bool,
    /// Name of this machine on the card [default: in a Slurm allocation the cluster's name, otherwise the host's]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// Those that need no command.
fn mpi_launcher() -> impl TypedValueParser<Value = &'static LauncherEntry> {
    let launchers = launch::launchers_for(TransportKind::Mpi).filter(|launcher| !launcher.takes_command);
    let values = launchers.map(|launcher| PossibleValue::new(launcher.id).help(launcher.summary.as_str()));
    PossibleValuesParser::new(values).try_map(|id| launch::find(&id))
}

/// A stage's number and name, and its share of the budget that is left.
type Stage = (&'static str, f64);

/// Every calibration has two stages, and over MPI one before them that chooses the numbers of messages.
const COUNTS_STAGE: Stage = ("stage 1 of 3: time of messages", 0.1);
const STAGES_OF_THREADS: [Stage; 2] = [
    ("stage 1 of 2: caches, memory and messages", 0.75),
    ("stage 2 of 2: edges of caches and of address translation", 1.0),
];
const STAGES_OF_MPI: [Stage; 2] = [
    ("stage 2 of 3: caches, memory and messages", 0.75),
    ("stage 3 of 3: edges of caches and of address translation", 1.0),
];

pub fn run(arguments: &Arguments) -> Result<()> {
    match arguments.device {
        Some(number) => measure_device(arguments, number),
        None => measure(arguments),
    }
}

/// `gpu0` or `0`.
fn device_number(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("gpu").unwrap_or(text).parse();
    number.map_err(|_| "write gpu and the number of a device, such as gpu0; `apexmap devices` lists them".to_owned())
}

fn measure_device(arguments: &Arguments, number: u64) -> Result<()> {
    let device = choose(list_apart()?, number)?;
    let (host, mut stages) = (provenance::host(), Stages::new(arguments));
    let probes = calibrate::device::probes(&device);
    let stage = ("stage 1 of 1: caches and memory of the device", 1.0);
    let (_, measured) = stages.measure(&probes, &calibrate::device::blocks(&device), stage)?;
    let samples = stages.samples()?.current();
    if samples.is_empty() {
        return measured;
    }
    if !stages.allows_disturbed {
        calibrate::require_quiet(&samples)?;
    }
    let card = calibrate::device::card(&device, &probes, &samples, &host)?;
    // The caches of the host are not those of the device.
    write(&card, &Host { caches: Vec::new(), ..host }, arguments, &stages.folder)?;
    measured
}

fn result_folder(arguments: &Arguments) -> PathBuf {
    let name = arguments.device.map_or("calibrate".to_owned(), |number| format!("calibrate-gpu{number}"));
    arguments.out.clone().unwrap_or_else(|| Path::new("results").join(name))
}

fn measure(arguments: &Arguments) -> Result<()> {
    let host = provenance::host();
    let cores = Hardware::this_machine().cores_or_threads();
    // A network measurement needs two ranks, even if this machine has one core.
    let cores = if arguments.launcher.is_some() { cores.max(2) } else { cores };
    let mut stages = Stages::new(arguments);
    // Only threads that share the node's memory measure the numbers of the node itself.
    let node = if arguments.launcher.is_none() { calibrate::node_probes(&host, cores) } else { Vec::new() };
    let mut probes = [calibrate::probes(&host, cores), node].concat();
    let mut shapes = calibrate::shapes(&host, cores);
    if arguments.launcher.is_some() {
        shapes.extend(calibrate::eager::probes());
    }
    if let Some(source) = hosts::choose_source(&arguments.hosts, arguments.hostfile.as_deref()) {
        let hosts = source.read()?;
        let each = hosts.ranks_per_node(arguments.ranks_per_node.map(|ranks| ranks as usize))?;
        // Probes of the whole node run only if the hosts have ranks for all its cores.
        probes.retain(|probe| probe.ranks <= hosts.names.len() * each);
        shapes.retain(|probe| probe.ranks <= hosts.names.len() * each);
    }
    let [main_stage, edge_stage] = if arguments.launcher.is_some() { STAGES_OF_MPI } else { STAGES_OF_THREADS };
    if arguments.launcher.is_some() {
        let first = calibrate::counts::first_probes();
        stages.measure(&[], &first, COUNTS_STAGE)?.1?;
        if let Some(costs) = Costs::from_samples(&stages.samples()?.current()) {
            for group in [&mut probes, &mut shapes] {
                *group = std::mem::take(group).into_iter().map(|probe| shorten(probe, costs)).collect();
            }
        }
        // Keep these points in the plan: a resumed run reads them and chooses the same numbers of messages.
        shapes.extend(first);
    }
    let (mut campaign, mut measured) = stages.measure(&probes, &shapes, main_stage)?;
    calibrate::require_one_node_type(&stages.samples()?.current())?;
    let further = calibrate::second_stage(&probes, &calibrate::first_stage_samples(&stages.samples()?), &host)?;
    if further.is_empty() {
        note(&format!("{}: the first latencies show no edge", edge_stage.0));
    } else {
        probes = calibrate::merge_stages(probes, further);
        (campaign, measured) = stages.measure(&probes, &shapes, edge_stage)?;
    }
    let samples = stages.samples()?.current();
    if samples.is_empty() {
        return measured;
    }
    calibrate::require_one_node_type(&samples)?;
    if !stages.allows_disturbed {
        calibrate::require_quiet(&samples)?;
    }
    let card = calibrate::card(&probes, &samples, &campaign.plan.context.machine, &host)?;
    write(&card, &host, arguments, &stages.folder)?;
    measured
}

fn write(card: &Card, host: &Host, arguments: &Arguments, folder: &Path) -> Result<()> {
    let folder = Folder::open(folder)?;
    let path = arguments.card.clone().unwrap_or_else(|| folder.own_card());
    card.write(&folder.own_card())?;
    card.write(&path)?;
    let odd: String = calibrate::contradictions(card, host).iter().map(|text| format!("warning: {text}\n")).collect();
    report::make(&folder, &Samples::from(folder.table()?), report::Additions::default())?;
    let (text, path, report) = (classic_text(card), path.display(), folder.report());
    print(&format!(
        "{text}{odd}machine card: {path}; `apexmap card {path} --all` shows all its numbers\nreport: {}\n",
        report.display()
    ))
}

/// Each stage is a sweep in the same folder, which includes the points of the stage before.
struct Stages<'a> {
    arguments: &'a Arguments,
    /// The `launch` table of each sweep.
    launch: String,
    folder: PathBuf,
    /// Rest of the budget after the earlier stages, in seconds.
    budget: Option<f64>,
    allows_disturbed: bool,
    /// Whether an earlier calibration measured this folder without writing a card. `--allow-disturbed` then takes its samples.
    was_refused: bool,
    /// Whether the machine was observed before the first sample.
    is_checked: bool,
    /// Whether the first stage moves an earlier result aside.
    replaces: bool,
}

impl<'a> Stages<'a> {
    fn new(arguments: &'a Arguments) -> Self {
        let mut launch = match arguments.launcher {
            Some(launcher) => format!("transport = \"{}\"\nlauncher = \"{}\"\n", launcher.transport, launcher.id),
            None => format!("transport = \"{}\"\n", TransportKind::Threads),
        };
        if let Some(number) = arguments.ranks_per_node {
            launch.push_str(&format!("ranks_per_node = {number}\n"));
        }
        let folder = result_folder(arguments);
        let was_refused = !Folder { path: folder.clone() }.own_card().is_file();
        let (allows_disturbed, replaces) = (arguments.allow_disturbed, arguments.replace);
        let budget = arguments.budget;
        Self { arguments, launch, folder, budget, allows_disturbed, was_refused, is_checked: false, replaces }
    }

    /// Those of the folder's last plan are current.
    fn samples(&self) -> Result<Samples> {
        Ok(Samples::from(Folder::open(&self.folder)?.table()?))
    }

    /// Failed points are the inner result, because the caller continues with the rest.
    fn measure(&mut self, probes: &[Probe], shapes: &[Probe], (stage, share): Stage) -> Result<(Campaign, Result<()>)> {
        let (arguments, begun_at) = (self.arguments, Instant::now());
        let text = calibrate::sweep(&[probes, shapes].concat(), &self.launch, arguments.launches);
        let sweep = sweep::parse(&text, &self.folder.join("sweep.toml"), Machine::detect())?;
        let request = Request {
            out: Some(self.folder.clone()),
            worker: arguments.worker.clone(),
            machine: arguments.machine.clone(),
            hosts: arguments.hosts.clone(),
            hostfile: arguments.hostfile.clone(),
            budget: self.budget.map(|left| share * left),
            ..Request::default()
        };
        let campaign = Cluster::load()?.planner(&request).plan_sweep(sweep)?;
        campaign.check_result_folder(std::mem::take(&mut self.replaces))?;
        let [.., missing, _] = local::progress(&campaign)?.counts();
        let takes_samples = arguments.allow_disturbed && self.was_refused && missing == 0;
        let conduct = Conduct { stage: Some(stage), accepts_few_samples: takes_samples, ..Conduct::default() };
        let carried_out = if takes_samples {
            note(&format!("{stage}: takes the samples already measured"));
            local::keep(&campaign)
        } else {
            self.measure_if_quiet(&campaign, conduct)?
        };
        self.budget = self.budget.map(|left| (left - begun_at.elapsed().as_secs_f64()).max(1.0));
        match carried_out.and_then(|measured| conclude(&campaign, measured, conduct, Shown::Nothing)) {
            Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => Err(error),
            measured => Ok((campaign, measured)),
        }
    }

    /// If the machine is disturbed before the first sample, asks on a terminal and ends otherwise: the card would be refused.
    fn measure_if_quiet(&mut self, campaign: &Campaign, conduct: Conduct) -> Result<Result<Measured>> {
        let checks = !self.is_checked && !self.allows_disturbed;
        self.is_checked = true;
        let view = |plan: &Plan| display_stage(plan, &campaign.folder, conduct.stage);
        let measured = local::carry_out(campaign, None, Conduct { ends_if_noisy: checks, ..conduct }, &view);
        match measured {
            Err(error) if checks && error.kind == ErrorKind::Regression => {
                if !agrees()? {
                    return Err(Error::measurement(
                        format!("nothing was measured: {}", error.message),
                        "free the machine, or add --allow-disturbed to measure anyway; the card then says so",
                    ));
                }
                self.allows_disturbed = true;
                Ok(local::carry_out(campaign, None, conduct, &view))
            }
            measured => Ok(measured),
        }
    }
}

/// The display has said why the machine is disturbed. Without a terminal and in the background the answer is no.
fn agrees() -> Result<bool> {
    if !(io::stderr().is_terminal() && can_answer()) {
        return Ok(false);
    }
    note("Measure anyway? The card then says that the machine was disturbed. [y/N]");
    let mut answer = String::new();
    let read_error =
        |e| Error::environment(format!("cannot read the answer: {e}"), "give --allow-disturbed to measure anyway");
    io::stdin().read_line(&mut answer).map_err(read_error)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
