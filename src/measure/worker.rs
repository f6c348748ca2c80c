//! The program that a launcher starts on every rank. It runs the points of one job and writes one line per sample.

mod gather;
mod root;
mod schedule;
mod simulated;
pub mod watchdog;

pub use schedule::{Repeat, Schedule};

use crate::comm::arena::Arena;
use crate::comm::simulated::{ComputationCosts, Machine};
use crate::comm::{self, Collectives, Transport, TransportKind, World};
use crate::hardware::PlacementOrder;
use crate::kernels::{self, Kernel};
use crate::numerics::mix::seed;
use crate::observer::Observer;
use crate::on_transport;
use crate::progress;
use crate::provenance;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::provenance::{Build, Placement};
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION};
use apexmap_base::terminal::write_to_driver;
use gather::{Places, broadcast_job, gather_facts, gather_memory, gather_places};
use root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The driver writes it as a JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub launch: String,
    pub block: u32,
    pub launcher: String,
    pub transport: String,
    pub ranks: usize,
    /// For the order of the points.
    pub seed: u64,
    pub repeat: Repeat,
    /// The driver asks for each run with a line on standard input: the position of its task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_request: bool,
    /// This launch ends then, while points have no sample; after `repeat.budget_seconds` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round_seconds: Option<f64>,
    #[serde(default)]
    pub preflight_seconds: f64,
    /// Earlier samples of the tasks were taken on these nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_type: Option<String>,
    /// For the record of the launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Of the result's card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_bytes: Option<usize>,
    /// For simulated ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The same machine with numbers drawn at random from the intervals of its card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resampled: Vec<Machine>,
    pub tasks: Vec<Task>,
}

impl Job {
    fn launch_record(&self) -> Launch {
        Launch {
            schema: SCHEMA_VERSION,
            launch: self.launch.clone(),
            block: self.block,
            transport: self.transport.clone(),
            library: String::new(),
            launcher: self.launcher.clone(),
            environment: self.environment.clone(),
            ranks: self.ranks,
            host: provenance::host(),
            place: None,
            placement: Vec::new(),
            node_types: BTreeMap::new(),
            oversubscribed: false,
            build: provenance::build().fingerprint,
            unix_seconds: unix_seconds(),
        }
    }

    pub fn runs_commands(&self) -> bool {
        let kernels = self.tasks.iter().map(|task| kernels::find(&task.point.kernel));
        kernels.flatten().any(|kernel| kernel.has_own_parameters)
    }

    pub fn worker_ranks(&self) -> usize {
        if self.runs_commands() { 1 } else { self.ranks }
    }

    /// Samples on nodes of other types do not count.
    pub fn seconds_so_far(&self, task: &Task, node_type: &str) -> Vec<f64> {
        let is_other = self.node_type.as_deref().is_some_and(|earlier| earlier != node_type);
        if is_other { Vec::new() } else { task.seconds_so_far.clone() }
    }
}

/// With the samples that earlier launches of the same block already took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub key: String,
    pub point: Point,
    /// Times of these samples, or the values that a command printed.
    pub seconds_so_far: Vec<f64>,
    pub next_repetition: u32,
    /// For simulated ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<ComputationCosts>,
    /// These costs with each of the job's resampled machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resampled_costs: Vec<ComputationCosts>,
}

/// The description that a worker program gives of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    pub build: Build,
    pub transports: Vec<String>,
    /// That the program is linked to.
    pub mpi_library: Option<String>,
}

pub fn info() -> Info {
    let available = TransportKind::ALL.iter().filter(|&&kind| comm::library(kind).is_some());
    let transports = available.map(|kind| kind.to_string()).collect();
    let mpi_library = comm::library(TransportKind::Mpi);
    Info { build: provenance::build(), transports, mpi_library }
}

/// Reads a job and runs it on the ranks that this process or its launcher provides. Errors have also been written to standard
/// output before this function returns them.
pub fn work(
    job_file: &Path,
    transport: TransportKind,
    ranks: usize,
    placement_order: Option<PlacementOrder>,
) -> Result<()> {
    let start = || {
        if transport == TransportKind::Simulated {
            return simulated::run_job(job_file, ranks);
        }
        comm::start(
            transport,
            ranks,
            placement_order.unwrap_or_default(),
            |transport, arena| {
                // Processes stay where their launcher put them; `place` is the order that the launcher was asked for.
                let placement_order = placement_order
                    .or((transport.kind() == TransportKind::Threads).then_some(PlacementOrder::default()));
                on_transport!(transport, comm => run_job(comm, transport, arena, job_file, placement_order))
            },
            |message| drop(write_event(&Event::Fatal { message: message.into() })),
        )
    };
    // With no ranks, none of them could refuse the job.
    let result = if ranks == 0 { read_job(job_file).and_then(|job| require_ranks(&job, 0)) } else { start() };
    if let Err(error) = &result {
        write_event(&Event::Fatal { message: error.message.clone() })?;
    }
    result
}

fn read_job(file: &Path) -> Result<Job> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::file("read the job", file, e))?;
    serde_json::from_str(&text)
        .map_err(|e| Error::input(format!("{} is not a job: {e}", file.display()), "write it with `apexmap run`"))
}

fn require_ranks(job: &Job, started: usize) -> Result<()> {
    let ranks = job.worker_ranks();
    if ranks == started {
        return Ok(());
    }
    Err(Error::input(
        format!("the job is for {ranks} ranks, but {started} were started"),
        "give the launcher the number of ranks that the job names",
    ))
}

/// The point must be complete and have the job's number of ranks, because kernels rely on both.
fn require_runnable(job: &Job, point: &Point) -> Result<&'static Kernel> {
    let kernel = kernels::find(&point.kernel)?;
    let completed = kernels::complete(point.clone());
    let reason = match completed {
        Err(refusal) => refusal.message,
        Ok(_) if point.ranks != job.ranks => format!("it is for {} ranks in a job for {}", point.ranks, job.ranks),
        Ok(completed) if completed != *point => "parameters of its kernel are missing".into(),
        Ok(_) => return Ok(kernel),
    };
    Err(Error::input(format!("{} cannot be run: {reason}", point.label()), "write it with `apexmap run`"))
}

/// All ranks execute this function; rank 0 selects the points and writes the lines.
fn run_job<C: Collectives>(
    comm: &C,
    transport: Transport,
    arena: &mut Arena,
    job_file: &Path,
    placement_order: Option<PlacementOrder>,
) -> Result<()> {
    if comm.rank() == 0 {
        watchdog::start_watchdog(transport.kind());
        // The watchdog detects a line that cannot be written.
        progress::set_reporter(progress::MIN_REPORT_INTERVAL, |event| drop(write_event(&event)));
    }
    // Only rank 0 reads the job file, so other nodes need no access to its folder.
    let job = if comm.rank() == 0 { Some(read_job(job_file)?) } else { None };
    let job = &broadcast_job(comm, job)?;
    require_ranks(job, comm.size())?;
    comm.set_eager_bytes(job.eager_bytes);
    let tasks: Vec<(&Kernel, &Point)> =
        job.tasks.iter().map(|task| Ok((require_runnable(job, &task.point)?, &task.point))).collect::<Result<_>>()?;
    arena.announce_words(tasks.iter().map(|(kernel, point)| kernel.arena_words(point)).max().unwrap_or(0) as usize);
    let places = gather_places(comm, &job.launcher)?;
    let launch = places.map(|places| describe_launch(comm, job, transport.kind(), places, placement_order));
    let mut root = launch.map(|launch| Root::new(job, launch, comm.wall_time())).transpose()?;
    let mut observer = Observer::new(comm);
    preflight(comm, job, &mut observer, root.is_some())?;
    let mut world = World { transport, arena };
    let mut previous = None;
    loop {
        // No task has this index, so it ends the loop on all ranks.
        let mut next_run = [u64::MAX, 0];
        if let Some(root) = &mut root {
            next_run = root.announce_next(comm.wall_time())?.unwrap_or(next_run);
        }
        comm.broadcast(&mut next_run);
        let [index, repetition] = next_run;
        let Some((kernel, point)) = tasks.get(index as usize) else { break };
        let stream = seed(&[u64::from(job.block), repetition]);
        // Between two requests, another process may have had the caches.
        world.arena.repeats_point = !job.on_request && previous.replace(index) == Some(index);
        observer.start_run(comm);
        let outcome = kernels::run_on_nodes(kernel, point, stream, &mut world)?;
        let facts = gather_facts(comm, &observer.finish_run());
        let memory = gather_memory(comm, world.arena);
        if let (Some(root), Some(memory)) = (&mut root, memory) {
            root.report_memory(memory)?;
            root.record(index as usize, repetition as u32, outcome, facts, || comm.clock_resolution())?;
        }
    }
    comm.barrier();
    match root {
        Some(root) => write_event(&Event::Done { budget_spent: root.budget_spent }),
        None => Ok(()),
    }
}

/// Before the first sample, on all ranks at once.
fn preflight<C: Collectives>(comm: &C, job: &Job, observer: &mut Observer, is_root: bool) -> Result<()> {
    let (started, mut canaries) = (comm.wall_time(), Vec::new());
    loop {
        let mut continues = [u64::from(comm.wall_time() - started < job.preflight_seconds)];
        comm.broadcast(&mut continues);
        if continues == [0] {
            break;
        }
        observer.start_run(comm);
        observer.run_canary();
        canaries.push(gather_facts(comm, &observer.finish_run()));
    }
    if is_root && !canaries.is_empty() { write_event(&Event::Preflight { canaries }) } else { Ok(()) }
}

/// Nodes with different names may be one machine, which MPI does not detect.
pub fn max_ranks_per_machine(placement: &[Placement]) -> usize {
    let mut ranks = BTreeMap::<&str, usize>::new();
    placement
        .iter()
        .filter_map(|rank_placement| rank_placement.machine.as_deref())
        .for_each(|id| *ranks.entry(id).or_default() += 1);
    ranks.into_values().max().unwrap_or(0)
}

/// Ranks are real.
fn describe_launch<C: Collectives>(
    comm: &C,
    job: &Job,
    transport: TransportKind,
    Places { placement, node_types }: Places,
    placement_order: Option<PlacementOrder>,
) -> Launch {
    let record = job.launch_record();
    let threads = record.host.processors.machine_hardware_threads;
    // The ranks of a command are not known to this worker; on several nodes they are fewer on each.
    let ranks = if job.runs_commands() { job.ranks } else { max_ranks_per_machine(&placement) };
    let is_crowded = threads.is_some_and(|threads| ranks > threads as usize);
    // A launcher starts commands, and not this worker.
    let is_of_command = job.runs_commands() && job.transport != transport.name();
    let library = if is_of_command { Some("the command's MPI".into()) } else { comm::library(transport) };
    Launch {
        library: library.unwrap_or_default(),
        place: placement_order,
        placement,
        node_types,
        oversubscribed: comm.is_oversubscribed() || is_crowded,
        ..record
    }
}

pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

fn write_event(event: &Event) -> Result<()> {
    let mut line = serde_json::to_string(event).map_err(|e| Error::internal(format!("cannot write a line: {e}")))?;
    line.push('\n');
    write_to_driver(&line).map_err(|e| {
        Error::environment(format!("the driver no longer reads: {e}"), "find out what ended it; run again to resume")
    })
}
