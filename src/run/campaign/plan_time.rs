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
        let costs = cost::measured(records);
        let limits = card.map(Limits::of);
        let sources = [const { Cell::new(0) }; 3];
        let cost = |entry: &Entry| {
            let by_card = || limits.as_ref().and_then(|limits| bounded(&entry.point, limits, &plan.context));
            let (at, cost) = match (costs.get(&entry.key), by_card()) {
                (Some(measured), _) => (0, *measured),
                (None, Some(bounded)) => (1, bounded + cost::of_crowd(&plan.context, entry.point.ranks)),
                (None, None) => (2, cost::rough(&entry.point) + cost::of_crowd(&plan.context, entry.point.ranks)),
            };
            sources[at].set(sources[at].get() + 1);
            cost
        };
        let launches = driver::open(plan, progress, &cost);
        Self { repeat: plan.repeat, launches, sources: sources.map(Cell::into_inner) }
    }

    /// Describes the time of the launches of one size, without the budget.
    pub fn of_size(&self, size: LaunchSize) -> String {
        let own: Vec<OpenLaunch> = self.launches.iter().filter(|launch| launch.size == size).cloned().collect();
        if own.is_empty() { "done".into() } else { about(seconds(self.unlimited(), &own)) }
    }

    /// Returns the wall time of the launches of these sizes in seconds, and their number.
    pub fn of_sizes(&self, sizes: &[LaunchSize]) -> (f64, usize) {
        let own: Vec<OpenLaunch> =
            self.launches.iter().filter(|launch| sizes.contains(&launch.size)).cloned().collect();
        (seconds(self.unlimited(), &own), own.len())
    }

    fn unlimited(&self) -> Repeat {
        Repeat { budget_seconds: None, ..self.repeat }
    }

    /// Describes the time of all launches within the budget, and the sources of the estimate.
    pub fn total(&self) -> String {
        if self.launches.is_empty() {
            return "wall time: nothing is left to measure\n".into();
        }
        let repeat = self.unlimited();
        let with = |count: u32| seconds(Repeat { min: count, max: count, width: None, ..repeat }, &self.launches);
        let mut text = format!("wall time: {}", about(seconds(repeat, &self.launches)));
        let (least, most) = (with(repeat.min), with(repeat.max));
        if repeat.max > repeat.min {
            let _ = write!(text, " ({} with {}, ", about(least), plural(repeat.min as usize, "sample"));
            let _ = write!(text, "{} with {} of each point)", about(most), repeat.max);
        }
        if let Some(budget) = self.repeat.budget_seconds {
            let _ = write!(text, ", at most {} (budget)", units::seconds(budget));
            if least > budget {
                text.push_str("; the budget may be too short even for the smallest number of samples");
            }
        }
        text.push('\n');
        let _ = writeln!(text, "  estimated from {}", self.origin());
        text
    }

    fn origin(&self) -> String {
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
fn bounded(point: &Point, limits: &Limits, context: &Context) -> Option<f64> {
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
    Some(cost::OVERHEAD + 2.0 * cost::bounded(point, work.operations / rate / SHARE))
}

/// Formats a time with two digits.
pub fn about(seconds: f64) -> String {
    if seconds < 1.0 {
        return "less than 1 s".into();
    }
    let rounded = units::number(seconds, NumberStyle::Rounded(2)).parse().unwrap_or(seconds);
    format!("about {}", units::seconds(rounded))
}
