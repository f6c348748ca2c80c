//! Asks the batch system about jobs, and records its answers.

use super::ends::{end_by_answer, find_answer};
use super::record::{Job, Line};
use super::state::{FollowState, Follower, record, record_end};
use crate::batch::JobState;
use crate::batch::answer::{Answer, is_id};
use apexmap_base::error::{ErrorKind, Result};
use std::time::{Duration, Instant};

/// Asks the batch system if a question is due. Returns true if a job has ended.
pub fn ask_queue(follower: &mut Follower, state: &mut FollowState) -> Result<bool> {
    let open_jobs: Vec<usize> = (0..state.jobs.len()).filter(|index| state.jobs[*index].end.is_none()).collect();
    if open_jobs.is_empty() || !may_ask(follower, state)? {
        return Ok(false);
    }
    let mut ids = Vec::new();
    let mut answers = match identify(follower, state).and_then(|()| {
        ids.extend(open_jobs.iter().filter_map(|index| state.jobs[*index].id.clone()));
        follower.queue.ask(&ids)
    }) {
        Ok(answers) => answers,
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
        Err(error) => {
            // The jobs continue without the answer, and the next question may succeed.
            follower.watcher.say(&format!("note: {}", error.message));
            return Ok(false);
        }
    };
    answers.retain(|id, _| ids.contains(id));
    if follower.other_owner.is_none() {
        state.store.keep_answers(&answers)?;
    }
    let mut has_ended = false;
    for index in open_jobs {
        let answer = find_answer(&state.jobs[index], &state.jobs, &answers);
        has_ended |= record_answer(follower, state, index, answer.as_ref())?;
    }
    Ok(has_ended)
}

/// Returns true if a question is due. For jobs of another user, this program counts its own questions only, because it does not
/// write to their record.
fn may_ask(follower: &Follower, state: &mut FollowState) -> Result<bool> {
    if follower.other_owner.is_none() {
        return state.store.may_ask(follower.ask_every);
    }
    let is_due = state.asked_at.is_none_or(|asked_at| asked_at.elapsed() >= follower.ask_every);
    if is_due {
        state.asked_at = Some(Instant::now());
    }
    Ok(is_due)
}

/// Returns the time until the next question.
pub fn time_to_question(follower: &Follower, state: &FollowState) -> Duration {
    let passed = match follower.other_owner {
        None => state.store.time_since_question(),
        Some(_) => state.asked_at.map(|asked_at| asked_at.elapsed()),
    };
    follower.ask_every.saturating_sub(passed.unwrap_or(follower.ask_every))
}

/// Finds the ids of jobs by their names in the queue, if the batch system's answer to their submission is unknown.
fn identify(follower: &mut Follower, state: &mut FollowState) -> Result<()> {
    let is_unknown = |job: &&mut Job| job.end.is_none() && job.id.is_none();
    let mut unknown = state.jobs.iter_mut().filter(is_unknown).peekable();
    if unknown.peek().is_none() {
        return Ok(());
    }
    let names = follower.queue.names(&[])?;
    for job in unknown {
        let id = names.iter().find(|(_, name)| name.as_ref() == Some(&job.name)).map(|(id, _)| id.clone());
        if let Some(id) = id.filter(|id| is_id(id)) {
            record(follower, &state.store, &Line::Submitted { job: job.name.clone(), id: id.clone() })?;
            job.id = Some(id);
        }
    }
    Ok(())
}

/// Records the batch system's answer about a job. Returns true if the job has ended.
fn record_answer(
    follower: &mut Follower,
    state: &mut FollowState,
    index: usize,
    answer: Option<&Answer>,
) -> Result<bool> {
    let job = &mut state.jobs[index];
    let has_chosen_node = follower.parts.iter().any(|part| part.name == job.part && part.node().is_some());
    let (job_state, reason, start) = match answer {
        // Slurm lists nodes that are down or drained. A job for such a node would wait until an administrator acts.
        Some(Answer { state: JobState::Waiting, reason, .. })
            if has_chosen_node && reason.contains("UnavailableNodes") =>
        {
            (JobState::NodeFailure, reason.as_str(), "")
        }
        Some(answer) => (answer.state, answer.reason.as_str(), answer.start.as_str()),
        None if job.id.is_none() && !job.has_started => {
            (JobState::Ended, "it is unknown to the batch system, so it was never submitted", "")
        }
        None => (JobState::Ended, "", ""),
    };
    let never_starts = matches!(job_state, JobState::NeverStarts | JobState::Unsatisfiable)
        || job_state == JobState::NodeFailure && has_chosen_node;
    if never_starts && follower.other_owner.is_none() {
        follower.queue.cancel(job.id.as_slice())?;
    }
    if !job_state.is_alive() {
        let (job_state, reason) = end_by_answer(&state.store, job, job_state, reason)?;
        record_end(follower, state, index, job_state, &reason)?;
        return Ok(true);
    }
    let is_waiting = matches!(job_state, JobState::Waiting | JobState::Held);
    let is_start_known = is_waiting && !start.is_empty() && start != "N/A";
    let start = if is_start_known { format!(", expected to start {start}") } else { String::new() };
    let reason_text = if reason.is_empty() || reason == "None" { String::new() } else { format!(" ({reason})") };
    let help = answer.map(|answer| answer.help.as_str()).filter(|help| !help.is_empty());
    let help = help.map_or(String::new(), |help| format!("; {help}"));
    let text = format!("job {} ({}) {}{reason_text}{start}{help}", job.shown_id(), job.part, job_state.predicate());
    if !job.has_started || is_waiting {
        let last = state.last_reports.insert(job.name.clone(), text.clone());
        if last.as_ref() != Some(&text) {
            follower.watcher.say(&text);
        }
    }
    Ok(false)
}
