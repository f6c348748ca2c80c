//! Finds jobs of a result in the queue. A result may come from another user, so an id alone is not trusted: the job's name must
//! match too.

use super::queue::Queue;
use super::record::{Job, Jobs, Line};
use apexmap_base::error::Result;
use std::collections::BTreeMap;

/// Cancels those of the jobs that [`find_in_queue`] finds in the queue, and records each cancellation first. Returns their names and ids.
pub fn cancel(queue: &mut dyn Queue, store: &Jobs, jobs: &[&Job]) -> Result<BTreeMap<String, String>> {
    let queued_jobs = find_in_queue(queue, jobs)?;
    for job in queued_jobs.keys() {
        store.append(&Line::Cancelling { job: job.clone() })?;
    }
    let ids: Vec<String> = queued_jobs.values().cloned().collect();
    if !ids.is_empty() {
        queue.cancel(&ids)?;
    }
    Ok(queued_jobs)
}

/// Returns the names and ids of those jobs that the queue lists under their names. A result of another user may name an id under
/// which another job now runs.
pub fn find_in_queue(queue: &mut dyn Queue, jobs: &[&Job]) -> Result<BTreeMap<String, String>> {
    let ids: Vec<String> = jobs.iter().filter_map(|job| job.id.clone()).collect();
    let names_by_id = if ids.is_empty() { BTreeMap::new() } else { queue.names(&ids)? };
    let all_names = if jobs.iter().all(|job| job.id.is_some()) { BTreeMap::new() } else { queue.names(&[])? };
    let find_id = |job: &&&Job| match &job.id {
        Some(id) => names_by_id.get(id)?.as_ref().is_none_or(|name| *name == job.name).then(|| id.clone()),
        None => all_names.iter().find(|(_, name)| name.as_ref() == Some(&job.name)).map(|(id, _)| id.clone()),
    };
    Ok(jobs.iter().filter_map(|job| Some((job.name.clone(), find_id(&job)?))).collect())
}
