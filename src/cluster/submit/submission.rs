//! Submits the jobs of a part: one job, or a chain of jobs that each wait for the one before.

use super::node_hours::{self, format_hours};
use super::parts::{Part, chain};
use super::queue::Submission;
use super::record::{Job, Line};
use super::state::{FollowState, Follower};
use apexmap_base::error::{Error, Result};
use apexmap_base::units;
use apexmap_measure::worker::unix_seconds;
use apexmap_run::sweep::plan::Progress;
use std::time::SystemTime;

/// Largest number of jobs of a part in the queue. A longer chain grows as its jobs end.
pub const MAX_QUEUED_JOBS: usize = 10;
/// Largest number of jobs of a sweep in the queue.
pub const MAX_OPEN_JOBS: usize = 200;

/// Submits jobs for the remaining points of a part, until the queue has all jobs of its chain or [`MAX_QUEUED_JOBS`]. `samples` is
/// the part's number of samples. A job that the queue does not accept yet is submitted later.
pub fn fill_queue(
    follower: &mut Follower,
    state: &mut FollowState,
    part: &Part,
    progress: &Progress,
    samples: usize,
) -> Result<()> {
    let (measuring, launches) = (follower.measuring)(progress, &part.sizes)?;
    let (seconds, needed) = chain(measuring, launches, follower.options.time_limit_seconds);
    let queued = state.open_jobs().filter(|job| job.part == part.name).count();
    let mut predecessor = state.open_jobs().filter(|job| job.part == part.name).last().cloned();
    if queued >= needed.min(MAX_QUEUED_JOBS) {
        state.postponed.remove(&part.name);
    }
    for position in queued..needed.min(MAX_QUEUED_JOBS) {
        if state.open_jobs().count() >= MAX_OPEN_JOBS {
            break;
        }
        // A job can only wait for a job whose id is known.
        if predecessor.as_ref().is_some_and(|job| job.id.is_none()) {
            break;
        }
        if exceeds_hours(follower, state, part, seconds) {
            break;
        }
        let Some(job) = submit_job(follower, state, part, seconds, predecessor.as_ref(), samples)? else { break };
        state.postponed.remove(&part.name);
        if position == 0 && needed > MAX_QUEUED_JOBS {
            let text = format!(
                "{}: a chain of {needed} jobs; at most {MAX_QUEUED_JOBS} are in the queue at a time, and the others follow as they end",
                part.name
            );
            follower.watcher.say(&text);
        }
        state.jobs.push(job.clone());
        predecessor = Some(job);
    }
    Ok(())
}

/// Returns true if a further job could take the sweep beyond its largest number of node hours. A part without open jobs then stops.
fn exceeds_hours(follower: &Follower, state: &mut FollowState, part: &Part, seconds: f64) -> bool {
    let Some(max_hours) = follower.max_node_hours else { return false };
    let now = unix_seconds();
    let used = node_hours::hours_used(&state.store, &state.jobs, now)
        + node_hours::hours_reserved(&state.store, &state.jobs, now);
    let needed = used + node_hours::node_hours(part.nodes, seconds);
    if needed <= max_hours {
        return false;
    }
    if state.open_jobs().all(|job| job.part != part.name) {
        let reason = format!(
            "with a further job, this sweep may take {}, more than max_node_hours = {max_hours}; raise it (--max-node-hours) to \
             measure the remaining points",
            format_hours(needed)
        );
        state.stopped.insert(part.name.clone(), reason);
        state.postponed.remove(&part.name);
    }
    true
}

/// Submits a job and returns it, or `None` if the queue did not accept it.
fn submit_job(
    follower: &mut Follower,
    state: &mut FollowState,
    part: &Part,
    seconds: f64,
    predecessor: Option<&Job>,
    samples: usize,
) -> Result<Option<Job>> {
    let name = format!("am-{:03}-{}", state.jobs.len() + 1, token());
    (follower.prepare)(&name, part, seconds)?;
    let store = &state.store;
    let job = Job {
        name: name.clone(),
        part: part.name.clone(),
        seconds,
        predecessor: predecessor.map(|job| job.name.clone()),
        samples_before: samples,
        ..Job::default()
    };
    let (part_name, after) = (part.name.clone(), job.predecessor.clone());
    // Recorded first: if this program is killed now, the next one finds the job in the queue by its name.
    store.append(&Line::Submitting { job: name.clone(), part: part_name, seconds, after, samples })?;
    let script = std::path::absolute(store.script(&name)).map_err(|e| Error::file("find", &store.script(&name), e))?;
    let id = match follower.queue.submit(&script, predecessor.and_then(|job| job.id.as_deref())) {
        Ok(Submission::Accepted(id)) => id,
        Ok(Submission::Postponed(reason)) => {
            for file in [store.script(&name), store.part_file(&name)] {
                let _ = std::fs::remove_file(file);
            }
            store.append(&Line::Postponed { job: name, why: reason.clone() })?;
            postpone(follower, state, part, &reason);
            return Ok(None);
        }
        Err(error) => {
            store.append(&Line::Refused { job: name, why: error.message.clone() })?;
            return give_up(follower, state, part, error).map(|()| None);
        }
    };
    let nodes = part.describe_nodes();
    let dependency = predecessor.map_or(String::new(), |job| format!(", after job {}", job.shown_id()));
    let time = units::seconds(seconds);
    follower.watcher.say(&match &id {
        Some(id) => format!("submitted job {id}: {nodes}, {time} at most{dependency}"),
        None => format!("note: job {name}: the batch system did not confirm the submission; apexmap looks for the job's name in the queue"),
    });
    if let Some(id) = &id {
        store.append(&Line::Submitted { job: name.clone(), id: id.clone() })?;
    }
    Ok(Some(Job { id, ..job }))
}

/// Notes that the queue accepts no more jobs now.
fn postpone(follower: &mut Follower, state: &mut FollowState, part: &Part, reason: &str) {
    if state.postponed.insert(part.name.clone(), reason.to_owned()).as_deref() != Some(reason) {
        let text = format!("{}: the queue accepts no further job now ({reason}); it is submitted later", part.name);
        follower.watcher.say(&text);
    }
}

/// Handles a job that the batch system refuses: the jobs that it accepted are still followed.
fn give_up(follower: &mut Follower, state: &mut FollowState, part: &Part, error: Error) -> Result<()> {
    if state.open_jobs().any(|job| job.part == part.name) {
        postpone(follower, state, part, &error.message);
        return Ok(());
    }
    if state.open_jobs().next().is_some() {
        state.stopped.insert(part.name.clone(), format!("{}; {}", error.message, error.help));
        return Ok(());
    }
    Err(error)
}

/// Returns a token that distinguishes jobs of different results, and jobs of this result if its record is lost.
fn token() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{:06x}", (now as u64 ^ u64::from(std::process::id()) << 40) % (1 << 24))
}
