//! Whether launches that fail share one fault, which is the set-up's and not that of any point.
//!
//! What failed in a launch is written down only when another launch has ended in another way: until then all of its points may be
//! innocent.

use super::execute::Ending;
use super::watch::Watch;
use super::watcher::Watcher;
use crate::launch::causes::Nature;
use apexmap_base::error::Result;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_results::disk::journal::Journal;
use std::collections::HashSet;

/// Launches in a row that make a fault the set-up's.
const SAME: usize = 3;

/// A launch that did not do what it was asked.
pub struct Failed {
    pub journal: Journal,
    /// What becomes of the point that ran, if it is to blame.
    pub failure: Option<Sample>,
    pub ending: Ending,
    /// The point that ran, or what was to be launched.
    pub at: String,
}

impl Failed {
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

/// The launches that ended last, for one reason.
pub struct Suspicion {
    reason: String,
    launches: Vec<Failed>,
    /// Some launch has given a sample: only a fault that is known to be the set-up's can be.
    worked: bool,
}

impl Suspicion {
    pub fn new(worked: bool) -> Self {
        Self { reason: String::new(), launches: Vec::new(), worked }
    }

    /// A launch came to its end: what was held back is the fault of its points.
    pub fn well(&mut self, watcher: &mut dyn Watcher) -> Result<()> {
        self.worked = true;
        self.acquit(watcher)
    }

    /// Takes a launch that gave so many samples. Whether its fault is the set-up's.
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

    /// How many launches share the present reason.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// The last launch that failed points for a reason that is known to be the set-up's.
    pub fn known(&self) -> Option<&Ending> {
        let failed = |failed: &&Failed| failed.failure.is_some() && is_setup(&failed.ending);
        self.launches.iter().rev().find(failed).map(|failed| &failed.ending)
    }

    /// Writes down what was held back, as nobody's fault if it is the set-up's.
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

    /// By which launches are found to fail alike; `None` if the fault cannot be the set-up's.
    fn reason(&self, ending: &Ending) -> Option<String> {
        match ending.cause {
            Some(cause) if cause.nature == Nature::Setup => Some(cause.what.to_owned()),
            Some(cause) if cause.nature != Nature::Passing => None,
            _ if self.worked || ending.status != Status::Failed || ending.lacked_memory => None,
            // Processes, ranks and times differ.
            _ => Some(ending.message.split(|c: char| c.is_ascii_digit()).collect()),
        }
    }
}

fn is_setup(ending: &Ending) -> bool {
    ending.cause.is_some_and(|cause| cause.nature == Nature::Setup)
}
