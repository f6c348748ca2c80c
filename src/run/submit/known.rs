//! Finds jobs of a result in the queue. A result may come from another user, so an id alone is not trusted: the job's name must
//! match too.

use super::queue::Queue;
use super::record::{Job, Jobs, Line};
use apexmap_base::error::Result;
use std::collections::BTreeMap;

/// Cancels those of the jobs that [`known`] finds in the queue, and records each cancellation first. Returns their names and ids.
pub fn cancel(queue: &mut dyn Queue, store: &Jobs, jobs: &[&Job]) -> Result<BTreeMap<String, String>> {
    let known = known(queue, jobs)?;
    for job in known.keys() {
        store.append(&Line::Cancelling { job: job.clone() })?;
    }
    let ids: Vec<String> = known.values().cloned().collect();
    if !ids.is_empty() {
        queue.cancel(&ids)?;
    }
    Ok(known)
}

/// Returns the names and ids of those jobs that the queue lists under their names. A result of another user may name an id under
/// which another job now runs.
pub fn known(queue: &mut dyn Queue, jobs: &[&Job]) -> Result<BTreeMap<String, String>> {
    let ids: Vec<String> = jobs.iter().filter_map(|job| job.id.clone()).collect();
    let by_id = if ids.is_empty() { BTreeMap::new() } else { queue.names(&ids)? };
    let all = if jobs.iter().all(|job| job.id.is_some()) { BTreeMap::new() } else { queue.names(&[])? };
    let id = |job: &&&Job| match &job.id {
        Some(id) => by_id.get(id)?.as_ref().is_none_or(|name| *name == job.name).then(|| id.clone()),
        None => all.iter().find(|(_, name)| name.as_ref() == Some(&job.name)).map(|(id, _)| id.clone()),
    };
    Ok(jobs.iter().filter_map(|job| Some((job.name.clone(), id(&job)?))).collect())
}
