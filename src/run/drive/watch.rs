//! Follows a run: judges sample by sample how quiet the machine is during a launch, and reports to the user.

use super::{execute::Ending, forecast::OpenLaunch};
use apexmap_base::disturbance::Facts;
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Launch, Phase, Sample};
use apexmap_measure::worker::Repeat;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::{Cause, Quietness, Reference, causes, judge, preflight_causes};
use std::collections::VecDeque;

/// Number of newest facts of a launch that show how fast the quiet machine is.
const MAX_FACTS: usize = 200;
const HEALTH_SAMPLES: usize = 20;

#[derive(Debug, Default)]
pub struct Watch {
    oversubscribed: bool,
    facts: VecDeque<Facts>,
    samples: usize,
}

impl Watch {
    pub fn begin_launch(&mut self, launch: &Launch) {
        self.oversubscribed = launch.oversubscribed;
    }

    /// The verdict about the canaries before the first sample, and its explanation.
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

    /// `no sign of disturbance in 20 samples`; `None` before the first. It takes time from the ranks, so call it only to show it.
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

/// Follows a run, to show it to the user. The defaults show nothing.
pub trait Watcher {
    /// Reports the remaining launches in their order, and the number of points that failed earlier and are not measured again.
    fn begin(&mut self, _launches: &[OpenLaunch], _repeat: Repeat, _failed: usize) {}
    fn report_launch(&mut self, _launch: &str, _block: u32, _size: LaunchSize, _points: usize) {}
    fn report_placement(&mut self, _launch: &Launch) {}
    /// `values` are the times of the point's samples in this block so far, or what a command printed.
    fn report_start(&mut self, _point: &Point, _values: &[f64]) {}
    fn report_progress(&mut self, _phase: Phase, _share: Option<f64>) {}
    /// Reports the state of a run on simulated ranks: its messages so far, and the virtual time in seconds.
    fn report_simulation(&mut self, _messages: u64, _seconds: f64) {}
    /// Reports the verdict about the machine before the first sample, and its reason.
    fn report_preflight(&mut self, _verdict: Quietness, _text: &str) {}
    /// Reports a sample; `finished` if its point needs no more. `watch` judges how quiet the machine was over the last samples.
    fn report_sample(&mut self, _sample: &Sample, _finished: bool, _watch: &Watch) {}
    fn say(&mut self, _text: &str) {}
    /// Called while no event arrives.
    fn tick(&mut self) {}
    fn report_end(&mut self, _ending: &Ending) {}
    /// Reports that the lines of the last launch are inconsistent, so none of its samples counts.
    fn report_misfit(&mut self) {}
}

impl Watcher for () {}
