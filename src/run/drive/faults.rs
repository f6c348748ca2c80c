//! Errors and failed samples of launches that go wrong.

use super::execute::Ending;
use super::plan::{Entry, Plan, launch_memory};
use crate::launch::causes::{ADVICE, Cause, Nature};
use crate::sweep::memory;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_base::units;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::worker::unix_seconds;
use std::collections::{BTreeMap, BTreeSet};

/// A group that the driver gives up. `ended_without`: launches and their missing result, if the last one greeted.
pub fn giving_up_error(launch: &str, size: LaunchSize, ended_without: Option<(u32, &str)>, ending: &Ending) -> Error {
    if let Some(Cause { nature: Nature::Setup, advice, .. }) = ending.cause {
        let message = format!("launch {launch} on {size} did not start: {}", reason(ending));
        return Error::new(ErrorKind::Setup, message, format!("{advice}; then rerun the same command"));
    }
    let reason = reason(ending);
    let default_advice =
        "check the launcher, the number of ranks and the worker; see also the .stderr file next to its journal";
    if let Some((launches, missing)) = ended_without {
        let message = format!("{launches} consecutive launches on {size} ended without {missing}: {reason}");
        return Error::environment(message, "fix the cause and rerun: all samples are kept");
    }
    Error::environment(
        format!("launch {launch} on {size} did not start: {reason}"),
        ending.cause.map_or(default_advice, |cause| cause.advice),
    )
}

/// A faulty set-up, after this number of launches. `waiting` points remain to be measured.
pub fn setup_error(ending: &Ending, launches: usize, waiting: usize) -> Error {
    let advice =
        ending.cause.map_or("fix the cause (see the .stderr files next to the journals)", |cause| cause.advice);
    let repeated = || format!("{launches} consecutive launches failed for the same reason");
    let subject = if launches == 1 { "a launch failed for a known reason".into() } else { repeated() };
    let verb = if waiting == 1 { "point waits" } else { "points wait" };
    Error::new(
        ErrorKind::Setup,
        format!("{subject}, so the set-up is at fault, not a point: {}", reason(ending)),
        format!("{advice}; then rerun the same command: {waiting} {verb} for the fix, and none is marked as failed"),
    )
}

/// A job that ends before the sweep.
pub fn job_over_error(ending: &Ending) -> Error {
    let advice = ending.cause.map_or("", |cause| cause.advice);
    Error::environment(reason(ending), advice)
}

/// A launch whose lines violate the protocol.
pub fn misfit_error(launch: &str, size: LaunchSize, reason: &str) -> Error {
    Error::environment(
        format!("launch {launch} on {size}: its lines are inconsistent: {reason}"),
        "check that the launcher starts the worker once, and passes on its output complete and in order; then rerun: \
         the samples of this launch do not count and are measured again",
    )
}

/// A launch that the system killed twice because memory ran out.
pub fn memory_error(plan: &Plan, size: LaunchSize, launch: &str) -> Error {
    let entries = plan.by_size().remove(&size).unwrap_or_default();
    let planned = units::bytes(launch_memory(plan, size, &entries).0 as f64);
    let hardware = Some(Hardware::this_machine()).filter(|_| !plan.context.launcher.remote);
    let node_bytes = hardware.and_then(Hardware::usable_memory_bytes);
    let node_text =
        node_bytes.map_or(String::new(), |bytes| format!(", and the node has {}", units::bytes(bytes as f64)));
    Error::environment(
        format!(
            "launch {launch} on {size} was killed by the system twice: out of memory; the plan estimated {planned}{node_text}"
        ),
        "lower M or the number of ranks, or end other programs, and rerun: all samples are kept, and no point is \
         marked as failed",
    )
}

/// Checks that the launch has the nodes that it needs, because some launchers do not check it.
pub fn check_nodes(size: LaunchSize, launch: &Launch) -> Result<()> {
    let nodes: BTreeSet<&str> = launch.placement.iter().map(|place| place.node.as_str()).collect();
    if let Some(node) = size.node {
        check_node_name(&node, &nodes, &launch.launch)?;
    }
    let Some(needed) = size.nodes else { return Ok(()) };
    // Simulated ranks have no places on nodes.
    if launch.transport == TransportKind::Simulated.to_string() {
        return Ok(());
    }
    if nodes.len() == needed {
        return Ok(());
    }
    Err(Error::environment(
        format!("launch {} needs {size}, but its ranks are on {}", launch.launch, units::plural(nodes.len(), "node")),
        "request that number of nodes from the batch system, or use fewer in the sweep",
    ))
}

/// No sample may be recorded under the name of another node. Host names may have a domain.
fn check_node_name(node: &str, nodes: &BTreeSet<&str>, launch: &str) -> Result<()> {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    if nodes.iter().all(|name| short(name) == short(node)) {
        return Ok(());
    }
    let names: Vec<&str> = nodes.iter().copied().collect();
    Err(Error::environment(
        format!("launch {launch} is for node {node}, but its ranks are on {}", names.join(", ")),
        "list nodes under the names that they report (`hostname`), and check that the launcher obeys the list of hosts",
    ))
}

/// Largest share of a node's memory that ranks may take.
const MAX_MEMORY_SHARE: f64 = 0.9;

/// Checks that the ranks on each node fit into its memory, which they report. Launches on this machine are checked before their start.
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
    let short_node = nodes.into_iter().find_map(|(node, (ranks, node_bytes))| {
        let points = entries.iter().map(|&entry| &plan.entries[entry].point);
        let needed = memory::launch_bytes(points, plan.context.transport, ranks);
        let node_bytes = node_bytes.filter(|&has| has > 0 && needed as f64 > MAX_MEMORY_SHARE * has as f64)?;
        Some((node, ranks, needed, node_bytes))
    });
    let Some((node, ranks, needed, node_bytes)) = short_node else { return Ok(()) };
    let (ranks_text, [needed, node_bytes]) =
        (units::plural(ranks, "rank"), [needed, node_bytes].map(|bytes| units::bytes(bytes as f64)));
    let verb = if ranks == 1 { "needs" } else { "need" };
    Err(Error::input(
        format!(
            "launch {} on {size}: {ranks_text} on node {node} {verb} {needed} of memory, but the node has {node_bytes}",
            launch.launch
        ),
        "reduce M or the ranks per node, or request more memory from the batch system; this launch measured nothing",
    ))
}

/// A machine that is disturbed before the first sample.
pub fn noise_error(reason: &str) -> Error {
    Error::new(
        ErrorKind::Regression,
        format!("the machine is disturbed: {reason}"),
        "stop other programs on the machine, or remove --fail-if noisy: samples are then marked as disturbed",
    )
}

pub fn reason(ending: &Ending) -> &str {
    if ending.message.is_empty() { "the worker ended early" } else { &ending.message }
}

pub struct FailedPoint {
    pub kernel: String,
    pub reason: String,
    pub advice: Option<&'static str>,
}

impl FailedPoint {
    /// A failed run that its worker reported.
    pub fn in_launch(sample: &Sample) -> Self {
        Self { kernel: sample.point.kernel.clone(), reason: sample.message.clone(), advice: None }
    }

    /// A run that its launch did not survive.
    pub fn at_ending(point: &Point, ending: &Ending) -> Self {
        let advice = ending.cause.map(|cause| cause.advice);
        Self { kernel: point.kernel.clone(), reason: reason(ending).to_owned(), advice }
    }
}

/// A point without a number is still a result, with a status.
pub fn failed_sample(entry: &Entry, block: u32, repetition: u32, ending: &Ending) -> Sample {
    Sample {
        point: entry.point.clone(),
        key: entry.key.clone(),
        block,
        repetition,
        status: if ending.status == Status::Ok { Status::Failed } else { ending.status },
        message: match ending.cause {
            Some(cause) => format!("{}{ADVICE}{}", reason(ending), cause.advice),
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
