//! What is said of one machine of a comparison.

use super::machine::{Machine, Origin};
use super::overview;
use crate::explore::html;
use crate::units;
use serde::Serialize;

/// One machine in the table of what is compared.
#[derive(Serialize)]
pub struct About {
    name: String,
    given: String,
    facts: Vec<(&'static str, String)>,
}

pub fn about(machine: &Machine) -> About {
    let mut facts = Vec::new();
    let joined = |column: &str| machine.words(column).join(", ");
    if let Some(host) = machine.host() {
        facts.push(("Processor", format!("{}, {}", host.cpu_model, host.processors)));
        facts.push(("Memory", units::bytes(host.memory_bytes as f64)));
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
        ("Page size requested", "pages"),
        ("Measuring code", "build"),
    ] {
        facts.push((name, joined(column)));
    }
    let pages: Vec<String> = machine.numbers("page_bytes").into_iter().map(units::bytes).collect();
    facts.push(("Page size granted", pages.join(", ")));
    if let Some((from, to, load)) = overview::moments(machine) {
        facts.push(("Measured", format!("from {} to {}", html::utc(from), html::utc(to))));
        facts.push(("Load average", if load.is_nan() { String::new() } else { units::significant(load) }));
    }
    let launches = machine.words("launch").len();
    if launches > 0 {
        facts.push(("Launches", launches.to_string()));
    }
    let what = if machine.origin == Origin::Published { "Values" } else { "Samples" };
    facts.push((what, machine.samples.len().to_string()));
    facts.retain(|(_, text)| !text.is_empty());
    About { name: machine.name.clone(), given: machine.given.clone(), facts }
}
