//! Detects set-up faults. If launches fail for the same reason at different points, the set-up is at fault, not the points.
//!
//! A failed point is recorded only after a later launch has ended differently. Until then, all of its points may be innocent.

use super::execute::Ending;
use super::watch::Watch;
use super::watcher::Watcher;
use crate::launch::causes::Nature;
use apexmap_base::error::Result;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_results::disk::journal::Journal;
use std::collections::HashSet;

/// Number of consecutive launches with the same reason that show a fault of the set-up.
const SAME: usize = 3;

/// A launch that failed.
pub struct Failed {
    pub journal: Journal,
    /// The failed sample of the point that was running, if the point is to blame.
    pub failure: Option<Sample>,
    pub ending: Ending,
    /// The point that was running, or the size of the launch.
    pub at: String,
}

impl Failed {
    /// Writes the end of the launch's journal, with the failed sample if its point is to blame.
    pub fn write(mut self, blamed: bool, watcher: &mut dyn Watcher) -> Result<()> {
        if let Some(sample) = self.failure.filter(|_| blamed) {
            watcher.sample(&sample, true, &Watch::default());
            self.journal.append(&Event::Sample(Box::new(sample)))?;
        }
        let Ending { status, message, .. } = self.ending;
        self.journal.append(&Event::Ended { status, message, doubtful: false })?;
        self.journal.finish()
    }
}

/// The last launches, which failed for the same reason.
pub struct Suspicion {
    reason: String,
    launches: Vec<Failed>,
    /// Whether a launch has measured a sample. After that, only a known fault of the set-up counts.
    worked: bool,
}

impl Suspicion {
    /// `has_worked`: whether the result already has samples.
    pub fn new(worked: bool) -> Self {
        Self { reason: String::new(), launches: Vec::new(), worked }
    }

    /// Records a launch that completed. The held-back failures are then the fault of their points.
    pub fn well(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        self.worked = true;
        self.acquit(watcher)
    }

    /// Adds a launch with this number of samples. Returns true if the set-up is at fault.
    pub fn take(&mut self, failed: Failed, samples: u32, watcher: &mut dyn Watcher) -> Result<bool> {
        self.worked |= samples > 0;
        let reason = self.reason(&failed.ending);
        if reason.as_ref() != Some(&self.reason) {
            self.acquit(watcher)?;
        }
        let Some(reason) = reason else {
            failed.write(true, watcher)?;
            return Ok(false);
        };
        self.reason = reason;
        self.launches.push(failed);
        let places: HashSet<&str> = self.launches.iter().map(|failed| failed.at.as_str()).collect();
        Ok(self.launches.len() >= SAME && places.len() > 1)
    }

    /// Returns the number of launches that share the present reason.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// Returns the ending of the last launch with a failed point and a known fault of the set-up.
    pub fn known(&self) -> Option<&Ending> {
        let failed = |failed: &&Failed| failed.failure.is_some() && is_setup(&failed.ending);
        self.launches.iter().rev().find(failed).map(|failed| &failed.ending)
    }

    /// Writes the held-back launches. Their points are blamed, unless the set-up is at fault.
    pub fn end(&mut self, condemned: bool, watcher: &mut dyn Watcher) -> Result<()> {
        let launches = std::mem::take(&mut self.launches);
        launches.into_iter().try_for_each(|failed| {
            let blamed = !condemned && !is_setup(&failed.ending);
            failed.write(blamed, watcher)
        })
    }

    fn acquit(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        std::mem::take(&mut self.launches).into_iter().try_for_each(|failed| failed.write(true, watcher))
    }

    /// Returns the text by which launches fail for the same reason, or `None` if the fault cannot be the set-up's.
    fn reason(&self, ending: &Ending) -> Option<String> {
        match ending.cause {
            Some(cause) if cause.nature == Nature::Setup => Some(cause.what.to_owned()),
            Some(cause) if cause.nature != Nature::Passing => None,
            _ if self.worked || ending.status != Status::Failed || ending.lacked_memory => None,
            // Remove digits, because numbers of processes, ranks and times differ.
            _ => Some(ending.message.split(|c: char| c.is_ascii_digit()).collect()),
        }
    }
}

fn is_setup(ending: &Ending) -> bool {
    ending.cause.is_some_and(|cause| cause.nature == Nature::Setup)
}
