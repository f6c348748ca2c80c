//! What `run`, `plan` and `status` share: a sweep, its worker, its plan and its result folder.

use crate::error::{Error, Result};
use crate::explore::launch::Here;
use crate::explore::sweep::plan::{Context, Plan, WorkerInfo, largest_memory};
use crate::explore::sweep::{self, Sweep};
use crate::provenance;
use crate::units;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sweep that runs when none is named.
const QUICKSTART: &str = "sweeps/quickstart.toml";
const QUICKSTART_TEXT: &str = include_str!("../../../sweeps/quickstart.toml");

#[derive(clap::Args, Clone, Default)]
pub struct SweepArguments {
    /// The sweep to run, a TOML file [default: sweeps/quickstart.toml, of which the program has a copy]
    pub sweep: Option<PathBuf>,
    /// Folder of the result [default: results/ and the sweep's name]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Another build of apexmap to start on the ranks (the other MPI, the cluster's)
    #[arg(long, value_name = "PROGRAM")]
    pub worker: Option<PathBuf>,
    /// What this machine is called in results [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
}

/// Everything known before anything is launched.
pub struct Setup {
    pub sweep: Sweep,
    pub plan: Plan,
    pub worker: PathBuf,
    pub worker_info: WorkerInfo,
    pub folder: PathBuf,
}

impl Setup {
    pub fn new(arguments: &SweepArguments) -> Result<Self> {
        Self::of(read(arguments.sweep.as_deref())?, arguments)
    }

    /// For a sweep that the arguments need not name.
    pub fn of(sweep: Sweep, arguments: &SweepArguments) -> Result<Self> {
        let named = arguments.worker.clone().or_else(|| sweep.launch.worker.clone());
        let (worker, worker_info) = worker(named.as_deref(), &sweep)?;
        let context = Context {
            transport: sweep.launch.transport.name().into(),
            launcher: sweep.launch.launcher.name().into(),
            ranks_per_node: sweep.launch.ranks_per_node,
            machine: arguments.machine.clone().unwrap_or_else(provenance::host_name),
            build: worker_info.build.fingerprint.clone(),
            library: worker_info
                .mpi_library
                .clone()
                .filter(|_| sweep.launch.transport.name() == "mpi")
                .unwrap_or_default(),
        };
        let plan = Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, sweep.seed)?;
        let folder = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&sweep.name));
        Ok(Self { sweep, plan, worker, worker_info, folder })
    }

    /// Refuses what this machine cannot hold; other machines' memory is not known here.
    pub fn check_memory(&self) -> Result<()> {
        let here = Here::look();
        if here.nodes > 1 || matches!(self.plan.context.launcher.as_str(), "srun" | "custom") {
            return Ok(());
        }
        let (bytes, ranks) = largest_memory(&self.plan);
        let memory = provenance::memory_bytes().unwrap_or(u64::MAX);
        if bytes <= memory / 10 * 9 {
            return Ok(());
        }
        let who = if ranks == 1 { "one rank needs".into() } else { format!("{ranks} ranks together need") };
        let (bytes, memory) = (units::bytes(bytes as f64), units::bytes(memory as f64));
        Err(Error::input(
            format!("{}: {who} {bytes}, this machine has {memory}", self.sweep.path.display()),
            "use a smaller M, fewer ranks, or fewer and shorter index arrays (I, N)",
        ))
    }
}

fn read(path: Option<&Path>) -> Result<Sweep> {
    let machine = sweep::Machine::here();
    match path {
        Some(path) => sweep::read(path, machine),
        None if Path::new(QUICKSTART).is_file() => sweep::read(Path::new(QUICKSTART), machine),
        None => sweep::parse(QUICKSTART_TEXT, Path::new(QUICKSTART), machine),
    }
}

/// The program that runs on the ranks, and what it says of itself.
fn worker(named: Option<&Path>, sweep: &Sweep) -> Result<(PathBuf, WorkerInfo)> {
    let (program, info) = match named {
        None => {
            let own = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
            (own, crate::measure::worker::info())
        }
        Some(path) => (path.to_owned(), ask(path)?),
    };
    let transport = sweep.launch.transport.name();
    if !info.transports.iter().any(|known| known == transport) {
        return Err(Error::environment(
            format!("the worker {} has no {transport} transport", program.display()),
            "build one: cargo build --release --no-default-features --features mpi --target-dir target-mpi; then run \
             with --worker target-mpi/release/apexmap",
        ));
    }
    let own = crate::measure::worker::info().build;
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

fn ask(worker: &Path) -> Result<WorkerInfo> {
    let wrong = |cause: String| {
        Error::environment(
            format!("cannot use the worker {}: {cause}", worker.display()),
            "name a build of apexmap that can be started here, with --worker or `worker =` in the sweep",
        )
    };
    let path = if worker.components().count() == 1 { Path::new(".").join(worker) } else { worker.to_owned() };
    let output = Command::new(path).args(["worker", "--info"]).output().map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&output.stdout).map_err(|_| wrong("it does not answer as apexmap does".into()))
}
