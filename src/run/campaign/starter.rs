//! Starts the launches of a campaign: holds its launcher and the launcher's program, and measures the missing points.

use super::worker::{QUERY_TIMEOUT, read_output};
use super::{Campaign, Conduct, fallback::Fallback};
use crate::drive::driver::{DriverInputs, Watcher, drive};
use crate::drive::execute::{Ending, LaunchLimits, Processes};
use crate::drive::groups::{NodeTypes, messaging_variables};
use crate::drive::{cost::MIN_SILENCE, faults::FailedPoint, plan::Context};
use crate::launch::mpi::{Family, Mpi};
use crate::launch::{self, CommandLine, LaunchJob, Launcher, LocalMachine, causes::Special};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::{FilesBelow, PlacementOrder};
use apexmap_results::disk::Folder;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// For the end of a launch after its last sample. MPICH 4.0 sometimes hangs in MPI_Finalize after all work is done.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Longest line of a worker in bytes, without the parts that grow with the number of ranks.
const LINE_LIMIT: usize = 1 << 20;

pub struct Starter {
    launcher: Box<dyn Launcher>,
    program: String,
}

impl Starter {
    pub fn find(campaign: &Campaign) -> Result<Self> {
        let launcher = (campaign.sweep.launch.launcher.make)(&campaign.sweep.launch.command)?;
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let program = launch::check(launcher.as_ref(), &campaign.worker, &search_path)?;
        let starter = Self { launcher, program };
        let takes_command = campaign.sweep.launch.launcher.takes_command;
        let has_place = campaign.sweep.launch.command.iter().any(|word| word == "{worker}");
        if campaign.starts_commands() && takes_command && !has_place {
            return Err(Error::input(
                "the command of launcher \"custom\" has no \"{worker}\" as a word of its own, where a program could stand",
                "write {worker} as one word of the command",
            ));
        }
        Ok(starter)
    }

    /// Finds the launcher, and checks memory and nodes before any launch.
    pub fn check(campaign: &Campaign) -> Result<Self> {
        campaign.check_machine()?;
        let starter = Self::find(campaign)?;
        starter.check_family()?;
        check_nodes(campaign)?;
        Ok(starter)
    }

    /// Several MPIs have programs of one name, such as `mpiexec`.
    fn check_family(&self) -> Result<()> {
        let Some(family) = Family::of_launcher(self.launcher.id()) else { return Ok(()) };
        let mut command = Command::new(&self.program);
        command.arg("--version");
        // A launcher that does not describe itself may still start ranks.
        let description = match read_output(command, QUERY_TIMEOUT) {
            Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
            description => description.unwrap_or_default(),
        };
        match Mpi::parse(&String::from_utf8_lossy(&description)) {
            Some(other) if other.family != family => Err(Error::environment(
                format!(
                    "launcher \"{}\" needs another MPI: {} on the PATH is of {other}",
                    self.launcher.id(),
                    self.program
                ),
                self.launcher.install(),
            )),
            _ => Ok(()),
        }
    }

    /// Runs the launches for the missing points. Returns the first point that failed.
    pub fn measure(
        &self,
        campaign: &Campaign,
        folder: &Folder,
        conduct: Conduct,
        watcher: &mut dyn Watcher,
        interrupted: &dyn Fn() -> Result<()>,
    ) -> Result<Option<FailedPoint>> {
        let launcher = &self.launcher;
        let machine = LocalMachine::detect();
        let library = &campaign.plan.context.library;
        let plugin_variable = launcher.choose_variable(library);
        if let Some((name, value)) = &plugin_variable {
            watcher.say(&format!(
                "note: {name}={value} is set for the launches, because the worker is built for {library}"
            ));
        }
        let site_variables = campaign.site.variables();
        let fallback = Fallback::new(campaign, folder)?;
        fallback.note().iter().for_each(|text| watcher.say(text));
        let command = |path: &Path, size: LaunchSize| -> CommandLine {
            let context = &campaign.plan.context;
            let mut job =
                launch_job((context, &campaign.hosts), (&self.program, &campaign.worker), path, size, machine);
            job.variables.extend(site_variables.iter().map(|(name, _)| name.clone()));
            let mut line = if campaign.starts_commands() {
                start_commands(launcher.as_ref(), &job, path)
            } else {
                launcher.command(&job)
            };
            line.env.extend(plugin_variable.clone().into_iter().chain(fallback.variable()));
            line.env.extend(site_variables.clone());
            line
        };
        let limit = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let timeout = campaign.sweep.launch.timeout_seconds;
        let limits = LaunchLimits {
            start: limit(campaign.sweep.launch.start_limit(campaign.plan.context.launcher.waits_in_queue())),
            sample: limit(timeout.unwrap_or(MIN_SILENCE)),
            end: END_LIMIT,
            line: LINE_LIMIT,
        };
        let explain = |ending: &Ending, error: Error| {
            let special = ending.cause.and_then(|cause| cause.special);
            let help = special.and_then(|special| match special {
                Special::LauncherMismatch => Some(format!("{}; {}", launcher.describe_plugins(library)?, error.help)),
                Special::NoWindow => Some(format!("{}; {}", error.help, fallback.advice()?)),
            });
            help.into_iter().fold(error, |error, help| Error { help, ..error })
        };
        let mut inputs = DriverInputs {
            folder,
            executor: &mut Processes(&FilesBelow(Path::new("/"))),
            command: &command,
            limits,
            limits_grow: timeout.is_none(),
            retry_failed: conduct.retry_failed,
            preflight_seconds: campaign.sweep.launch.preflight_seconds,
            ends_if_noisy: conduct.ends_if_noisy,
            remedy: &|ending| fallback.apply_remedy(ending),
            explain: &explain,
            watcher,
            node_types: NodeTypes::default(),
            failed: None,
            interrupted,
        };
        drive(&campaign.plan, &mut inputs)?;
        Ok(inputs.failed)
    }
}

fn check_nodes(campaign: &Campaign) -> Result<()> {
    let machine = LocalMachine::detect();
    let context = &campaign.plan.context;
    let launcher = context.launcher;
    if !launcher.remote || launcher.waits_in_queue() || !machine.allocated {
        return Ok(());
    }
    let nodes_of = |size: LaunchSize| context.node_count(size).map(|nodes| (nodes, size));
    let largest = campaign.plan.by_size().into_keys().filter_map(nodes_of).max_by_key(|(nodes, _)| *nodes);
    match largest {
        Some((nodes, size)) if nodes > machine.nodes => Err(Error::input(
            format!(
                "{}: {size} take {}, but this job has {}",
                campaign.sweep.path.display(),
                plural(nodes, "node"),
                plural(machine.nodes, "node")
            ),
            "request that number of nodes from the batch system, or use fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}

pub fn launch_job(
    (context, hosts): (&Context, &[String]),
    (program, worker): (&str, &Path),
    job: &Path,
    size: LaunchSize,
    machine: LocalMachine,
) -> LaunchJob {
    LaunchJob {
        program: program.to_owned(),
        worker: worker.to_owned(),
        arguments: worker_arguments(job, context.transport, context.place, size.ranks),
        ranks: size.ranks,
        nodes: size.nodes.or(size.node.map(|_| 1)),
        ranks_per_node: size.node.map(|_| size.ranks).or(size.ranks_per_node).or(context.ranks_per_node),
        hosts: size.node.map_or_else(|| hosts.to_vec(), |node| vec![node.to_string()]),
        place: context.place,
        variables: messaging_variables(&[]).into_keys().collect(),
        machine,
    }
}

/// The command line of a worker on this machine that starts each program by the launcher.
fn start_commands(launcher: &dyn Launcher, job: &LaunchJob, path: &Path) -> CommandLine {
    let worker = job.worker.to_string_lossy().into_owned();
    let line = launcher.command(job);
    let words: Vec<&String> = line.argv.iter().take_while(|word| **word != worker).collect();
    let start_with = serde_json::to_string(&words).expect("words are JSON");
    let mut argv = vec![worker];
    argv.extend(worker_arguments(path, TransportKind::Threads, None, 1));
    argv.extend(["--start-with".to_owned(), start_with]);
    CommandLine { argv, env: line.env }
}

fn worker_arguments(job: &Path, transport: TransportKind, place: Option<PlacementOrder>, ranks: usize) -> Vec<String> {
    let (job, ranks) = (job.to_string_lossy().into_owned(), ranks.to_string());
    let mut arguments = vec!["worker", "--job", &job, "--transport", transport.name(), "--ranks", &ranks];
    if let Some(place) = place {
        arguments.extend(["--place", place.name()]);
    }
    arguments.into_iter().map(str::to_owned).collect()
}
