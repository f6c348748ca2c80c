//! Differences that make a comparison unfair, and those that were allowed.

use super::machine::{Machine, Origin};
use super::matching::{AllowedDifferences, state_cores};
use super::points::{Facts, Point, Points};
use apexmap_base::error::{Error, Result};
use apexmap_base::units;
use apexmap_results::table::columns;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub name: &'static str,
    pub points: usize,
    pub text: String,
    pub example: String,
}

pub fn differences(machines: &[Machine], points: &Points) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    let varying = points.varying();
    for point in &points.points {
        for (name, text) in point_differences(machines, point) {
            match differences.iter_mut().find(|difference| difference.name == name) {
                Some(known) => known.points += 1,
                None => differences.push(Difference { name, points: 1, text, example: point.short(&varying) }),
            }
        }
    }
    differences
}

fn point_differences(machines: &[Machine], point: &Point) -> Vec<(&'static str, String)> {
    let facts: Vec<(&str, &Facts)> = machines
        .iter()
        .zip(&point.by_machine)
        .filter_map(|(machine, data)| Some((machine.name.as_str(), &data.as_ref()?.facts)))
        .collect();
    let mut differences = Vec::new();
    // A side that does not report the property counts as equal.
    let mut differ = |name: &'static str, label: &str, say: &dyn Fn(&Facts) -> String| {
        let reported: Vec<(&str, String)> =
            facts.iter().map(|(machine, facts)| (*machine, say(facts))).filter(|(_, text)| !text.is_empty()).collect();
        if reported.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            let each: Vec<String> = reported.iter().map(|(machine, text)| format!("{text} ({machine})")).collect();
            differences.push((name, format!("{label}: {}", each.join(", "))));
        }
    };
    let joined = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(" and ");
    differ("page-size", "page size", &|facts| match facts.pages.is_empty() {
        true => joined(&facts.pages_asked),
        false => facts.pages.iter().map(|&b| units::bytes(b as f64)).collect::<Vec<_>>().join(" and "),
    });
    differ("oversubscription", "ranks and hardware threads", &|facts| {
        let word = |crowded| if crowded { "oversubscribed" } else { "one hardware thread per rank" };
        facts.oversubscribed.map(word).unwrap_or_default().to_owned()
    });
    let alone = point.values.iter().any(|(column, value)| column == "ranks" && value.as_f64() == Some(1.0));
    if !alone {
        differ("transport", "transport", &|facts| joined(&facts.transports));
    }
    differ("version", "measuring code", &|facts| joined(&facts.builds));
    differ("kernel", "kernel", &|facts| joined(&facts.kernels));
    differences
}

pub fn require_allowed(differences: Vec<Difference>, allowed: &AllowedDifferences) -> Result<Vec<Difference>> {
    let refused: Vec<&Difference> = differences.iter().filter(|difference| !allowed.has(difference.name)).collect();
    if refused.is_empty() {
        return Ok(differences);
    }
    let each: Vec<String> =
        refused.iter().map(|d| format!("{} at {} matched points, such as {}", d.text, d.points, d.example)).collect();
    let names: Vec<&str> = refused.iter().map(|d| d.name).collect();
    Err(Error::input(
        format!("the comparison would be unfair: {}", each.join("; ")),
        format!(
            "measure both under the same conditions, or accept the difference, which is then printed on every \
             figure: --allow {}",
            names.join(",")
        ),
    ))
}

/// Columns where a machine has none of the first machine's values, with the values of all.
fn disjoint_columns(machines: usize, points: &Points) -> Vec<(&str, String)> {
    let mut values: BTreeMap<&str, Vec<BTreeSet<String>>> = BTreeMap::new();
    for point in &points.points {
        for (column, value) in &point.values {
            let sets = values.entry(column).or_insert_with(|| vec![BTreeSet::new(); machines]);
            for (set, _) in sets.iter_mut().zip(&point.by_machine).filter(|(_, data)| data.is_some()) {
                set.insert(value.to_string());
            }
        }
    }
    values.retain(|_, sets| sets[1..].iter().any(|set| set.is_disjoint(&sets[0])));
    let shown = |set: &BTreeSet<String>| match set.is_empty() {
        true => "none".to_owned(),
        false => set.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    let describe = |sets: &Vec<BTreeSet<String>>| sets.iter().map(shown).collect::<Vec<_>>().join(" against ");
    values.iter().map(|(column, sets)| (columns::short(column), describe(sets))).collect()
}

pub fn no_common_point(machines: &[Machine], points: &Points) -> Error {
    let names: Vec<&str> = machines.iter().map(|machine| machine.given.as_str()).collect();
    let apart = disjoint_columns(machines.len(), points);
    let why = match apart.is_empty() {
        true => "their kernels or combinations of parameters differ".to_owned(),
        false => {
            let reasons: Vec<String> = apart.iter().map(|(name, each)| format!("{name} ({each})")).collect();
            format!("they differ in {}", reasons.join(", "))
        }
    };
    let differ = |name: &str| apart.iter().any(|(other, _)| *other == name);
    if differ("pages") {
        return Error::input(
            format!("comparing {} would be unfair because the page sizes differ: {why}", names.join(" and ")),
            "measure both under the same conditions, or accept the difference, which is then printed on every \
             figure: --allow page-size",
        );
    }
    let others: Vec<&str> = apart.iter().map(|(name, _)| *name).filter(|name| *name != "P").collect();
    let ignore = if others.is_empty() { String::new() } else { format!(" --ignore {}", others.join(",")) };
    let has_unknown_cores = |machine: &Machine| machine.origin == Origin::Measured && machine.cores.is_none();
    let next = match differ("P") {
        true if machines.iter().any(has_unknown_cores) => {
            let cores = state_cores(machines);
            format!("state the cores of the machine, so that all cores are compared with all cores: {cores}{ignore}")
        }
        true if points.roles.is_some() => "measure both on one core, or both on all cores of their machine".to_owned(),
        true => format!(
            "run the same sweep on both; points with different numbers of ranks are matched only if they use all cores of \
             their machine: --match-ranks role{ignore}"
        ),
        false if ignore.is_empty() => {
            "run the same sweep on both, or compare different kernels with --allow kernel".to_owned()
        }
        false => format!("run the same sweep on both, or exclude parameters from the matching:{ignore}"),
    };
    Error::input(format!("{} have no point in common: {why}", names.join(" and ")), next)
}
