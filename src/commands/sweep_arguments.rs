//! Arguments that `run`, `plan` and `try` share: the sweep, the worker and the hosts.

use apexmap_run::campaign::Request;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Default)]
pub struct SweepArguments {
    /// A sweep file (TOML), or the name of a ready sweep (see apexmap sweeps) [default: quickstart]
    pub sweep: Option<PathBuf>,
    /// Result folder [default: results/NAME, NAME being the sweep's]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Worker program to start on the ranks, such as a build for the cluster's MPI [default: this program]
    #[arg(long, value_name = "PROGRAM")]
    pub worker: Option<PathBuf>,
    /// Name of this machine in results [default: in Slurm jobs and allocations the cluster's name, otherwise the host's]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Ranks on each node of a cluster, for the launcher and batch jobs [default: the sweep's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_node: Option<u32>,
    /// Hosts for the ranks, such as node1,node2, or with their ranks node1:4 [default: the sweep's, otherwise the launcher's
    /// choice]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// File that lists the hosts, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    pub hostfile: Option<PathBuf>,
    /// Simulate the ranks in virtual time on this machine: a published machine such as red-storm, or a card file [default result
    /// folder: results/NAME-MACHINE]
    #[arg(long, value_name = "CARD", conflicts_with_all = ["hosts", "hostfile", "machine"])]
    pub simulate: Option<PathBuf>,
}

impl SweepArguments {
    pub fn request(&self) -> Request {
        Request {
            sweep: self.sweep.clone(),
            out: self.out.clone(),
            worker: self.worker.clone(),
            machine: self.machine.clone(),
            ranks_per_node: self.ranks_per_node,
            hosts: self.hosts.clone(),
            hostfile: self.hostfile.clone(),
            simulate: self.simulate.clone(),
            ..Request::default()
        }
    }
}
