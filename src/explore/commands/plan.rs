//! `apexmap plan`: what a sweep would run, and what of it a result already holds.

use super::setup::{Setup, SweepArguments};
use crate::error::Result;
use crate::explore::store::Folder;
use crate::explore::sweep::plan::{Progress, State, largest_memory};
use crate::measure::kernels;
use crate::measure::numerics::power_law::remote_share;
use crate::point::{Point, Value};
use crate::provenance;
use crate::terminal::print;
use crate::units;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap plan                             what the quickstart would run
  apexmap plan sweeps/protocol.toml --points
  apexmap plan --schema > sweep.schema.json")]
pub struct Arguments {
    #[command(flatten)]
    sweep: SweepArguments,
    /// List every point with its state
    #[arg(long)]
    points: bool,
    /// Print the JSON schema of sweep files, for editors, and nothing else
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
        for (index, entry) in setup.plan.entries.iter().enumerate() {
            let state = state_name(progress.point_state(&setup.plan, index));
            let _ = writeln!(text, "{}  {state:<8} {}", entry.key, entry.point.label());
        }
    }
    print(&text)?;
    setup.check_memory()
}

/// The expanded grid: which values each parameter takes.
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
    let _ = writeln!(text, "  kernel  {}", kernels.join(", "));
    for (name, mut seen) in values {
        // Points of a grid repeat values in runs: without those, little is left to sort.
        seen.dedup();
        seen.sort_by(|a, b| order(a, b));
        seen.dedup();
        let shown: Vec<String> = seen.iter().take(24).map(|value| value.to_string()).collect();
        let more = if seen.len() > 24 { format!(" ... ({} values)", seen.len()) } else { String::new() };
        let _ = writeln!(text, "  {name:<7} {}{more}", shown.join(" "));
    }
}

/// Numbers by size, words by letters.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

fn launches(setup: &Setup, progress: &Progress, text: &mut String) {
    let plan = &setup.plan;
    let _ = writeln!(
        text,
        "launches ({} of each, {} over {}):",
        plan.blocks, plan.context.launcher, plan.context.transport
    );
    for (ranks, entries) in plan.by_ranks() {
        let memory = |entry: &usize| {
            let point = &plan.entries[*entry].point;
            kernels::find(&point.kernel).map_or(0, |kernel| kernel.memory(point))
        };
        let most = entries.iter().map(memory).max().unwrap_or(0);
        let label = if ranks > provenance::cores()
            && plan.context.ranks_per_node.is_none()
            && plan.context.launcher != "srun"
        {
            "  OVERSUBSCRIBED on this machine"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "  P = {ranks:<6} {:>6} points, {:>10} a rank, {}{label}",
            entries.len(),
            units::bytes(most as f64),
            expected(setup, progress, &entries)
        );
    }
    let (bytes, ranks) = largest_memory(plan);
    let _ = writeln!(text, "largest launch: {} on all {ranks} ranks together", units::bytes(bytes as f64));
    if let Some(budget) = plan.repeat.budget_seconds {
        let _ = writeln!(text, "time budget: {}", units::seconds(budget));
    }
}

/// Time of the least number of samples of these points: by what the result already holds of them, or a guess.
fn expected(setup: &Setup, progress: &Progress, entries: &[usize]) -> String {
    let plan = &setup.plan;
    let mut measured = 0;
    let one = |entry: &usize| {
        let held = progress.held(&plan.entries[*entry].key, 0).map(|held| held.seconds.as_slice());
        let Some(seconds @ [_, ..]) = held else { return guess(&plan.entries[*entry].point) };
        measured += 1;
        seconds.iter().sum::<f64>() / seconds.len() as f64
    };
    let once: f64 = entries.iter().map(one).sum();
    let total = units::seconds(once * f64::from(plan.repeat.min) * f64::from(plan.blocks));
    match measured {
        0 => format!("very roughly {total} of samples (a guess, nothing is measured yet)"),
        n if n == entries.len() => format!("at least {total} of samples"),
        n => format!("about {total} of samples ({n} points known)"),
    }
}

/// Seconds of a run on a machine of middling speed: 100 ns and 5 GB/s an access, ten times that between ranks.
/// Accesses are taken to leave a rank as Apex-Map's do.
fn guess(point: &Point) -> f64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return 0.0 };
    let work = kernel.work(point);
    let alpha = point.params.get("alpha").and_then(Value::as_f64).unwrap_or(1.0);
    let far = 1.0 + 9.0 * remote_share(point.ranks, alpha);
    let crowded = (point.ranks as f64 / provenance::cores() as f64).max(1.0);
    far * crowded * (work.operations * 1e-7 + work.bytes / 5e9) / point.ranks as f64
}

fn states(setup: &Setup, progress: &Progress, text: &mut String) {
    let mut counts: BTreeMap<State, usize> = BTreeMap::new();
    for entry in 0..setup.plan.entries.len() {
        *counts.entry(progress.point_state(&setup.plan, entry)).or_default() += 1;
    }
    let count = |state| counts.get(&state).copied().unwrap_or(0);
    let _ = writeln!(
        text,
        "{} points: {} done, {} partial, {} missing, {} failed; {} stale samples in {}",
        setup.plan.entries.len(),
        count(State::Done),
        count(State::Partial),
        count(State::Missing),
        count(State::Failed),
        progress.stale,
        setup.folder.display()
    );
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Done => "done",
        State::Partial => "partial",
        State::Missing => "missing",
        State::Failed => "failed",
    }
}
