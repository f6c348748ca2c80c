//! A plan divided into parts, each for the jobs of one number of nodes; and how long their jobs may take.

use crate::batch::options::Jobs;
use crate::sweep::plan::{Context, Plan};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_measure::comm::TransportKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Launches that share jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// `nodes-4`, or `all`.
    pub name: String,
    /// The most nodes that one of them takes.
    pub nodes: usize,
    /// The most ranks on a node, if that is known.
    pub ranks_per_node: Option<usize>,
    pub sizes: Vec<LaunchSize>,
}

/// The parts of a plan, the smallest first.
///
/// # Errors
/// If the nodes of a launch are not known.
pub fn parts(plan: &Plan, jobs: Jobs) -> Result<Vec<Part>> {
    let mut by_nodes: BTreeMap<usize, Vec<LaunchSize>> = BTreeMap::new();
    for size in plan.by_size().into_keys() {
        let nodes = nodes(size, &plan.context).ok_or_else(|| {
            Error::input(
                format!("a job needs to know its nodes, and the sweep does not say on how many nodes {size} are"),
                "say how many ranks a node gets: --ranks-per-node, or ranks_per_node in [launch]",
            )
        })?;
        by_nodes.entry(nodes).or_default().push(size);
    }
    let part = |name: String, nodes: usize, sizes: Vec<LaunchSize>| {
        let on_node = |size: &LaunchSize| ranks_per_node(*size, &plan.context);
        let ranks_per_node = sizes.iter().map(on_node).max().flatten();
        Part { name, nodes, ranks_per_node, sizes }
    };
    Ok(match (jobs, by_nodes.keys().max()) {
        (Jobs::One, Some(&most)) => vec![part("all".into(), most, by_nodes.into_values().flatten().collect())],
        _ => by_nodes.into_iter().map(|(nodes, sizes)| part(format!("nodes-{nodes}"), nodes, sizes)).collect(),
    })
}

/// Ranks on each node of a launch; threads are all on one.
fn ranks_per_node(size: LaunchSize, context: &Context) -> Option<usize> {
    match context.transport {
        TransportKind::Threads => Some(size.ranks),
        TransportKind::Mpi => size.ranks_per_node.or(context.ranks_per_node).map(|most| most.min(size.ranks)),
    }
}

/// Nodes of a launch, if they are known.
pub fn nodes(size: LaunchSize, context: &Context) -> Option<usize> {
    let by_ranks = || ranks_per_node(size, context).map(|each| size.ranks.div_ceil(each.max(1)));
    size.nodes.or_else(by_ranks).or((size.ranks == 1).then_some(1))
}

/// What a job needs besides measuring: its start, and that of each launch, in seconds.
const START: f64 = 60.0;
const LAUNCH: f64 = 15.0;
/// Times of plans are estimates.
const MARGIN: f64 = 1.5;
/// No job asks for less, in seconds.
const LEAST: f64 = 5.0 * 60.0;

/// The time limit of each job of a chain for so much measuring in so many launches, in seconds, and how many jobs there are; none of
/// them is longer than the limit.
pub fn chain(measuring: f64, launches: usize, limit: Option<f64>) -> (f64, usize) {
    let work = MARGIN * measuring + LAUNCH * launches as f64;
    match limit {
        Some(limit) if work + START > limit => {
            // Each job begins anew, and ends early.
            let useful = (limit - START - stop_early(limit)).max(limit / 4.0);
            (limit, (work / useful).ceil().max(1.0) as usize)
        }
        Some(limit) => ((work + START).max(LEAST).min(limit), 1),
        None => ((work + START).max(LEAST), 1),
    }
}

/// So long before the end of its time a job's driver stops, to end in order, in seconds.
pub fn stop_early(limit: f64) -> f64 {
    (0.05 * limit).clamp(10.0, 60.0)
}
