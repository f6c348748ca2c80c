//! The page of a comparison, and its tables as CSV.

use super::Comparison;
use super::fits::{self, Fitted};
use super::groups;
use super::machine::{Machine, Origin};
use super::overview::{self, Lead};
use super::pictures::{self, Section};
use super::points::Point;
use super::ranking;
use super::rates::{self, Efficiency};
use super::ratio::Basis;
use super::regression::Check;
use super::sensitivity::{self, Shape};
use super::statistics::MannWhitney;
use super::summary::{self, Checked, Line};
use super::{cards, tables};
use crate::error::{Error, Result};
use crate::explore::html::{self, Picture, Tile, Viewer};
use crate::units;
use serde::Serialize;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("compare.html");

/// Seed of the ranking's draws.
const SEED: u64 = 1;

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
struct Context<'a> {
    title: String,
    stamps: Vec<String>,
    warnings: Vec<String>,
    names: Vec<String>,
    machines: Vec<About>,
    /// Sentences about each machine against the base.
    verdicts: Vec<String>,
    tiles: Vec<Tile>,
    lines: Vec<Line>,
    matrix: Vec<Vec<String>>,
    matrix_cells: usize,
    ranks: Vec<[String; 5]>,
    check: Option<Checked>,
    matched: usize,
    bases: Vec<String>,
    unmatched: Vec<Unmatched>,
    unmatched_all: usize,
    untold: Vec<String>,
    viewer: Viewer,
    sections: Vec<Section>,
    unshown: Vec<String>,
    rates: Vec<Picture>,
    efficiencies: Vec<Efficiency>,
    omitted: Vec<String>,
    shapes: Vec<Shape>,
    sentences: Vec<String>,
    cards: Vec<cards::Row>,
    arguments: Vec<String>,
    read_off: Vec<String>,
    fits: Vec<Fitted>,
    unfinished: Vec<String>,
    command: &'a str,
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

/// Writes `compare.html`, `figures/`, `cells.csv` and `unmatched.csv` into a folder. `command` is what made them.
///
/// # Errors
/// If a file cannot be written or a figure not be drawn.
pub fn write(comparison: &Comparison, folder: &Path, command: &str, check: Option<&Check>) -> Result<Made> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let groups = groups::of(&comparison.points, &comparison.matched);
    let (mut sections, mut unshown) = (Vec::new(), Vec::new());
    for group in groups.iter().filter(|group| !group.axes.is_empty()) {
        if sections.len() < MOST_GROUPS {
            sections.push(pictures::of_group(comparison, group, sections.len() + 1, &figures)?);
        } else {
            unshown.push(group.label.clone());
        }
    }
    sections.retain(|section| !section.pictures.is_empty());
    let rates = rates::all(comparison, &figures)?;
    save(&folder.join("cells.csv"), &tables::cells(comparison))?;
    save(&folder.join("unmatched.csv"), &tables::unmatched(comparison))?;
    let names: Vec<String> = comparison.machines.iter().map(|machine| machine.name.clone()).collect();
    let shapes: Vec<Shape> = groups.iter().map(|group| sensitivity::of(comparison, group)).collect::<Result<_>>()?;
    let cards = cards::rows(comparison);
    let argue = |of: usize| groups.iter().filter_map(|group| cards::argument(comparison, group, &cards, of)).collect();
    let arguments: Vec<Vec<String>> = (1..comparison.machines.len()).map(argue).collect();
    let several = comparison.machines.len() > 2;
    let matrix = ranking::matrix(comparison);
    let ranks = if several { ranking::ranking(comparison, SEED) } else { Vec::new() };
    let lead = Lead::of(comparison, &ranks, check);
    let context = Context {
        title: names.join(" against "),
        stamps: comparison.stamps(),
        warnings: warnings(comparison),
        tiles: lead.tiles,
        machines: comparison.machines.iter().map(about).collect(),
        verdicts: lead.verdicts,
        lines: summary::lines(comparison, &groups),
        matrix: if several && matrix.means.iter().flatten().any(Option::is_some) {
            summary::matrix(&matrix)
        } else {
            Vec::new()
        },
        matrix_cells: matrix.cells,
        ranks: summary::ranked(&ranks),
        check: check.map(summary::checked),
        matched: comparison.matched.len(),
        bases: bases(comparison),
        unmatched: missing(comparison),
        unmatched_all: comparison.unmatched().count(),
        untold: untold(comparison),
        viewer: Viewer { surfaces: sections.iter().flat_map(|section| section.surfaces.clone()).collect() },
        sections,
        unshown,
        rates: rates.pictures,
        efficiencies: rates.efficiencies,
        omitted: rates.omitted,
        sentences: shapes.iter().filter_map(sensitivity::sentence).collect(),
        shapes,
        cards,
        arguments: arguments.into_iter().flatten().collect(),
        read_off: cards::read_off(comparison),
        fits: fits::all(comparison),
        unfinished: unfinished(comparison),
        command,
        names,
    };
    let page = folder.join("compare.html");
    let text = html::render(TEMPLATE, &context)?;
    save(&page, &text)?;
    html::remove_unmade(&figures, &text)?;
    Ok(Made { summary: terminal(&context), page })
}

/// The summary for the terminal.
fn terminal(context: &Context) -> String {
    let mut text = context.stamps.iter().map(|stamp| format!("{stamp}\n")).collect::<String>();
    let unmatched = format!(
        "{} points match (cells.csv), {} are lacking somewhere (unmatched.csv)",
        context.matched, context.unmatched_all
    );
    let lines = context.warnings.iter().chain(&context.verdicts).chain(&context.unfinished).chain([&unmatched]);
    lines.for_each(|line| text += &format!("{line}\n"));
    text
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
    if let Some((from, to, load)) = overview::moments(machine) {
        facts.push(("Measured", format!("from {} to {}", units::utc(from), units::utc(to))));
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

fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.matched.is_empty() {
        warnings.push(
            "These machines have no point in common: what is compared here is what their cards say. The papers print no \
             numbers of their surfaces."
                .to_owned(),
        );
    }
    if let Some([one, other]) = comparison.same_samples() {
        warnings.push(format!("{one} and {other} are the same samples: all their ratios are 1."));
    }
    warnings.extend(overview::one_after_the_other(comparison));
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
        if counts.is_empty() {
            continue;
        }
        let say = |(basis, points): (&Basis, &usize)| match basis {
            Basis::Launches => format!("{points} by the spread between launches"),
            Basis::Samples => {
                format!(
                    "{points} by the spread of samples within single launches, which does not know how launches differ"
                )
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
