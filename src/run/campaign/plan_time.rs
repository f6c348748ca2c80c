//! Estimates how long a sweep will take, from the result's own samples, a machine card's bounds, or the kernel's work.

use crate::drive::cost::{self, SampleCosts, describe_seconds, round_seconds};
use crate::drive::driver;
use crate::drive::forecast::{Forecast, OpenLaunch};
use crate::drive::plan::{Context, Entry, Plan, Progress};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::{self, TransportKind};
use apexmap_measure::kernels;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_theory::bounds::{self, Case, Limits};
use apexmap_theory::machine::Card;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// Fraction of its bound that a point is assumed to reach.
const SHARE: f64 = 0.6;

pub struct PlanTime {
    repeat: Repeat,
    launches: Vec<OpenLaunch>,
    /// Number of points estimated from samples, from the machine card, and from the kernel's work.
    sources: [usize; 3],
    /// How the time of points without samples and card is estimated.
    rule: &'static str,
}

impl PlanTime {
    /// `card` serves for points without samples. With `retry_failed`, failed points are measured again.
    pub fn new(
        plan: &Plan,
        records: &[Record<SampleOutcome>],
        progress: &Progress,
        card: Option<&Card>,
        retry_failed: bool,
    ) -> Self {
        let costs = SampleCosts::new(plan, records);
        let limits = card.map(Limits::from_card);
        let sources = RefCell::new(HashMap::new());
        let cost = |entry: &Entry| {
            let card_cost = || limits.as_ref().and_then(|limits| cost_by_card(&entry.point, limits, &plan.context));
            let (source, cost) = match (costs.mean_of(entry), card_cost()) {
                (Some(measured), _) => (0, measured),
                (None, Some(card_cost)) => {
                    (1, card_cost + cost::oversubscription_cost(&plan.context, entry.point.ranks))
                }
                (None, None) => (2, costs.cost(entry)),
            };
            sources.borrow_mut().insert(entry.key.clone(), source);
            cost
        };
        let launches = driver::remaining_launches(plan, progress, retry_failed, &cost);
        let count = |source: usize| sources.borrow().values().filter(|&&other| other == source).count();
        let rule = cost::rule(&plan.context);
        Self { repeat: plan.repeat, launches, sources: [0, 1, 2].map(count), rule }
    }

    /// The time of the launches of one size on a quiet machine, without the budget.
    pub fn describe_size(&self, size: LaunchSize) -> String {
        let launches: Vec<OpenLaunch> = self.launches.iter().filter(|launch| launch.size == size).cloned().collect();
        if launches.is_empty() { "done".into() } else { describe_seconds(seconds(self.quiet(), &launches)) }
    }

    /// The wall time in seconds until every point has enough samples, whatever the budget, from the spread of the samples so far.
    pub fn seconds_left(&self) -> f64 {
        seconds(self.without_budget(), &self.launches)
    }

    /// The wall time of the launches of these sizes in seconds, and their number.
    pub fn measuring_time(&self, sizes: &[LaunchSize]) -> (f64, usize) {
        let launches: Vec<OpenLaunch> =
            self.launches.iter().filter(|launch| sizes.contains(&launch.size)).cloned().collect();
        (seconds(self.without_budget(), &launches), launches.len())
    }

    fn without_budget(&self) -> Repeat {
        Repeat { budget_seconds: None, ..self.repeat }
    }

    /// The smallest number of samples, without the budget.
    fn quiet(&self) -> Repeat {
        Repeat { max: self.repeat.min, width: None, ..self.without_budget() }
    }

    /// The time of all launches, from a quiet machine to the budget or the largest number of samples, with its sources.
    pub fn describe_total(&self) -> String {
        if self.launches.is_empty() {
            return "wall time: nothing is left to measure\n".into();
        }
        let shortest = seconds(self.quiet(), &self.launches);
        let quiet = describe_seconds(shortest);
        let time = match self.repeat.budget_seconds {
            Some(budget) if shortest >= budget => format!(
                "{} (budget); a quiet machine would need {quiet} for the {} that each point needs at least",
                units::seconds(budget),
                plural(self.repeat.min as usize, "sample")
            ),
            Some(budget) => format!("{quiet} on a quiet machine, at most {} (budget)", units::seconds(budget)),
            None if self.repeat.max > self.repeat.min => {
                let most = Repeat { min: self.repeat.max, width: None, ..self.without_budget() };
                let longest = round_seconds(seconds(most, &self.launches).max(1.0));
                format!("{quiet} on a quiet machine, at most {longest} ({} samples of each point)", self.repeat.max)
            }
            None => format!("{quiet} on a quiet machine"),
        };
        format!("wall time: {time}\n  estimated from {}\n", self.describe_sources())
    }

    fn describe_sources(&self) -> String {
        let names = [
            "samples in the result".to_owned(),
            format!("the machine card, at {:.0} % of its bounds", 100.0 * SHARE),
            format!("the kernel's work, very roughly: {}", self.rule),
        ];
        let parts: Vec<String> = (self.sources.iter().zip(names))
            .filter(|(count, _)| **count > 0)
            .map(|(count, name)| format!("{name} ({})", plural(*count, "point")))
            .collect();
        parts.join("; ")
    }
}

fn seconds(repeat: Repeat, launches: &[OpenLaunch]) -> f64 {
    Forecast::new(repeat, launches, 0.0).outlook(0.0).seconds
}

/// The wall time of a sample. Work outside the clock is assumed to take as long as the timed run.
fn cost_by_card(point: &Point, limits: &Limits, context: &Context) -> Option<f64> {
    let library = match context.transport {
        TransportKind::Threads => comm::library(TransportKind::Threads).unwrap_or_default(),
        // The bounds hold for virtual time, not for wall time.
        TransportKind::Simulated => return None,
        TransportKind::Mpi => context.library.clone(),
    };
    let case = Case {
        limits,
        point,
        outputs: &BTreeMap::new(),
        carrier: (context.transport.name(), &library),
        nodes: (point.launch_size().nodes)
            .unwrap_or_else(|| context.ranks_per_node.map_or(1, |ranks| point.ranks.div_ceil(ranks))),
    };
    let rate = bounds::terms(&case)?.reachable()?;
    let work = kernels::find(&point.kernel).ok()?.work(point);
    Some(cost::OVERHEAD + 2.0 * cost::limit_to_time_bound(point, work.operations / rate / SHARE))
}
