//! Estimates how long a sweep will take, from the result's own samples, a machine card's bounds, or the kernel's work.

use crate::sweep::cost;
use crate::sweep::driver;
use crate::sweep::forecast::{Forecast, OpenLaunch};
use crate::sweep::plan::{Context, Entry, Plan, Progress};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::units::{self, NumberStyle, plural};
use apexmap_measure::comm::{self, TransportKind};
use apexmap_measure::kernels;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_theory::bounds::{self, Case, Limits};
use apexmap_theory::machine::Card;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Fraction of its bound that a point is assumed to reach.
const SHARE: f64 = 0.6;

/// The remaining time of a plan.
pub struct PlanTime {
    repeat: Repeat,
    launches: Vec<OpenLaunch>,
    /// Number of points whose estimate comes from samples, from the machine card, and from the kernel's work.
    sources: [usize; 3],
}

impl PlanTime {
    /// Estimates the remaining time of a plan. The machine card is used for points without samples.
    pub fn new(plan: &Plan, records: &[Record<SampleOutcome>], progress: &Progress, card: Option<&Card>) -> Self {
        let costs = cost::mean_sample_costs(records);
        let limits = card.map(Limits::from_card);
        let estimate = |point: &Point| cost::estimate(point) + cost::oversubscription_cost(&plan.context, point.ranks);
        let factors = cost::learned_factors(&plan.entries, &costs, estimate);
        let sources = [const { Cell::new(0) }; 3];
        let cost = |entry: &Entry| {
            let card_cost = || limits.as_ref().and_then(|limits| cost_by_card(&entry.point, limits, &plan.context));
            let (source, cost) = match (costs.get(&entry.key), card_cost()) {
                (Some(measured), _) => (0, *measured),
                (None, Some(card_cost)) => {
                    (1, card_cost + cost::oversubscription_cost(&plan.context, entry.point.ranks))
                }
                (None, None) => {
                    let factor = factors.get(entry.point.kernel.as_str()).copied().unwrap_or(1.0);
                    (2, factor * estimate(&entry.point))
                }
            };
            sources[source].set(sources[source].get() + 1);
            cost
        };
        let launches = driver::remaining_launches(plan, progress, &cost);
        Self { repeat: plan.repeat, launches, sources: sources.map(Cell::into_inner) }
    }

    /// Describes the time of the launches of one size, without the budget.
    pub fn describe_size(&self, size: LaunchSize) -> String {
        let launches: Vec<OpenLaunch> = self.launches.iter().filter(|launch| launch.size == size).cloned().collect();
        if launches.is_empty() { "done".into() } else { describe_seconds(seconds(self.without_budget(), &launches)) }
    }

    /// Returns the wall time of the launches of these sizes in seconds, and their number.
    pub fn measuring_time(&self, sizes: &[LaunchSize]) -> (f64, usize) {
        let launches: Vec<OpenLaunch> =
            self.launches.iter().filter(|launch| sizes.contains(&launch.size)).cloned().collect();
        (seconds(self.without_budget(), &launches), launches.len())
    }

    fn without_budget(&self) -> Repeat {
        Repeat { budget_seconds: None, ..self.repeat }
    }

    /// Describes the time of all launches within the budget, and the sources of the estimate.
    pub fn describe_total(&self) -> String {
        if self.launches.is_empty() {
            return "wall time: nothing is left to measure\n".into();
        }
        let repeat = self.without_budget();
        let seconds_with =
            |count: u32| seconds(Repeat { min: count, max: count, width: None, ..repeat }, &self.launches);
        let mut text = format!("wall time: {}", describe_seconds(seconds(repeat, &self.launches)));
        let (shortest, longest) = (seconds_with(repeat.min), seconds_with(repeat.max));
        if repeat.max > repeat.min {
            let _ = write!(text, " ({} with {}, ", describe_seconds(shortest), plural(repeat.min as usize, "sample"));
            let _ = write!(text, "{} with {} of each point)", describe_seconds(longest), repeat.max);
        }
        if let Some(budget) = self.repeat.budget_seconds {
            let _ = write!(text, ", at most {} (budget)", units::seconds(budget));
            if shortest > budget {
                text.push_str("; the budget may be too short even for the smallest number of samples");
            }
        }
        text.push('\n');
        let _ = writeln!(text, "  estimated from {}", self.describe_sources());
        text
    }

    fn describe_sources(&self) -> String {
        let names = [
            "samples in the result".to_owned(),
            format!("the machine card, at {:.0} % of its bounds", 100.0 * SHARE),
            "the kernel's work, very roughly: 50 ns per operation and 8 GB/s per rank".to_owned(),
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

/// Returns the wall time of a sample by a machine card. Work outside the clock is assumed to take as long as the timed run.
fn cost_by_card(point: &Point, limits: &Limits, context: &Context) -> Option<f64> {
    let library = match context.transport {
        TransportKind::Threads => comm::library(TransportKind::Threads).unwrap_or_default(),
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

/// Formats a time with two digits.
pub fn describe_seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        return "less than 1 s".into();
    }
    let rounded = units::number(seconds, NumberStyle::Rounded(2)).parse().unwrap_or(seconds);
    format!("about {}", units::seconds(rounded))
}
