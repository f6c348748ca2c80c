//! The first screen: sentences, warnings to read before using a number, a map with its corners, and, folded, the details.

use super::prelude::*;
use crate::compare::comparison::{DISTURBED, Warning};
use crate::compare::published_machines;
use crate::html::{Banner, CornerCell, Corners, utc};

#[derive(Serialize)]
pub struct Summary {
    pub headline: Vec<String>,
    banners: Vec<Banner>,
    #[serde(skip)]
    pub remarks: Vec<String>,
    #[serde(skip)]
    pub lines: Vec<String>,
}

impl Summary {
    pub fn new(comparison: &Comparison, headline: Vec<String>, unfinished: &[String]) -> Self {
        let (warnings, remarks) = (comparison.warnings(), remarks(comparison));
        let lines = warnings.iter().map(Warning::to_string).chain(remarks.iter().cloned()).collect();
        let banners = banners(comparison, &warnings);
        Self { headline, banners, remarks: [unfinished, &remarks].concat(), lines }
    }
}

fn banners(comparison: &Comparison, warnings: &[Warning]) -> Vec<Banner> {
    let (disturbed, others): (Vec<&Warning>, Vec<&Warning>) =
        warnings.iter().partition(|warning| warning.kind == DISTURBED);
    let line = match others.as_slice() {
        [only] => format!("{only}."),
        _ => list_kinds(comparison, &others),
    };
    let banner = |line: String, warnings: &[&Warning], disturbed: bool| {
        let details = warnings.iter().map(|warning| format!("{warning}.")).collect();
        (!warnings.is_empty()).then_some(Banner { line, disturbed, details })
    };
    let disturbed = banner(comparison.disturbed_line().unwrap_or_default(), &disturbed, true);
    disturbed.into_iter().chain(banner(line, &others, false)).collect()
}

fn list_kinds(comparison: &Comparison, warnings: &[&Warning]) -> String {
    let is_name = |kind: &&str| comparison.machines.iter().any(|machine| machine.name == *kind);
    let (mut names, mut kinds): (Vec<&str>, Vec<&str>) =
        warnings.iter().map(|warning| warning.kind.as_str()).partition(is_name);
    names.dedup();
    kinds.dedup();
    let remarks = format!("remarks on {}", names.join(" and "));
    kinds.extend((!names.is_empty()).then_some(remarks.as_str()));
    kinds.join(", ")
}

fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    if comparison.matched.is_empty() {
        let has_rates = |machine: &&Machine| machine.origin == Origin::Published && !machine.words("kernel").is_empty();
        let published = comparison.machines.iter().filter(has_rates);
        remarks.extend(published.map(|machine| format!("{}.", published_machines::rates(machine))));
    }
    remarks.extend(one_after_the_other(comparison));
    let refused = comparison.machines.iter().filter(|machine| !machine.refused.is_empty());
    remarks.extend(refused.map(|m| format!("{} has no rate at some points: {}.", m.name, m.refused.join("; "))));
    let unusable = comparison.machines.iter().zip(&comparison.points.unusable).filter(|(_, unusable)| **unusable > 0);
    for (machine, unusable) in unusable {
        let samples = plural(*unusable, "sample");
        remarks.push(format!("{}: {samples} excluded because the rate is not positive and finite.", machine.name));
    }
    remarks
}

/// Results of one host in sequence: the variation between launches does not include changes in between.
fn one_after_the_other(comparison: &Comparison) -> Option<String> {
    let is_measured = |machine: &&Machine| {
        machine.origin == Origin::Measured && machine.transfer.is_none() && machine.host().is_some()
    };
    let measured = comparison.machines.iter().filter(is_measured);
    let mut when: Vec<_> = measured.filter_map(|machine| Some((machine, machine.time_range()?))).collect();
    when.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let apart = |pair: &[(&Machine, (f64, f64, f64))]| {
        // Two machines may have one name.
        let [(earlier, (_, end, _)), (later, (start, ..))] = pair else { return false };
        ["host", "cpu_model"].iter().all(|column| earlier.words(column) == later.words(column)) && end < start
    };
    if !when.windows(2).any(apart) {
        return None;
    }
    let describe = |(machine, (from, _, load)): &(&Machine, (f64, f64, f64))| {
        let load = if load.is_nan() { String::new() } else { format!(", load average {}", short_number(*load)) };
        format!("{} {}{load}", machine.name, utc(*from))
    };
    Some(format!(
        "Measured one after the other on one host ({}): anything else that changed in between appears as a \
         difference and is not covered by the intervals. Alternate the runs, or repeat one, to see how \
         large this effect is.",
        when.iter().map(describe).collect::<Vec<_>>().join("; ")
    ))
}

/// `judged`: the outcome of the check; `lead`: the map.
pub fn overview(
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
