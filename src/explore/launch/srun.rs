//! `srun`: Slurm, inside an allocation or waiting for one.
//!
//! Which of its MPI plugins to use is the cluster's default or `SLURM_MPI_TYPE`, which srun itself reads: `pmix` for
//! Open MPI, `pmi2` for MPICH. Under the wrong one the worker refuses to work, and says so.

use super::{CommandLine, LaunchJob, Launcher, LauncherEntry};
use crate::measure::comm::TransportKind;

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
        // One rank's end is the launch's: the others would wait for it until the time limit.
        argv.extend(["--kill-on-bad-exit=1".into(), "--input=none".into()]);
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }
}
