//! Limits on the jobs of a sweep: node hours and nodes.

use super::Campaign;
use crate::submit::node_hours::{self, PlannedHours, format_hours};
use crate::submit::{Jobs, Part};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::plural;
use apexmap_measure::worker::unix_seconds;

/// The largest number of node hours of a sweep, and its source.
pub struct HourLimit {
    pub max: Option<f64>,
    source: &'static str,
}

impl HourLimit {
    /// Takes the limit of the flag, the sweep or the site file.
    pub fn new(campaign: &Campaign, flag: Option<f64>) -> Self {
        let limits = [
            (flag, "--max-node-hours"),
            (campaign.sweep.launch.max_node_hours, "max_node_hours in [launch]"),
            (campaign.site.file.limits.max_node_hours, "max_node_hours of the site file"),
        ];
        let (max, source) = limits.into_iter().find(|(max, _)| max.is_some()).unwrap_or_default();
        Self { max, source }
    }

    /// Refuses a sweep whose jobs may take more.
    ///
    /// # Errors
    /// If the record of earlier jobs cannot be read, or the limit is exceeded.
    pub fn check(&self, store: &Jobs, planned: PlannedHours) -> Result<()> {
        let Some(max) = self.max else { return Ok(()) };
        let jobs = if store.exist() { store.read()?.1 } else { Vec::new() };
        let used = node_hours::hours_used(store, &jobs, unix_seconds());
        // Open jobs are followed in any case; the follower submits no job that exceeds the limit.
        let has_open_jobs = jobs.iter().any(|job| job.end.is_none());
        if has_open_jobs || used + planned.at_most <= max {
            return Ok(());
        }
        let earlier =
            if used > 0.0 { format!(", after {} of earlier jobs", format_hours(used)) } else { String::new() };
        Err(Error::input(
            format!(
                "the jobs may take {} by their time limits (about {} of measuring){earlier}; {} allows {max}",
                format_hours(planned.at_most),
                format_hours(planned.expected),
                self.source
            ),
            "raise the limit, measure fewer points, or use a shorter --time-limit; --dry-run shows the jobs",
        ))
    }
}

/// Refuses jobs on more nodes than the site file allows.
///
/// # Errors
/// If a part needs more.
pub fn check_nodes(campaign: &Campaign, parts: &[Part]) -> Result<()> {
    let largest = parts.iter().map(|part| part.nodes).max().unwrap_or(0);
    match campaign.site.file.limits.max_nodes {
        Some(max) if largest > max => Err(Error::input(
            format!("a job would need {}, but max_nodes of the site file allows {max}", plural(largest, "node")),
            "use fewer ranks in the sweep, or more ranks per node (--ranks-per-node)",
        )),
        _ => Ok(()),
    }
}
