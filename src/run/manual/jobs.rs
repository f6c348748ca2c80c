//! The launches that a result does not have yet, as jobs for workers that are started manually.

use crate::sweep::driver::job;
use crate::sweep::groups::{Group, groups};
use crate::sweep::plan::{Plan, Progress};
use apexmap_base::point::LaunchSize;
use apexmap_measure::worker::Job;
use std::collections::BTreeMap;

/// The jobs without names. Each watches its machine before it measures, for so many seconds, and gets its share of the sweep's time.
pub fn jobs(plan: &Plan, progress: &Progress, retry_failed: bool, preflight_seconds: f64) -> Vec<(LaunchSize, Job)> {
    let groups = groups(plan, progress, retry_failed);
    let all: usize = groups.iter().map(|group| group.pending.len()).sum();
    let share = |points: usize| plan.repeat.budget_seconds.map(|budget| budget * points as f64 / all as f64);
    let one = |group: &Group| {
        let job = job(plan, group, "", share(group.pending.len()), preflight_seconds);
        // The environment of this process is not that of the launch.
        (group.size, Job { environment: BTreeMap::new(), ..job })
    };
    groups.iter().map(one).collect()
}
