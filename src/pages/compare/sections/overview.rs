//! The first screen: which machine is faster, by which factor, and with which uncertainty.

use super::Section;
use crate::compare::Comparison;
use crate::compare::groups::MatchedGroup;
use crate::compare::points::{Point, Scope, list_first};
use crate::compare::ratio::{
    Basis, Decision, EXACT, GeometricMean, ScopeRatios, format_interval, format_ratio, format_with_interval,
};
use crate::html::{CornerCell, Corners, Picture, capitalize};
use apexmap_base::units::plural;
use apexmap_results::table::columns::label;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct Overview {
    /// For each machine except the base, whether it is faster, where, and with which uncertainty; empty if no points match.
    verdicts: Vec<String>,
    /// The outcome of the check, and the fastest machine of the ranking.
    judged: Vec<String>,
    lead: Option<Picture>,
    corners: Option<Corners>,
    /// How certain the ratios at the corners are.
    certainty: &'static str,
    remarks: Vec<String>,
}

impl Overview {
    pub fn new(comparison: &Comparison, judged: Vec<String>, lead: Option<Picture>, remarks: Vec<String>) -> Self {
        let certainty = if comparison.is_exact() { EXACT } else { "with 95 % intervals" };
        Self { verdicts: verdicts(comparison), judged, lead, corners: corners(comparison), certainty, remarks }
    }
}

impl Section for Overview {
    const HEADING: Option<[&'static str; 2]> = None;
    const TEMPLATE: &'static str = include_str!("overview.html");

    fn lines(&self) -> Vec<String> {
        self.verdicts.clone()
    }
}

/// Returns sentences for each machine except the base: first the points that are not compared, then one sentence per scope.
pub fn verdicts(comparison: &Comparison) -> Vec<String> {
    let mut verdicts = Vec::new();
    for machine in (1..comparison.machines.len()).filter(|_| !comparison.matched.is_empty()) {
        verdicts.extend(describe_dropped(comparison, machine));
        let sentence = |over| Some(MachineVerdict { comparison, machine, over, mean: over.mean? }.sentence());
        let sentences: Vec<String> = comparison.scopes(machine).iter().filter_map(sentence).collect();
        if sentences.is_empty() {
            verdicts.push(format!(
                "{} and {} have no common point with a value.",
                comparison.name(machine),
                comparison.name(0)
            ));
        }
        verdicts.extend(sentences);
    }
    verdicts
}

/// A machine relative to the base, over the points of a scope.
struct MachineVerdict<'a> {
    comparison: &'a Comparison<'a>,
    machine: usize,
    over: &'a ScopeRatios,
    mean: GeometricMean,
}

impl MachineVerdict<'_> {
    fn sentence(&self) -> String {
        let (name, base, mean) = (self.comparison.name(self.machine), self.comparison.name(0), self.mean);
        let value = format!("{name} / {base} = {}", format_with_interval(mean.value, mean.interval));
        let measured = mean.interval.filter(|_| mean.basis != Basis::Nothing);
        let who = match measured {
            Some((low, _)) if low > 1.0 => format!("{name} is faster than {base}: {value}"),
            Some((_, high)) if high < 1.0 => format!("{name} is slower than {base}: {value}"),
            Some(_) if mean.basis == Basis::Exact => format!("No overall difference: {value}"),
            Some(_) => format!("No overall difference established: {value}"),
            None => value,
        };
        let who = match self.over.scope {
            Scope::All => who,
            scope => format!("{}: {who}", capitalize(scope.label())),
        };
        let basis = match (mean.basis, mean.interval) {
            (_, None) => "without an interval",
            (Basis::Exact, _) => EXACT,
            (Basis::Pairs, _) => "95 % interval over launches of one run, compared in pairs",
            (Basis::Launches, _) => "95 % interval over launches",
            (Basis::Samples, _) => "95 % interval within single launches; launch-to-launch variation is not included",
            (Basis::Card, _) => "95 % interval of the card's numbers",
            (Basis::Nothing, _) => {
                "the interval covers only the choice of points, because the points have no \
                 intervals"
            }
        };
        let [least, most] = self.extremes();
        format!(
            "{who} (geometric mean over {}, {basis}). {}; ratios from {} at {} to {} at {}.",
            self.members(),
            self.counts(),
            least.0,
            least.1,
            most.0,
            most.1
        )
    }

    /// Returns the smallest and the largest ratio, and their points.
    fn extremes(&self) -> [(String, &str); 2] {
        let mut ratios: Vec<(f64, usize)> =
            self.over.ratios.iter().map(|(point, tested)| (tested.ratio.value, *point)).collect();
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        [ratios.first(), ratios.last()].map(|end| {
            end.map_or_else(Default::default, |(ratio, point)| {
                (format_ratio(*ratio), self.comparison.names[*point].as_str())
            })
        })
    }

    /// Returns `the 9 points compared`, or only `9 points` if no others exist.
    fn members(&self) -> String {
        let points = plural(self.mean.cells, "point");
        match (self.mean.left_out, points_on_one_side(self.comparison, self.machine).next()) {
            (1.., _) if self.mean.basis == Basis::Exact => format!("the {points} without noise"),
            (1.., _) => format!("the {points} that have an interval"),
            (0, Some(_)) => format!("the {points} compared"),
            (0, None) => points,
        }
    }

    /// Returns `Faster at 46 points, slower at 0, undecided at 3`; without noise `equal at 3`. Omits a count that is always zero.
    fn counts(&self) -> String {
        let points = |count: usize| plural(count, "point");
        let comparison = self.comparison;
        let (mut counts, mut unadjusted, mut bare, mut equal) = ([0; 3], [0; 2], Vec::new(), 0);
        for (point, tested) in &self.over.ratios {
            let (ratio, slower) = (tested.ratio, usize::from(tested.ratio.value <= 1.0));
            match comparison.decision.differs(tested) {
                true => counts[slower] += 1,
                false if ratio.basis == Basis::Exact => equal += 1,
                false if ratio.interval.is_none() => bare.push(comparison.names[*point].clone()),
                false => counts[2] += 1,
            }
            unadjusted[slower] += usize::from(ratio.is_decided());
        }
        let mut parts = Vec::new();
        let [faster, slower, open] = counts;
        if self.mean.basis == Basis::Exact {
            parts.push(format!("Faster at {}, slower at {slower}, equal at {equal}", points(faster)));
        } else if faster + slower + open > 0 {
            let how = match comparison.decision {
                Decision::Adjusted => format!(" (adjusted; unadjusted {} and {})", unadjusted[0], unadjusted[1]),
                Decision::Unadjusted => " (unadjusted)".to_owned(),
            };
            parts.push(format!("Faster at {}, slower at {slower}, undecided at {open}{how}", points(faster)));
        }
        if !bare.is_empty() {
            let left_out = if self.mean.left_out > 0 { ", not included in the mean" } else { "" };
            parts.push(format!("No interval at {}{left_out}: {}", points(bare.len()), list_first(&bare)));
        }
        let both = |point: &&usize| comparison.points.points[**point].has_both(self.machine, 0);
        let failed = self.over.points.iter().filter(both).count() - self.over.ratios.len();
        if failed > 0 {
            parts.push(format!("Unfinished at {}", points(failed)));
        }
        parts.join(". ")
    }
}

/// Returns the points that either the machine or the base has, but not both.
fn points_on_one_side<'a>(comparison: &'a Comparison, machine: usize) -> impl Iterator<Item = &'a Point> {
    comparison
        .points
        .points
        .iter()
        .filter(move |point| point.by_machine[machine].is_some() != point.by_machine[0].is_some())
}

/// Describes the points that are not compared because they exist on one side only; `None` if there are none.
fn describe_dropped(comparison: &Comparison, other: usize) -> Option<String> {
    let side = |machine: usize| -> Option<String> {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for point in points_on_one_side(comparison, other).filter(|point| point.by_machine[machine].is_some()) {
            let ranks = point.value("ranks").map(|ranks| format!(", {}", label("ranks", ranks))).unwrap_or_default();
            *kinds.entry(format!("{}{ranks}", point.class)).or_default() += 1;
        }
        let left: usize = kinds.values().sum();
        let has = |point: &&Point| point.by_machine[machine].is_some();
        let total = comparison.points.points.iter().filter(has).count();
        let mut parts: Vec<String> =
            kinds.iter().take(MAX_KINDS).map(|(kind, count)| format!("{kind}: {count}")).collect();
        parts.extend((kinds.len() > MAX_KINDS).then(|| "...".to_owned()));
        let name = comparison.name(machine);
        (left > 0).then(|| format!("{left} of {} of {name} ({})", plural(total, "point"), parts.join("; ")))
    };
    let sides: Vec<String> = [0, other].into_iter().filter_map(side).collect();
    (!sides.is_empty()).then(|| format!("Not compared, because they exist on one side only: {}.", sides.join("; ")))
}

/// Maximum number of kinds of points in a sentence.
const MAX_KINDS: usize = 4;

/// Maximum number of ratios shown side by side; the maps show the others.
const MAX_RATIOS: usize = 2;

/// Returns the ratios to the first machine on the first surface, and on the next one with the same axes; `None` without a
/// surface.
fn corners(comparison: &Comparison) -> Option<Corners> {
    let points = &comparison.points;
    let surfaces: Vec<&MatchedGroup> = comparison.groups.iter().filter(|group| group.is_surface()).collect();
    let axes = |group: &MatchedGroup| [group.values(points, 0), group.values(points, 1)];
    let [blocks, alphas] = axes(surfaces.first()?);
    let same = surfaces.into_iter().filter(|group| axes(group) == [blocks.clone(), alphas.clone()]);
    let machines = 1..comparison.machines.len();
    let shown: Vec<(&MatchedGroup, usize)> =
        same.flat_map(|group| machines.clone().map(move |machine| (group, machine))).take(MAX_RATIOS).collect();
    let label =
        |(group, machine): &(&MatchedGroup, usize)| format!("{}: {}", comparison.machines[*machine].name, group.label);
    let cell = |index: usize, alpha: f64, block: f64| {
        let (group, machine) = shown[index];
        let corner = |&point: &usize| {
            let number = |axis: usize| points.points[point].number(&group.axes[axis]);
            (number(0), number(1)) == (Some(block), Some(alpha))
        };
        let point = group.points.iter().copied().find(corner);
        let tested = point.and_then(|index| comparison.ratio(machine, index));
        tested.map_or_else(CornerCell::default, |tested| CornerCell {
            value: format!("{} \u{d7}", format_ratio(tested.ratio.value)),
            interval: format_interval(tested.ratio.interval).unwrap_or_default(),
            limit: String::new(),
        })
    };
    Corners::new(shown.iter().map(label).collect(), &alphas, &blocks, cell)
}
