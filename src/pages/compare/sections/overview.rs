//! The first screen below its first sentence: a map, its corners, and, folded, the means, counts and points that are not compared.

use crate::compare::comparison::{Comparison, Group};
use crate::compare::geometric_mean::GeometricMean;
use crate::compare::points::{Point, list_first};
use crate::compare::ratio::{Basis, Decision, EXACT, TestedRatio, format_interval, format_ratio, format_with_interval};
use crate::compare::scope::Scope;
use crate::compare::verdict::{self, BasisWords, Verdict};
use crate::html::{CornerCell, Corners, Picture, capitalize};
use apexmap_base::units::plural;
use apexmap_results::table::columns::label;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `judged`: the outcome of the check; `lead`: the map.
pub fn section(
    comparison: &Comparison,
    details: &[String],
    judged: Option<String>,
    lead: Option<Picture>,
    remarks: &[String],
) -> Value {
    let certainty = if comparison.is_exact() { EXACT } else { "with 95 % intervals of each point alone" };
    json!({
        "details": details,
        "judged": judged,
        "lead": lead,
        "corners": corners(comparison),
        "certainty": certainty,
        "remarks": remarks,
    })
}

/// One per machine and scope, then the points that are not compared.
pub fn details(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for machine in (1..comparison.machines.len()).filter(|_| !comparison.matched.is_empty()) {
        let verdicts = verdict::verdicts(comparison, machine);
        sentences.extend(verdicts.iter().map(|verdict| sentence(comparison, machine, verdict)));
        sentences.extend(describe_dropped(comparison, machine));
    }
    sentences
}

fn sentence(comparison: &Comparison, machine: usize, verdict: &Verdict) -> String {
    let mean = verdict.mean;
    let value = format!("{} = {}", comparison.title(machine), format_with_interval(mean.value, mean.interval));
    let value = match verdict.scope {
        Scope::All => value,
        scope => format!("{}: {value}", capitalize(&scope.label())),
    };
    let basis = if mean.interval.is_some() { BasisWords::new(mean.basis).mean } else { "without an interval" };
    let [least, most] =
        verdict.extremes.map(|(point, ratio)| format!("{} at {}", format_ratio(ratio), comparison.names[point]));
    format!(
        "{value} (geometric mean over {}, {basis}). {}; ratios from {least} to {most}.",
        members(comparison, machine, mean),
        counts(comparison, verdict)
    )
}

/// `the 9 points compared`, or only `9 points` if no others exist
fn members(comparison: &Comparison, machine: usize, mean: GeometricMean) -> String {
    let points = plural(mean.cells, "point");
    match (mean.left_out, verdict::points_on_one_side(comparison, machine).next()) {
        (1.., _) if mean.basis == Basis::Exact => format!("the {points} without noise"),
        (1.., _) if mean.basis.includes_launches() => format!("the {points} with several launches"),
        (1.., _) => format!("the {points} that have an interval"),
        (0, Some(_)) => format!("the {points} compared"),
        (0, None) => points,
    }
}

/// `Certainly faster at 46 points, certainly slower at 0, not certain at 3`, without counts that are always zero
fn counts(comparison: &Comparison, verdict: &Verdict) -> String {
    let points = |count: usize| plural(count, "point");
    let Verdict { faster, slower, equal, undecided, unadjusted, mean, .. } = verdict;
    let mut parts = Vec::new();
    if mean.basis == Basis::Exact {
        parts.push(format!("Faster at {}, slower at {slower}, equal at {equal}", points(*faster)));
    } else if faster + slower + undecided > 0 {
        let how = match comparison.decision {
            Decision::Adjusted => format!(" (adjusted; unadjusted {} and {})", unadjusted[0], unadjusted[1]),
            Decision::Unadjusted => " (unadjusted)".to_owned(),
        };
        parts.push(format!(
            "Certainly faster at {}, certainly slower at {slower}, not certain at {undecided}{how}",
            points(*faster)
        ));
    }
    let bare: Vec<String> = verdict.without_interval.iter().map(|&point| comparison.names[point].clone()).collect();
    if !bare.is_empty() {
        let left_out = if mean.left_out > 0 { ", not included in the mean" } else { "" };
        parts.push(format!("No interval at {}{left_out}: {}", points(bare.len()), list_first(&bare)));
    }
    if verdict.unfinished > 0 {
        parts.push(format!("Unfinished at {}", points(verdict.unfinished)));
    }
    parts.join(". ")
}

/// Points on one side only.
fn describe_dropped(comparison: &Comparison, other: usize) -> Option<String> {
    let side = |machine: usize| -> Option<String> {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for point in verdict::points_on_one_side(comparison, other).filter(|point| point.by_machine[machine].is_some())
        {
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

const MAX_KINDS: usize = 4;

/// Side by side; the maps show the others.
const MAX_RATIOS: usize = 2;

/// On the first surface, and on the next one with the same axes.
fn corners(comparison: &Comparison) -> Option<Corners> {
    let surfaces: Vec<Group> = comparison.groups().filter(|group| group.is_surface()).collect();
    let axes = |group: &Group| [group.values(0), group.values(1)];
    let [blocks, alphas] = axes(surfaces.first()?);
    let same = surfaces.into_iter().filter(|group| axes(group) == [blocks.clone(), alphas.clone()]);
    let machines = 1..comparison.machines.len();
    let shown: Vec<(Group, usize)> =
        same.flat_map(|group| machines.clone().map(move |machine| (group, machine))).take(MAX_RATIOS).collect();
    let cell = |index: usize, alpha: f64, block: f64| {
        let (group, machine) = shown[index];
        let number = |index: usize, axis: usize| comparison.point(index).number(&group.axes[axis]);
        let mut blocks = group.points.iter().filter(|index| number(**index, 0) == Some(block));
        let corner = blocks.find(|index| number(**index, 1) == Some(alpha));
        let tested = corner.and_then(|index| comparison.ratio(machine, *index));
        tested.map_or_else(CornerCell::default, |tested| CornerCell {
            value: format!("{} \u{d7}", format_ratio(tested.ratio.value)),
            interval: format_interval(tested.ratio.interval).unwrap_or_default(),
            limit: doubt(comparison, machine, tested).into_iter().collect(),
        })
    };
    let labels = shown.iter().map(|(group, machine)| format!("{}: {}", comparison.name(*machine), group.label));
    Corners::new(labels.collect(), &alphas, &blocks, cell)
}

/// Why the map hatches a point, also where the interval of the point alone excludes 1.
fn doubt(comparison: &Comparison, machine: usize, tested: &TestedRatio) -> Option<String> {
    match comparison.decision.leaves_open(tested) {
        false => None,
        true if tested.ratio.is_decided() => {
            let others = comparison.ratios[machine].ratios.values().filter(|tested| tested.q.is_some()).count();
            Some(format!("not certain among {others} points"))
        }
        true => Some("not certain".to_owned()),
    }
}
