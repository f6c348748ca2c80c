//! The page of a comparison, and its tables as CSV.

use super::Comparison;
use super::groups;
use super::machine::{Machine, Origin};
use super::pictures::{self, Section, with_interval};
use super::points::Point;
use super::rates;
use super::ratio::{Basis, ratio};
use super::statistics::MannWhitney;
use crate::document::{self, Picture};
use crate::error::{Error, Result};
use crate::units;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("compare.html");

/// Groups drawn in full.
const MOST_GROUPS: usize = 6;

/// What was written.
#[derive(Clone, Debug)]
pub struct Made {
    pub page: PathBuf,
    /// For the terminal.
    pub summary: String,
}

#[derive(Serialize)]
struct Context {
    title: String,
    stamps: Vec<String>,
    warnings: Vec<String>,
    names: Vec<String>,
    machines: Vec<About>,
    matched: usize,
    bases: Vec<String>,
    unmatched: Vec<Unmatched>,
    unmatched_all: usize,
    untold: Vec<String>,
    sections: Vec<Section>,
    unshown: Vec<String>,
    rates: Vec<Picture>,
    omitted: Vec<String>,
    unfinished: Vec<String>,
}

/// One machine in the table of what is compared.
#[derive(Serialize)]
struct About {
    name: String,
    given: String,
    facts: Vec<(&'static str, String)>,
}

/// Points of one machine that the others lack.
#[derive(Serialize)]
struct Unmatched {
    who: String,
    points: usize,
    example: String,
}

/// Writes `compare.html`, `figures/`, `cells.csv` and `unmatched.csv` into a folder.
///
/// # Errors
/// If a file cannot be written or a figure not be drawn.
pub fn write(comparison: &Comparison, folder: &Path, command: &str) -> Result<Made> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let _ = command;
    let groups = groups::of(&comparison.points, &comparison.matched)?;
    let (mut sections, mut unshown) = (Vec::new(), Vec::new());
    for group in &groups {
        if sections.len() < MOST_GROUPS && !group.axes.is_empty() {
            sections.push(pictures::of_group(comparison, group, sections.len() + 1, &figures)?);
        } else {
            unshown.push(group.label.clone());
        }
    }
    sections.retain(|section| !section.pictures.is_empty());
    let (rates, omitted) = rates::all(comparison, &figures)?;
    save(&folder.join("cells.csv"), &cells(comparison))?;
    save(&folder.join("unmatched.csv"), &unmatched(comparison))?;
    let names: Vec<String> = comparison.machines.iter().map(|machine| machine.name.clone()).collect();
    let context = Context {
        title: names.join(" against "),
        stamps: comparison.stamps(),
        warnings: warnings(comparison),
        machines: comparison.machines.iter().map(about).collect(),
        matched: comparison.matched.len(),
        bases: bases(comparison),
        unmatched: missing(comparison),
        unmatched_all: comparison.unmatched().count(),
        untold: untold(comparison),
        sections,
        unshown,
        rates,
        omitted,
        unfinished: unfinished(comparison),
        names,
    };
    let page = folder.join("compare.html");
    save(&page, &document::render(TEMPLATE, &context)?)?;
    Ok(Made { summary: String::new(), page })
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| Error::file("write", path, e))
}

fn about(machine: &Machine) -> About {
    let mut facts = Vec::new();
    let joined = |column: &str| machine.words(column).join(", ");
    if let Some(host) = machine.host() {
        facts.push(("Processor", format!("{}, {} processors", host.cpu_model, host.processors)));
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
        ("Pages asked for", "pages"),
        ("Measuring code", "build"),
    ] {
        facts.push((name, joined(column)));
    }
    let pages: Vec<String> = machine.numbers("page_bytes").into_iter().map(units::bytes).collect();
    facts.push(("Pages granted", pages.join(", ")));
    let launches = machine.words("launch").len();
    if launches > 0 {
        facts.push(("Launches", launches.to_string()));
    }
    let what = if machine.origin == Origin::Published { "Values" } else { "Samples" };
    facts.push((what, machine.rows.len().to_string()));
    facts.retain(|(_, text)| !text.is_empty());
    About { name: machine.name.clone(), given: machine.given.clone(), facts }
}

fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.matched.is_empty() {
        warnings.push(
            "These machines have no point in common: what is compared here is what their cards say. The papers print no \
             numbers of their surfaces."
                .to_owned(),
        );
    }
    for (machine, unusable) in comparison.machines.iter().zip(&comparison.points.unusable) {
        if *unusable > 0 {
            warnings.push(format!(
                "{}: {unusable} samples have a rate that is not positive and finite; they are left out.",
                machine.name
            ));
        }
    }
    warnings
}

/// By what the intervals of the matched points are known.
fn bases(comparison: &Comparison) -> Vec<String> {
    let mut tests = MannWhitney::default();
    let mut found = Vec::new();
    for of in 1..comparison.machines.len() {
        let mut counts = std::collections::BTreeMap::new();
        for &at in &comparison.matched {
            if let Some(ratio) = pictures::of_point(comparison, at, of, &mut tests) {
                *counts.entry(ratio.basis).or_insert(0) += 1;
            }
        }
        let say = |(basis, points): (&Basis, &usize)| match basis {
            Basis::Launches => format!("{points} by the spread between launches"),
            Basis::Samples => {
                format!("{points} by the spread of samples within single launches, which does not know how launches differ")
            }
            Basis::Nothing => format!("{points} without an interval: too few samples"),
        };
        let words: Vec<String> = counts.iter().map(say).collect();
        let (name, base) = (&comparison.machines[of].name, &comparison.machines[0].name);
        found.push(format!("{name} over {base}: {}.", words.join("; ")));
    }
    found
}

fn missing(comparison: &Comparison) -> Vec<Unmatched> {
    let varying = comparison.points.varying();
    let mut found: Vec<Unmatched> = Vec::new();
    for point in comparison.unmatched() {
        let who: Vec<&str> = comparison
            .machines
            .iter()
            .zip(&point.seen)
            .filter(|(_, seen)| seen.is_some())
            .map(|(machine, _)| machine.name.as_str())
            .collect();
        let who = who.join(" and ");
        match found.iter_mut().find(|known| known.who == who) {
            Some(known) => known.points += 1,
            None => found.push(Unmatched { who, points: 1, example: point.short(&varying) }),
        }
    }
    found
}

fn untold(comparison: &Comparison) -> Vec<String> {
    let one = |(machine, class, names): &(String, String, Vec<String>)| {
        format!("{machine} does not tell {} of {class}: points are matched without it.", names.join(", "))
    };
    comparison.points.untold.iter().map(one).collect()
}

/// Points that a machine has without a number, first of all those that another finished.
fn unfinished(comparison: &Comparison) -> Vec<String> {
    let varying = comparison.points.varying();
    let mut found = Vec::new();
    for (k, machine) in comparison.machines.iter().enumerate() {
        let failed: Vec<&Point> = comparison
            .points
            .points
            .iter()
            .filter(|point| point.seen[k].as_ref().is_some_and(|seen| seen.samples() == 0))
            .collect();
        let Some(first) = failed.first() else { continue };
        let status = first.seen[k].as_ref().and_then(|seen| seen.failures.first()).map_or("no number", |s| s.name());
        found.push(format!(
            "{} did not finish {} points, such as {} ({status}).",
            machine.name,
            failed.len(),
            first.short(&varying)
        ));
    }
    found
}

/// A field of CSV (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn columns<'a>(comparison: &'a Comparison) -> Vec<&'a str> {
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in comparison.points.points.iter().flat_map(|point| &point.at) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    columns
}

fn at(point: &Point, columns: &[&str]) -> String {
    let value = |column: &&str| {
        let found = point.at.iter().find(|(name, _)| name == column);
        found.map(|(_, value)| field(&value.to_string())).unwrap_or_default()
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("{},{}", field(&point.class), values.join(","))
}

/// Every matched point with the speeds and ratios.
fn cells(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut tests = MannWhitney::default();
    let mut text = format!("kernel,{}", columns.join(","));
    for machine in comparison.machines {
        let name = &machine.name;
        let heads = [format!("speed of {name}"), format!("launches of {name}"), format!("samples of {name}")];
        heads.iter().for_each(|head| _ = write!(text, ",{}", field(head)));
    }
    for machine in &comparison.machines[1..] {
        let ratio = format!("{} over {}", machine.name, comparison.machines[0].name);
        let heads = [ratio.clone(), format!("{ratio}: low"), format!("{ratio}: high"), format!("{ratio}: basis")];
        heads.iter().for_each(|head| _ = write!(text, ",{}", field(head)));
    }
    text.push('\n');
    for point in comparison.matched_points() {
        text.push_str(&at(point, &columns));
        for seen in point.seen.iter().flatten() {
            let speed = seen.speed().map_or(String::new(), |speed| speed.to_string());
            let _ = write!(text, ",{speed},{},{}", seen.launches.len(), seen.samples());
        }
        for of in 1..comparison.machines.len() {
            let found = point.seen[of].as_ref().zip(point.seen[0].as_ref()).and_then(|(a, b)| ratio(a, b, &mut tests));
            let Some(found) = found else {
                text.push_str(",,,,did not finish");
                continue;
            };
            let (low, high) = found.interval.map_or((String::new(), String::new()), |(l, h)| (l.to_string(), h.to_string()));
            let basis = match found.basis {
                Basis::Launches => "launches",
                Basis::Samples => "samples",
                Basis::Nothing => "nothing",
            };
            let _ = write!(text, ",{},{low},{high},{basis}", found.value);
        }
        text.push('\n');
    }
    text
}

/// Every point that not all machines have, and who has it.
fn unmatched(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut text = format!("kernel,{}", columns.join(","));
    comparison.machines.iter().for_each(|machine| _ = write!(text, ",{}", field(&machine.name)));
    text.push('\n');
    for point in comparison.unmatched() {
        text.push_str(&at(point, &columns));
        point.seen.iter().for_each(|seen| text.push_str(if seen.is_some() { ",yes" } else { ",no" }));
        text.push('\n');
    }
    text
}

#[allow(dead_code)]
fn shown(value: f64, interval: Option<(f64, f64)>) -> String {
    with_interval(value, interval)
}
