//! A campaign: plans a sweep, tries it, carries it out and summarises the result.
//!
//! Its launches have three carriers: [`carriers::local`] on this machine or allocation, [`carriers::batch`] as jobs of a batch
//! system, and [`carriers::manual`] on a machine that has only the worker.

pub mod carriers;
mod chosen_hosts;
pub mod each_node;
pub mod fallback;
pub mod interrupt;
mod job_limits;
pub mod job_options;
mod machine_name;
mod mpi_check;
pub mod part;
pub mod partition;
pub mod plan_time;
mod simulated;
pub mod site_check;
mod site_record;
pub mod starter;
pub mod trial;
mod verdict;
pub mod worker;

use crate::launch::LocalMachine;
use crate::site::Site;
use crate::sweep::cost;
use crate::sweep::driver::Watcher;
use crate::sweep::plan::{Context, Entry, Plan, Progress, WorkerInfo, largest_memory};
use crate::sweep::simulation::Simulation;
use crate::sweep::{Machine, Sweep, ready};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::provenance::Host;
use apexmap_base::shell::command_words;
use apexmap_base::terminal::note;
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::provenance;
use apexmap_measure::seen_cache;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::Table;
use chosen_hosts::{check_host_count, choose_hosts};
use each_node::EachNode;
use machine_name::machine_name;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The user's request: the sweep, the worker, the result folder and the machine's name.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A sweep file, or the name of a ready sweep; the quickstart if absent.
    pub sweep: Option<PathBuf>,
    /// The result folder; `results/NAME` if absent.
    pub out: Option<PathBuf>,
    /// The worker program; this program if absent.
    pub worker: Option<PathBuf>,
    /// The description that a worker gave of itself on another machine, if it cannot be started here.
    pub worker_info: Option<PathBuf>,
    /// The machine's name in results.
    pub machine: Option<String>,
    pub ranks_per_node: Option<u32>,
    /// The batch system requested by flags; empty for the installed one.
    pub submit: Option<String>,
    pub hosts: Vec<String>,
    pub hostfile: Option<PathBuf>,
    /// Whether this process is a job, whose command has all settings of the site file.
    pub is_job: bool,
    /// The nodes that each run all points alone, if requested.
    pub each_node: Option<EachNode>,
    /// The machine to simulate: a published machine, or the path of a card.
    pub simulate: Option<PathBuf>,
}

/// Options of a run besides the points to measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    pub retry_failed: bool,
    pub ends_if_noisy: bool,
    /// Whether a slow node is an error at the end of a sweep that each node runs alone.
    pub fails_if_slow_node: bool,
    /// Name of this run if it is one of several of a command: `stage 2 of 2: cache edges`.
    pub stage: Option<&'static str>,
    /// Whether missing samples are a warning instead of an error.
    pub accepts_few_samples: bool,
}

/// Makes the display of a run from its plan.
pub type Display<'a> = &'a dyn Fn(&Plan) -> Box<dyn Watcher>;

/// The result of a run: its table, and the progress of its points.
pub struct Measured {
    pub table: Table,
    pub progress: Progress,
}

/// A sweep with its plan, worker and result folder: everything to start or resume a run.
/// Returns the part of the last cache that was seen when the result of this request was begun, so that a resumed sweep has the same
/// sizes.
fn recorded_last_cache(request: &Request, sweep: &Path) -> Option<u64> {
    let default_folder = || Path::new("results").join(sweep.file_stem().unwrap_or_default());
    let folder = Folder::open(&request.out.clone().unwrap_or_else(default_folder)).ok()?;
    Manifest::read(&folder).ok()?.driver_host.last_cache_seen_bytes
}

#[derive(Clone)]
pub struct Campaign {
    pub sweep: Sweep,
    pub plan: Plan,
    pub worker: PathBuf,
    pub worker_info: WorkerInfo,
    pub folder: PathBuf,
    /// The hosts for the launcher; empty if the launcher chooses.
    pub hosts: Vec<String>,
    /// The machine that the sweep was read for.
    pub machine: Machine,
    /// The source of the node size, if the sweep was read for another machine than this one.
    pub sized_for: Option<String>,
    /// The site file, for settings that neither flags nor the sweep set.
    pub site: Site,
    /// The nodes that each run all points alone, if requested.
    pub each_node: Option<EachNode>,
}

impl Campaign {
    /// Plans the sweep of a request for this machine.
    ///
    /// # Errors
    /// If the sweep, the worker or the hosts are invalid.
    pub fn plan(request: &Request) -> Result<Self> {
        Self::plan_for(request, Machine::detect())
    }

    /// Plans the sweep of a request for another machine than this one.
    ///
    /// # Errors
    /// As for [`Campaign::plan`].
    pub fn plan_for(request: &Request, machine: Machine) -> Result<Self> {
        let path = request.sweep.as_deref().unwrap_or(Path::new(ready::QUICKSTART));
        let machine = Machine { last_cache_seen: recorded_last_cache(request, path), ..machine };
        let (sweep, machine, simulation) = simulated::open_sweep(request, path, machine)?;
        let campaign = Self::plan_sweep_on(sweep, request, simulation)?;
        Ok(Self { machine, ..campaign })
    }

    /// Plans this sweep instead of the request's.
    ///
    /// # Errors
    /// As for [`Campaign::plan`].
    pub fn plan_sweep(sweep: Sweep, request: &Request) -> Result<Self> {
        Self::plan_sweep_on(sweep, request, None)
    }

    fn plan_sweep_on(mut sweep: Sweep, request: &Request, simulation: Option<Simulation>) -> Result<Self> {
        if let (Some(number), TransportKind::Threads) = (request.ranks_per_node, sweep.launch.transport) {
            return Err(Error::input(
                format!(
                    "--ranks-per-node {number} does not apply: the ranks of this sweep are threads on this machine"
                ),
                "remove it, or choose a sweep with transport = \"mpi\"",
            ));
        }
        let site = if request.is_job { Site::default() } else { Site::load()? };
        let worker_of_site = || site.worker(sweep.launch.launcher).map(|(worker, _)| worker.to_owned());
        let program = (request.worker.clone())
            .or_else(|| sweep.launch.worker.clone())
            .or_else(|| worker_of_site().filter(|_| request.worker_info.is_none()));
        let (worker, worker_info) = worker::find(program.as_deref(), request.worker_info.as_deref(), &sweep)?;
        let ranks_per_node_asked = request.ranks_per_node.map(|ranks| ranks as usize).or(sweep.launch.ranks_per_node);
        let default_folder = || match &simulation {
            Some(simulation) => simulated::default_folder(&sweep.name, simulation),
            None => Path::new("results").join(&sweep.name),
        };
        let folder = request.out.clone().unwrap_or_else(default_folder);
        if let Some(each_node) = &request.each_node {
            each_node.apply(&mut sweep, ranks_per_node_asked, Some(folder.as_path()).filter(|_| !request.is_job))?;
        }
        let (hosts, ranks_per_node) = choose_hosts(&sweep, request, ranks_per_node_asked)?;
        let system = (request.submit.as_ref(), &site.file.submit.system);
        let system = if let (Some(""), Some(system)) = (system.0.map(String::as_str), system.1) {
            Some(system)
        } else {
            system.0
        };
        let context = Context {
            transport: sweep.launch.transport,
            launcher: sweep.launch.launcher,
            ranks_per_node,
            place: sweep.launch.place,
            machine: match &simulation {
                Some(simulation) => simulation.card.name.clone(),
                None => machine_name(
                    (request.machine.as_deref(), site.file.machine.as_deref()),
                    system.map(String::as_str),
                    sweep.launch.submit.as_ref(),
                    &folder,
                ),
            },
            build: worker_info.build.fingerprint.clone(),
            builds: worker_info.build.families.clone(),
            library: worker_info
                .mpi_library
                .clone()
                .filter(|_| sweep.launch.transport == TransportKind::Mpi)
                .unwrap_or_default(),
            simulation,
        };
        let plan = Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, sweep.seed)?;
        check_host_count(&plan, &hosts)?;
        check_path(&folder)?;
        let each_node = request.each_node.clone();
        let machine = Machine::detect();
        Ok(Self { sweep, plan, worker, worker_info, folder, hosts, machine, sized_for: None, site, each_node })
    }

    /// Returns the plan without the nodes that an earlier command measured and this one does not request.
    pub fn wanted_plan(&self) -> Plan {
        let mut plan = self.plan.clone();
        if let Some(each_node) = &self.each_node {
            plan.entries.retain(|entry| entry.point.node().is_some_and(|node| each_node.contains(node)));
        }
        plan
    }

    /// Describes the result folder if it holds another sweep: one without a common point, or one with another name and other
    /// points.
    ///
    /// # Errors
    /// If its plan cannot be read.
    pub fn other_sweep(&self) -> Result<Option<String>> {
        let folder = Folder { path: self.folder.clone() };
        let Some(planned) = folder.planned_points()?.filter(|points| !points.is_empty()) else { return Ok(None) };
        let name = Manifest::read(&folder).map(|manifest| manifest.name);
        let labels: HashSet<String> = self.sweep.points.iter().map(Point::label).collect();
        let common_points = planned.iter().filter(|point| labels.contains(&point.label())).count();
        let is_same = common_points == planned.len() && common_points == labels.len();
        let is_renamed = name.as_ref().is_ok_and(|name| *name != self.sweep.name) && !is_same;
        Ok((common_points == 0 || is_renamed).then(|| {
            let name = name.map_or_else(|_| "whose name cannot be read".into(), |name| format!("\"{name}\""));
            format!(
                "{name}: it has {}, {common_points} of them in \"{}\"",
                plural(planned.len(), "point"),
                self.sweep.name
            )
        }))
    }

    /// Checks that the result folder does not hold another sweep's result or an imported one, or moves that result aside.
    ///
    /// # Errors
    /// If it holds such a result and `replace` is false, or if that result cannot be moved.
    pub fn check_result_folder(&self, replace: bool) -> Result<()> {
        let imported =
            Manifest::read(&Folder { path: self.folder.clone() }).ok().and_then(|manifest| manifest.imported);
        let contents = match (imported, self.other_sweep()?) {
            (Some(import), _) => format!("a result {}, which cannot be measured into", import.label()),
            (None, Some(other)) => format!("the result of another sweep, {other}"),
            (None, None) => return Ok(()),
        };
        let path = self.folder.display();
        if !replace {
            return Err(Error::input(
                format!("{path} holds {contents}"),
                format!(
                    "choose another folder with --out, or start afresh with --replace, which keeps the other result as {path}.1"
                ),
            ));
        }
        let folder = Folder { path: self.folder.clone() };
        let moved_to = folder.move_aside()?;
        note(&format!("note: the earlier result is now {}", moved_to.display()));
        Ok(())
    }

    /// Returns a warning if ranks of MPICH share hardware threads.
    pub fn oversubscription_warning(&self) -> Option<String> {
        let ranks = self.plan.entries.iter().map(|entry| entry.point.ranks).max()?;
        cost::spins_oversubscribed(&self.plan.context, ranks).then(|| {
            format!(
                "up to {ranks} ranks of MPICH share {} of this machine. They do not yield their core while they wait, so every \
                 barrier takes milliseconds; use fewer ranks, or Open MPI, whose ranks yield",
                plural(Hardware::this_machine().hardware_threads(), "hardware thread"),
            )
        })
    }

    /// Checks that this machine has the memory and the NUMA nodes of all points, unless ranks may run on other machines.
    pub fn check_machine(&self) -> Result<()> {
        let machine = LocalMachine::detect();
        if machine.nodes > 1 || self.plan.context.launcher.remote {
            return Ok(());
        }
        self.check_numa_nodes()?;
        let (bytes, ranks) = largest_memory(&self.plan);
        let hardware = Hardware::this_machine();
        let memory = hardware.usable_memory_bytes().unwrap_or(u64::MAX);
        if bytes <= memory / 10 * 9 {
            return Ok(());
        }
        let subject = if ranks == 1 { "one rank needs".into() } else { format!("{ranks} ranks need a total of") };
        let (bytes, memory) = (units::bytes(bytes as f64), units::bytes(memory as f64));
        let owner = match hardware.memory_limit_bytes.is_some_and(|limit| Some(limit) < hardware.memory_bytes) {
            true => "the control group of this process (of a container or a job)",
            false => "this machine",
        };
        Err(Error::input(
            format!("{}: {subject} {bytes}, but {owner} has {memory}", self.sweep.path.display()),
            "reduce M, the number of ranks, or the index arrays (I, N)",
        ))
    }

    fn check_numa_nodes(&self) -> Result<()> {
        let Machine { numa_cores, memory_nodes, .. } = Machine::detect();
        let core_nodes = numa_cores.into_keys().collect();
        for (name, subject, nodes) in [("memory_node", "memory", memory_nodes), ("core_node", "cores", core_nodes)] {
            let node_of = |entry: &Entry| Some(entry.point.params.get(name)?.as_f64()? as usize);
            let mut points = self.plan.entries.iter().filter_map(node_of).filter(|_| !nodes.is_empty());
            if let Some(node) = points.find(|node| !nodes.contains(node)) {
                let list: Vec<String> = nodes.iter().map(usize::to_string).collect();
                return Err(Error::input(
                    format!(
                        "{}: {name} = {node}: this process may use {subject} of NUMA node {} only",
                        self.sweep.path.display(),
                        list.join(", ")
                    ),
                    format!("name only these nodes, or write {name} = \"all\" in [axes]"),
                ));
            }
        }
        Ok(())
    }

    /// Writes the plan into the result folder before the sweep runs.
    pub fn write_plan(&self, folder: &Folder) -> Result<()> {
        folder.replace_text(&folder.sweep(), &self.sweep.text)?;
        let mut lines = String::new();
        for entry in &self.plan.entries {
            lines.push_str(&serde_json::to_string(entry).map_err(|e| Error::internal(e.to_string()))?);
            lines.push('\n');
        }
        folder.replace_text(&folder.points(), &lines)?;
        self.manifest().with_records(&folder.outcomes()?).write(folder)
    }

    /// Returns the manifest of the result without its launches.
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
            command: command_words(),
            driver: provenance::build(),
            driver_host: Host {
                last_cache_seen_bytes: self.machine.last_cache_seen.or_else(seen_cache::seen_bytes),
                ..provenance::host()
            },
            worker: self.worker_info.build.clone(),
            unix_seconds: unix_seconds(),
            samples: BTreeMap::new(),
            launches: Vec::new(),
            sized_for: self.sized_for.clone(),
            simulated: simulated::record(&self.plan),
            imported: None,
            compaction: None,
        }
    }

    /// Writes the contents of the journals into the manifest and the table.
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

/// Checks that the folder's path is valid UTF-8, because ranks get it as an argument.
fn check_path(folder: &Path) -> Result<()> {
    match std::path::absolute(folder) {
        Ok(path) if path.to_str().is_none() => Err(Error::input(
            format!("the path of the result folder {} is not UTF-8", path.display()),
            "choose another folder with --out",
        )),
        _ => Ok(()),
    }
}
