//! Chooses the next step for a part of a sweep: wait, submit again or stop.

use super::record::Job;
use crate::batch::JobState;

/// The next step for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
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
const FRUITLESS: usize = 2;

/// Chooses the next step for a part. `points_left`: whether points are left; `jobs`: the jobs of the part in the order of their
/// submission. The first `earlier_jobs` of them were submitted by earlier commands. They do not count as tries, because the user
/// requests more jobs by rerunning the command.
pub fn next(open: bool, jobs: &[&Job], asked: usize, tries: u32) -> Next {
    if !open {
        return Next::Done;
    }
    let since = jobs.get(asked..).unwrap_or_default();
    if let Some(job) = since.iter().find(|job| job.ended.is_some() && job.met_setup_fault()) {
        let why = job.ended.as_ref().map_or("", |(_, why, _)| why);
        return Next::Stop(format!("{why}; fix this first, because every further job would fail the same way"));
    }
    if let Some((state, why, _)) = since.iter().filter_map(|job| job.ended.as_ref()).find(|(state, ..)| never(*state)) {
        return Next::Stop(format!("a job {} ({why}); no further job is submitted", state.words()));
    }
    if jobs.iter().any(|job| job.ended.is_none()) {
        return Next::Wait;
    }
    let Some((last, tried)) = jobs.get(asked..).and_then(<[&Job]>::split_last).map(|(last, _)| (*last, &jobs[asked..]))
    else {
        return Next::Submit;
    };
    let Some((state, why, _)) = &last.ended else { return Next::Wait };
    let told = |what: &str| {
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        format!("the last job {}{why}: {what}", state.words())
    };
    // A cancelled job is not submitted again, because its user wants it to end.
    if *state == JobState::Cancelled || last.cancelling {
        return Next::Stop(told("no further job is submitted"));
    }
    if tried.len() >= FRUITLESS && tried.iter().rev().take(FRUITLESS).all(|job| gained(job, jobs) == 0) {
        return Next::Stop(told(&format!("{FRUITLESS} consecutive jobs measured no new sample")));
    }
    if tried.len() >= tries as usize {
        return Next::Stop(told(&format!("{} jobs were not enough to measure all points", tried.len())));
    }
    Next::Submit
}

fn never(state: JobState) -> bool {
    state == JobState::Unsatisfiable
}

/// Returns the number of the part's samples that are new since the earlier jobs ended.
fn gained(job: &Job, jobs: &[&Job]) -> usize {
    let earlier = jobs.iter().take_while(|other| other.name != job.name);
    let before = earlier.filter_map(|job| job.ended.as_ref()).map(|(_, _, samples)| *samples).max().unwrap_or(0);
    job.ended.as_ref().map_or(0, |(_, _, samples)| samples.saturating_sub(before.max(job.samples_before)))
}
