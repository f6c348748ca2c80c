//! How jobs ended: by their drivers, by the batch system and by their logs.

use super::log;
use super::parts::stop_margin;
use super::record::{Job, Jobs};
use crate::batch::JobState;
use crate::batch::answer::Answer;
use apexmap_base::error::Result;
use apexmap_run::launch::causes::Nature;
use std::collections::BTreeMap;

/// Returns the final state of a job whose driver recorded its own end, and the reason. A driver that a signal ended may belong to
/// a requeued job, so only the batch system knows whether that job has ended.
pub fn end_by_driver(job: &Job) -> Option<(JobState, String)> {
    let end = job.driver_end.as_ref().filter(|end| end.code < 128)?;
    Some((if end.code == 0 { JobState::Completed } else { JobState::Failed }, end.message.clone()))
}

/// Returns the batch system's answer about a job. A result of another user may name an id under which another job now runs, so the
/// names must be equal. PBS calls a job held that waits for another one: of `jobs`, the predecessor is then still open.
pub fn find_answer(job: &Job, jobs: &[Job], answers: &BTreeMap<String, Answer>) -> Option<Answer> {
    let is_same_job = |answer: &&Answer| answer.name.is_empty() || answer.name == job.name;
    let mut answer = answers.get(job.id.as_ref()?).filter(is_same_job)?.clone();
    let waits_for = |other: &Job| Some(&other.name) == job.predecessor.as_ref() && other.end.is_none();
    if answer.state == JobState::Held && jobs.iter().any(waits_for) {
        (answer.state, answer.help) = (JobState::Waiting, String::new());
    }
    Some(answer)
}

/// Returns the final state of a job that the batch system no longer runs, and the reason. `state` and `reason` are the batch
/// system's. The job's own driver knows the cause best, unless a signal terminated it, and its log the second best.
pub fn end_by_answer(store: &Jobs, job: &mut Job, state: JobState, reason: &str) -> Result<(JobState, String)> {
    store.update(job)?;
    let driver_end = job.driver_end.clone().unwrap_or_default();
    let driver_message = Some(driver_end.message.clone()).filter(|message| !message.is_empty());
    let cause = log::cause(store, &job.name, state);
    let is_memory = cause.as_ref().is_some_and(|cause_match| cause_match.cause.nature == Nature::Memory);
    let log_message = cause.map(|cause_match| cause_match.sentence());
    let is_by_driver = job.driver_end.is_some() && driver_end.code <= 128;
    let message = if is_by_driver { driver_message.or(log_message) } else { log_message.or(driver_message) };
    // The driver stops one margin before the limit. Within two, the limit may be the cause of the signal.
    let was_early = driver_end.was_ended_early(job.seconds - 2.0 * stop_margin(job.seconds));
    let state = match state {
        JobState::Failed | JobState::Ended if is_memory && !is_by_driver => JobState::OutOfMemory,
        JobState::Ended if was_early => JobState::Interrupted,
        other => other,
    };
    Ok((state, message.unwrap_or_else(|| reason.to_owned())))
}
