//! `apexmap run`: measures the missing points of a sweep, then draws figures and writes the report.

use super::card::CardArguments;
use super::conclude::{Shown, conclude, display, draw_interrupted, nothing_to_do};
use super::run_command::CommandOptions;
use super::submit_options::SubmitArguments;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_cluster::batch::BatchSystem;
use apexmap_cluster::cluster::Cluster;
use apexmap_cluster::find_nodes;
use apexmap_cluster::jobs::{self, JobRequest, measure};
use apexmap_cluster::site::Site;
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::local;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Campaign, Conduct, Request};
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
    if let Some(path) = &arguments.part {
        return measure::run(&arguments.request, path, &|plan| display(plan, None));
    }
    if arguments.fail_if.contains(&FailIf::SlowNode) && !arguments.each_node {
        return Err(Error::input("--fail-if slow-node needs --each-node, which compares nodes", "add --each-node"));
    }
    let cluster = Cluster { site: Site::load()?, system: arguments.submit.system() };
    let mut request = Request { consent: Consent::from_flag(arguments.trust), ..arguments.request.clone() };
    if arguments.each_node {
        request.each_node = Some(find_nodes::find(&cluster, &request, &arguments.submit.table()?)?);
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
    let card = card(&campaign, arguments)?;
    if cluster.system != BatchSystem::None || jobs::is_wanted(&campaign) {
        return match submit(campaign, &cluster, arguments, &request, card.as_ref())? {
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

fn card(campaign: &Campaign, arguments: &Arguments) -> Result<Option<Card>> {
    arguments.card.find(&campaign.plan.context.machine, &[&provenance::host()])
}

/// Submits the sweep as jobs. Returns the campaign if no point is missing.
fn submit(
    campaign: Campaign,
    cluster: &Cluster,
    arguments: &Arguments,
    request: &Request,
    card: Option<&Card>,
) -> Result<Option<Campaign>> {
    if !campaign.hosts.is_empty() {
        let next = "remove --hosts, --hostfile, and hosts and hostfile of [launch], or run without --submit";
        return Err(Error::input("hosts are given, but the batch system chooses the hosts of its jobs", next));
    }
    let flags = arguments.submit.table()?;
    let (dry_run, max_node_hours) = (arguments.submit.dry_run, arguments.submit.max_node_hours);
    let jobs = JobRequest { flags: &flags, max_node_hours, dry_run, retry_failed: arguments.retry_failed };
    jobs::submit(campaign, cluster, request, &jobs, card)
}
