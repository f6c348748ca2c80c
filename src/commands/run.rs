//! `apexmap run`: measures the missing points of a sweep, then draws figures and writes the report.

use super::conclude::{Shown, conclude, display, draw_interrupted, nothing_to_do};
use super::{card::CardArguments, run_command::CommandOptions};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::print;
use apexmap_cluster::cluster::Cluster;
use apexmap_cluster::find_nodes;
use apexmap_cluster::jobs::{self, JobRequest, measure};
use apexmap_cluster::site::Site;
use apexmap_measure::provenance;
use apexmap_pages::report::placement;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::{Conduct, Request, local, starter::Starter, trial, trust::Consent};
use apexmap_run::sweep::submit_table::{Jobs as Division, SubmitTable};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap run                      run the quickstart
  apexmap run --budget 20s         the same in less time; again with 10min to continue
  apexmap run protocol             run or resume a ready sweep (see apexmap sweeps)
  apexmap run paper-figure-2 --worker target/release/apexmap-worker
  apexmap run my.toml --out results/monday --machine node17
  apexmap run my.toml --hosts node1,node2 --ranks-per-node 1
  apexmap run --card results/calibrate/card.toml     show fractions of the limit
  apexmap run --command 'sort --parallel={threads} words.txt' --axis threads=1,2 --out results/sort")]
pub struct Arguments {
    #[command(flatten)]
    pub request: Request,
    #[command(flatten)]
    pub command: CommandOptions,
    /// Start the programs that the sweep or a site file names without a question, although the file may come from somebody else
    #[arg(long)]
    pub trust: bool,
    /// Only try the largest launch for a few seconds: show the placement of its ranks, the time of a barrier and of messages, and keep
    /// no files. Run it where the sweep will run, such as in an allocation
    #[arg(long, conflicts_with_all = ["command", "submit", "dry_run", "each_node", "replace"])]
    trial: bool,
    #[command(flatten)]
    pub card: CardArguments,
    /// Measure points again that failed in an earlier run
    #[arg(long)]
    pub retry_failed: bool,
    /// Run every point on each node alone: on all nodes of the partition (--submit), of --hosts or --hostfile, or of this
    /// allocation; the report names the slow nodes. Rerun it to measure only missing nodes
    #[arg(long, conflicts_with = "one_job")]
    pub each_node: bool,
    /// Keep the result that the folder holds as FOLDER.1, and start afresh
    #[arg(long)]
    pub replace: bool,
    /// Only print the medians and the answer: do not draw figures and do not write the report
    #[arg(long)]
    pub no_report: bool,
    /// Also fit the models to the samples, and add them to the report
    #[arg(long, conflicts_with = "no_report")]
    pub models: bool,
    #[command(flatten)]
    pub submit: SubmitArguments,
    /// Internal: the part of the sweep that a batch job measures
    #[arg(long, value_name = "FILE", hide = true)]
    pub part: Option<PathBuf>,
    /// noisy: end with code 5 if the machine is disturbed, before the first sample or over all samples. slow-node: end with code 5
    /// if --each-node finds a slow node
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', display_order = 105)]
    pub fail_if: Vec<FailIf>,
}

/// Conditions that end a run with an error, in addition to failed and missing points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailIf {
    /// Other activity took time from the ranks
    Noisy,
    /// A node is slower than the others
    SlowNode,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.part {
        return measure::run(&arguments.request, path, &|plan| display(plan, None));
    }
    if arguments.trial {
        return run_trial(&arguments.request, Consent::from_flag(arguments.trust));
    }
    if arguments.fail_if.contains(&FailIf::SlowNode) && !arguments.each_node {
        return Err(Error::input("--fail-if slow-node needs --each-node, which compares nodes", "add --each-node"));
    }
    let submits = arguments.submit.submit.is_some() || arguments.submit.dry_run;
    let cluster = Cluster { site: Site::load()?, flags: arguments.submit.table()?, submits };
    let mut request = Request { consent: Consent::from_flag(arguments.trust), ..arguments.request.clone() };
    if arguments.each_node {
        request.each_node = Some(find_nodes::find(&cluster, &request)?);
    }
    let campaign = match arguments.command.sweep(request.out.as_deref())? {
        Some(sweep) => cluster.planner(&request).plan_sweep(sweep)?,
        None => cluster.planner(&request).plan()?,
    };
    campaign.check_result_folder(arguments.replace)?;
    let conduct = Conduct {
        retry_failed: arguments.retry_failed,
        ends_if_noisy: arguments.fail_if.contains(&FailIf::Noisy),
        fails_if_slow_node: arguments.fail_if.contains(&FailIf::SlowNode),
        ..Conduct::default()
    };
    let shown = if arguments.no_report { Shown::Numbers } else { Shown::Report { fits: arguments.models } };
    let card = arguments.card.find(&campaign.plan.context.machine, &[&provenance::host()])?;
    if submits || jobs::is_wanted(&campaign) {
        let SubmitArguments { dry_run, max_node_hours, .. } = arguments.submit;
        let jobs = JobRequest { max_node_hours, dry_run, retry_failed: arguments.retry_failed };
        return match jobs::submit(campaign, &cluster, &request, jobs, card.as_ref())? {
            Some(campaign) => {
                if let Some(card) = &card {
                    Folder::create(&campaign.folder)?.replace_card(card)?;
                }
                conclude(&campaign, local::keep(&campaign)?, conduct, shown)
            }
            None => Ok(()),
        };
    }
    // With a card, a complete result gets new bounds.
    if card.is_none() && local::is_complete(&campaign)? {
        return nothing_to_do(&campaign, local::keep(&campaign)?, conduct, shown);
    }
    match local::carry_out(&campaign, card.as_ref(), conduct, &|plan| display(plan, Some(&campaign.folder))) {
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) && !arguments.no_report => {
            draw_interrupted(&campaign);
            Err(error)
        }
        measured => conclude(&campaign, measured?, conduct, shown),
    }
}

// Flags for jobs. The other sources of these options are the sweep and the site file. clap would take a documentation as that of `run`.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Batch jobs")]
pub struct SubmitArguments {
    /// Submit a job for each number of nodes with missing points, and end; the same command later submits what is missing then.
    /// slurm, pbs, torque, lsf, flux, or a template file [default: the system whose programs are installed here]
    #[arg(long, value_name = "SYSTEM", require_equals = true)]
    submit: Option<Option<String>>,
    /// Show the job scripts with memory and node hours, without submitting them
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    options: SubmitTable,
    // The display orders list the following flags between those of the table, by subject.
    /// Largest number of node hours that the jobs may take; more is refused [default: max_node_hours of the sweep or the site file]
    #[arg(long, value_name = "HOURS", value_parser = parse_hours, display_order = 100)]
    pub max_node_hours: Option<f64>,
    /// Run all launches in one job on the largest number of nodes, instead of one job per number of nodes
    #[arg(long, display_order = 101)]
    one_job: bool,
    /// Environment variable to set in the jobs; may be repeated
    #[arg(long, value_name = "NAME=VALUE", display_order = 103)]
    environment: Vec<String>,
}

impl SubmitArguments {
    /// The options that the flags set.
    pub fn table(&self) -> Result<SubmitTable> {
        let mut environment = BTreeMap::new();
        for text in &self.environment {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Error::input(format!("--environment {text} has no ="), "write --environment NAME=VALUE")
            })?;
            environment.insert(name.to_owned(), value.to_owned());
        }
        Ok(SubmitTable {
            system: self.submit.clone().flatten().filter(|system| !system.is_empty()),
            jobs: self.one_job.then_some(Division::One),
            environment,
            ..self.options.clone()
        })
    }
}

fn parse_hours(text: &str) -> Result<f64, String> {
    let hours = text.parse::<f64>().ok().filter(|hours| hours.is_finite() && *hours > 0.0);
    hours.ok_or_else(|| "write a number greater than 0".to_owned())
}

/// Runs the largest launch of a sweep for a few seconds, to test it before a long run.
fn run_trial(request: &Request, consent: Consent) -> Result<()> {
    let request = Request { consent, ..request.clone() };
    let campaign = Cluster::load()?.planner(&request).plan()?;
    if let Some(other) = campaign.other_sweep()? {
        return Err(Error::input(
            format!("{} holds the result of another sweep, {other}", campaign.folder.display()),
            "name another folder with --out, or use apexmap run --replace, which keeps that result",
        ));
    }
    let Some(size) = trial::largest_launch(&campaign) else { return print("the sweep has no point\n") };
    let starter = Starter::check(&campaign)?;
    let interrupt = Interrupt::catch();
    let trial = trial::carry_out(&campaign, size, &starter, &|plan| display(plan, None), &|| interrupt.check())?;
    print(&trial::describe(&trial.launch, &trial.samples))?;
    let warnings = placement::warnings(&trial.manifest, &trial.samples);
    warnings.iter().try_for_each(|text| print(&format!("warning: {text}\n")))
}
