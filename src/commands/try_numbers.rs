//! `apexmap try`: the classic numbers of this machine in ten seconds.

use super::card::classic_text;
use super::conclude::display;
use super::pretty;
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::interrupt::Interrupt;
use apexmap_base::shell::quote_words;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units;
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_run::campaign::starter::Starter;
use apexmap_run::campaign::{Conduct, Request};
use apexmap_run::sweep::{self, Machine, parse_budget};
use apexmap_study::calibrate::{self, Probe};
use apexmap_theory::machine::Card;
use std::path::Path;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap try
  apexmap try --json > card.json        the same numbers as a machine card
  apexmap report results/quickstart --card card.json

Latency and bandwidth of L1, L2, L3 and memory on one core; GUPS and STREAM triad on all cores; and from the first core to the \
others. Points and settings are those of apexmap calibrate, which also measures the sizes of caches, the reach of TLBs and \
messages. Keeps no files.")]
pub struct Arguments {
    /// Measuring time; numbers that it does not reach are named
    #[arg(long, value_name = "TIME", default_value = "7s", value_parser = parse_budget)]
    budget: f64,
    /// Print a machine card in JSON, as --card, --machine and `apexmap compare` take it
    #[arg(long)]
    json: bool,
    // Until version 0.2, this command tried the launch of a sweep.
    #[arg(hide = true, trailing_var_arg = true)]
    launch: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.launch.is_empty() {
        let next = format!("to try the launch of a sweep: apexmap run {} --trial", quote_words(&arguments.launch));
        return Err(Error::input("apexmap try measures this machine, not a sweep", next));
    }
    let probes = calibrate::quick_probes(&provenance::host(), Hardware::this_machine().cores_or_threads());
    let card = measure(&probes, arguments.budget)?;
    let is_missing = |probe: &&Probe| !card.numbers().contains_key(&probe.number.to_string());
    let mut missing: Vec<&str> = probes.iter().filter(is_missing).map(|probe| probe.number.entry.meaning).collect();
    missing.dedup();
    if !missing.is_empty() {
        let budget = units::seconds(arguments.budget);
        note(&format!("not measured in {budget}: {}; give more time, such as --budget 30s", missing.join("; ")));
    }
    if arguments.json {
        return print_data(&pretty(&card)?);
    }
    print(&format!("{}apexmap calibrate measures the rest: cache sizes, TLBs and messages\n", classic_text(&card)))
}

/// In a folder that is removed.
fn measure(probes: &[Probe], budget: f64) -> Result<Card> {
    let place = TemporaryFolder::create("try")?;
    let text = calibrate::sweep(probes, "transport = \"threads\"\n", 1);
    let sweep = sweep::parse(&text, Path::new("try.toml"), Machine::detect())?;
    let request = Request { out: Some(place.path.clone()), budget: Some(budget), ..Request::default() };
    let campaign = Cluster::load()?.planner(&request).plan_sweep(sweep)?;
    let (starter, folder) = (Starter::check(&campaign)?, Folder::create(&place.path)?);
    campaign.write_plan(&folder)?;
    let (interrupt, mut watcher) = (Interrupt::catch(), display(&campaign.plan, None));
    let interrupted = || interrupt.check();
    let failed = starter.measure(&campaign, &folder, Conduct::default(), watcher.as_mut(), &interrupted);
    drop(watcher);
    failed?.iter().for_each(|point| note(&format!("warning: {} failed: {}", point.kernel, point.reason)));
    let samples = Samples::from(campaign.compact(&folder)?.table).current();
    if samples.is_empty() {
        let message = format!("no number was measured in {}", units::seconds(budget));
        return Err(Error::measurement(message, "give more time, such as --budget 30s"));
    }
    let mut card = calibrate::card(probes, &samples, &campaign.plan.context.machine, &provenance::host())?;
    card.source = "measured by apexmap try".into();
    Ok(card)
}
