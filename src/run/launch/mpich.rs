//! `mpich`: the mpiexec (Hydra) of MPICH and its relatives.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "mpich",
    summary: "mpiexec (Hydra) of MPICH and MPIs derived from it",
    transport: TransportKind::Mpi,
    remote: false,
    allocation: None,
    takes_command: false,
    make: |_| Ok(Box::new(Mpich)),
};

pub struct Mpich;

impl Launcher for Mpich {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    /// Names that only MPICH uses first.
    fn programs(&self) -> Vec<&str> {
        vec!["mpiexec.mpich", "mpiexec.hydra", "mpiexec"]
    }

    fn install(&self) -> &'static str {
        "install MPICH (Debian, Ubuntu: apt-get install mpich libmpich-dev; clusters: module load mpich)"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), "-n".into(), job.ranks.to_string()];
        if let Some(ranks) = job.ranks_per_node {
            argv.extend(["-ppn".into(), ranks.to_string()]);
        }
        argv.extend(job.host_arguments(self));
        let binding = match job.fit() {
            Fit::Cores => Some("core"),
            Fit::HardwareThreads => Some("hwthread"),
            Fit::Oversubscribed => None,
        };
        argv.extend(binding.into_iter().flat_map(|to| ["-bind-to".into(), to.into()]));
        let order = job.place.filter(|_| binding.is_some()).map(|place| match place {
            Place::Spread => "socket",
            Place::Compact => "core",
            Place::Smt => "hwthread",
        });
        argv.extend(order.into_iter().flat_map(|by| ["-map-by".into(), by.into()]));
        argv.extend(job.worker_line());
        CommandLine { argv, env: Vec::new() }
    }

    fn hosts(&self, hosts: &[String], _: usize) -> Option<Vec<String>> {
        Some(vec!["-hosts".into(), hosts.join(",")])
    }

    fn places(&self) -> &'static [Place] {
        &Place::ALL
    }
}
