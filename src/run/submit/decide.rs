//! What to do about the jobs of a part, given how the last ones ended.

use super::record::Job;
use crate::batch::JobState;

/// What comes next for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// All its points are done or failed: jobs that are still there are of no use.
    Done,
    /// Its jobs go on.
    Wait,
    /// What is left is to be submitted again.
    Submit,
    /// No further job is submitted, and why.
    Stop(String),
}

/// Jobs in a row that may end without a new sample.
const FRUITLESS: usize = 2;

/// `open`: whether points are left; `jobs`: those of the part, in the order in which they were submitted; `asked`: jobs that were
/// submitted before this command do not count as tries, as the user asks for more by calling it again.
pub fn next(open: bool, jobs: &[&Job], asked: usize, tries: u32) -> Next {
    if !open {
        return Next::Done;
    }
    let since = jobs.get(asked..).unwrap_or_default();
    if let Some(job) = since.iter().find(|job| job.ended.is_some() && job.met_setup_fault()) {
        let why = job.ended.as_ref().map_or("", |(_, why, _)| why);
        return Next::Stop(format!("{why}; no job will do better before that is fixed, so no other is submitted"));
    }
    if let Some((state, why, _)) = since.iter().filter_map(|job| job.ended.as_ref()).find(|(state, ..)| never(*state)) {
        return Next::Stop(format!("a job {} ({why}), and another would not either", state.words()));
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
    // Whoever cancels a job wants it to end.
    if *state == JobState::Cancelled || last.cancelling {
        return Next::Stop(told("it is not submitted again"));
    }
    if tried.len() >= FRUITLESS && tried.iter().rev().take(FRUITLESS).all(|job| gained(job, jobs) == 0) {
        return Next::Stop(told(&format!("{FRUITLESS} jobs in a row brought no sample")));
    }
    if tried.len() >= tries as usize {
        return Next::Stop(told(&format!("{} jobs were not enough", tried.len())));
    }
    Next::Submit
}

fn never(state: JobState) -> bool {
    state == JobState::Unsatisfiable
}

/// Samples of the part that came since those before had ended.
fn gained(job: &Job, jobs: &[&Job]) -> usize {
    let earlier = jobs.iter().take_while(|other| other.name != job.name);
    let before = earlier.filter_map(|job| job.ended.as_ref()).map(|(_, _, samples)| *samples).max().unwrap_or(0);
    job.ended.as_ref().map_or(0, |(_, _, samples)| samples.saturating_sub(before.max(job.samples_before)))
}
