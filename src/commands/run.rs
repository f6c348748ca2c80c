//! `apexmap run`: measures the missing points of a sweep, then draws figures and writes the report.

use super::card::CardArguments;
use super::conclude::{Shown, conclude, display, draw_interrupted, nothing_to_do};
use super::run_command::CommandOptions;
use super::submit_options::SubmitArguments;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_cluster::batch::BatchSystem;
use apexmap_cluster::carriers::batch::partition::plan_for_nodes;
use apexmap_cluster::carriers::batch::{self, JobRequest, part};
use apexmap_cluster::cluster::Cluster;
use apexmap_cluster::find_nodes;
use apexmap_cluster::site::Site;
use apexmap_measure::provenance;
use apexmap_run::campaign::local;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Campaign, Conduct, Request};
use apexmap_run::sweep::plan::Plan;
use apexmap_theory::machine::Card;
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
    let (system, is_job) = (arguments.submit.system(), arguments.part.is_some());
    if arguments.fail_if.contains(&FailIf::SlowNode) && !arguments.each_node {
        return Err(Error::input("--fail-if slow-node needs --each-node, which compares nodes", "add --each-node"));
    }
    // The command of a job has all settings of the site file.
    let site = if is_job { Site::default() } else { Site::load()? };
    let cluster = Cluster { site, system };
    let consent = if is_job { Consent::Given } else { Consent::from_flag(arguments.trust) };
    let mut request = Request { is_job, consent, ..arguments.request.clone() };
    if arguments.each_node {
        request.each_node = Some(find_nodes::find(&cluster, &request, &arguments.submit.table()?)?);
    }
    if let Some(path) = &arguments.part {
        return part::run(&request, path, &|plan| display(plan, None));
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
    if cluster.system != BatchSystem::None || batch::is_wanted(&campaign, &cluster.site)? {
        return submit(campaign, &cluster, arguments, &request, conduct, shown);
    }
    let card = card(&campaign, arguments)?;
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

fn card(campaign: &Campaign, arguments: &Arguments) -> Result<Option<Card>> {
    arguments.card.find(&campaign.plan.context.machine, &[&provenance::host()])
}

/// Runs the sweep as batch jobs.
fn submit(
    campaign: Campaign,
    cluster: &Cluster,
    arguments: &Arguments,
    request: &Request,
    conduct: Conduct,
    shown: Shown,
) -> Result<()> {
    if !campaign.hosts.is_empty() {
        let next = "remove --hosts, --hostfile, and hosts and hostfile of [launch], or run without --submit";
        return Err(Error::input("hosts are given, but the batch system chooses the hosts of its jobs", next));
    }
    let flags = arguments.submit.table()?;
    let (campaign, partition) = plan_for_nodes(campaign, cluster, &flags, request)?;
    let (dry_run, detaches) = (arguments.submit.dry_run, arguments.submit.detach);
    let max_node_hours = arguments.submit.max_node_hours;
    let (partition, asks_worker) = (partition.as_ref(), request.worker_info.is_none());
    let jobs =
        JobRequest { site: &cluster.site, flags: &flags, max_node_hours, dry_run, detaches, asks_worker, partition };
    let card = card(&campaign, arguments)?;
    let start_display = |plan: &Plan| display(plan, Some(&campaign.folder));
    let Some(followed) = batch::carry_out(&campaign, &jobs, card.as_ref(), conduct, &start_display)? else {
        return Ok(());
    };
    // The result of another user may not be writable.
    let shown = if followed.other_owner.is_some() { Shown::Numbers } else { shown };
    match (conclude(&campaign, followed.measured, conduct, shown), followed.stop) {
        (Err(error), Some(stop)) if error.kind == ErrorKind::Measurement => {
            Err(Error { message: format!("{}; {}", stop.message, error.message), ..stop })
        }
        (concluded, _) => concluded,
    }
}
