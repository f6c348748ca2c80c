//! `apexmap try`: the largest launch of a sweep for a few seconds, before hours are spent on it.

use super::card::CardArguments;
use super::conduct::{Conduct, carry_out};
use super::setup::{Setup, SweepArguments};
use crate::error::{Error, ErrorKind, Result};
use crate::explore::report::placement;
use crate::explore::store::columns;
use crate::explore::store::manifest::Manifest;
use crate::explore::store::{Folder, Samples};
use crate::explore::submit::parts;
use crate::explore::sweep::Sweep;
use crate::measure::kernels;
use crate::measure::worker::Repeat;
use crate::point::{LaunchSize, Point, Value};
use crate::provenance::Placement;
use crate::sample::Launch;
use crate::terminal::print;
use crate::units::{amount, plural};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap try my.toml --worker target-mpi/release/apexmap

It starts the sweep's launcher with as many ranks as its largest launch has, and says where they are, what a barrier takes and what
messages do between the first half of the ranks and the second. Run it where the sweep will run, such as in an allocation. Nothing
of it is kept if all went well.")]
pub struct Arguments {
    #[command(flatten)]
    sweep: SweepArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let asked = Setup::new(&arguments.sweep)?;
    let sizes = asked.plan.by_size();
    let Some(size) = sizes.into_keys().max_by_key(|size| size.ranks) else {
        return print("the sweep has no point\n");
    };
    let expected = parts::nodes(size, &asked.plan.context);
    let out = PathBuf::from(format!("{}-try-{}", asked.folder.display(), std::process::id()));
    let sweep = trial(asked.sweep, size)?;
    let setup = Setup::of(sweep, &SweepArguments { out: Some(out), ..arguments.sweep.clone() })?;
    let kept = |error: Error| match error.kind {
        ErrorKind::Input | ErrorKind::Interrupted(_) => error,
        _ => Error { next: format!("{}; the launch's output is in {}", error.next, setup.folder.display()), ..error },
    };
    carry_out(&setup, &CardArguments::default(), Conduct::default()).map_err(kept)?;
    let folder = Folder::open(&setup.folder)?;
    let manifest = Manifest::read(&folder)?;
    let samples = Samples::from(folder.table()?).current();
    let Some(end) = manifest.launches.last() else { return Err(Error::internal("a launch without a greeting")) };
    print(&told(&end.launch, &samples))?;
    placement::warnings(&manifest, &samples).iter().try_for_each(|text| print(&format!("warning: {text}\n")))?;
    on_as_many_nodes(&end.launch, expected)?;
    std::fs::remove_dir_all(&folder.path).map_err(|e| Error::file("remove", &folder.path, e))
}

/// A few runs on the ranks of a launch, with the sweep's settings of launches.
fn trial(sweep: Sweep, size: LaunchSize) -> Result<Sweep> {
    let (few, long) = (64_u64, 64_u64 << 10);
    let mut points = vec![Point::new("calibrate.barrier", size.ranks).with("barriers", few)];
    if size.ranks.is_multiple_of(2) {
        let messages =
            |kernel, bytes: u64| Point::new(kernel, size.ranks).with("messages", few).with("message_bytes", bytes);
        points.push(messages("message_rate.ping_pong", 8));
        points.push(messages("message_rate.streaming", long));
    }
    let spread = [("nodes", size.nodes), ("ranks_per_node", size.ranks_per_node)];
    for point in &mut points {
        let set =
            spread.iter().filter_map(|(name, count)| Some(((*name).to_owned(), Value::Integer((*count)? as u64))));
        point.params.extend(set);
    }
    let complete = |point| kernels::complete(point).map_err(Error::internal);
    let points = points.into_iter().map(complete).collect::<Result<_>>()?;
    let repeat = Repeat { min: 3, max: 3, width: None, budget_seconds: None };
    let mut launch = sweep.launch.clone();
    launch.launches = 1;
    Ok(Sweep { points, repeat, launch, text: String::new(), title: format!("{}, tried", sweep.title), ..sweep })
}

/// Where the ranks are, and the first numbers.
fn told(launch: &Launch, samples: &Samples) -> String {
    let nodes = nodes(&launch.placement);
    let each: Vec<usize> = nodes.values().copied().collect();
    let each = match (each.iter().min(), each.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (least, most) => format!("{} to {}", least.unwrap_or(&0), most.unwrap_or(&0)),
    };
    let names: Vec<&str> = nodes.keys().copied().take(NAMED).collect();
    let further = if nodes.len() > NAMED { ", ..." } else { "" };
    let pinned = launch.placement.iter().filter(|rank| rank.pinned).count();
    let mut text = format!(
        "launcher   {}, {}\nranks      {} on {} ({}{further}), {each} on each; {pinned} pinned to one hardware thread\n",
        launch.launcher,
        launch.library,
        launch.ranks,
        plural(nodes.len(), "node"),
        names.join(", ")
    );
    for (kernel, what, column, of) in NUMBERS {
        if let Some(median) = samples.of_kernel(kernel).good().median(column) {
            text += &format!("{what:<10} {}{of}\n", amount(median, columns::describe(column).unit));
        }
    }
    text
}

/// Names of nodes that are shown, at most.
const NAMED: usize = 8;

/// What is shown of the runs: their kernel, how it is called, a column, and of what it is.
const NUMBERS: [(&str, &str, &str, &str); 3] = [
    ("calibrate.barrier", "barrier", "operation_seconds", " of all ranks"),
    ("message_rate.ping_pong", "ping-pong", "message_seconds_p50", " one way, 8 bytes, all pairs at once"),
    ("message_rate.streaming", "streaming", "bytes_per_second", " of all pairs together, 64 KiB a message"),
];

/// The nodes, with the number of their ranks.
fn nodes(placement: &[Placement]) -> BTreeMap<&str, usize> {
    let mut nodes = BTreeMap::new();
    placement.iter().for_each(|rank| *nodes.entry(rank.node.as_str()).or_default() += 1);
    nodes
}

fn on_as_many_nodes(launch: &Launch, expected: Option<usize>) -> Result<()> {
    let found = nodes(&launch.placement).len();
    match expected {
        Some(expected) if expected != found && launch.transport == "mpi" => Err(Error::environment(
            format!(
                "{} are on {}, and the sweep asks for {}",
                plural(launch.ranks, "rank"),
                plural(found, "node"),
                plural(expected, "node")
            ),
            "see how many nodes this job has, and which ranks per node the launcher takes",
        )),
        _ => Ok(()),
    }
}
