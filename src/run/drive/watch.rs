//! Judges sample by sample how quiet the machine is during a launch.

use apexmap_base::disturbance::Facts;
use apexmap_base::sample::{Launch, Sample};
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::{Cause, Quietness, Reference, causes, judge, preflight_causes};
use std::collections::VecDeque;

/// Number of newest facts of a launch that show how fast the quiet machine is.
const MAX_FACTS: usize = 200;
/// Number of samples in the health line.
const HEALTH_SAMPLES: usize = 20;

/// Follows one launch.
#[derive(Debug, Default)]
pub struct Watch {
    oversubscribed: bool,
    facts: VecDeque<Facts>,
    /// Number of facts that belong to samples.
    samples: usize,
}

impl Watch {
    /// Records the start of a launch.
    pub fn begin_launch(&mut self, launch: &Launch) {
        self.oversubscribed = launch.oversubscribed;
    }

    /// Adds the canaries before the first sample. Returns the verdict about them, and its explanation.
    pub fn add_preflight(&mut self, canaries: &[Facts]) -> (Quietness, String) {
        canaries.iter().for_each(|facts| self.remember(*facts));
        let causes = preflight_causes(canaries, self.oversubscribed);
        // Waits and canaries show a cost. Before the first sample, the other causes do not.
        let costly: Option<Vec<Cause>> = causes
            .as_ref()
            .map(|causes| causes.iter().map(|(cause, _)| *cause).filter(|cause| !cause.is_condition()).collect());
        let verdict = judge(costly.as_deref());
        let sentences: Vec<String> = causes.iter().flatten().map(|(cause, amount)| cause.sentence(*amount)).collect();
        let text = match verdict {
            Quietness::Disturbed => sentences.join("; "),
            Quietness::Quiet if !sentences.is_empty() => format!("{}; no rank waited", sentences.join("; ")),
            Quietness::Quiet => "nothing else takes time from the ranks".into(),
            Quietness::Unknown => "the system does not report whether something else takes time from the ranks".into(),
        };
        (verdict, text)
    }

    /// Adds a sample.
    pub fn add_sample(&mut self, sample: &Sample) {
        self.remember(sample.disturbance);
        self.samples += 1;
    }

    fn remember(&mut self, facts: Facts) {
        self.facts.push_back(facts);
        if self.facts.len() > MAX_FACTS {
            self.facts.pop_front();
        }
    }

    /// Describes the last samples: `no sign of disturbance in 20 samples`; `None` before the first. What a cause costs shows only
    /// over all samples. This line takes time from the ranks on the same machine, so call it only to show it.
    pub fn health_line(&self) -> Option<String> {
        let reference = Reference::from_facts(&self.facts);
        let mut health = Health::default();
        for facts in self.facts.iter().rev().take(self.samples.min(HEALTH_SAMPLES)) {
            let causes = causes(facts, &reference, self.oversubscribed);
            health.add(judge(causes.as_deref()), causes.iter().flatten().map(|(cause, _)| cause.name()));
        }
        (self.samples > 0).then(|| health.signs())
    }
}
