//! The parts that the reports of all sweeps have: what was measured, where and when, and the samples.

use super::embedded::Embedded;
use super::facts;
use super::failures::{self, Failure};
use crate::html::{self, Banner};
use apexmap_base::error::Result;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::samples::stamp::Stamp;
use apexmap_study::answers::declared::{self, Declared};
use apexmap_theory::bounds::DEVICE_NAME;
use serde::Serialize;

#[derive(Serialize)]
pub struct Head<'a> {
    manifest: &'a Manifest,
    /// The machine, for the title.
    machine: String,
    /// The question of the sweep with its answer.
    declared: Option<Declared>,
    made: String,
    facts: Vec<(&'static str, String)>,
    health: String,
    /// Banner for a disturbed machine, shown in red.
    disturbed: Option<Banner>,
    warnings: Vec<String>,
    samples_good: usize,
    failures: Vec<Failure>,
    /// How medians and intervals were computed.
    intervals: String,
    /// The result, from which the page can be drawn again.
    embedded: Option<Embedded>,
    /// The reason why the page does not hold its result.
    unembedded: Option<String>,
    /// Version of the program that made the page from whose data this one was drawn; `None` for the page of a folder.
    redrawn: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// Returns the parts for the current samples of a result.
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
            facts: facts::list(manifest, samples),
            health: health.sentence(),
            disturbed: banner(manifest, health),
            warnings,
            samples_good: samples.good().len(),
            failures: failures::list(samples),
            intervals: samples.method(),
            unembedded: embedded.as_ref().err().cloned(),
            embedded: embedded.ok(),
            redrawn,
        })
    }
}

/// Returns the banner for simulated ranks, imported values or a disturbed machine; `None` for a quiet one. A simulated result says
/// what its machine assumes, and which points were not compared with another simulator.
fn banner(manifest: &Manifest, health: &Health) -> Option<Banner> {
    let banner = health.banner()?;
    let disturbed = matches!(banner.kind, Stamp::Disturbed { .. });
    let (mut line, mut details) = (banner.line(), vec![banner.reason]);
    details.extend(manifest.imported.iter().flat_map(|import| import.notes.clone()));
    if let Some(machine) = &manifest.simulated {
        details.extend(machine.assumptions.iter().map(|sentence| format!("Assumed: {sentence}.")));
        line += if machine.describe_tests().is_empty() { "" } else { "; too fast where ranks share a node" };
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

/// Returns the name of the device of all samples, if they ran on one.
fn device(samples: &Samples) -> Option<String> {
    let names = samples.words(DEVICE_NAME);
    (samples.is_on_device() && !names.is_empty()).then(|| names.join(" and "))
}
