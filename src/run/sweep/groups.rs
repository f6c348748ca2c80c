//! Groups the unfinished points of a plan by launch: the points of one size in one block.

use super::forecast::{OpenLaunch, OpenPoint};
use super::plan::{Entry, Plan, Progress, State};
use apexmap_base::point::LaunchSize;

/// A point to measure.
pub struct Pending {
    pub entry: usize,
    pub seconds: Vec<f64>,
    pub next_repetition: u32,
    /// Whether it has already crashed a launch.
    pub crashed: bool,
    /// Whether it has failed, so that more runs would not help.
    pub failed: bool,
}

/// The points of one size of launch in one block.
pub struct Group {
    pub block: u32,
    pub size: LaunchSize,
    pub pending: Vec<Pending>,
}

/// Returns the remaining launches. `cost` returns the wall time of one sample of a point, in seconds.
pub fn remaining_launches(plan: &Plan, progress: &Progress, cost: &dyn Fn(&Entry) -> f64) -> Vec<OpenLaunch> {
    launches_of_groups(plan, &group_points(plan, progress, false), cost)
}

/// Returns the launches of these groups.
pub fn launches_of_groups(plan: &Plan, groups: &[Group], cost: &dyn Fn(&Entry) -> f64) -> Vec<OpenLaunch> {
    let point = |pending: &Pending| {
        let entry = &plan.entries[pending.entry];
        OpenPoint { key: entry.key.clone(), seconds: pending.seconds.clone(), cost: cost(entry) }
    };
    let launch = |group: &Group| OpenLaunch {
        block: group.block,
        size: group.size,
        points: group.pending.iter().map(point).collect(),
    };
    groups.iter().map(launch).collect()
}

/// Returns the groups of a plan's unfinished points, block after block. `retry_failed`: failed points count as unfinished.
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
            let to_pending = |&entry: &usize| {
                let samples = progress.samples_of(&plan.entries[entry].key, block).cloned().unwrap_or_default();
                Pending {
                    entry,
                    seconds: samples.seconds,
                    next_repetition: samples.next_repetition,
                    crashed: false,
                    failed: false,
                }
            };
            let pending: Vec<_> = entries.iter().filter(is_open).map(to_pending).collect();
            if !pending.is_empty() {
                groups.push(Group { block, size, pending });
            }
        }
    }
    groups
}
