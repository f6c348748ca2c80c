//! The parts that the reports of all sweeps have: what was measured, where and when, the samples, methods and sources.

use super::embedded::Embedded;
use super::prelude::*;
use crate::html::{self, Banner};
use apexmap_base::distinct::distinct;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::samples::stamp::Stamp;
use apexmap_results::table::columns::{NODE_TYPE, label};
use apexmap_results::table::derived_columns::SHARE;
use apexmap_study::answers::declared::{self, Declared};
use apexmap_theory::bounds::DEVICE_NAME;
use serde_json::{Value as Json, json};

#[derive(Serialize)]
pub struct Head<'a> {
    manifest: &'a Manifest,
    machine: String,
    pub declared: Option<Declared>,
    made: String,
    facts: Vec<(&'static str, String)>,
    health: String,
    disturbed: Option<Banner>,
    warnings: Vec<String>,
    samples_good: usize,
    failures: Vec<Json>,
    /// How medians and intervals were computed.
    intervals: String,
    embedded: Option<Embedded>,
    unembedded: Option<String>,
    /// Version that made the page from whose data this one was drawn; `None` for the page of a folder.
    redrawn: Option<&'a str>,
}

impl<'a> Head<'a> {
    pub fn new(
        (folder, manifest): (&Folder, &'a Manifest),
        samples: &Samples,
        health: &Health,
        warnings: Vec<String>,
        redrawn: Option<&'a str>,
    ) -> Result<Self> {
        let embedded = Embedded::from_folder(folder, manifest)?;
        Ok(Self {
            manifest,
            machine: device(samples).unwrap_or_else(|| manifest.plain_machine()),
            declared: declared::of_result((folder, manifest), samples)?,
            made: html::utc(manifest.unix_seconds),
            facts: facts(manifest, samples),
            health: health.sentence(),
            disturbed: banner(manifest, health),
            warnings,
            samples_good: samples.good().len(),
            failures: failures(samples),
            intervals: samples.method(),
            unembedded: embedded.as_ref().err().cloned(),
            embedded: embedded.ok(),
            redrawn,
        })
    }
}

/// A simulated result says what its machine assumes, and which points were not compared with another simulator.
fn banner(manifest: &Manifest, health: &Health) -> Option<Banner> {
    let banner = health.banner()?;
    let disturbed = matches!(banner.kind, Stamp::Disturbed { .. });
    let (mut line, mut details) = (banner.line(), vec![banner.reason + &banner.counts]);
    details.extend(manifest.imported.iter().flat_map(|import| import.notes.clone()));
    if let Some(machine) = &manifest.simulated {
        details.extend(machine.assumptions.iter().map(|sentence| format!("Assumed: {sentence}.")));
        line += if machine.on_shared_nodes.is_empty() { "" } else { "; too fast where ranks share a node" };
        if machine.untested_points > 0 {
            let points = plural(manifest.points, "point");
            line += &format!("; {} of {points} outside of what was tested", machine.untested_points);
            let reason =
                |(text, count): (&String, &usize)| format!("Not tested at {}: {text}.", plural(*count, "point"));
            details.extend(machine.untested.iter().map(reason));
        }
    }
    Some(Banner { line, disturbed, details })
}

fn device(samples: &Samples) -> Option<String> {
    let names = samples.words(DEVICE_NAME);
    (samples.is_on_device() && !names.is_empty()).then(|| names.join(" and "))
}

fn facts(manifest: &Manifest, samples: &Samples) -> Vec<(&'static str, String)> {
    let distinct = |column: &str| {
        let mut values: Vec<String> = samples.values(column).iter().map(Value::to_string).collect();
        values.sort();
        values
    };
    let mut facts = vec![("Machine", manifest.machine.clone())];
    if let Some(import) = &manifest.imported {
        facts.push(("Values", import.label()));
        facts.extend(import.notes.iter().map(|note| ("Note", note.clone())));
    } else if let Some(machine) = samples.describe_simulation() {
        facts.push(("Ranks", machine));
        facts.push(("Simulated on", manifest.driver_host.name.clone()));
    } else if let Some(launch) = manifest.launches.last() {
        let host = &launch.launch.host;
        let caches = host.caches.iter().map(|c| {
            let shared = if c.shared_by > 1 { format!(" shared by {}", c.shared_by) } else { String::new() };
            format!("L{} {}{shared}", c.level, units::bytes(c.bytes as f64))
        });
        facts.push(("Processor", format!("{}, {}", host.cpu_model, host.processors)));
        let seen = manifest.driver_host.last_cache_seen_bytes;
        let seen = seen.map(|bytes| format!("reads see about {} of the last one", units::bytes(bytes as f64)));
        facts.push(("Caches", caches.chain(seen).collect::<Vec<_>>().join(", ")));
        facts.push(("Memory", host.memory()));
        if let Some(hertz) = host.cycle_hertz {
            facts.push(("Cycles", format!("{} GHz, {}", units::short_number(hertz / 1e9), host.cycle_source)));
        }
    }
    let pages: Vec<String> = distinct("page_bytes").iter().filter_map(|p| p.parse().ok()).map(units::bytes).collect();
    facts.push(("Page size granted", if pages.is_empty() { "mixed or unknown".into() } else { pages.join(", ") }));
    facts.push(("Kernels", distinct("kernel").join(", ")));
    facts.push(("Ranks", distinct("ranks").join(", ")));
    facts.push(("Transport", distinct("library").join(", ")));
    let environment = distinct("environment").join("; ");
    if !environment.is_empty() {
        facts.push(("Environment", environment));
    }
    facts
}

fn failures(samples: &Samples) -> Vec<Json> {
    let table = samples.table();
    let failed = samples.filter_rows(|row| table.word("status", row) != Status::Ok.name());
    let point = |row: usize| {
        let shown = columns::point_columns(table)
            .into_iter()
            .filter(|name| !["host", NODE_TYPE, "library", "launcher"].contains(name));
        let describe = |name: &str| table.value(name, row).map(|value| label(name, &value));
        shown.filter_map(describe).collect::<Vec<_>>().join(", ")
    };
    let failure = |&row: &usize| {
        let [status, message] = ["status", "message"].map(|name| table.word(name, row));
        json!({ "status": status, "point": point(row), "message": message })
    };
    failed.rows().iter().map(failure).collect()
}

#[derive(Serialize)]
pub struct Sources {
    methods: Vec<&'static str>,
    sources: Vec<String>,
    rates: Vec<String>,
    /// Some kernels could have bounds, which hold only for real ranks, and no card gave them.
    unbounded: bool,
    /// Devices have separate cards.
    on_device: bool,
}

impl Sources {
    pub fn new(Input { kernels, samples, .. }: &Input) -> Self {
        let rate = |(kernel, samples): &(&Kernel, Samples)| {
            let headline = columns::describe_of(samples.headline(kernel), [kernel.id]);
            format!("{}: {}", kernels::family(kernel.id), headline.label)
        };
        Self {
            methods: distinct(kernels.iter().map(|(kernel, _)| kernel.method)),
            sources: kernels.iter().map(|(kernel, _)| cite(kernel)).collect(),
            rates: distinct(kernels.iter().map(rate)),
            unbounded: samples.describe_origin().is_none()
                && samples.column(SHARE).is_none()
                && kernels.iter().any(|(kernel, _)| kernel.bounded.is_some()),
            on_device: samples.is_on_device(),
        }
    }
}

fn cite(kernel: &Kernel) -> String {
    format!(
        "{}: {}. {}, \u{201c}{},\u{201d} {}.",
        kernel.id, kernel.summary, kernel.source.authors, kernel.source.title, kernel.place
    )
}
