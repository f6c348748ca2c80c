//! Launchers: the programs that start a worker on its ranks.
//!
//! Most launchers are TOML files in `launch/templates/` with a line in [`registry`]. A launcher whose behaviour no [`template`]
//! can express is a Rust file. A command line is a pure function of the job, and no shell interprets it.

pub mod allocation;
pub mod causes;
pub mod custom;
pub mod hosts;
pub mod local;
pub mod mpi;
pub mod openmpi;
pub mod registry;
pub mod srun;
pub mod template;

pub use hosts::HostsSource;
pub use registry::{find, launchers_for, list_ids};

use apexmap_base::error::{Error, Result};
use apexmap_base::programs::{find_program, is_program};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::{Hardware, PlacementOrder};
use serde::{Deserialize, Serialize, Serializer};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fmt};

pub struct LauncherEntry {
    pub id: &'static str,
    pub summary: String,
    pub transport: TransportKind,
    /// Whether ranks may start on nodes that this process knows nothing about.
    pub remote: bool,
    /// The environment variable that is set inside an allocation. Outside one, each launch waits in the queue.
    pub allocation: Option<String>,
    /// Whether the launcher requires the sweep's `command`, which the others reject.
    pub takes_command: bool,
    /// Creates the launcher from the sweep's `command` (empty for launchers without one).
    pub make: Box<Make>,
}

type Make = dyn Fn(&[String]) -> Result<Box<dyn Launcher>> + Send + Sync;

impl LauncherEntry {
    /// A launcher on this machine, without a command in the sweep.
    fn new(
        id: &'static str,
        summary: impl Into<String>,
        transport: TransportKind,
        make: impl Fn(&[String]) -> Result<Box<dyn Launcher>> + Send + Sync + 'static,
    ) -> Self {
        let (summary, make) = (summary.into(), Box::new(make));
        Self { id, summary, transport, remote: false, allocation: None, takes_command: false, make }
    }

    /// Whether each launch will be a separate job that waits in the queue.
    pub fn waits_in_queue(&self) -> bool {
        self.allocation.as_ref().is_some_and(|variable| env::var_os(variable).is_none())
    }
}

impl PartialEq for LauncherEntry {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for LauncherEntry {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl Serialize for LauncherEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

/// A program with its arguments and additional environment variables. No shell interprets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchJob {
    /// The launcher's program, as [`check`] returned it.
    pub program: String,
    pub worker: PathBuf,
    pub arguments: Vec<String>,
    pub ranks: usize,
    pub nodes: Option<usize>,
    /// Ranks per node; the launcher's default if absent.
    pub ranks_per_node: Option<usize>,
    /// Hosts to place ranks on, in this order; the launcher's default if empty.
    pub hosts: Vec<String>,
    /// One of the launcher's [`places`](Launcher::places), or its default.
    pub place: Option<PlacementOrder>,
    /// Names of environment variables that change how messages are sent. Ranks on all nodes must get their values.
    pub variables: Vec<String>,
    pub machine: LocalMachine,
}

impl LaunchJob {
    fn worker_line(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.worker.to_string_lossy().into_owned()).chain(self.arguments.iter().cloned())
    }

    /// The hosts that this launch needs, and the ranks on each.
    fn used_hosts(&self) -> (&[String], usize) {
        let ranks_per_node = self.ranks_per_node.unwrap_or(1).max(1);
        (&self.hosts[..self.ranks.div_ceil(ranks_per_node).min(self.hosts.len())], ranks_per_node)
    }

    /// How the ranks of the fullest node fit, assuming that all nodes are like this one.
    fn fit(&self) -> Fit {
        let ranks = self.ranks_per_node.unwrap_or(self.ranks.div_ceil(self.machine.nodes.max(1)));
        match () {
            // With `smt`, ranks share cores even if there are enough.
            () if ranks <= self.machine.cores && self.place != Some(PlacementOrder::Smt) => Fit::Cores,
            () if ranks <= self.machine.hardware_threads => Fit::HardwareThreads,
            () => Fit::Oversubscribed,
        }
    }
}

/// The machine and allocation from which a launcher starts ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMachine {
    /// Cores, hardware threads and packages of this machine that this process may use.
    pub cores: usize,
    pub hardware_threads: usize,
    pub packages: usize,
    /// Nodes of the allocation that this process runs in; 1 without an allocation.
    pub nodes: usize,
    /// Whether this process runs in an allocation with a known number of nodes.
    pub allocated: bool,
    pub root: bool,
}

impl LocalMachine {
    pub fn detect() -> Self {
        let hardware = Hardware::this_machine();
        let nodes = allocation::count_nodes(|name| env::var(name).ok());
        Self {
            cores: hardware.cores_or_threads(),
            hardware_threads: hardware.hardware_threads(),
            packages: hardware.packages(),
            nodes: nodes.unwrap_or(1),
            allocated: nodes.is_some(),
            root: nix::unistd::geteuid().is_root(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fit {
    Cores,
    HardwareThreads,
    #[serde(rename = "shared")]
    Oversubscribed,
}

pub trait Launcher {
    fn id(&self) -> &'static str;
    /// The launcher's possible programs; the first on the PATH is used. None if the launcher starts the worker directly.
    fn programs(&self) -> Vec<&str> {
        Vec::new()
    }
    fn install(&self) -> &str {
        ""
    }
    fn command(&self, job: &LaunchJob) -> CommandLine;
    fn takes_hosts(&self) -> bool {
        false
    }
    /// The orders of cores on a node that the launcher supports.
    fn places(&self) -> Vec<PlacementOrder> {
        Vec::new()
    }
    /// The variable to set for workers of this MPI library if neither the environment nor the machine's settings choose one.
    fn choose_variable(&self, _library: &str) -> Option<(String, String)> {
        None
    }
    /// Describes what this machine offers to workers of this MPI library, for errors of launches that started no world of ranks.
    fn describe_plugins(&self, _library: &str) -> Option<String> {
        None
    }
}

/// Checks, before any launch, that the worker and the launcher are installed. Returns the program on the PATH that starts the ranks.
pub fn check(launcher: &dyn Launcher, worker: &Path, search_path: &OsStr) -> Result<String> {
    check_worker(worker)?;
    let programs = launcher.programs();
    if programs.is_empty() {
        let worker = worker.to_str().ok_or_else(|| {
            let message = format!("the path of the worker {} is not UTF-8", worker.display());
            Error::environment(message, "move the worker to a path that is valid UTF-8")
        })?;
        return Ok(worker.to_owned());
    }
    match programs.iter().find(|program| find_program(program, search_path).is_some()) {
        Some(program) => Ok((*program).to_owned()),
        None => Err(Error::environment(
            format!("launcher \"{}\" needs {}, which is not on the PATH", launcher.id(), programs.join(" or ")),
            launcher.install(),
        )),
    }
}

pub fn check_worker(worker: &Path) -> Result<()> {
    if is_program(worker) {
        return Ok(());
    }
    let fault = if worker.exists() { "is not an executable file" } else { "does not exist" };
    Err(Error::environment(
        format!("the worker {} {fault}", worker.display()),
        "name a worker; build one with MPI: cargo build --release -p apexmap-measure --features mpi",
    ))
}
