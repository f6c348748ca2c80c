//! `apexmap plan`: what a sweep would run and what is already done.

use super::setup::{Setup, SweepArguments};
use crate::error::Result;
use crate::explore::store::Folder;
use crate::explore::sweep::Machine;
use crate::explore::sweep::memory::beyond_caches;
use crate::explore::sweep::plan::{Entry, Progress, largest_memory};
use crate::measure::hardware::Hardware;
use crate::measure::kernels::{self, Domain};
use crate::measure::numerics::power_law::remote_share;
use crate::point::{Point, Value};
use crate::terminal::{print, width};
use crate::text_table::{Align, TextTable};
use crate::units::{self, WORD_BYTES, plural};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap plan                             what the quickstart would run
  apexmap plan protocol --points
  apexmap plan --schema > sweep.schema.json")]
pub struct Arguments {
    #[command(flatten)]
    sweep: SweepArguments,
    /// List every point with its state
    #[arg(long)]
    points: bool,
    /// Print only the JSON schema of sweep files, for editors
    #[arg(long)]
    schema: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.schema {
        return print(&(crate::explore::sweep::schema() + "\n"));
    }
    let setup = Setup::new(&arguments.sweep)?;
    let records = match Folder::open(&setup.folder) {
        Ok(folder) => folder.outcomes()?,
        Err(_) => Vec::new(),
    };
    let progress = Progress::new(&setup.plan, &records);
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", setup.sweep.name, setup.sweep.title);
    axes(&setup, &mut text);
    launches(&setup, &progress, &mut text);
    states(&setup, &progress, &mut text);
    if arguments.points {
        let mut table = TextTable::new([Align::Left; 3]);
        for entry in &setup.plan.entries {
            table.row([entry.key.clone(), progress.point_state(&entry.key).name().into(), entry.point.label()]);
        }
        let _ = write!(text, "{table}");
    }
    print(&text)?;
    setup.check_memory()
}

/// The expanded grid: the values of each parameter.
fn axes(setup: &Setup, text: &mut String) {
    let mut values: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let mut kernels: Vec<&str> = Vec::new();
    for Point { kernel, params, .. } in setup.plan.entries.iter().map(|entry| &entry.point) {
        if !kernels.contains(&kernel.as_str()) {
            kernels.push(kernel);
        }
        for (name, value) in params {
            values.entry(name).or_default().push(value);
        }
    }
    let mut table = TextTable::new([Align::Left; 2]).indented(2).within(width());
    table.row(["kernel", &kernels.join(", ")]);
    for (name, mut seen) in values {
        // Points of a grid repeat values in runs: without those, little is left to sort.
        seen.dedup();
        seen.sort_by(|a, b| order(a, b));
        seen.dedup();
        let shown: Vec<String> = seen.iter().take(24).map(|value| value.to_string()).collect();
        let more = if seen.len() > 24 { format!(" ... ({} values)", seen.len()) } else { String::new() };
        table.row([name, &(shown.join(" ") + &more)]);
    }
    let _ = write!(text, "{table}");
}

/// Numbers by size, words by letters.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

fn launches(setup: &Setup, progress: &Progress, text: &mut String) {
    let (plan, context, hardware) = (&setup.plan, &setup.plan.context, Hardware::here());
    let each = plural(plan.blocks as usize, "launch");
    let _ = writeln!(text, "{each} per rank count, {} over {}:", context.launcher.id, context.transport);
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Left]).indented(2);
    for (ranks, entries) in plan.by_ranks() {
        let memory = |entry: &usize| {
            let point = &plan.entries[*entry].point;
            kernels::find(&point.kernel).map_or(0, |kernel| kernel.memory(point))
        };
        let largest = entries.iter().map(memory).max().unwrap_or(0);
        let elsewhere = context.launcher.remote || context.ranks_per_node.is_some();
        let oversubscribed = ranks > hardware.hardware_threads() && !elsewhere;
        table.row([
            format!("P = {ranks}"),
            plural(entries.len(), "point"),
            format!("{} per rank", units::bytes(largest as f64)),
            expected(setup, progress, &entries) + if oversubscribed { "  OVERSUBSCRIBED on this machine" } else { "" },
        ]);
    }
    let (bytes, ranks) = largest_memory(plan);
    let total = if ranks == 1 { "on one rank".into() } else { format!("on {ranks} ranks together") };
    let _ = writeln!(text, "{table}largest launch: {} {total}", units::bytes(bytes as f64));
    inside_caches(setup, text);
    if let Some(budget) = plan.repeat.budget_seconds {
        let _ = writeln!(text, "time budget: {}", units::seconds(budget));
    }
}

/// Says where the memory of a rank is smaller than what lies beyond the caches of this machine, as memory may be too small for it.
fn inside_caches(setup: &Setup, text: &mut String) {
    let context = &setup.plan.context;
    let machine = Machine::here();
    if context.launcher.remote || context.ranks_per_node.is_some() || machine.last_cache == 0 {
        return;
    }
    let per_rank = |entry: &Entry| {
        let parameters = kernels::find(&entry.point.kernel).ok()?.parameters();
        let global = parameters.iter().find(|parameter| matches!(parameter.domain, Domain::Global { .. }))?;
        Some(entry.point.integer(global.name) / entry.point.ranks as u64)
    };
    let sizes: Vec<u64> = setup.plan.entries.iter().filter_map(per_rank).collect();
    let inside: Vec<u64> = sizes.iter().copied().filter(|words| *words < beyond_caches(&machine)).collect();
    if let Some(words) = inside.iter().max() {
        let _ = writeln!(
            text,
            "{} of {} keep part of their memory in caches: M is at most {} per rank there, and {} would be beyond the last cache \
             of {}",
            inside.len(),
            plural(sizes.len(), "point"),
            units::bytes((words * WORD_BYTES) as f64),
            units::bytes((beyond_caches(&machine) * WORD_BYTES) as f64),
            units::bytes(machine.last_cache as f64),
        );
    }
}

/// Time of the minimum number of samples of these points: from the samples in the result, or a rough estimate.
fn expected(setup: &Setup, progress: &Progress, entries: &[usize]) -> String {
    let plan = &setup.plan;
    let mut measured = 0;
    let one = |entry: &usize| {
        let held = progress.of_point(&plan.entries[*entry].key, 0).map(|held| held.seconds.as_slice());
        let Some(seconds @ [_, ..]) = held else { return guess(&plan.entries[*entry].point) };
        measured += 1;
        seconds.iter().sum::<f64>() / seconds.len() as f64
    };
    let once: f64 = entries.iter().map(one).sum();
    let total = units::seconds(once * f64::from(plan.repeat.min) * f64::from(plan.blocks));
    match measured {
        0 => format!("about {total} of samples (rough estimate, nothing measured yet)"),
        n if n == entries.len() => format!("at least {total} of samples"),
        n => format!("about {total} of samples ({} measured)", plural(n, "point")),
    }
}

/// Seconds of a run on a typical machine: 100 ns and 5 GB/s per access, ten times that between ranks. The share of remote
/// accesses is assumed to be Apex-Map's.
fn guess(point: &Point) -> f64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return 0.0 };
    let work = kernel.work(point);
    let alpha = point.params.get("alpha").and_then(Value::as_f64).unwrap_or(1.0);
    let far = 1.0 + 9.0 * remote_share(point.ranks, alpha);
    let crowded = (point.ranks as f64 / Hardware::here().hardware_threads() as f64).max(1.0);
    far * crowded * (work.operations * 1e-7 + work.bytes / 5e9) / point.ranks as f64
}

fn states(setup: &Setup, progress: &Progress, text: &mut String) {
    let (points, stale) = (plural(setup.plan.entries.len(), "point"), plural(progress.stale, "stale sample"));
    let _ = writeln!(text, "{points}: {}; {stale} in {}", progress.summary(), setup.folder.display());
}
