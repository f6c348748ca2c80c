//! `jsrun`: the launcher of IBM's Job Step Manager, under LSF.
//!
//! A resource set for each rank, with a core of its own; where ranks outnumber cores, one for each node, with all its cores. Its
//! options are those of its manual, jsrun(1). It passes on the whole environment. It has not been run on such a machine.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "jsrun",
    summary: "jsrun of IBM machines with LSF, in a job",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: None,
    takes_command: false,
    make: |_| Ok(Box::new(Jsrun)),
};

pub struct Jsrun;

impl Launcher for Jsrun {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        vec!["jsrun"]
    }

    fn install(&self) -> &'static str {
        "run this in a job of LSF on a machine with jsrun, or choose another launcher"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone()];
        let mut add =
            |options: &[(&str, String)]| argv.extend(options.iter().map(|(name, value)| format!("--{name}={value}")));
        let per_node = job.ranks_per_node.unwrap_or(job.ranks.div_ceil(job.here.nodes.max(1)));
        match job.fit() {
            Fit::Cores => {
                add(&[("nrs", job.ranks.to_string()), ("tasks_per_rs", "1".into()), ("cpu_per_rs", "1".into())]);
                add(&job
                    .ranks_per_node
                    .map(|ranks| ("rs_per_host", ranks.to_string()))
                    .into_iter()
                    .collect::<Vec<_>>());
                add(&[("bind", "rs".into())]);
            }
            Fit::HardwareThreads | Fit::Oversubscribed => {
                add(&[("np", job.ranks.to_string()), ("tasks_per_rs", per_node.to_string())]);
                add(&[("rs_per_host", "1".into()), ("cpu_per_rs", "ALL_CPUS".into()), ("bind", "none".into())]);
            }
        }
        // One rank's end is the launch's.
        add(&[("exit_on_error", "1".into())]);
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }
}
