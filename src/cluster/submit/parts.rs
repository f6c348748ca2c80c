//! Divides a plan into parts, one for the jobs of each number of nodes, and computes the time limits of these jobs.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, NodeName, Point};
use apexmap_base::units::plural;
use apexmap_run::sweep::plan::Plan;
use apexmap_run::sweep::submit_table::Jobs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Launches that share jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// `nodes-4`, `all`, or the name of a node that runs its points alone.
    pub name: String,
    /// The largest number of nodes of its launches.
    pub nodes: usize,
    /// The largest number of ranks per node, if known.
    pub ranks_per_node: Option<usize>,
    pub sizes: Vec<LaunchSize>,
}

impl Part {
    /// Returns the node that runs all launches of the part.
    pub fn node(&self) -> Option<NodeName> {
        self.sizes.first().and_then(|size| size.node)
    }

    /// Returns true if a launch of the part measures the point.
    pub fn contains(&self, point: &Point) -> bool {
        self.node().as_deref() == point.node() && self.sizes.contains(&point.launch_size())
    }

    /// Describes the nodes of the part's jobs: `4 nodes`, `node n07`.
    pub fn describe_nodes(&self) -> String {
        self.node().map_or_else(|| plural(self.nodes, "node"), |node| format!("node {node}"))
    }
}

/// Returns the parts of a plan, the smallest first.
pub fn parts(plan: &Plan, jobs: Jobs) -> Result<Vec<Part>> {
    let mut sizes_by_nodes: BTreeMap<usize, Vec<LaunchSize>> = BTreeMap::new();
    let mut sizes_by_name: BTreeMap<NodeName, Vec<LaunchSize>> = BTreeMap::new();
    for size in plan.by_size().into_keys() {
        if let Some(node) = size.node {
            sizes_by_name.entry(node).or_default().push(size);
            continue;
        }
        let nodes = plan.context.node_count(size).ok_or_else(|| {
            Error::input(
                format!("the number of nodes for {size} is unknown, and a job must request it"),
                "set the ranks per node with --ranks-per-node, or ranks_per_node in [launch]",
            )
        })?;
        sizes_by_nodes.entry(nodes).or_default().push(size);
    }
    let part = |name: String, nodes: usize, sizes: Vec<LaunchSize>| {
        let ranks_on_node = |size: &LaunchSize| plan.context.ranks_on_node(*size);
        let ranks_per_node = sizes.iter().map(ranks_on_node).max().flatten();
        Part { name, nodes, ranks_per_node, sizes }
    };
    if !sizes_by_name.is_empty() {
        return Ok(sizes_by_name.into_iter().map(|(node, sizes)| part(node.to_string(), 1, sizes)).collect());
    }
    Ok(match (jobs, sizes_by_nodes.keys().max()) {
        (Jobs::One, Some(&most)) => vec![part("all".into(), most, sizes_by_nodes.into_values().flatten().collect())],
        (Jobs::PerNodeCount, _) | (Jobs::One, None) => {
            sizes_by_nodes.into_iter().map(|(nodes, sizes)| part(format!("nodes-{nodes}"), nodes, sizes)).collect()
        }
    })
}

/// Time of a job for its start, and for the start of each launch, in seconds.
const JOB_START_SECONDS: f64 = 60.0;
const LAUNCH_START_SECONDS: f64 = 15.0;
/// Factor on measuring times, because these are estimates.
const TIME_MARGIN: f64 = 1.5;
/// Shortest time limit of a job, in seconds.
const MIN_JOB_SECONDS: f64 = 5.0 * 60.0;

/// Returns the time limit of each job of a chain, in seconds, and the number of jobs. The chain has room for `measuring` seconds
/// in this number of launches, and no job is longer than `limit`.
pub fn chain(measuring: f64, launches: usize, limit: Option<f64>) -> (f64, usize) {
    let needed = TIME_MARGIN * measuring + LAUNCH_START_SECONDS * launches as f64;
    match limit {
        Some(limit) if needed + JOB_START_SECONDS > limit => {
            // Each job has a start-up time and stops before its limit.
            // A limit below both margins would leave no time, and the chain would have no end.
            let useful = (limit - JOB_START_SECONDS - stop_margin(limit)).max(limit / 4.0);
            (limit, (needed / useful).ceil().max(1.0) as usize)
        }
        Some(limit) => ((needed + JOB_START_SECONDS).max(MIN_JOB_SECONDS).min(limit), 1),
        None => ((needed + JOB_START_SECONDS).max(MIN_JOB_SECONDS), 1),
    }
}

/// Returns how long before its time limit a job's driver stops, so that it ends normally, in seconds.
pub fn stop_margin(limit: f64) -> f64 {
    (0.05 * limit).clamp(10.0, 60.0)
}
