//! `flux`: `flux run` of the Flux framework, in an instance or a job of its own.
//!
//! Its options are those of its manual, flux-run(1). It passes on the whole environment. It has not been run on such a machine.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;

// A job that was started by `flux batch` or `flux alloc` is an instance, whose id in the one around it this tells.
pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "flux",
    summary: "flux run of the Flux framework, in an allocation or waiting for one",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: Some("FLUX_ENCLOSING_ID"),
    takes_command: false,
    make: |_| Ok(Box::new(Flux)),
};

pub struct Flux;

impl Launcher for Flux {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        vec!["flux"]
    }

    fn install(&self) -> &'static str {
        "run this where Flux is installed and an instance is running, or choose another launcher"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), "run".into()];
        let nodes = job.nodes.or(job.ranks_per_node.map(|each| job.ranks.div_ceil(each.max(1))));
        if let Some(nodes) = nodes {
            argv.push(format!("--nodes={nodes}"));
        }
        match (job.fit(), job.ranks_per_node) {
            // More ranks than cores: the nodes are asked for whole, and ranks are counted by node.
            (Fit::HardwareThreads | Fit::Oversubscribed, Some(each)) => {
                argv.extend([
                    format!("--tasks-per-node={each}"),
                    "--exclusive".into(),
                    "--setopt=cpu-affinity=off".into(),
                ]);
            }
            (fit, _) => {
                let binding = if fit == Fit::Cores { "per-task" } else { "off" };
                argv.extend([format!("--ntasks={}", job.ranks), "--cores-per-task=1".into()]);
                argv.push(format!("--setopt=cpu-affinity={binding}"));
            }
        }
        argv.extend(job.host_arguments(self));
        // One rank's end is the launch's.
        argv.push("--setopt=exit-on-error".into());
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }

    fn hosts(&self, hosts: &[String], _: usize) -> Option<Vec<String>> {
        Some(vec![format!("--requires=hosts:{}", hosts.join(","))])
    }
}
