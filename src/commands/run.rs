//! `apexmap run`: measures whatever the sweep still lacks, then draws figures and writes the report.

use super::card::CardArguments;
use super::conduct::carry_out;
use super::launching::Conduct;
use super::part;
use super::partition::for_nodes;
use super::setup::{Setup, SweepArguments};
use super::submit;
use super::submit_options::{SubmitArguments, system};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_results::disk::Folder;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap run                      the quickstart
  apexmap run protocol             a ready sweep (see apexmap sweeps); the same command resumes it
  apexmap run paper-figure-2 --worker target/release/apexmap-worker
  apexmap run my.toml --out results/monday --machine node17
  apexmap run my.toml --hosts node1,node2 --ranks-per-node 1
  apexmap run --card results/calibrate/card.toml     with the fraction of the limit")]
pub struct Arguments {
    #[command(flatten)]
    pub sweep: SweepArguments,
    #[command(flatten)]
    pub card: CardArguments,
    /// Measure again the points that failed in an earlier run
    #[arg(long)]
    pub retry_failed: bool,
    /// If the result folder holds another sweep, keep that as FOLDER.1 and begin anew
    #[arg(long)]
    pub replace: bool,
    /// Do not draw figures, do not write the report
    #[arg(long)]
    pub no_report: bool,
    #[command(flatten)]
    pub submit: SubmitArguments,
    /// Internal: the part of the sweep that a batch job measures
    #[arg(long, value_name = "FILE", hide = true)]
    pub part: Option<PathBuf>,
    /// noisy: end with an error if the machine is disturbed, before the first sample or over all samples
    #[arg(long, value_name = "WHAT")]
    pub fail_if: Option<FailIf>,
}

/// What makes a run an error besides failed and missing points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailIf {
    /// Something else took time from the ranks
    Noisy,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.part {
        return part::run(&arguments.sweep, path);
    }
    let sweep = SweepArguments { submit: system(&arguments.submit), ..arguments.sweep.clone() };
    let setup = Setup::new(&sweep)?;
    keep_apart(&setup, arguments.replace)?;
    let conduct = Conduct {
        retry_failed: arguments.retry_failed,
        report: !arguments.no_report,
        ends_if_noisy: arguments.fail_if == Some(FailIf::Noisy),
    };
    if submit::is_asked(&arguments.submit, &setup)? {
        if !setup.hosts.is_empty() {
            let next =
                "remove --hosts, --hostfile, and hosts and hostfile of [launch], or run it here without --submit";
            return Err(Error::input("a batch system chooses the hosts of its jobs itself", next));
        }
        let (setup, partition) = for_nodes(setup, &arguments.submit, &sweep)?;
        return submit::carry_out(&setup, &arguments.submit, partition.as_ref(), &arguments.card, conduct);
    }
    carry_out(&setup, &arguments.card, conduct)
}

/// Sees to it that the result folder has no result of another sweep.
pub fn keep_apart(setup: &Setup, replace: bool) -> Result<()> {
    let Some(other) = setup.other_sweep()? else { return Ok(()) };
    let path = setup.folder.display();
    if !replace {
        return Err(Error::input(
            format!("{path} holds the result of another sweep, {other}"),
            format!(
                "name another folder with --out, or begin anew with --replace, which keeps that result as {path}.1"
            ),
        ));
    }
    let folder = Folder { path: setup.folder.clone() };
    let lock = folder.lock()?;
    let kept = folder.move_aside()?;
    drop(lock);
    note(&format!("note: the earlier result is now {}", kept.display()));
    Ok(())
}
