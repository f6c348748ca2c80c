//! Jobs of a result that the batch system knows: by their ids and by the names with which they were submitted, as a result may come
//! from somebody else.

use super::queue::Queue;
use super::record::{Job, Jobs, Line};
use apexmap_base::error::Result;
use std::collections::BTreeMap;

/// Cancels those of the jobs that the queue knows by the names with which they were submitted, and keeps that they were to be:
/// under an id that a result of other hands names, another job may run. Returns their names and ids.
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

/// Those of the jobs that the queue knows by the names with which they were submitted: their names and ids.
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
