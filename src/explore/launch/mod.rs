//! Launchers: what starts a worker on its ranks. A launcher is one file and one line in [`ALL`].
//!
//! Command lines are pure functions of the job, and no shell sees them.

mod custom;
mod local;
mod mpich;
mod openmpi;
mod srun;

pub use custom::Custom;
pub use local::Local;
pub use mpich::Mpich;
pub use openmpi::OpenMpi;
pub use srun::Srun;

use crate::error::{Error, Result};
use crate::explore::nearest::suggest;
use crate::explore::sweep::execute::CommandLine;
use crate::provenance;
use nix::unistd::{AccessFlags, access};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The launchers with a command of their own; [`Custom`] takes its command from the sweep.
pub const ALL: &[&dyn Launcher] = &[&Local, &OpenMpi, &Mpich, &Srun];

/// A worker to be started on its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchJob {
    /// What [`check`] returned for the launcher.
    pub program: String,
    pub worker: PathBuf,
    pub arguments: Vec<String>,
    pub ranks: usize,
    /// The launcher's own choice if absent.
    pub ranks_per_node: Option<usize>,
    pub here: Here,
}

impl LaunchJob {
    fn worker_line(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.worker.to_string_lossy().into_owned()).chain(self.arguments.iter().cloned())
    }

    /// The fullest node, taking the other nodes to be like this one.
    fn fit(&self) -> Fit {
        let ranks = self.ranks_per_node.unwrap_or(self.ranks.div_ceil(self.here.nodes.max(1)));
        match () {
            () if ranks <= self.here.cores => Fit::Cores,
            () if ranks <= self.here.processors => Fit::Processors,
            () => Fit::Oversubscribed,
        }
    }
}

/// What launchers have to know about the place from which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// Cores of this machine that this process may use.
    pub cores: usize,
    /// The same in hardware threads.
    pub processors: usize,
    /// Nodes of the allocation that this process runs in; 1 outside one.
    pub nodes: usize,
    pub root: bool,
}

impl Here {
    pub fn look() -> Self {
        let processors = provenance::cores();
        Self {
            cores: processors.div_ceil(provenance::threads_per_core()),
            processors,
            nodes: env::var("SLURM_JOB_NUM_NODES").ok().and_then(|nodes| nodes.parse().ok()).unwrap_or(1),
            root: nix::unistd::geteuid().is_root(),
        }
    }
}

/// How the ranks of a node fit on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// A core for each.
    Cores,
    /// A hardware thread for each.
    Processors,
    /// They have to share.
    Oversubscribed,
}

/// Something that starts ranks.
pub trait Launcher {
    fn id(&self) -> &'static str;
    /// The transport whose ranks it starts.
    fn transport(&self) -> &'static str;
    /// The programs it needs, of which the first that is on the PATH serves; none if it starts the worker itself.
    fn programs(&self) -> Vec<&str>;
    /// What to do if none is there.
    fn install(&self) -> &'static str;
    fn command(&self, job: &LaunchJob) -> CommandLine;
}

/// The launcher with this id; `template` is the command of `custom`, and empty for the others.
pub fn find(id: &str, template: &[String]) -> Result<Box<dyn Launcher>> {
    match id {
        "local" => Ok(Box::new(Local)),
        "openmpi" => Ok(Box::new(OpenMpi)),
        "mpich" => Ok(Box::new(Mpich)),
        "srun" => Ok(Box::new(Srun)),
        "custom" => Ok(Box::new(Custom::new(template.to_vec())?)),
        _ => {
            let known: Vec<_> = ALL.iter().map(|launcher| launcher.id()).chain(["custom"]).collect();
            Err(Error::input(format!("there is no launcher \"{id}\""), suggest(id, &known)))
        }
    }
}

/// Refuses what cannot be launched before anything is: a worker that is no program, a launcher that is not installed.
/// Returns the program that starts the ranks. `search` is the PATH.
pub fn check(launcher: &dyn Launcher, worker: &Path, search: &OsStr) -> Result<String> {
    if !is_program(worker) {
        let what = if worker.exists() { "is not an executable file" } else { "does not exist" };
        return Err(Error::environment(
            format!("the worker {} {what}", worker.display()),
            "name a build of apexmap: `cargo build --release --no-default-features --features mpi` makes one for MPI",
        ));
    }
    let programs = launcher.programs();
    if programs.is_empty() {
        let worker = worker.to_str().ok_or_else(|| {
            let what = format!("the path of the worker {} is not UTF-8", worker.display());
            Error::environment(what, "move the worker to a path that is")
        })?;
        return Ok(worker.to_owned());
    }
    let found = |program: &&str| match program.contains('/') {
        true => is_program(Path::new(program)),
        false => env::split_paths(search).any(|folder| is_program(&folder.join(program))),
    };
    match programs.iter().find(|program| found(program)) {
        Some(program) => Ok((*program).to_owned()),
        None => Err(Error::environment(
            format!("launcher \"{}\" needs {}, which is not on the PATH", launcher.id(), programs.join(" or ")),
            launcher.install(),
        )),
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}
