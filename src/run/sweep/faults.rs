//! Errors and failed samples of launches that go wrong.

use super::execute::Ending;
use super::memory;
use super::plan::{Entry, Plan, launch_memory};
use crate::launch::causes::{Cause, Nature};
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_base::units;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::worker::unix_seconds;
use std::collections::{BTreeMap, HashSet};

/// Returns the error of a group that the driver gives up. `ended_without`: number of launches and their missing result, if the
/// last one greeted.
pub fn given_up(launch: &str, size: LaunchSize, ended: Option<(u32, &str)>, ending: &Ending) -> Error {
    if let Some(Cause { nature: Nature::Setup, next, .. }) = ending.cause {
        let what = format!("launch {launch} on {size} did not start: {}", reason(ending));
        return Error::new(ErrorKind::Setup, what, format!("{next}; then rerun the same command"));
    }
    let reason = reason(ending);
    if let Some((launches, what)) = ended {
        let what = format!("{launches} consecutive launches on {size} ended without {what}: {reason}");
        return Error::environment(what, "fix the cause and rerun: all samples are kept");
    }
    Error::environment(
        format!("launch {launch} on {size} did not start: {reason}"),
        "check the launcher, the number of ranks and the worker; see also the .stderr file next to its journal",
    )
}

/// Returns the error of a faulty set-up, after this number of launches. `waiting` points remain to be measured.
pub fn of_set_up(ending: &Ending, launches: usize, waiting: usize) -> Error {
    let known = ending.cause.map_or("fix the cause (see the .stderr files next to the journals)", |cause| cause.next);
    let ended = if launches == 1 { "a launch failed for a known reason".into() } else { same(launches) };
    let are = if waiting == 1 { "point waits" } else { "points wait" };
    Error::new(
        ErrorKind::Setup,
        format!("{ended}, so the set-up is at fault, not a point: {}", reason(ending)),
        format!("{known}; then rerun the same command: {waiting} {are} for the fix, and none is marked as failed"),
    )
}

fn same(launches: usize) -> String {
    format!("{launches} consecutive launches failed for the same reason")
}

/// Returns the error of a job that ends before the sweep.
pub fn over(ending: &Ending) -> Error {
    let next = ending.cause.map_or("", |cause| cause.next);
    Error::environment(reason(ending), next)
}

/// Returns the error of a launch whose lines violate the protocol.
pub fn misfit(launch: &str, size: LaunchSize, why: &str) -> Error {
    Error::environment(
        format!("launch {launch} on {size}: the launch's lines do not fit together: {why}"),
        "check that the launcher starts the worker once, and passes on its output complete and in order; then rerun: \
         the samples of this launch do not count and are measured again",
    )
}

/// Returns the error of a launch that the system killed twice because memory ran out.
pub fn lacked_memory(plan: &Plan, size: LaunchSize, launch: &str) -> Error {
    let entries = plan.by_size().remove(&size).unwrap_or_default();
    let planned = units::bytes(launch_memory(plan, size, &entries).0 as f64);
    let here = Some(Hardware::here()).filter(|_| !plan.context.launcher.remote);
    let has = here.and_then(Hardware::usable_memory_bytes);
    let has = has.map_or(String::new(), |bytes| format!(", and the node has {}", units::bytes(bytes as f64)));
    Error::environment(
        format!(
            "launch {launch} on {size} was killed by the system twice: out of memory; the plan estimated {planned}{has}"
        ),
        "lower M or the number of ranks, or end other programs, and rerun: all samples are kept, and no point is \
         marked as failed",
    )
}

/// Checks that the launch has the number of nodes that it needs, because some launchers do not check it.
pub fn check_nodes(size: LaunchSize, launch: &Launch) -> Result<()> {
    let Some(asked) = size.nodes else { return Ok(()) };
    let nodes: HashSet<&str> = launch.placement.iter().map(|place| place.node.as_str()).collect();
    if nodes.len() == asked {
        return Ok(());
    }
    Err(Error::environment(
        format!("launch {} needs {size}, but its ranks are on {}", launch.launch, units::plural(nodes.len(), "node")),
        "request that number of nodes from the batch system, or use fewer in the sweep",
    ))
}

/// Largest share of a node's memory that ranks may take.
const MOST_OF_MEMORY: f64 = 0.9;

/// Checks that the ranks on each node fit into its memory, which they report. Launches on this machine are checked before they
/// start.
pub fn check_memory(plan: &Plan, size: LaunchSize, launch: &Launch) -> Result<()> {
    if !plan.context.launcher.remote {
        return Ok(());
    }
    let mut nodes: BTreeMap<&str, (usize, Option<u64>)> = BTreeMap::new();
    for place in &launch.placement {
        let node = nodes.entry(&place.node).or_default();
        *node = (node.0 + 1, node.1.into_iter().chain(place.node_memory_bytes).min());
    }
    let entries = plan.by_size().remove(&size).unwrap_or_default();
    let lacking = nodes.into_iter().find_map(|(node, (ranks, has))| {
        let points = entries.iter().map(|&entry| &plan.entries[entry].point);
        let needed = memory::of_launch(points, plan.context.transport, ranks);
        let has = has.filter(|&has| has > 0 && needed as f64 > MOST_OF_MEMORY * has as f64)?;
        Some((node, ranks, needed, has))
    });
    let Some((node, ranks, needed, has)) = lacking else { return Ok(()) };
    let (who, [needed, has]) = (units::plural(ranks, "rank"), [needed, has].map(|bytes| units::bytes(bytes as f64)));
    let need = if ranks == 1 { "needs" } else { "need" };
    Err(Error::input(
        format!(
            "launch {} on {size}: {who} on node {node} {need} {needed} of memory, but the node has {has}",
            launch.launch
        ),
        "reduce M or the ranks per node, or request more memory from the batch system; this launch measured nothing",
    ))
}

/// Returns the error of a machine that is disturbed before the first sample.
pub fn noisy(why: &str) -> Error {
    Error::new(
        ErrorKind::Regression,
        format!("the machine is disturbed: {why}"),
        "stop other programs on the machine, or remove --fail-if noisy: samples are then marked as disturbed",
    )
}

/// Returns the reason why a launch ended.
pub fn reason(ending: &Ending) -> &str {
    if ending.message.is_empty() { "the worker ended early" } else { &ending.message }
}

/// Separates the reason from the advice in a failed sample's message.
pub const ADVICE: &str = "; what to do: ";

/// Returns the failed sample of a point. A point without a number is still a result, with a status.
pub fn failure(entry: &Entry, block: u32, repetition: u32, ending: &Ending) -> Sample {
    Sample {
        point: entry.point.clone(),
        key: entry.key.clone(),
        block,
        repetition,
        status: if ending.status == Status::Ok { Status::Failed } else { ending.status },
        message: match ending.cause {
            Some(cause) => format!("{}{ADVICE}{}", reason(ending), cause.next),
            None => reason(ending).to_owned(),
        },
        unix_seconds: unix_seconds(),
        load: None,
        pages_elsewhere: None,
        disturbance: Facts::default(),
        seconds: None,
        outputs: Default::default(),
    }
}
