//! Node hours: the number of nodes of jobs times their hours, which sites charge.

use super::parts::{Part, chain};
use super::record::{Job, Jobs};
use apexmap_base::units::{self, NumberStyle};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// The node hours of the jobs that a sweep still needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedHours {
    /// Those of the estimated measuring time.
    pub expected: f64,
    /// Those of all jobs up to their time limits.
    pub at_most: f64,
}

impl PlannedHours {
    /// Adds the jobs of a part with this measuring time in seconds and number of launches. No job is longer than `limit`.
    pub fn add_part(&mut self, part: &Part, measuring: f64, launches: usize, limit: Option<f64>) {
        if launches == 0 {
            return;
        }
        let (seconds, jobs) = chain(measuring, launches, limit);
        self.expected += node_hours(part.nodes, measuring);
        self.at_most += node_hours(part.nodes, seconds * jobs as f64);
    }
}

/// Returns the node hours of this number of nodes in this time.
pub fn node_hours(nodes: usize, seconds: f64) -> f64 {
    nodes as f64 * seconds / SECONDS_PER_HOUR
}

/// Returns the node hours that jobs took until `now`, by the times of their drivers.
pub fn hours_used(store: &Jobs, jobs: &[Job], now: f64) -> f64 {
    let started = jobs.iter().filter(|job| job.has_started);
    started.map(|job| job_hours(store, job, job.ran_seconds(now))).sum()
}

/// Returns the node hours that the open jobs may still take until their time limits.
pub fn hours_reserved(store: &Jobs, jobs: &[Job], now: f64) -> f64 {
    let open = jobs.iter().filter(|job| job.end.is_none());
    open.map(|job| job_hours(store, job, job.seconds - job.ran_seconds(now))).sum()
}

/// Returns the node hours of a job in this time; 0 without a readable part file.
fn job_hours(store: &Jobs, job: &Job, seconds: f64) -> f64 {
    Jobs::read_part(&store.part_file(&job.name)).map_or(0.0, |file| node_hours(file.part.nodes, seconds))
}

/// Formats node hours with two digits.
pub fn format_hours(hours: f64) -> String {
    format!("{} node hours", units::number(hours, NumberStyle::Rounded(2)))
}
