//! Lists the remaining launches of a result as jobs for manually started workers.

use apexmap_base::error::Result;
use apexmap_base::point::LaunchSize;
use apexmap_measure::worker::Job;
use apexmap_run::sweep::groups::{Group, group_points, launch_job};
use apexmap_run::sweep::plan::{Plan, Progress};
use std::collections::BTreeMap;

/// Returns the jobs, without names. Each job watches its machine for `preflight_seconds` before it measures. Each gets a share of
/// the sweep's time in proportion to its points.
pub fn open_jobs(
    plan: &Plan,
    progress: &Progress,
    retry_failed: bool,
    preflight_seconds: f64,
) -> Result<Vec<(LaunchSize, Job)>> {
    let groups = group_points(plan, progress, retry_failed);
    let pending_points: usize = groups.iter().map(|group| group.pending.len()).sum();
    let share = |points: usize| plan.repeat.budget_seconds.map(|budget| budget * points as f64 / pending_points as f64);
    let job_of_group = |group: &Group| {
        let job = launch_job(plan, group, "", share(group.pending.len()), preflight_seconds)?;
        // The launch will run in another environment than this process.
        Ok((group.size, Job { environment: BTreeMap::new(), ..job }))
    };
    groups.iter().map(job_of_group).collect()
}
