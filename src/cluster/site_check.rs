//! Tests the settings of a site file: the workers start, their MPI is that of the launcher, and compute nodes can see the files.

use crate::cluster::Cluster;
use crate::jobs::mpi_check::{self, Comparison};
use crate::site::{AccountRule, Site, SiteFile};
use apexmap_base::error::{ErrorKind, Result};
use apexmap_measure::comm::TransportKind;
use apexmap_run::campaign::{Request, Surroundings, starter::Starter, trial, trust, worker};
use apexmap_run::drive::plan::Plan;
use apexmap_run::launch::mpi::{Mpi, short_name};
use apexmap_run::launch::{self, LauncherEntry, srun};
use apexmap_run::sweep::{self, Machine, submit_table::SubmitTable};
use nix::sys::statfs::statfs;
use std::path::Path;
use std::process::Command;

pub struct SiteTest {
    pub subject: String,
    pub outcome: Outcome,
}

pub enum Outcome {
    Passed(String),
    /// It cannot be decided here.
    Open(String),
    Failed(String),
}

type Report<'a> = &'a mut dyn FnMut(SiteTest) -> Result<()>;

/// Tests each worker of the site file with its launchers, and the file systems of the workers and of `out`, the folder of results.
pub fn check(site: &Site, out: &Path, interrupted: &dyn Fn() -> Result<()>, report: Report) -> Result<()> {
    let options = job_options(site)?;
    trust::ask_about_site(&Cluster { site: site.clone(), ..Cluster::default() }.settings())?;
    for (key, worker) in &site.file.workers {
        let subject = format!("workers.{key}");
        let described = worker::query_info(worker, worker::QUERY_TIMEOUT);
        let info = match described.and_then(|info| worker::check_info(worker, &info, TransportKind::Mpi).map(|()| info))
        {
            Ok(info) => info,
            Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
            Err(error) => {
                report(SiteTest { subject, outcome: Outcome::Failed(error.message) })?;
                continue;
            }
        };
        let library = info.mpi_library.clone().unwrap_or_default();
        let library_name = short_name(&library);
        let text = format!("{} starts; it is built for {library_name}", worker.display());
        report(SiteTest { subject: subject.clone(), outcome: Outcome::Passed(text) })?;
        report(SiteTest { subject: format!("{subject}, file system"), outcome: judge_file_system(worker) })?;
        for launcher in launch::launchers_for(TransportKind::Mpi).filter(|launcher| is_tried(launcher, key, &library)) {
            let outcome = try_launcher(launcher, worker, &library, out, interrupted)?;
            report(SiteTest { subject: format!("{subject}, launcher {}", launcher.id), outcome })?;
            let outcome = match mpi_check::compare(launcher, worker, &library, &options)? {
                Comparison::Fits(text) => Outcome::Passed(text),
                Comparison::Unknown(text) => Outcome::Open(text),
                Comparison::Differs { finding, help } => Outcome::Failed(format!("{finding}; {help}")),
            };
            report(SiteTest { subject: format!("{subject}, MPI of jobs with {}", launcher.id), outcome })?;
        }
    }
    report(SiteTest { subject: format!("folder {}", out.display()), outcome: judge_file_system(out) })
}

/// For users without flags and without an account.
fn job_options(site: &Site) -> Result<SubmitTable> {
    let account = AccountRule::default();
    Site { file: SiteFile { account, ..site.file.clone() }, ..site.clone() }.fill_options(SubmitTable::default())
}

/// The key `mpi` applies to launchers that are installed and not of another MPI.
fn is_tried(launcher: &LauncherEntry, key: &str, library: &str) -> bool {
    let is_of_library = match launcher.id {
        "openmpi" => library.contains("Open MPI"),
        "mpich" => library.contains("MPICH"),
        _ => !launcher.takes_command && !belongs_to_library(launcher),
    };
    key == launcher.id || key == "mpi" && is_of_library && is_installed(launcher)
}

/// PALS and Open MPI both have an `mpiexec`.
fn belongs_to_library(launcher: &LauncherEntry) -> bool {
    let Ok(starter) = (launcher.make)(&[]) else { return false };
    starter.programs().iter().any(|program| {
        let mut command = Command::new(program);
        command.arg("--version");
        let version = worker::read_output(command, worker::QUERY_TIMEOUT);
        version.is_ok_and(|version| Mpi::parse(&String::from_utf8_lossy(&version)).is_some())
    })
}

fn is_installed(launcher: &LauncherEntry) -> bool {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let this_program = std::env::current_exe().unwrap_or_default();
    (launcher.make)(&[]).and_then(|launcher| launch::check(launcher.as_ref(), &this_program, &search_path)).is_ok()
}

/// Starts the worker on two ranks, unless each launch waits in a queue.
fn try_launcher(
    launcher: &'static LauncherEntry,
    worker: &Path,
    library: &str,
    out: &Path,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<Outcome> {
    if launcher.waits_in_queue() {
        let plugins = srun::describe_plugins(library).filter(|_| launcher.id == "srun");
        let plugins = plugins.map_or(String::new(), |text| format!("; {text}"));
        return Ok(Outcome::Open(format!("run this command in an allocation to try the launcher{plugins}")));
    }
    let try_ranks = || {
        let text = format!(
            "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\n[launch]\ntransport = \"mpi\"\nlauncher = \"{}\"\n\
             preflight = \"0 s\"\n[repeat]\nmin = 1\n",
            launcher.id
        );
        let sweep = sweep::parse(&text, Path::new("site-check.toml"), Machine::detect())?;
        let size = sweep.points[0].launch_size();
        let request =
            Request { worker: Some(worker.to_owned()), out: Some(out.join("site-check")), ..Request::default() };
        let campaign = Cluster::load()?.planner(&request).plan_sweep(sweep)?;
        trial::carry_out(&campaign, size, &Starter::check(&campaign)?, &|_: &Plan| Box::new(()), interrupted)
    };
    match try_ranks() {
        Ok(trial) => Ok(Outcome::Passed(format!("ranks {}", trial::describe_ranks(&trial.launch)))),
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => Err(error),
        Err(error) => Ok(Outcome::Failed(format!("{}; {}", error.message, error.help))),
    }
}

/// Numbers of file systems (linux/magic.h and the manual of statfs), and their names.
const SHARED_FILE_SYSTEMS: [(i128, &str); 12] = [
    (0x6969, "NFS"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x00C3_6400, "Ceph"),
    (0xAAD7_AAEA, "PanFS"),
    (0x2003_0528, "OrangeFS"),
    (0x5346_414F, "AFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
];

fn judge_file_system(path: &Path) -> Outcome {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let number = match statfs(existing) {
        // The type of the number differs between C libraries.
        Ok(state) => i128::from(state.filesystem_type().0) & 0xFFFF_FFFF,
        Err(error) => return Outcome::Failed(format!("cannot read its file system: {error}")),
    };
    match SHARED_FILE_SYSTEMS.iter().find(|(kind, _)| *kind == number) {
        Some((_, name)) => Outcome::Passed(format!("on {name}, which is shared between nodes")),
        None => Outcome::Open(
            "on a file system that is not known to be shared between nodes; check that compute nodes see the same files".into(),
        ),
    }
}
