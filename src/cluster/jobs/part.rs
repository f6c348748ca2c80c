//! Divides a plan into parts, one for the job of each number of nodes, and computes the time limits and node hours of the jobs.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, NodeName, Point};
use apexmap_base::units::{self, NumberStyle, plural};
use apexmap_run::drive::plan::Plan;
use apexmap_run::sweep::submit_table::Jobs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// `nodes-4`, `all`, or the name of a node that runs its points alone.
    pub name: String,
    pub nodes: usize,
    /// The largest number of ranks per node, if known.
    pub ranks_per_node: Option<usize>,
    pub sizes: Vec<LaunchSize>,
}

impl Part {
    pub fn node(&self) -> Option<NodeName> {
        self.sizes.first().and_then(|size| size.node)
    }

    pub fn contains(&self, point: &Point) -> bool {
        self.node().as_deref() == point.node() && self.sizes.contains(&point.launch_size())
    }

    pub fn describe_nodes(&self) -> String {
        self.node().map_or_else(|| plural(self.nodes, "node"), |node| format!("node {node}"))
    }
}

/// The smallest first.
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

/// For its start, and for the start of each launch.
const JOB_START_SECONDS: f64 = 60.0;
const LAUNCH_START_SECONDS: f64 = 15.0;
/// Factor on measuring times, because these are estimates.
const TIME_MARGIN: f64 = 1.5;
const MIN_JOB_SECONDS: f64 = 5.0 * 60.0;

/// How long before its time limit a job stops, so that it ends normally, in seconds.
pub fn stop_margin(limit: f64) -> f64 {
    (0.05 * limit).clamp(10.0, 60.0)
}

pub struct PartJob {
    pub part: Part,
    /// Estimated.
    pub measuring_seconds: f64,
    pub seconds: f64,
    /// How many jobs of this length all its points need, if the estimate holds.
    pub jobs_needed: usize,
}

impl PartJob {
    /// `measuring` seconds in this number of launches. The job is not longer than `limit`.
    pub fn new(part: Part, measuring: f64, launches: usize, limit: Option<f64>) -> Self {
        let needed = TIME_MARGIN * measuring + LAUNCH_START_SECONDS * launches as f64;
        let whole = needed + JOB_START_SECONDS;
        let (seconds, jobs_needed) = match limit {
            Some(limit) if whole > limit => {
                // Each job has a start-up time and stops before its limit, which leaves at least a quarter of it.
                let useful = (limit - JOB_START_SECONDS - stop_margin(limit)).max(limit / 4.0);
                (limit, (needed / useful).ceil() as usize)
            }
            limit => (whole.max(MIN_JOB_SECONDS).min(limit.unwrap_or(f64::INFINITY)), 1),
        };
        Self { part, measuring_seconds: measuring, seconds, jobs_needed }
    }

    /// The node hours of measuring, and those of the job up to its time limit, which sites charge at most.
    pub fn node_hours(&self) -> [f64; 2] {
        [self.measuring_seconds, self.seconds].map(|seconds| self.part.nodes as f64 * seconds / 3600.0)
    }
}

/// The node hours of measuring, and those up to the time limits.
pub fn sum_hours(jobs: &[PartJob]) -> [f64; 2] {
    let hours = jobs.iter().map(PartJob::node_hours);
    hours.fold([0.0; 2], |sum, hours| [sum[0] + hours[0], sum[1] + hours[1]])
}

pub fn format_hours(hours: f64) -> String {
    format!("{} node hours", units::number(hours, NumberStyle::Rounded(2)))
}
