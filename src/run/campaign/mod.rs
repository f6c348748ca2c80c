//! A campaign: plans a sweep, tries it, carries it out and summarises the result.
//!
//! [`local`] carries out its launches on this machine or allocation. The crate `cluster` carries them out as jobs of a batch system.

mod checks;
pub mod each_node;
pub mod fallback;
pub mod local;
pub mod plan_time;
mod planner;
pub mod requested_runs;
mod simulated;
mod site_settings;
pub mod starter;
pub mod trial;
pub mod trust;
pub mod worker;

pub use planner::{Planner, Surroundings};
pub use site_settings::{Setting, SiteSettings};

use crate::drive::plan::{Entry, Plan, Progress, WorkerInfo};
use crate::drive::{budget, cost::describe_seconds, driver::Watcher};
use crate::sweep::{Machine, Sweep, parse_budget, ready};
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::Host;
use apexmap_base::terminal::note;
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::seen_cache;
use apexmap_results::disk::manifest::{Manifest, SimulatedMachine};
use apexmap_results::disk::{Folder, journal::Record};
use apexmap_results::table::Table;
use each_node::EachNode;
use plan_time::PlanTime;
use std::path::{Path, PathBuf};
use trust::Consent;

// The user's request: the sweep, the worker, the result folder and the machine's name. The documentation of its fields is the help of
// their flags. The struct has none, because commands that include these flags would show it as theirs.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Request {
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
    /// Measuring time of the whole run, such as 20s or 10min; points that an earlier budget left imprecise are continued [default:
    /// the sweep's]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub budget: Option<f64>,
    /// Launches for each rank count [default: the sweep's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub launches: Option<u32>,
    /// Numbers of ranks instead of the sweep's, such as 1,2,cores; kernels of one rank keep it
    #[arg(long, visible_alias = "threads", value_name = "NUMBERS")]
    pub ranks: Option<String>,
    /// Whether this process is a job.
    #[arg(skip)]
    pub is_job: bool,
    /// Whether programs may start that files name.
    #[arg(skip)]
    pub consent: Consent,
    /// The nodes that each run all points alone, if requested.
    #[arg(skip)]
    pub each_node: Option<EachNode>,
}

#[derive(Clone, Debug, Default)]
pub struct Replaced {
    pub budget_seconds: Option<f64>,
    pub launches: Option<u32>,
    pub ranks: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    pub retry_failed: bool,
    pub ends_if_noisy: bool,
    /// Whether a slow node is an error at the end of a sweep that each node runs alone.
    pub fails_if_slow_node: bool,
    /// Name of this run if it is one of several of a command: `stage 2 of 2: cache edges`.
    pub stage: Option<&'static str>,
    /// Whether missing samples are a warning instead of an error.
    pub accepts_few_samples: bool,
}

pub type Display<'a> = &'a dyn Fn(&Plan) -> Box<dyn Watcher>;

pub struct Measured {
    pub table: Table,
    pub progress: Progress,
}

#[derive(Clone)]
pub struct Campaign {
    pub sweep: Sweep,
    pub plan: Plan,
    pub worker: PathBuf,
    pub worker_info: WorkerInfo,
    pub folder: PathBuf,
    /// Empty if the launcher chooses.
    pub hosts: Vec<String>,
    /// The machine that the sweep was read for.
    pub machine: Machine,
    /// The source of the node size, if the sweep was read for another machine than this one.
    pub sized_for: Option<String>,
    pub site: SiteSettings,
    pub each_node: Option<EachNode>,
    pub replaced: Replaced,
}

impl Campaign {
    /// Whether the launcher starts the sweep's command, and not the worker.
    pub fn starts_commands(&self) -> bool {
        self.sweep.runs_commands() && self.plan.context.transport == TransportKind::Mpi
    }

    /// The plan without nodes that only an earlier command requested. A budget of the command line also continues imprecise points.
    pub fn wanted_plan(&self) -> Plan {
        let mut plan = self.plan.clone();
        plan.continues_imprecise = self.replaced.budget_seconds.is_some();
        if let Some(each_node) = &self.each_node {
            plan.entries.retain(|entry| entry.point.node().is_some_and(|node| each_node.contains(node)));
        }
        plan
    }

    pub fn write_plan(&self, folder: &Folder) -> Result<()> {
        folder.replace_text(&folder.sweep(), &self.sweep.text)?;
        let lines = self.plan.entries.iter().map(Entry::line).collect::<Result<String>>()?;
        folder.replace_text(&folder.points(), &lines)?;
        self.manifest().with_records(&folder.outcomes()?).write(folder)
    }

    /// The manifest of the result without its launches.
    pub fn manifest(&self) -> Manifest {
        let own = Manifest::new(self.sweep.name.clone(), self.sweep.title.clone());
        let last_cache_seen_bytes = self.machine.last_cache_seen.or_else(seen_cache::seen_bytes);
        Manifest {
            sweep: self.sweep.text.clone(),
            seed: self.sweep.seed,
            machine: self.plan.context.machine.clone(),
            hosts: self.hosts.clone(),
            points: self.plan.entries.len(),
            blocks: self.plan.blocks,
            budget_seconds: self.plan.repeat.budget_seconds,
            driver_host: Host { last_cache_seen_bytes, ..own.driver_host },
            worker: self.worker_info.build.clone(),
            sized_for: self.sized_for.clone(),
            simulated: self.simulated_machine(),
            ..own
        }
    }

    /// The machine of simulated ranks, with what is known about its errors.
    pub fn simulated_machine(&self) -> Option<SimulatedMachine> {
        simulated::record(&self.plan)
    }

    /// Writes the contents of the journals into the manifest and the table.
    pub fn compact(&self, folder: &Folder) -> Result<Measured> {
        let records = folder.outcomes()?;
        self.manifest().with_records(&records).write(folder)?;
        let progress = Progress::new(&self.plan, &records);
        // Records and table of a million samples take hundreds of MiB each, so only one of them is in memory.
        drop(records);
        Ok(Measured { table: folder.compact()?, progress })
    }

    fn is_quickstart(&self) -> bool {
        ready::find_by_name(Path::new(ready::QUICKSTART)).is_some_and(|quickstart| quickstart.text == self.sweep.text)
    }

    fn is_done_within_budget(&self, progress: &Progress) -> bool {
        let has_sample = |entry: &Entry| progress.count(&entry.key) > 0;
        self.plan.repeat.budget_seconds.is_some() && self.plan.entries.iter().all(has_sample)
    }

    /// An error if points failed, or have too few samples. The latter is only a warning for the quickstart, and at the end of a budget.
    pub fn verdict(&self, folder: &Folder, progress: &Progress, accepts_few_samples: bool) -> Result<()> {
        let [_, partial, missing, failed] = progress.counts();
        let (mut problems, mut advice) = (Vec::new(), Vec::new());
        if failed > 0 {
            problems.push(format!("{} failed", plural(failed, "point")));
            let status = format!("`apexmap status {}`", folder.path.display());
            advice.push(format!(
                "{status} lists the failures with their reasons; --retry-failed measures these points again"
            ));
        }
        if partial + missing > 0 {
            let points = plural(self.plan.entries.len(), "point");
            let verb = if partial + missing == 1 { "has" } else { "have" };
            let (time, next) = self.missing_time(folder, progress)?;
            let too_few = format!("{} of {points} {verb} too few samples; {time}", partial + missing);
            if failed == 0 && self.is_done_within_budget(progress) {
                note(&format!("warning: done as far as the budget allows: {too_few}: {next}"));
            } else if accepts_few_samples || self.is_quickstart() {
                note(&format!("warning: {too_few}: {next}"));
            } else {
                problems.push(too_few);
                advice.push(format!("{next}: all samples are kept"));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::measurement(problems.join(", "), advice.join("; "))) }
    }

    /// How much longer the sweep takes, and the next step: `about 140 s more`, `run it again with --budget 3min`.
    fn missing_time(&self, folder: &Folder, progress: &Progress) -> Result<(String, String)> {
        let records = folder.outcomes()?;
        let seconds = PlanTime::new(&self.plan, &records, progress, None, false).seconds_left();
        let (time, again) = (format!("{} more", describe_seconds(seconds)), "run it again".to_owned());
        let Some(budget) = self.plan.repeat.budget_seconds else { return Ok((time, again)) };
        let is_cut = records.last().is_some_and(Record::ended_within_sample);
        let (time, needed) = match is_cut && seconds <= budget {
            // The estimate is too low, because one sample exceeded the budget.
            true => (format!("one sample takes more than {}", units::seconds(budget)), 2.0 * budget),
            false => (time, seconds),
        };
        let next = if needed > budget { format!("{again} with {}", budget::advise(needed)) } else { again };
        Ok((time, next))
    }
}
