//! Follows jobs to their end.

use super::decide::{NextStep, choose_step, may_extend};
use super::ends::end_by_driver;
use super::known::cancel;
use super::questions::{ask_queue, time_to_question};
use super::record::Job;
use super::state::{count_samples, has_failed, read_progress, record_end};
use super::submission::fill_queue;
use super::tail::Tail;
use crate::batch::JobState;
use apexmap_base::error::Result;
use apexmap_base::units;
use apexmap_run::sweep::driver;
use std::time::{Duration, Instant};

pub use super::state::{FollowState, Follower, Measuring, Stopped};

/// Shortest time between two questions to the batch system by any process of this result. Schedulers of large sites must not be
/// asked more often.
pub const ASK_EVERY: Duration = Duration::from_secs(30);
/// Time between two reads of the journals.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Submits the missing jobs, and follows all jobs until each part is done or stopped.
///
/// # Errors
/// If the batch system refuses a job, a file cannot be written, or `interrupted` returns an error. Submitted jobs continue.
pub fn follow(follower: &mut Follower) -> Result<Stopped> {
    let progress = read_progress(follower)?;
    let retry_failed = follower.retry_failed;
    let launches = driver::remaining_launches(follower.plan, &progress, retry_failed, follower.cost);
    let [.., failed] = progress.counts();
    let failed = if retry_failed { 0 } else { failed };
    follower.watcher.begin(&launches, follower.plan.repeat, failed);
    let mut tail = Tail::new(follower.folder, follower.plan, &progress)?;
    let mut state = FollowState::new(follower, &progress)?;
    loop {
        let looked_at = Instant::now();
        tail.read(follower.folder, follower.plan, follower.watcher)?;
        // `|` and not `||`: both must run.
        let has_changed = read_driver_records(follower, &mut state)? | ask_queue(follower, &mut state)?;
        // The queue may accept further jobs, or the owner's apexmap may end or submit them.
        let waits = !state.postponed.is_empty() || follower.other_owner.is_some() && state.open_jobs().next().is_none();
        if has_changed || state.acted_at.is_none_or(|moment| waits && moment.elapsed() >= follower.ask_every) {
            act_on_parts(follower, &mut state)?;
            state.acted_at = Some(Instant::now());
        }
        let is_over = follower.parts.iter().all(|part| state.is_settled(part));
        if is_over || follower.detaches {
            // Samples may have arrived since the last look.
            tail.read(follower.folder, follower.plan, follower.watcher)?;
            return Ok(state.stopped);
        }
        follower.watcher.report_pause(describe_pause(follower, &state).as_deref());
        // Asking the batch system may have taken long.
        (follower.interrupted)()?;
        while looked_at.elapsed() < follower.look_every {
            (follower.interrupted)()?;
            std::thread::sleep(follower.look_every.min(Duration::from_millis(100)));
        }
        follower.watcher.tick();
    }
}

/// Reads the records of the jobs' drivers, and those of another user's jobs. Returns true if a job has ended.
fn read_driver_records(follower: &mut Follower, state: &mut FollowState) -> Result<bool> {
    let mut ended_jobs =
        if follower.other_owner.is_some() { read_record_of_owner(follower, state)? } else { Vec::new() };
    for (index, job) in state.jobs.iter_mut().enumerate().filter(|(_, job)| job.end.is_none()) {
        let (had_started, had_ended) = (job.has_started, job.driver_end.is_some());
        state.store.update(job)?;
        if job.has_started && !had_started {
            let text = format!("job {} ({}) has started", job.shown_id(), job.part);
            follower.watcher.say(&text);
        }
        if let Some((end_state, reason)) = end_by_driver(job) {
            ended_jobs.push((index, end_state, reason));
        } else if job.driver_end.is_some() && !had_ended {
            let text = format!("job {} ({}): a signal ended its driver", job.shown_id(), job.part);
            follower.watcher.say(&text);
            state.last_reports.remove(&job.name);
        }
    }
    for (index, end_state, end_reason) in &ended_jobs {
        if state.jobs[*index].end.is_none() {
            record_end(follower, state, *index, *end_state, end_reason)?;
        }
    }
    Ok(!ended_jobs.is_empty())
}

/// Adds the jobs that their owner has submitted since the last look, and returns those that have ended, with state and reason.
fn read_record_of_owner(follower: &mut Follower, state: &mut FollowState) -> Result<Vec<(usize, JobState, String)>> {
    let bytes = state.store.record_bytes();
    let mut ended_jobs = Vec::new();
    if std::mem::replace(&mut state.record_bytes, bytes) == bytes {
        return Ok(ended_jobs);
    }
    for recorded in state.store.read()?.1 {
        match state.jobs.iter().position(|job| job.name == recorded.name) {
            Some(index) => {
                if let (Some((end_state, reason, _)), None) = (recorded.end, &state.jobs[index].end) {
                    ended_jobs.push((index, end_state, reason));
                }
            }
            None => {
                let text = format!("job {} ({}) was submitted", recorded.shown_id(), recorded.part);
                follower.watcher.say(&text);
                state.jobs.push(recorded);
            }
        }
    }
    Ok(ended_jobs)
}

/// Describes what is awaited; returns `None` if the driver of a job runs.
fn describe_pause(follower: &Follower, state: &FollowState) -> Option<String> {
    if state.open_jobs().any(Job::is_measuring) {
        return None;
    }
    let after_signal = |job: &Job| {
        let seconds = time_to_question(follower, state).as_secs_f64().ceil();
        let next = format!("the batch system is asked in {}", units::seconds(seconds));
        job.driver_end.as_ref().map(|_| format!("a signal ended the driver of job {}; {next}", job.shown_id()))
    };
    let describe = |job: &Job| state.last_reports.get(&job.name).cloned().or_else(|| after_signal(job));
    let waiting = || state.postponed.iter().next().map(|(part, reason)| format!("{part}: {reason}"));
    Some(state.open_jobs().find_map(describe).or_else(waiting).unwrap_or_else(|| "no job has started yet".to_owned()))
}

/// Submits the remaining points of parts whose jobs have ended, extends chains, and cancels the jobs of parts that are done.
fn act_on_parts(follower: &mut Follower, state: &mut FollowState) -> Result<()> {
    let progress = read_progress(follower)?;
    // A queue that does not accept the job of one part accepts none of the others.
    let mut is_full = false;
    for part in follower.parts {
        if state.is_settled(part) {
            continue;
        }
        let (samples, is_open) = count_samples(follower.plan, &progress, part);
        let part_jobs: Vec<&Job> = state.jobs.iter().filter(|job| job.part == part.name).collect();
        let earlier_jobs = state.earlier_jobs(&part.name);
        let retries = follower.retry_failed
            && has_failed(follower.plan, &progress, part)
            && !part_jobs.iter().skip(earlier_jobs).any(|job| job.is_through());
        let step = choose_step(is_open || retries, &part_jobs, earlier_jobs, follower.options.tries);
        let extends = is_open && follower.options.time_limit_seconds.is_some() && may_extend(&part_jobs, earlier_jobs);
        match (step, follower.other_owner.clone()) {
            (NextStep::Submit, None) if is_full => {}
            (NextStep::Wait, None) if !extends || is_full => {}
            (NextStep::Submit | NextStep::Wait, None) => {
                fill_queue(follower, state, part, &progress, samples)?;
                is_full = state.postponed.contains_key(&part.name);
            }
            (NextStep::Wait, Some(_)) => {}
            (NextStep::Done, _) => {
                state.postponed.remove(&part.name);
                cancel_part(follower, state, &part.name, false)?;
                state.done_parts.push(part.name.clone());
            }
            (NextStep::Stop(why), _) => {
                state.postponed.remove(&part.name);
                state.stopped.insert(part.name.clone(), why);
                cancel_part(follower, state, &part.name, true)?;
            }
            // The owner's apexmap submits further jobs.
            (NextStep::Submit, Some(_)) if state.store.is_followed() => {}
            (NextStep::Submit, Some(owner)) => {
                let reason = format!("points are left, and only {owner}, who submitted its jobs, submits further jobs");
                state.stopped.insert(part.name.clone(), reason);
            }
        }
    }
    Ok(())
}

/// Cancels the open jobs of a part, unless they belong to another user. `records_end`: whether their end is recorded at once.
fn cancel_part(follower: &mut Follower, state: &mut FollowState, part: &str, records_end: bool) -> Result<()> {
    if follower.other_owner.is_some() {
        return Ok(());
    }
    let is_open = |job: &Job| job.part == part && job.end.is_none();
    let open_jobs: Vec<usize> = (0..state.jobs.len()).filter(|index| is_open(&state.jobs[*index])).collect();
    let jobs: Vec<&Job> = open_jobs.iter().map(|index| &state.jobs[*index]).collect();
    cancel(follower.queue, &state.store, &jobs)?;
    if records_end {
        open_jobs.into_iter().try_for_each(|index| record_end(follower, state, index, JobState::Cancelled, ""))?;
    }
    Ok(())
}
