//! `openmpi`: mpirun of Open MPI, alone or in an allocation that it recognises.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;

pub struct OpenMpi;

pub fn entry() -> LauncherEntry {
    LauncherEntry::new(OpenMpi.id(), "mpirun of Open MPI", TransportKind::Mpi, |_| Ok(Box::new(OpenMpi)))
}

impl Launcher for OpenMpi {
    fn id(&self) -> &'static str {
        "openmpi"
    }

    /// Debian's name is first: there, `mpirun` is the MPI that was chosen last.
    fn programs(&self) -> Vec<&str> {
        vec!["mpirun.openmpi", "mpirun"]
    }

    fn install(&self) -> &str {
        "install Open MPI (Debian, Ubuntu: apt-get install openmpi-bin libopenmpi-dev; clusters: module load openmpi)"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let mut argv = vec![job.program.clone(), "-n".into(), job.ranks.to_string(), "--stdin".into(), "none".into()];
        argv.extend(mapping_options(job));
        let (hosts, ranks_per_node) = job.used_hosts();
        if !hosts.is_empty() {
            let slots: Vec<String> = hosts.iter().map(|host| format!("{host}:{ranks_per_node}")).collect();
            argv.extend(["--host".into(), slots.join(",")]);
        }
        // Without --use-hwthread-cpus, mpirun counts cores as slots, not hardware threads.
        let (binding, settings): (&[&str], &[(&str, &str)]) = match job.fit() {
            Fit::Cores => (&["--bind-to", "core"], &[]),
            Fit::HardwareThreads => (&["--use-hwthread-cpus", "--bind-to", "hwthread"], &[]),
            // Waiting ranks must yield. Without this, a barrier takes milliseconds instead of microseconds.
            Fit::Oversubscribed => (
                &["--bind-to", "none"],
                &[("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("OMPI_MCA_mpi_yield_when_idle", "1")],
            ),
        };
        argv.extend(binding.iter().map(|argument| argument.to_string()));
        // mpirun passes only its own variables, OMPI_*, to other nodes.
        let exported = job.variables.iter().filter(|name| !name.starts_with("OMPI_"));
        argv.extend(exported.flat_map(|name| ["-x".into(), name.clone()]));
        argv.extend(job.worker_line());
        // Open MPI refuses to run as root unless both variables are set.
        let root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|name| (name, "1"));
        let env = settings.iter().copied().chain(root.into_iter().filter(|_| job.machine.root));
        CommandLine { argv, env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    fn takes_hosts(&self) -> bool {
        true
    }

    fn places(&self) -> Vec<PlacementOrder> {
        PlacementOrder::ALL.to_vec()
    }
}

/// The options that map ranks to nodes, and to cores if each rank has one.
fn mapping_options(job: &LaunchJob) -> Vec<String> {
    // Ranks that share hardware threads are not bound, so an order of cores has no effect.
    let place = job.place.filter(|_| job.fit() != Fit::Oversubscribed);
    let packages = job.machine.packages;
    let words: Vec<String> = match (place, job.ranks_per_node) {
        (Some(PlacementOrder::Spread), Some(ranks)) if ranks % packages == 0 => {
            vec![format!("ppr:{}:socket", ranks / packages), "--rank-by".into(), "socket".into()]
        }
        // Ranks take the packages of a node in turn, up to the node's number of slots. mpirun refuses a launch with another
        // number of ranks per node.
        (Some(PlacementOrder::Spread), _) => vec!["socket".into()],
        (_, Some(ranks)) => vec![format!("ppr:{ranks}:node")],
        (Some(PlacementOrder::Compact), None) => vec!["core".into()],
        (Some(PlacementOrder::Smt), None) => vec!["hwthread".into()],
        (None, None) => return Vec::new(),
    };
    [vec!["--map-by".to_owned()], words].concat()
}
