//! What `run`, `plan` and `calibrate` share: a sweep, its worker, its plan and its result folder.

use super::interrupt::Interrupt;
use super::machine_name::machine_name;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::regular_file::read_text;
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::launch::hosts::{self, Hosts};
use apexmap_run::launch::{Here, HostsSource};
use apexmap_run::submit::parts;
use apexmap_run::sweep::cost;
use apexmap_run::sweep::plan::{Context, Plan, WorkerInfo, largest_memory};
use apexmap_run::sweep::process::{Output, Process};
use apexmap_run::sweep::{Machine, Sweep, ready};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args, Clone, Default)]
pub struct SweepArguments {
    /// A sweep file (TOML), or the name of a ready sweep (see apexmap sweeps) [default: quickstart]
    pub sweep: Option<PathBuf>,
    /// Result folder [default: results/NAME, NAME being the sweep's]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Worker program to start on the ranks, such as a build for the cluster's MPI [default: this program]
    #[arg(long, value_name = "PROGRAM")]
    pub worker: Option<PathBuf>,
    /// Name of this machine in results [default: in jobs and allocations of Slurm the cluster's name, else the host's]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Ranks on each node of a cluster, for the launcher and for batch jobs [default: the sweep's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_node: Option<u32>,
    /// What the worker says of itself, where it cannot be started here.
    #[arg(skip)]
    pub worker_info: Option<PathBuf>,
    /// The batch system of jobs that flags ask for; empty for the one whose programs are here.
    #[arg(skip)]
    pub submit: Option<String>,
    /// Hosts that take the ranks, such as node1,node2; with their ranks node1:4 [default: the sweep's, else the launcher's choice]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// File with these hosts, one on each line
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    pub hostfile: Option<PathBuf>,
}

/// A sweep with its plan, before anything is launched.
#[derive(Clone)]
pub struct Setup {
    pub sweep: Sweep,
    pub plan: Plan,
    pub worker: PathBuf,
    pub worker_info: WorkerInfo,
    pub folder: PathBuf,
    /// Those that the launcher is told to use; empty if it chooses.
    pub hosts: Vec<String>,
    /// For which the sweep was read.
    pub machine: Machine,
    /// Who told what the nodes are that the sweep was read for, if it is not for this machine.
    pub sized_for: Option<String>,
}

impl Setup {
    pub fn new(arguments: &SweepArguments) -> Result<Self> {
        Self::on(arguments, Machine::here())
    }

    /// For another machine than this one.
    pub fn on(arguments: &SweepArguments, machine: Machine) -> Result<Self> {
        let sweep = arguments.sweep.as_deref().unwrap_or(Path::new(ready::QUICKSTART));
        let setup = Self::of(ready::open(sweep, machine)?, arguments)?;
        Ok(Self { machine, ..setup })
    }

    /// For a sweep that is not the one in the arguments.
    pub fn of(sweep: Sweep, arguments: &SweepArguments) -> Result<Self> {
        if let (Some(number), TransportKind::Threads) = (arguments.ranks_per_node, sweep.launch.transport) {
            return Err(Error::input(
                format!("--ranks-per-node {number}: the ranks of this sweep are threads, all on this machine"),
                "remove it, or choose a sweep with transport = \"mpi\"",
            ));
        }
        let program = arguments.worker.clone().or_else(|| sweep.launch.worker.clone());
        let (worker, worker_info) = worker(program.as_deref(), arguments.worker_info.as_deref(), &sweep)?;
        let asked = arguments.ranks_per_node.map(|ranks| ranks as usize).or(sweep.launch.ranks_per_node);
        let given = hosts::given(&arguments.hosts, arguments.hostfile.as_deref());
        let (hosts, ranks_per_node) = match given.as_ref().or(sweep.launch.hosts.as_ref()) {
            Some(source) => {
                let hosts = on_hosts(&sweep, source)?;
                let ranks = hosts.ranks_per_node(asked)?;
                (hosts.names, Some(ranks))
            }
            None if sweep.launch.command.iter().any(|argument| argument.contains("{hosts}")) => {
                let what = "the command of launcher \"custom\" names {hosts}, and there are none";
                return Err(Error::input(what, "add --hosts node1,node2, for example, or hosts to [launch]"));
            }
            None => (Vec::new(), asked),
        };
        let folder = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&sweep.name));
        let named = arguments.machine.as_deref();
        let context = Context {
            transport: sweep.launch.transport,
            launcher: sweep.launch.launcher,
            ranks_per_node,
            place: sweep.launch.place,
            machine: machine_name(named, arguments.submit.as_deref(), sweep.launch.submit.as_ref(), &folder),
            build: worker_info.build.fingerprint.clone(),
            builds: worker_info.build.families.clone(),
            library: worker_info
                .mpi_library
                .clone()
                .filter(|_| sweep.launch.transport == TransportKind::Mpi)
                .unwrap_or_default(),
        };
        let plan = Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, sweep.seed)?;
        enough(&plan, &hosts)?;
        check_path(&folder)?;
        Ok(Self { sweep, plan, worker, worker_info, folder, hosts, machine: Machine::here(), sized_for: None })
    }

    /// What the result folder holds if it is the result of another sweep: one without a point of this one, or one of another
    /// name whose points are not the same.
    ///
    /// # Errors
    /// If its plan cannot be read.
    pub fn other_sweep(&self) -> Result<Option<String>> {
        let folder = Folder { path: self.folder.clone() };
        let Some(there) = folder.planned_points()?.filter(|points| !points.is_empty()) else { return Ok(None) };
        let name = Manifest::read(&folder).map(|manifest| manifest.name);
        let labels: HashSet<String> = self.sweep.points.iter().map(Point::label).collect();
        let common = there.iter().filter(|point| labels.contains(&point.label())).count();
        let same = common == there.len() && common == labels.len();
        let renamed = name.as_ref().is_ok_and(|name| *name != self.sweep.name) && !same;
        Ok((common == 0 || renamed).then(|| {
            let name = name.map_or_else(|_| "whose name cannot be read".into(), |name| format!("\"{name}\""));
            format!("{name}: it has {}, {common} of them in \"{}\"", plural(there.len(), "point"), self.sweep.name)
        }))
    }

    /// What is to be known before ranks of MPICH wait for each other on too few cores.
    pub fn crowd(&self) -> Option<String> {
        let ranks = self.plan.entries.iter().map(|entry| entry.point.ranks).max()?;
        cost::crowded(&self.plan.context, ranks).then(|| {
            format!(
                "up to {ranks} ranks of MPICH share {} here: they wait without giving up their core, so that every \
                 barrier takes milliseconds; use fewer ranks, or Open MPI, whose ranks yield",
                plural(Hardware::here().hardware_threads(), "hardware thread"),
            )
        })
    }

    /// Checks that the largest launch fits into memory, unless its ranks may be on other machines.
    pub fn check_memory(&self) -> Result<()> {
        let here = Here::look();
        if here.nodes > 1 || self.plan.context.launcher.remote {
            return Ok(());
        }
        let (bytes, ranks) = largest_memory(&self.plan);
        let memory = Hardware::here().usable_memory_bytes().unwrap_or(u64::MAX);
        if bytes <= memory / 10 * 9 {
            return Ok(());
        }
        let who = if ranks == 1 { "one rank needs".into() } else { format!("{ranks} ranks need a total of") };
        let (bytes, memory) = (units::bytes(bytes as f64), units::bytes(memory as f64));
        Err(Error::input(
            format!("{}: {who} {bytes}, this machine has {memory}", self.sweep.path.display()),
            "reduce M, the number of ranks, or the index arrays (I, N)",
        ))
    }
}

/// The hosts, if the launcher can be told of them.
fn on_hosts(sweep: &Sweep, source: &HostsSource) -> Result<Hosts> {
    let launch = &sweep.launch;
    let hosts = source.read()?;
    match (launch.launcher.make)(&launch.command)?.takes_hosts() {
        true => Ok(hosts),
        false if launch.launcher.takes_command => Err(Error::input(
            "hosts are given, but the command of launcher \"custom\" does not name {hosts}",
            "add {hosts} to the command, which becomes a list with commas, or remove the hosts",
        )),
        false => Err(Error::input(
            format!("launcher \"{}\" cannot be told of hosts", launch.launcher.id),
            "remove the hosts, or choose a launcher that takes them, such as openmpi, mpich or srun",
        )),
    }
}

/// Checks that there are hosts for the largest launch.
fn enough(plan: &Plan, hosts: &[String]) -> Result<()> {
    if hosts.is_empty() {
        return Ok(());
    }
    let needed = |size: LaunchSize| (parts::nodes(size, &plan.context).unwrap_or(size.ranks), size);
    match plan.by_size().into_keys().map(needed).max_by_key(|(nodes, _)| *nodes) {
        Some((nodes, size)) if nodes > hosts.len() => Err(Error::input(
            format!(
                "{size} take {}, there are {}: {}",
                plural(nodes, "host"),
                plural(hosts.len(), "host"),
                hosts.join(", ")
            ),
            "name more hosts, put more ranks on each with --ranks-per-node, or name fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}

/// The ranks get paths in the result folder as arguments, which are texts.
fn check_path(folder: &Path) -> Result<()> {
    match std::path::absolute(folder) {
        Ok(path) if path.to_str().is_none() => Err(Error::input(
            format!("the path of the result folder {} is not UTF-8", path.display()),
            "choose another folder with --out",
        )),
        _ => Ok(()),
    }
}

/// The program that runs on the ranks, with its description of itself.
fn worker(named: Option<&Path>, info: Option<&Path>, sweep: &Sweep) -> Result<(PathBuf, WorkerInfo)> {
    let (program, info) = match (named, info) {
        (named, Some(info)) => (named.unwrap_or(Path::new("./apexmap")).to_owned(), read_info(info)?),
        (None, None) => {
            let own = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
            (own, apexmap_measure::worker::info())
        }
        (Some(path), None) => {
            // From here on every launcher means this file, wherever it looks for programs and from whatever folder.
            let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
            let info = ask(&path, ASKING)?;
            (path, info)
        }
    };
    let transport = sweep.launch.transport;
    if !info.transports.iter().any(|known| *known == transport.name()) {
        return Err(Error::environment(
            format!("the worker {} does not support the transport {transport}", program.display()),
            "build one that does: cargo build --release -p apexmap-measure --features mpi; \
             then add --worker target/release/apexmap-worker",
        ));
    }
    let own = apexmap_measure::worker::info().build;
    if info.build.version != own.version {
        return Err(Error::environment(
            format!(
                "the worker {} is version {}, this program is {}",
                program.display(),
                info.build.version,
                own.version
            ),
            "build both from the same sources",
        ));
    }
    Ok((program, info))
}

/// What a worker said of itself elsewhere.
fn read_info(path: &Path) -> Result<WorkerInfo> {
    let text = read_text(path).map_err(|e| Error::file("read what the worker says of itself in", path, e))?;
    serde_json::from_str(&text).map_err(|error| {
        let what = format!("{} is not what a worker says of itself: {error}", path.display());
        Error::input(what, "write it on the other machine: apexmap worker --info > worker.json")
    })
}

/// Longest time for a worker to describe itself.
const ASKING: Duration = Duration::from_secs(30);
/// Longest description, in bytes.
const DESCRIPTION: usize = 1 << 16;

/// What a worker program says of itself, within a time.
pub fn ask(worker: &Path, limit: Duration) -> Result<WorkerInfo> {
    let wrong = |cause: &str| {
        Error::environment(
            format!("cannot use the worker {}: {cause}", worker.display()),
            "name a build of apexmap that runs on this machine, with --worker or `worker =` in the sweep",
        )
    };
    let mut command = Command::new(worker);
    command.args(["worker", "--info"]);
    let interrupt = Interrupt::catch();
    let mut process = Process::start(command).map_err(|error| wrong(&error.what))?;
    let (begun, mut said) = (Instant::now(), Vec::new());
    let mut listen = |said: &mut Vec<u8>| {
        process.read(limit.saturating_sub(begun.elapsed()), &mut |output| {
            if let Output::Standard(bytes) = output {
                said.extend_from_slice(bytes);
            }
        })
    };
    while listen(&mut said) && said.len() < DESCRIPTION {
        interrupt.check()?;
        if begun.elapsed() >= limit {
            return Err(wrong(&format!("it does not say what it is within {} s", limit.as_secs_f64())));
        }
    }
    process.end()?;
    serde_json::from_slice(&said).map_err(|_| wrong("it is not apexmap, or of another version"))
}
