//! What a driver says of launches that do not do what they should.

use super::execute::Ending;
use super::plan::{Plan, launch_memory};
use crate::error::{Error, ErrorKind, Result};
use crate::measure::hardware::Hardware;
use crate::point::LaunchSize;
use crate::sample::Launch;
use crate::units;
use std::collections::HashSet;

/// `ended`: how many launches ended without what, if the last one said anything.
pub fn given_up(launch: &str, size: LaunchSize, ended: Option<(u32, &str)>, ending: &Ending) -> Error {
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

/// For a launch that says what it was not asked for, or not when it should.
pub fn misfit(launch: &str, size: LaunchSize, why: &str) -> Error {
    Error::environment(
        format!("launch {launch} on {size}: the launch's lines do not fit together: {why}"),
        "see that the launcher starts the worker once, and passes on its output whole and in order; the samples of this \
         launch stay in its journal and do not count: rerun to measure them again",
    )
}

/// For a launch that the system ended, again, for lack of memory.
pub fn lacked_memory(plan: &Plan, size: LaunchSize, launch: &str) -> Error {
    let entries = plan.by_size().remove(&size).unwrap_or_default();
    let planned = units::bytes(launch_memory(plan, size, &entries).0 as f64);
    let here = Some(Hardware::here()).filter(|_| !plan.context.launcher.remote);
    let has = here.and_then(Hardware::usable_memory_bytes);
    let has = has.map_or(String::new(), |bytes| format!(", the node has {}", units::bytes(bytes as f64)));
    Error::environment(
        format!(
            "launch {launch} on {size} was killed by the system for lack of memory, twice; the plan promised {planned}{has}"
        ),
        "lower M or the number of ranks, or end what else takes memory, and rerun: all samples are kept, and no point is \
         counted as failed for this",
    )
}

/// Not every launcher objects to nodes that it does not have.
pub fn check_nodes(size: LaunchSize, launch: &Launch) -> Result<()> {
    let Some(asked) = size.nodes else { return Ok(()) };
    let nodes: HashSet<&str> = launch.placement.iter().map(|place| place.node.as_str()).collect();
    if nodes.len() == asked {
        return Ok(());
    }
    Err(Error::environment(
        format!("launch {} was to have {size}, but its ranks are on {}", launch.launch, nodes.len()),
        "ask the batch system for as many nodes, or name fewer in the sweep",
    ))
}

/// For a machine that is disturbed before anything is measured.
pub fn noisy(why: &str) -> Error {
    Error::new(
        ErrorKind::Regression,
        format!("the machine is disturbed: {why}"),
        "free the machine, or leave out --fail-if noisy: samples are then marked as disturbed",
    )
}

/// Why a launch did not do what it was asked.
pub fn reason(ending: &Ending) -> &str {
    if ending.message.is_empty() { "the worker ended early" } else { &ending.message }
}
