//! Chooses the next step for a part of a sweep: wait, submit again or stop.

use super::record::Job;
use crate::batch::JobState;
use apexmap_base::units::plural;

/// The next step for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// All points are done or failed; remaining jobs are unnecessary.
    Done,
    /// Jobs of the part are still waiting or running.
    Wait,
    /// Submit jobs for the remaining points.
    Submit,
    /// Submit no further job, for this reason.
    Stop(String),
}

/// Maximum number of consecutive jobs without a new sample.
const MAX_JOBS_WITHOUT_SAMPLES: usize = 2;

/// Chooses the next step for a part. `points_left`: whether points are left; `jobs`: the jobs of the part in the order of their
/// submission. The first `earlier_jobs` of them were submitted by earlier commands. Tries are jobs of this command without a new
/// sample; there may be `max_tries` of them.
pub fn choose_step(points_left: bool, jobs: &[&Job], earlier_jobs: usize, max_tries: u32) -> NextStep {
    if !points_left {
        return NextStep::Done;
    }
    let recent_jobs = jobs.get(earlier_jobs..).unwrap_or_default();
    if let Some(job) = recent_jobs.iter().find(|job| job.end.is_some() && job.met_setup_fault()) {
        let reason = job.end.as_ref().map_or("", |(_, why, _)| why);
        return NextStep::Stop(format!("{reason}; fix this first, because every further job would fail the same way"));
    }
    if let Some((state, reason, _)) =
        recent_jobs.iter().filter_map(|job| job.end.as_ref()).find(|(state, ..)| can_never_start(*state))
    {
        return NextStep::Stop(format!("a job {} ({reason}); no further job is submitted", state.predicate()));
    }
    let ended_states =
        recent_jobs.iter().filter_map(|job| job.end.as_ref()).map(|(state, ..)| *state).collect::<Vec<_>>();
    // Each may have measured other points first, so samples say nothing.
    if ended_states.windows(2).any(|pair| pair == [JobState::OutOfMemory; 2]) {
        return NextStep::Stop("two jobs in a row ran out of memory; no further job is submitted".to_owned());
    }
    if jobs.iter().any(|job| job.end.is_none()) {
        return NextStep::Wait;
    }
    let Some((last, tried)) =
        jobs.get(earlier_jobs..).and_then(<[&Job]>::split_last).map(|(last, _)| (*last, &jobs[earlier_jobs..]))
    else {
        return NextStep::Submit;
    };
    let Some((state, reason, _)) = &last.end else { return NextStep::Wait };
    let stop_reason = |message: &str| {
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        format!("the last job {}{reason}: {message}", state.predicate())
    };
    // A cancelled job is not submitted again, because its user wants it to end.
    if *state == JobState::Cancelled || last.cancel_requested {
        return NextStep::Stop(stop_reason("no further job is submitted"));
    }
    if *state == JobState::Interrupted {
        return NextStep::Stop(stop_reason(
            "a user may have cancelled it, so no further job is submitted; rerun the same command to submit the remaining points",
        ));
    }
    let is_fruitless = |job: &&&Job| new_samples(job, jobs) == 0;
    if tried.len() >= MAX_JOBS_WITHOUT_SAMPLES
        && tried.iter().rev().take(MAX_JOBS_WITHOUT_SAMPLES).all(|job| is_fruitless(&job))
    {
        return NextStep::Stop(stop_reason(&format!(
            "{MAX_JOBS_WITHOUT_SAMPLES} consecutive jobs measured no new sample"
        )));
    }
    let tries = tried.iter().filter(is_fruitless).count();
    if tries >= max_tries as usize {
        return NextStep::Stop(stop_reason(&format!("{} measured no new sample", plural(tries, "job"))));
    }
    NextStep::Submit
}

/// Returns true if a chain with open jobs may grow: no user cancels its jobs, and the last one that ended measured samples.
pub fn may_extend(jobs: &[&Job], earlier_jobs: usize) -> bool {
    let recent_jobs = jobs.get(earlier_jobs..).unwrap_or_default();
    let last_ended = recent_jobs.iter().rev().find(|job| job.end.is_some());
    !jobs.iter().any(|job| job.cancel_requested) && last_ended.is_none_or(|job| new_samples(job, jobs) > 0)
}

fn can_never_start(state: JobState) -> bool {
    state == JobState::Unsatisfiable
}

/// Returns the number of the part's samples that are new since the earlier jobs ended.
fn new_samples(job: &Job, jobs: &[&Job]) -> usize {
    let earlier = jobs.iter().take_while(|other| other.name != job.name);
    let samples_before = earlier.filter_map(|job| job.end.as_ref()).map(|(_, _, samples)| *samples).max().unwrap_or(0);
    job.end.as_ref().map_or(0, |(_, _, samples)| samples.saturating_sub(samples_before.max(job.samples_before)))
}
