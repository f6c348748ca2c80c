//! `apexmap plan`: shows the points of a sweep, and which are already done.

use super::card::CardArguments;
use apexmap_base::distinct::distinct;
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::terminal::{print, print_data, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, WORD_BYTES, plural};
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::{self, Domain, Parameter};
use apexmap_measure::provenance;
use apexmap_results::disk::{Folder, manifest::Manifest};
use apexmap_results::table::columns::{self, point_label, value_text};
use apexmap_run::campaign::{Campaign, Request, plan_time::PlanTime, trust::Consent};
use apexmap_run::drive::plan::{Entry, Progress, largest_memory, launch_memory};
use apexmap_run::drive::{driver, result_state::PointCounts};
use apexmap_run::sweep::{Machine, memory::words_beyond_caches};
use apexmap_theory::machine::Card;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap plan                             plan the quickstart
  apexmap plan --budget 10min              ... and what a run of ten minutes would measure
  apexmap plan protocol --points
  apexmap plan --schema > sweep.schema.json")]
pub struct Arguments {
    #[command(flatten)]
    request: Request,
    #[command(flatten)]
    card: CardArguments,
    /// List every point with its state
    #[arg(long)]
    points: bool,
    /// Print only the JSON schema of sweep files, for editors
    #[arg(long)]
    schema: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.schema {
        return print_data(&(apexmap_run::sweep::schema() + "\n"));
    }
    // Looking at a sweep starts nothing that it names.
    let request = Request { consent: Consent::Refused, ..arguments.request.clone() };
    let campaign = Cluster::load()?.planner(&request).plan()?;
    let records = match Folder::open(&campaign.folder) {
        Ok(folder) => folder.outcomes()?,
        Err(_) => Vec::new(),
    };
    let progress = Progress::new(&campaign.wanted_plan(), &records);
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", campaign.sweep.name, campaign.sweep.title);
    states(&campaign, &progress, &mut text);
    let card = card(&campaign, &arguments.card)?;
    let forecast = PlanTime::new(&campaign.plan, &records, &progress, card.as_ref(), false);
    text.push_str(&forecast.describe_total());
    launches(&campaign, &forecast, &mut text);
    axes(&campaign, &mut text);
    if arguments.points {
        let mut table = TextTable::new([Align::Left; 3]);
        for entry in &campaign.plan.entries {
            table.add_row([
                entry.key.clone(),
                progress.point_state(&entry.key).name().into(),
                point_label(&entry.point, |_| true),
            ]);
        }
        let _ = write!(text, "{table}");
    }
    print(&text)?;
    campaign.check_machine()?;
    driver::check_budget(&campaign.wanted_plan(), &Folder { path: campaign.folder.clone() }, false)
}

/// That of `--card`, or the one in the result folder.
fn card(campaign: &Campaign, given: &CardArguments) -> Result<Option<Card>> {
    match given.find(&campaign.plan.context.machine, &[&provenance::host()])? {
        Some(card) => Ok(Some(card)),
        None => Folder { path: campaign.folder.clone() }.card(),
    }
}

const MAX_VALUES: usize = 24;

/// Those with several values first.
fn axes(campaign: &Campaign, text: &mut String) {
    let mut values: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let points = || campaign.plan.entries.iter().map(|entry| &entry.point);
    let kernel_ids = distinct(points().map(|point| point.kernel.as_str()));
    for (name, value) in points().flat_map(|point| &point.params) {
        values.entry(name).or_default().push(value);
    }
    let parameters: Vec<&Parameter> =
        kernel_ids.iter().filter_map(|id| kernels::find(id).ok()).flat_map(|kernel| kernel.parameters).collect();
    let mut table = TextTable::new([Align::Left; 2]).with_indent(2).with_width(terminal_width());
    table.add_row(["kernel", &kernel_ids.join(", ")]);
    for seen in values.values_mut() {
        // Points of a grid repeat values in runs. Removing them first leaves few values to sort.
        seen.dedup();
        seen.sort_by(|a, b| columns::order(a, b));
        seen.dedup();
    }
    let mut values: Vec<(&str, Vec<&Value>)> = values.into_iter().collect();
    values.sort_by_key(|(_, seen)| seen.len() == 1);
    for (name, seen) in values {
        let parameter = parameters.iter().find(|parameter| parameter.name == name).copied();
        let shown: Vec<String> = seen.iter().take(MAX_VALUES).map(|value| value_text(parameter, value)).collect();
        let more = if seen.len() > MAX_VALUES { format!(", ... ({} values)", seen.len()) } else { String::new() };
        table.add_row([name, &(shown.join(", ") + &more)]);
    }
    let _ = write!(text, "{table}");
}

fn launches(campaign: &Campaign, forecast: &PlanTime, text: &mut String) {
    let (plan, context, hardware) = (&campaign.plan, &campaign.plan.context, Hardware::this_machine());
    let each = plural(plan.blocks as usize, "launch");
    let _ = match &context.simulation {
        Some(simulation) => {
            writeln!(
                text,
                "simulated ranks of {}, each point once; wall times of the simulation:",
                simulation.card.name
            )
        }
        None => {
            let (launcher, transport) = (context.launcher.id, context.transport);
            writeln!(text, "{each} per rank count, {launcher} over {transport}; times on a quiet machine:")
        }
    };
    if !campaign.hosts.is_empty() {
        let each = plural(context.ranks_per_node.unwrap_or(1), "rank");
        let _ = writeln!(text, "  hosts: {}, {each} on each unless points say otherwise", campaign.hosts.join(", "));
    }
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Left]).with_indent(2);
    for (size, entries) in plan.by_size() {
        let (bytes, ranks) = launch_memory(plan, size, &entries);
        let elsewhere = context.simulation.is_some()
            || context.launcher.remote
            || context.ranks_per_node.is_some()
            || size.nodes.is_some_and(|nodes| nodes > 1);
        let oversubscribed = size.ranks > hardware.hardware_threads() && !elsewhere;
        table.add_row([
            match size.nodes {
                Some(nodes) => format!("P = {}, {}", size.ranks, plural(nodes, "node")),
                None => format!("P = {}", size.ranks),
            },
            plural(entries.len(), "point"),
            format!("{} per rank", units::bytes(bytes as f64 / ranks as f64)),
            forecast.describe_size(size) + if oversubscribed { "  OVERSUBSCRIBED on this machine" } else { "" },
        ]);
    }
    let (bytes, ranks) = largest_memory(plan);
    let total = if ranks == 1 { "on one rank".into() } else { format!("in total on {ranks} ranks") };
    let _ = writeln!(text, "{table}largest launch: {} {total}", units::bytes(bytes as f64));
    warn_inside_caches(campaign, text);
    warn_inside_side_cache(campaign, bytes, text);
    campaign.oversubscription_warning().into_iter().for_each(|note| _ = writeln!(text, "{note}"));
    let tested = campaign.simulated_machine().map(|machine| machine.describe_left_out());
    tested.into_iter().flatten().for_each(|sentence| _ = writeln!(text, "{sentence}"));
}

/// If the memory of a rank fits into the caches of this machine in part, its points may not measure memory.
fn warn_inside_caches(campaign: &Campaign, text: &mut String) {
    let context = &campaign.plan.context;
    let machine = Machine::detect();
    let elsewhere = context.simulation.is_some() || context.launcher.remote || context.ranks_per_node.is_some();
    if elsewhere || machine.last_cache == 0 {
        return;
    }
    let per_rank = |entry: &Entry| {
        let parameters = kernels::find(&entry.point.kernel).ok()?.parameters;
        let global = parameters.iter().find(|parameter| matches!(parameter.domain, Domain::Global { .. }))?;
        let Value::Integer(words) = entry.point.params.get(global.name)? else { return None };
        Some(words / entry.point.ranks as u64)
    };
    let sizes: Vec<u64> = campaign.plan.entries.iter().filter_map(per_rank).collect();
    let inside: Vec<u64> = sizes.iter().copied().filter(|words| *words < words_beyond_caches(&machine)).collect();
    // A sweep over sizes is meant to have some inside.
    if let Some(words) = inside.iter().max().filter(|_| inside.len() == sizes.len()) {
        let _ = writeln!(
            text,
            "memory itself is not reached: {} of {} have memory that caches hold in part: M is at most {} per rank, but {} is needed to exceed the last cache \
             of {}",
            inside.len(),
            plural(sizes.len(), "point"),
            units::bytes((words * WORD_BYTES) as f64),
            units::bytes((words_beyond_caches(&machine) * WORD_BYTES) as f64),
            units::bytes(machine.last_cache as f64),
        );
    }
}

/// `bytes` is the memory of the largest launch.
fn warn_inside_side_cache(campaign: &Campaign, bytes: u64, text: &mut String) {
    let context = &campaign.plan.context;
    let elsewhere = context.simulation.is_some() || context.launcher.remote;
    let cache = Hardware::this_machine().memory_side_cache_bytes;
    if let Some(cache) = cache.filter(|&cache| bytes < cache && !elsewhere) {
        let cache = units::bytes(cache as f64);
        let _ = writeln!(
            text,
            "each NUMA node of this machine has a memory-side cache of {cache}, which holds all memory of these points: they \
             measure this cache, not the memory behind it"
        );
    }
}

fn states(campaign: &Campaign, progress: &Progress, text: &mut String) {
    let (counts, stale) = (PointCounts::from(progress), plural(progress.stale, "stale sample"));
    let points = plural(counts.planned, "point");
    let _ = writeln!(text, "{points}: {counts}; {stale} in {}", campaign.folder.display());
    let recorded = Manifest::read(&Folder { path: campaign.folder.clone() });
    if progress.stale > 0 && recorded.is_ok_and(|manifest| manifest.worker.hashed != campaign.worker_info.build.hashed)
    {
        text.push_str(
            "samples become stale this once even if no code changed: fingerprints of the measuring code no longer cover comments\n",
        );
    }
}
