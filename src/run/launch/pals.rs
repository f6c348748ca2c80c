//! `pals`: the mpiexec of PALS, which starts ranks on HPE Cray machines under PBS or Slurm.
//!
//! Its options are those of its manual, mpiexec(1). It has not been run on such a machine.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "pals",
    summary: "mpiexec of PALS (HPE Cray), in a job",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: None,
    takes_command: false,
    make: |_| Ok(Box::new(Pals)),
};

pub struct Pals;

impl Launcher for Pals {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        vec!["mpiexec"]
    }

    fn install(&self) -> &'static str {
        "run this in a job where PALS is loaded (module load cray-pals), or choose another launcher"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), "-n".into(), job.ranks.to_string()];
        if let Some(ranks) = job.ranks_per_node {
            argv.extend(["--ppn".into(), ranks.to_string()]);
        }
        argv.extend(job.host_arguments(self));
        let binding = match job.fit() {
            Fit::Cores => "core",
            Fit::HardwareThreads => "thread",
            Fit::Oversubscribed => "none",
        };
        // Sites may have made another choice than to pass on the whole environment.
        argv.extend(["--cpu-bind", binding, "--envall"].map(String::from));
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }

    /// Hosts of the job.
    fn hosts(&self, hosts: &[String], _: usize) -> Option<Vec<String>> {
        Some(vec!["--hosts".into(), hosts.join(",")])
    }
}
