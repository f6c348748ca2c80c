//! Detects set-up faults: launches that fail for the same reason at different points. A failed point is recorded only after a later
//! launch has ended differently; until then, all of its points may be innocent.

use super::execute::Ending;
use super::watch::{Watch, Watcher};
use crate::launch::causes::Nature;
use apexmap_base::error::Result;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_results::disk::journal::Journal;
use std::collections::HashSet;

const SETUP_FAULT_LAUNCHES: usize = 3;

pub struct FailedLaunch {
    pub journal: Journal,
    /// The failed sample of the point that was running, if the point is to blame.
    pub failure: Option<Sample>,
    pub ending: Ending,
    /// The point that was running, or the size of the launch.
    pub place: String,
}

impl FailedLaunch {
    /// Writes the end of the launch's journal, with the failed sample if its point is to blame.
    pub fn write(mut self, is_blamed: bool, watcher: &mut dyn Watcher) -> Result<()> {
        if let Some(sample) = self.failure.filter(|_| is_blamed) {
            watcher.report_sample(&sample, true, &Watch::default());
            self.journal.append(&Event::Sample(Box::new(sample)))?;
        }
        self.journal.append(&self.ending.event(false))?;
        self.journal.finish()
    }
}

pub struct Suspicion {
    reason: String,
    launches: Vec<FailedLaunch>,
    /// Whether a launch has measured a sample. After that, only a known fault of the set-up counts.
    has_worked: bool,
}

impl Suspicion {
    /// `has_worked`: whether the result already has samples.
    pub fn new(has_worked: bool) -> Self {
        Self { reason: String::new(), launches: Vec::new(), has_worked }
    }

    /// Records a launch that completed. The held-back failures are then the fault of their points.
    pub fn record_success(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        self.has_worked = true;
        self.blame_points(watcher)
    }

    /// Whether the set-up is at fault after this launch, which measured some samples.
    pub fn add_launch(&mut self, failed: FailedLaunch, samples: u32, watcher: &mut dyn Watcher) -> Result<bool> {
        self.has_worked |= samples > 0;
        let reason = self.comparable_reason(&failed.ending);
        if reason.as_ref() != Some(&self.reason) {
            self.blame_points(watcher)?;
        }
        let Some(reason) = reason else {
            failed.write(true, watcher)?;
            return Ok(false);
        };
        self.reason = reason;
        self.launches.push(failed);
        let places: HashSet<&str> = self.launches.iter().map(|failed| failed.place.as_str()).collect();
        // A single point that ends every launch is at fault itself.
        Ok(self.launches.len() >= SETUP_FAULT_LAUNCHES && places.len() > 1)
    }

    /// The number of launches that share the present reason.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// The ending of the last launch with a failed point and a known fault of the set-up.
    pub fn known_setup_fault(&self) -> Option<&Ending> {
        let is_setup_failure = |failed: &&FailedLaunch| failed.failure.is_some() && is_setup(&failed.ending);
        self.launches.iter().rev().find(is_setup_failure).map(|failed| &failed.ending)
    }

    /// Writes the held-back launches. Their points are blamed, unless the set-up is at fault.
    pub fn finish(&mut self, is_setup_at_fault: bool, watcher: &mut dyn Watcher) -> Result<()> {
        let launches = std::mem::take(&mut self.launches);
        launches.into_iter().try_for_each(|failed| {
            let is_blamed = !is_setup_at_fault && !is_setup(&failed.ending);
            failed.write(is_blamed, watcher)
        })
    }

    fn blame_points(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        std::mem::take(&mut self.launches).into_iter().try_for_each(|failed| failed.write(true, watcher))
    }

    /// The text by which launches fail for the same reason; `None` if the fault cannot be the set-up's.
    fn comparable_reason(&self, ending: &Ending) -> Option<String> {
        match ending.cause {
            Some(cause) if cause.nature == Nature::Setup => Some(cause.summary.to_owned()),
            Some(cause) if cause.nature != Nature::Transient => None,
            _ if self.has_worked || ending.status != Status::Failed || ending.lacked_memory => None,
            // Remove digits, because numbers of processes, ranks and times differ.
            _ => Some(ending.message.split(|c: char| c.is_ascii_digit()).collect()),
        }
    }
}

fn is_setup(ending: &Ending) -> bool {
    ending.cause.is_some_and(|cause| cause.nature == Nature::Setup)
}
