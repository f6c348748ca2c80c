//! A campaign: a sweep, planned, tried, launched, followed and concluded.
//!
//! Three carriers carry out its launches: [`carriers::local`] here, [`carriers::batch`] as jobs of a batch system, and
//! [`carriers::manual`] on a machine where only the worker runs.

pub mod carriers;
pub mod fallback;
pub mod interrupt;
pub mod job_options;
mod machine_name;
pub mod part;
pub mod partition;
pub mod plan_time;
pub mod starter;
pub mod trial;
pub mod worker;

use crate::launch::hosts::{self, Hosts};
use crate::launch::{Here, HostsSource};
use crate::submit::parts;
use crate::sweep::cost;
use crate::sweep::driver::Watcher;
use crate::sweep::plan::{Context, Plan, Progress, WorkerInfo, largest_memory};
use crate::sweep::{Machine, Sweep, ready};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::shell::words;
use apexmap_base::terminal::note;
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::Table;
use machine_name::machine_name;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// What a user asks for: which sweep, with which worker, where, under which name.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A sweep file, or the name of a ready sweep; the quickstart if absent.
    pub sweep: Option<PathBuf>,
    /// The result folder; `results/NAME` if absent.
    pub out: Option<PathBuf>,
    /// The worker program; this one if absent.
    pub worker: Option<PathBuf>,
    /// The description that a worker gave of itself elsewhere, if it cannot be started here.
    pub worker_info: Option<PathBuf>,
    /// The machine's name in results.
    pub machine: Option<String>,
    pub ranks_per_node: Option<u32>,
    /// The batch system of jobs that flags ask for; empty for the one whose programs are here.
    pub submit: Option<String>,
    pub hosts: Vec<String>,
    pub hostfile: Option<PathBuf>,
}

/// What a run does besides measuring what is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    pub retry_failed: bool,
    pub ends_if_noisy: bool,
}

/// Makes the display of a run from its plan.
pub type Display<'a> = &'a dyn Fn(&Plan) -> Box<dyn Watcher>;

/// What a run left: its samples, and which points are done.
pub struct Measured {
    pub table: Table,
    pub progress: Progress,
}

/// A sweep with its plan, its worker and its result folder: all that a run needs to begin or to resume.
#[derive(Clone)]
pub struct Campaign {
    pub sweep: Sweep,
    pub plan: Plan,
    pub worker: PathBuf,
    pub worker_info: WorkerInfo,
    pub folder: PathBuf,
    /// The hosts that the launcher is to use; empty if it chooses.
    pub hosts: Vec<String>,
    /// The machine that the sweep was read for.
    pub machine: Machine,
    /// The source of the size of the nodes, if the sweep was read for another machine than this one.
    pub sized_for: Option<String>,
}

impl Campaign {
    /// Plans the sweep of a request for this machine.
    ///
    /// # Errors
    /// If the sweep, the worker or the hosts are not as they must be.
    pub fn plan(request: &Request) -> Result<Self> {
        Self::plan_for(request, Machine::here())
    }

    /// Plans the sweep of a request for another machine than this one.
    ///
    /// # Errors
    /// As of [`Campaign::plan`].
    pub fn plan_for(request: &Request, machine: Machine) -> Result<Self> {
        let sweep = request.sweep.as_deref().unwrap_or(Path::new(ready::QUICKSTART));
        let campaign = Self::plan_sweep(ready::open(sweep, machine)?, request)?;
        Ok(Self { machine, ..campaign })
    }

    /// Plans this sweep, whatever the request names.
    ///
    /// # Errors
    /// As of [`Campaign::plan`].
    pub fn plan_sweep(sweep: Sweep, request: &Request) -> Result<Self> {
        if let (Some(number), TransportKind::Threads) = (request.ranks_per_node, sweep.launch.transport) {
            return Err(Error::input(
                format!("--ranks-per-node {number}: the ranks of this sweep are threads, all on this machine"),
                "remove it, or choose a sweep with transport = \"mpi\"",
            ));
        }
        let program = request.worker.clone().or_else(|| sweep.launch.worker.clone());
        let (worker, worker_info) = worker::find(program.as_deref(), request.worker_info.as_deref(), &sweep)?;
        let asked = request.ranks_per_node.map(|ranks| ranks as usize).or(sweep.launch.ranks_per_node);
        let given = hosts::given(&request.hosts, request.hostfile.as_deref());
        let (hosts, ranks_per_node) = match given.as_ref().or(sweep.launch.hosts.as_ref()) {
            Some(source) => {
                let hosts = read_hosts(&sweep, source)?;
                let ranks = hosts.ranks_per_node(asked)?;
                (hosts.names, Some(ranks))
            }
            None if sweep.launch.command.iter().any(|argument| argument.contains("{hosts}")) => {
                let what = "the command of launcher \"custom\" names {hosts}, and there are none";
                return Err(Error::input(what, "add --hosts node1,node2, for example, or hosts to [launch]"));
            }
            None => (Vec::new(), asked),
        };
        let folder = request.out.clone().unwrap_or_else(|| Path::new("results").join(&sweep.name));
        let named = request.machine.as_deref();
        let context = Context {
            transport: sweep.launch.transport,
            launcher: sweep.launch.launcher,
            ranks_per_node,
            place: sweep.launch.place,
            machine: machine_name(named, request.submit.as_deref(), sweep.launch.submit.as_ref(), &folder),
            build: worker_info.build.fingerprint.clone(),
            builds: worker_info.build.families.clone(),
            library: worker_info
                .mpi_library
                .clone()
                .filter(|_| sweep.launch.transport == TransportKind::Mpi)
                .unwrap_or_default(),
        };
        let plan = Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, sweep.seed)?;
        check_host_count(&plan, &hosts)?;
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

    /// Refuses a result folder that holds another sweep's result, or keeps that result under another name.
    ///
    /// # Errors
    /// If there is one and it is not to be replaced, or it cannot be moved.
    pub fn keep_apart(&self, replace: bool) -> Result<()> {
        let Some(other) = self.other_sweep()? else { return Ok(()) };
        let path = self.folder.display();
        if !replace {
            return Err(Error::input(
                format!("{path} holds the result of another sweep, {other}"),
                format!(
                    "name another folder with --out, or begin anew with --replace, which keeps that result as {path}.1"
                ),
            ));
        }
        let folder = Folder { path: self.folder.clone() };
        let lock = folder.lock()?;
        let kept = folder.move_aside()?;
        drop(lock);
        note(&format!("note: the earlier result is now {}", kept.display()));
        Ok(())
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

    /// Writes the plan into the result folder before it runs.
    pub fn describe(&self, folder: &Folder) -> Result<()> {
        folder.replace_text(&folder.sweep(), &self.sweep.text)?;
        let mut lines = String::new();
        for entry in &self.plan.entries {
            lines.push_str(&serde_json::to_string(entry).map_err(|e| Error::internal(e.to_string()))?);
            lines.push('\n');
        }
        folder.replace_text(&folder.points(), &lines)?;
        self.manifest().with_records(&folder.outcomes()?).write(folder)
    }

    /// What is known of a result before its journals.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            schema: apexmap_base::sample::SCHEMA_VERSION,
            name: self.sweep.name.clone(),
            title: self.sweep.title.clone(),
            sweep: self.sweep.text.clone(),
            seed: self.sweep.seed,
            machine: self.plan.context.machine.clone(),
            hosts: self.hosts.clone(),
            points: self.plan.entries.len(),
            blocks: self.plan.blocks,
            command: words(),
            driver: provenance::build(),
            driver_host: provenance::host(),
            worker: self.worker_info.build.clone(),
            unix_seconds: unix_seconds(),
            samples: BTreeMap::new(),
            launches: Vec::new(),
            sized_for: self.sized_for.clone(),
            compaction: None,
        }
    }

    /// The error for failed and incomplete points, if there are any.
    pub fn verdict(&self, folder: &Folder, done: &Progress) -> Result<()> {
        let [_, partial, missing, failed] = done.counts();
        let (mut what, mut next) = (Vec::new(), Vec::new());
        if failed > 0 {
            what.push(format!("{} failed", plural(failed, "point")));
            let status = format!("`apexmap status {}`", folder.path.display());
            next.push(format!("{status} lists what failed and why; --retry-failed measures it again"));
        }
        if partial + missing > 0 {
            let points = plural(self.plan.entries.len(), "point");
            let have = if partial + missing == 1 { "has" } else { "have" };
            what.push(format!("{} of {points} {have} too few samples", partial + missing));
            next.push("rerun the same command to continue, or raise `budget` in the sweep".to_owned());
        }
        if what.is_empty() { Ok(()) } else { Err(Error::measurement(what.join(", "), next.join("; "))) }
    }

    /// Writes what the journals hold into the manifest and the table.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn compact(&self, folder: &Folder) -> Result<Measured> {
        let records = folder.outcomes()?;
        self.manifest().with_records(&records).write(folder)?;
        let progress = Progress::new(&self.plan, &records);
        drop(records);
        Ok(Measured { table: folder.compact()?, progress })
    }
}

/// The hosts, if the launcher can be told of them.
fn read_hosts(sweep: &Sweep, source: &HostsSource) -> Result<Hosts> {
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
fn check_host_count(plan: &Plan, hosts: &[String]) -> Result<()> {
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
