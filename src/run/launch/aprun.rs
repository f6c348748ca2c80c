//! `aprun`: the launcher of ALPS, on Cray XC and XE machines.
//!
//! Its options are those of its manual, aprun(1). It passes on the whole environment. It has not been run on such a machine.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "aprun",
    summary: "aprun of Cray XC and XE machines, in a job",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: None,
    takes_command: false,
    make: |_| Ok(Box::new(Aprun)),
};

pub struct Aprun;

impl Launcher for Aprun {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        vec!["aprun"]
    }

    fn install(&self) -> &'static str {
        "run this in a job on a machine with ALPS, or choose another launcher"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), "-n".into(), job.ranks.to_string()];
        if let Some(ranks) = job.ranks_per_node {
            argv.extend(["-N".into(), ranks.to_string()]);
        }
        argv.extend(job.host_arguments(self));
        // `-j`: hardware threads of a core that take ranks, 0 for all.
        let binding = match job.fit() {
            Fit::Cores => ["-j", "1", "-cc", "cpu"],
            Fit::HardwareThreads => ["-j", "0", "-cc", "cpu"],
            Fit::Oversubscribed => ["-j", "0", "-cc", "none"],
        };
        argv.extend(binding.map(String::from));
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }

    /// Numbers of nodes, as `xtnodestat` has them.
    fn hosts(&self, hosts: &[String], _: usize) -> Option<Vec<String>> {
        Some(vec!["-L".into(), hosts.join(",")])
    }
}
