//! `srun`: Slurm, inside an allocation or waiting for one.
//!
//! Which of its MPI plugins to use is the cluster's default or `SLURM_MPI_TYPE`, which srun itself reads: `pmix` for
//! Open MPI, `pmi2` for MPICH. Where neither names one, that of the worker's MPI is chosen. Under the wrong one the worker refuses to
//! work, and says so.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;
use std::env;
use std::process::{Command, Stdio};

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "srun",
    summary: "srun of Slurm, in an allocation or waiting for one",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: Some("SLURM_JOB_ID"),
    takes_command: false,
    make: |_| Ok(Box::new(Srun)),
};

pub struct Srun;

impl Launcher for Srun {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        vec!["srun"]
    }

    fn install(&self) -> &'static str {
        "run this where Slurm's srun is, such as a login node, or choose another launcher"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), format!("--ntasks={}", job.ranks)];
        argv.extend(job.nodes.map(|nodes| format!("--nodes={nodes}")));
        argv.extend(job.ranks_per_node.map(|ranks| format!("--ntasks-per-node={ranks}")));
        argv.extend(job.host_arguments(self));
        let order = job.place.filter(|_| job.fit() == Fit::Cores).map(|place| match place {
            Place::Spread => "cyclic",
            Place::Compact | Place::Smt => "block",
        });
        argv.extend(order.into_iter().flat_map(|by| ["--cpu-bind=cores".into(), format!("--distribution=block:{by}")]));
        // One rank's end is the launch's: the others would wait for it until the time limit.
        argv.extend(["--kill-on-bad-exit=1".into(), "--input=none".into()]);
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }

    fn hosts(&self, hosts: &[String], _: usize) -> Option<Vec<String>> {
        Some(vec![format!("--nodelist={}", hosts.join(","))])
    }

    fn places(&self) -> &'static [Place] {
        &[Place::Spread, Place::Compact]
    }

    fn chosen(&self, library: &str) -> Option<(String, String)> {
        let settings = || said("scontrol", &["show", "config"]);
        if env::var_os(TYPE).is_some() || default_type(&settings()?)? != "none" {
            return None;
        }
        let chosen = fitting(library, &types(&said("srun", &["--mpi=list"])?))?;
        Some((TYPE.to_owned(), chosen))
    }

    fn offers(&self, library: &str) -> Option<String> {
        let types = types(&said("srun", &["--mpi=list"])?);
        let list = types.join(", ");
        let used = match env::var(TYPE) {
            Ok(used) => format!("{TYPE} is {used}"),
            Err(_) => format!("{TYPE} is not set"),
        };
        Some(match fitting(library, &types) {
            Some(fit) => format!("set {TYPE}={fit} for {library}: {used}, and srun offers {list}"),
            None => format!("{used}, and srun offers {list}, none of which is known to go with {library}"),
        })
    }
}

/// By which srun is told of the plugin.
const TYPE: &str = "SLURM_MPI_TYPE";

/// What a program of Slurm prints; srun of some versions lists its plugins on standard error.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    output.status.success().then_some(text)
}

/// The plugins that `srun --mpi=list` names.
pub fn types(list: &str) -> Vec<String> {
    // "MPI plugin types are...", then one on each line; older ones begin lines with "srun: ".
    let words = list.lines().map(|line| line.trim().trim_start_matches("srun:").trim());
    words.filter(|word| !word.is_empty() && !word.contains(char::is_whitespace)).map(str::to_owned).collect()
}

/// The cluster's default, of what `scontrol show config` prints.
pub fn default_type(settings: &str) -> Option<&str> {
    let value = settings.lines().find_map(|line| line.trim().strip_prefix("MpiDefault"))?;
    Some(value.trim_start_matches([' ', '=']).trim())
}

/// The plugin for an MPI library, of those that there are.
pub fn fitting(library: &str, types: &[String]) -> Option<String> {
    let wanted: &[&str] = match library {
        _ if library.contains("Open MPI") => &["pmix"],
        _ if library.contains("CRAY MPICH") => &["cray_shasta", "pmi2"],
        _ if library.contains("MPICH") || library.contains("MVAPICH") => &["pmi2"],
        _ => &[],
    };
    wanted.iter().find(|name| types.iter().any(|offered| offered == *name)).map(|name| (*name).to_owned())
}
