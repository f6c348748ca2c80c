//! The sections on the method and on provenance: facts about each machine, and the command that reproduces the comparison.

use super::prelude::*;
use crate::html;
use std::collections::BTreeSet;

pub fn section(comparison: &Comparison, command: &str) -> Value {
    json!({ "machines": comparison.machines.iter().map(about).collect::<Vec<_>>(), "command": command })
}

/// With their values on each measured machine; `None` if all are the same.
pub fn environment_differences(machines: &[Machine]) -> Option<String> {
    let measured = machines.iter().filter(|machine| machine.origin == Origin::Measured);
    let variables = |machine: &Machine| -> BTreeSet<String> {
        machine
            .words("environment")
            .iter()
            .flat_map(|text| text.split(' '))
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let each: Vec<(&str, BTreeSet<String>)> =
        measured.map(|machine| (machine.name.as_str(), variables(machine))).collect();
    let common = each.iter().map(|(_, set)| set.clone()).reduce(|a, b| &a & &b)?;
    let own = |(name, set): &(&str, BTreeSet<String>)| {
        let own: Vec<&str> = set.difference(&common).map(String::as_str).collect();
        format!("{name}: {}", if own.is_empty() { "nothing else".into() } else { own.join(" ") })
    };
    let differ = each.iter().any(|(_, set)| *set != common);
    differ.then(|| format!("environment variables differ: {}", each.iter().map(own).collect::<Vec<_>>().join("; ")))
}

fn about(machine: &Machine) -> Value {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let joined = |column: &str| machine.words(column).join(", ");
    if let Some(host) = machine.host() {
        facts.push(("Processor", format!("{}, {}", host.cpu_model, host.processors)));
        facts.push(("Memory", host.memory()));
    }
    if let (Origin::Published, Some(card)) = (machine.origin, &machine.card) {
        facts.push(("Machine", card.summary.clone()));
        facts.push(("Source", card.source.clone()));
    }
    if let Some(manifest) = &machine.manifest {
        facts.push(("Sweep", format!("{}: {}", manifest.name, manifest.title)));
    }
    for (name, column) in [
        ("Numbers", "origin"),
        ("Host", "host"),
        ("Kernels", "kernel"),
        ("Transport", "transport"),
        ("Library", "library"),
        ("Launcher", "launcher"),
        ("Environment", "environment"),
        ("Page size requested", "pages"),
        ("Measuring code", "build"),
    ] {
        facts.push((name, joined(column)));
    }
    let pages: Vec<String> = machine.numbers("page_bytes").into_iter().map(units::bytes).collect();
    facts.push(("Page size granted", pages.join(", ")));
    if let Some((from, to, load)) = machine.time_range() {
        facts.push(("Measured", format!("from {} to {}", html::utc(from), html::utc(to))));
        facts.push(("Load average", if load.is_nan() { String::new() } else { units::short_number(load) }));
    }
    let launches = machine.samples.launches().len();
    if machine.samples.has("launch") {
        facts.push(("Launches", launches.to_string()));
    }
    let label = if machine.origin == Origin::Published { "Values" } else { "Samples" };
    facts.push((label, machine.samples.len().to_string()));
    facts.retain(|(_, text)| !text.is_empty());
    json!({ "name": machine.name, "given": machine.given, "facts": facts })
}

pub fn method(comparison: &Comparison, has_terms: bool, has_check: bool) -> Value {
    let bases: Vec<String> = (1..comparison.machines.len()).filter_map(|machine| bases(comparison, machine)).collect();
    json!({ "bases": bases, "has_terms": has_terms, "has_check": has_check })
}

fn bases(comparison: &Comparison, machine: usize) -> Option<String> {
    let mut counts: BTreeMap<Basis, usize> = BTreeMap::new();
    for tested in comparison.ratios[machine].ratios.values() {
        *counts.entry(tested.ratio.basis).or_default() += 1;
    }
    let describe = |(basis, points): (&Basis, &usize)| format!("{points} {}", BasisWords::new(*basis).points);
    let words: Vec<String> = counts.iter().map(describe).collect();
    (!words.is_empty()).then(|| format!("{}: {}.", comparison.title(machine), words.join("; ")))
}
