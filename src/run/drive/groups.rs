//! Groups the unfinished points of a plan by launch: the points of one size in one block.

use super::forecast::{OpenLaunch, OpenPoint};
use super::plan::{Entry, Plan, Progress, State};
use apexmap_base::error::Result;
use apexmap_base::point::LaunchSize;
use apexmap_measure::worker::{Job, Repeat, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

pub struct Pending {
    pub entry: usize,
    /// Times of the samples on nodes of the group's type, or values that a command printed.
    pub values: Vec<f64>,
    pub next_repetition: u32,
    pub crashed: bool,
    /// Whether it has failed, so that more runs would not help.
    pub failed: bool,
}

impl Pending {
    pub fn is_unmeasured(&self) -> bool {
        self.values.is_empty()
    }
}

/// The points of one size of launch in one block.
pub struct Group {
    pub block: u32,
    pub size: LaunchSize,
    /// The type of the nodes on which the points' samples were taken: of several, the one with the most samples.
    pub node_type: Option<String>,
    pub pending: Vec<Pending>,
}

impl Group {
    pub fn has_unmeasured_point(&self) -> bool {
        self.pending.iter().any(Pending::is_unmeasured)
    }

    /// Forgets the samples on nodes of other types than those of a launch that begins.
    pub fn begin_on(&mut self, node_type: &str) {
        if self.node_type.as_deref() != Some(node_type) {
            self.node_type = Some(node_type.to_owned());
            self.pending.iter_mut().for_each(|pending| pending.values.clear());
        }
    }
}

/// The remaining launches. With `retry_failed`, failed points are unfinished. `cost` is the wall time of one sample in seconds.
pub fn remaining_launches(
    plan: &Plan,
    progress: &Progress,
    retry_failed: bool,
    cost: &dyn Fn(&Entry) -> f64,
) -> Vec<OpenLaunch> {
    launches_of_groups(plan, &group_points(plan, progress, retry_failed), cost)
}

pub fn launches_of_groups(plan: &Plan, groups: &[Group], cost: &dyn Fn(&Entry) -> f64) -> Vec<OpenLaunch> {
    let point = |pending: &Pending| {
        let entry = &plan.entries[pending.entry];
        OpenPoint { key: entry.key.clone(), values: pending.values.clone(), cost: cost(entry) }
    };
    let launch = |group: &Group| OpenLaunch {
        block: group.block,
        size: group.size,
        points: group.pending.iter().map(point).collect(),
    };
    groups.iter().map(launch).collect()
}

/// The groups of a plan's unfinished points, block after block. With `retry_failed`, failed points are unfinished.
pub fn group_points(plan: &Plan, progress: &Progress, retry_failed: bool) -> Vec<Group> {
    let by_size = plan.by_size();
    let mut groups = Vec::new();
    for block in 0..plan.blocks {
        for (&size, entries) in &by_size {
            let is_open = |&&entry: &&usize| match progress.state(&plan.entries[entry].key, block) {
                State::Done => false,
                State::Failed => retry_failed,
                State::Missing | State::Partial => true,
            };
            let open: Vec<usize> = entries.iter().filter(is_open).copied().collect();
            if !open.is_empty() {
                groups.push(group(plan, progress, block, size, &open));
            }
        }
    }
    groups
}

fn group(plan: &Plan, progress: &Progress, block: u32, size: LaunchSize, open: &[usize]) -> Group {
    let samples_of = |entry: usize| progress.samples_of(&plan.entries[entry].key, block);
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (node_type, values) in open.iter().filter_map(|&entry| samples_of(entry)).flat_map(|samples| &samples.values) {
        *counts.entry(*node_type).or_default() += values.len();
    }
    let node_type = counts.into_iter().max_by_key(|(_, count)| *count).map(|(node_type, _)| node_type);
    let to_pending = |&entry: &usize| {
        let samples = samples_of(entry);
        Pending {
            entry,
            values: samples
                .zip(node_type)
                .and_then(|(held, index)| held.values.get(&index).cloned())
                .unwrap_or_default(),
            next_repetition: samples.map_or(0, |held| held.next_repetition),
            crashed: false,
            failed: false,
        }
    };
    let pending = open.iter().map(to_pending).collect();
    Group { block, size, node_type: node_type.map(|index| progress.node_types[index].clone()), pending }
}

pub fn launch_job(
    plan: &Plan,
    group: &Group,
    launch: &str,
    budget_seconds: Option<f64>,
    preflight_seconds: f64,
) -> Result<Job> {
    let simulation = plan.context.simulation.as_ref();
    let task = |pending: &Pending| Task {
        key: plan.entries[pending.entry].key.clone(),
        point: plan.entries[pending.entry].point.clone(),
        seconds_so_far: pending.values.clone(),
        next_repetition: pending.next_repetition,
        costs: plan.entries[pending.entry].costs,
        resampled_costs: plan.entries[pending.entry].resampled_costs.clone(),
    };
    Ok(Job {
        launch: launch.to_owned(),
        block: group.block,
        launcher: plan.context.launcher.id.into(),
        transport: plan.context.transport.name().into(),
        ranks: group.size.ranks,
        seed: plan.seed,
        repeat: Repeat { budget_seconds, ..plan.repeat },
        first_round_seconds: None,
        eager_bytes: None,
        on_request: false,
        preflight_seconds,
        node_type: group.node_type.clone(),
        environment: messaging_variables(&[]),
        machine: simulation.map(|simulation| simulation.machine(group.size)).transpose()?,
        resampled: simulation.map_or_else(Vec::new, |simulation| simulation.resampled_machines(group.size)),
        tasks: group.pending.iter().map(task).collect(),
    })
}

const MESSAGING: [&str; 11] =
    ["FI_", "GASNET_", "HYDRA_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "OMPI_", "PSM", "SLURM_MPI_TYPE", "UCX_"];

/// The variables that change how messages are sent, of this process and of the launch.
pub fn messaging_variables(launch_variables: &[(String, String)]) -> BTreeMap<String, String> {
    let to_text = |(name, value): (OsString, OsString)| (name.to_string_lossy().into(), value.to_string_lossy().into());
    let variables = std::env::vars_os().map(to_text).chain(launch_variables.iter().cloned());
    variables.filter(|(name, _)| MESSAGING.iter().any(|prefix| name.starts_with(prefix))).collect()
}

/// Types of nodes with samples, and those that the user has read about. Samples of unlike nodes do not count together.
#[derive(Debug, Default)]
pub struct NodeTypes {
    sampled: BTreeSet<String>,
    announced: BTreeSet<String>,
}

impl NodeTypes {
    pub fn new(sampled: &[String]) -> Self {
        Self { sampled: sampled.iter().cloned().collect(), announced: BTreeSet::new() }
    }

    /// Adds the type of a launch. Returns a line for the user, once per type, if the result has samples on another one.
    pub fn add(&mut self, launch: &str, node_type: &str) -> Option<String> {
        self.sampled.insert(node_type.to_owned());
        if !self.announced.insert(node_type.to_owned()) {
            return None;
        }
        let others: Vec<&str> = self.sampled.iter().map(String::as_str).filter(|name| *name != node_type).collect();
        (!others.is_empty()).then(|| {
            format!(
                "launch {launch} runs on other nodes ({node_type}) than earlier samples ({}): samples of unlike nodes are kept apart",
                others.join("; ")
            )
        })
    }
}
