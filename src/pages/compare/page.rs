//! The page of a comparison, and its tables as CSV.

use super::Comparison;
use super::about::{About, about};
use super::explained::{self, Explained};
use super::fits::{self, ModelFit};
use super::groups::{self, MatchedGroup};
use super::machine::Origin;
use super::overview::{self, Overview};
use super::pictures::{self, Section};
use super::points::Point;
use super::ranking;
use super::rates::{self, Efficiency, Rates};
use super::ratio::Basis;
use super::regression::RegressionCheck;
use super::sensitivity::{self, Shape};
use super::summary::{self, Checked, MeanLine};
use super::{cards, published, tables};
use crate::html::{self, Corners, Picture, Viewer};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::units::plural;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use serde::Serialize;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("compare.html");

/// Seed of the ranking's draws.
const SEED: u64 = 1;

/// Groups drawn in full.
const MOST_GROUPS: usize = 6;

/// What was written.
#[derive(Clone, Debug)]
pub struct ComparisonOutput {
    pub page: PathBuf,
    /// For the terminal.
    pub summary: String,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    overall: Overall,
    #[serde(flatten)]
    matching: Matched,
    #[serde(flatten)]
    surfaces: Surfaces,
    #[serde(flatten)]
    rates: RatePictures,
    #[serde(flatten)]
    shapes: Shapes,
    #[serde(flatten)]
    numbers: Numbers,
    explained: Vec<Explained>,
    fits: Vec<ModelFit>,
}

/// What is compared, and what must be known before using a number.
#[derive(Serialize)]
struct Head<'a> {
    title: String,
    stamps: Vec<String>,
    warnings: Vec<String>,
    names: Vec<String>,
    machines: Vec<About>,
    command: &'a str,
}

/// Who is faster, over groups and over all.
#[derive(Serialize)]
struct Overall {
    /// Sentences about each machine against the base.
    verdicts: Vec<String>,
    judged: Vec<String>,
    lines: Vec<MeanLine>,
    matrix: Vec<Vec<String>>,
    matrix_cells: usize,
    ranks: Vec<[String; 5]>,
    check: Option<Checked>,
}

/// Which points match, and which do not.
#[derive(Serialize)]
struct Matched {
    matched: usize,
    bases: Vec<String>,
    unmatched: Vec<Unmatched>,
    unmatched_all: usize,
    unreported: Vec<String>,
    unfinished: Vec<String>,
}

/// The groups that are drawn, and the names of those that are not.
#[derive(Serialize)]
struct Surfaces {
    viewer: Viewer,
    /// The first map of ratios; the others are with their sections.
    lead: Option<Picture>,
    corners: Option<Corners>,
    sections: Vec<Section>,
    unshown: Vec<String>,
}

/// Rates over one parameter.
#[derive(Serialize)]
struct RatePictures {
    rates: Vec<Picture>,
    efficiencies: Vec<Efficiency>,
    omitted: Vec<String>,
}

/// What the shapes of the surfaces say.
#[derive(Serialize)]
struct Shapes {
    shapes: Vec<Shape>,
    sentences: Vec<String>,
}

/// The machines' own numbers beside the measured ratios.
#[derive(Serialize)]
struct Numbers {
    cards: Vec<cards::NumberRow>,
    arguments: Vec<String>,
    read_off: Vec<String>,
}

/// Points of one machine that the others lack.
#[derive(Serialize)]
struct Unmatched {
    who: String,
    points: usize,
    example: String,
}

/// Writes `compare.html`, `figures/`, `cells.csv`, `unmatched.csv` and, where terms are known, `terms.csv` into a folder. `command` is what made them.
///
/// # Errors
/// If a file cannot be written or a figure not be drawn.
pub fn write(
    comparison: &Comparison,
    folder: &Path,
    command: &str,
    check: Option<&RegressionCheck>,
) -> Result<ComparisonOutput> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let groups = groups::of(&comparison.points, &comparison.matched);
    let context = Context {
        head: Head::of(comparison, command),
        surfaces: Surfaces::of(comparison, &groups, &figures)?,
        rates: RatePictures::of(comparison, &figures)?,
        overall: Overall::of(comparison, &groups, check),
        matching: Matched::of(comparison),
        shapes: Shapes::of(comparison, &groups)?,
        numbers: Numbers::of(comparison, &groups),
        explained: explained::all(comparison, &groups, &figures, MOST_GROUPS)?,
        fits: fits::all(comparison),
    };
    save(&folder.join("cells.csv"), &tables::cells(comparison))?;
    save(&folder.join("unmatched.csv"), &tables::unmatched(comparison))?;
    let pairs: Vec<_> = context.explained.iter().filter_map(|explained| explained.pair.as_ref()).collect();
    tables::save_terms(&folder.join("terms.csv"), comparison, &pairs)?;
    let page = folder.join("compare.html");
    let text = html::render(TEMPLATE, &context)?;
    save(&page, &text)?;
    html::remove_unmade(&figures, &text)?;
    Ok(ComparisonOutput { summary: terminal(&context), page })
}

impl<'a> Head<'a> {
    fn of(comparison: &Comparison, command: &'a str) -> Self {
        let names: Vec<String> = comparison.machines.iter().map(|machine| machine.name.clone()).collect();
        Self {
            title: names.join(" against "),
            stamps: comparison.stamps(),
            warnings: warnings(comparison),
            names,
            machines: comparison.machines.iter().map(about).collect(),
            command,
        }
    }
}

impl Overall {
    fn of(comparison: &Comparison, groups: &[MatchedGroup], check: Option<&RegressionCheck>) -> Self {
        let several = comparison.machines.len() > 2;
        let matrix = ranking::matrix(comparison);
        let shown = several && matrix.means.iter().flatten().any(Option::is_some);
        let ranks = if several { ranking::ranking(comparison, SEED) } else { Vec::new() };
        let Overview { verdicts, judged } = Overview::of(comparison, &ranks, check);
        Self {
            verdicts,
            judged,
            lines: summary::lines(comparison, groups),
            matrix: if shown { summary::matrix(&matrix) } else { Vec::new() },
            matrix_cells: matrix.cells,
            ranks: summary::ranked(&ranks),
            check: check.map(|check| summary::checked(check, &comparison.stamps())),
        }
    }
}

impl Matched {
    fn of(comparison: &Comparison) -> Self {
        Self {
            matched: comparison.matched.len(),
            bases: bases(comparison),
            unmatched: missing(comparison),
            unmatched_all: comparison.unmatched().count(),
            unreported: unreported(comparison),
            unfinished: unfinished(comparison),
        }
    }
}

impl Surfaces {
    fn of(comparison: &Comparison, groups: &[MatchedGroup], figures: &Path) -> Result<Self> {
        let (mut sections, mut unshown): (Vec<Section>, _) = (Vec::new(), Vec::new());
        for group in groups.iter().filter(|group| !group.axes.is_empty()) {
            if sections.len() < MOST_GROUPS {
                sections.push(pictures::of_group(comparison, group, sections.len() + 1, figures)?);
            } else {
                unshown.push(format!("{}.", group.label));
            }
        }
        unshown.extend(sections.iter_mut().flat_map(|section| std::mem::take(&mut section.undrawn)));
        sections.retain(|section| !(section.shown.is_empty() && section.folded.is_empty()));
        let surfaces = sections.iter().flat_map(|section| section.surfaces.clone()).collect();
        let with = sections.iter().position(|section| !section.surfaces.is_empty()).unwrap_or(0);
        let first = sections.get_mut(with).filter(|section| !section.shown.is_empty());
        let lead = first.map(|section| section.shown.remove(0));
        Ok(Self {
            viewer: Viewer { surfaces },
            lead,
            corners: super::corners::of(comparison, groups),
            sections,
            unshown,
        })
    }
}

impl RatePictures {
    fn of(comparison: &Comparison, figures: &Path) -> Result<Self> {
        let Rates { pictures, efficiencies, omitted } = rates::all(comparison, figures)?;
        Ok(Self { rates: pictures, efficiencies, omitted })
    }
}

impl Shapes {
    fn of(comparison: &Comparison, groups: &[MatchedGroup]) -> Result<Self> {
        let shapes: Vec<Shape> =
            groups.iter().map(|group| sensitivity::of(comparison, group)).collect::<Result<_>>()?;
        Ok(Self { sentences: shapes.iter().filter_map(sensitivity::sentence).collect(), shapes })
    }
}

impl Numbers {
    fn of(comparison: &Comparison, groups: &[MatchedGroup]) -> Self {
        let cards = cards::rows(comparison);
        let argue =
            |of: usize| groups.iter().filter_map(|group| cards::argument(comparison, group, &cards, of)).collect();
        let arguments: Vec<Vec<String>> = (1..comparison.machines.len()).map(argue).collect();
        Self { arguments: arguments.concat(), read_off: cards::read_off(comparison), cards }
    }
}

/// The summary for the terminal.
fn terminal(Context { head, overall, matching, explained, .. }: &Context) -> String {
    let mut text = head.stamps.iter().map(|stamp| format!("{stamp}\n")).collect::<String>();
    let unmatched = format!(
        "{} matched (cells.csv), {} without a counterpart (unmatched.csv)",
        plural(matching.matched, "point"),
        matching.unmatched_all
    );
    let terms = explained.iter().flat_map(|explained| &explained.sentences);
    let lines = head.warnings.iter().chain(&overall.verdicts).chain(terms).chain(&matching.unfinished);
    let lines = lines.chain([&unmatched]);
    lines.for_each(|line| text += &format!("{line}\n"));
    text
}

fn save(path: &Path, text: &str) -> Result<()> {
    new_file::replace_by(path, text)
}

fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.matched.is_empty() {
        let published = comparison.machines.iter().filter(|machine| machine.origin == Origin::Published);
        warnings.push(format!(
            "These machines have no point in common, so only their cards are compared. {}.",
            published.map(published::rates).collect::<Vec<_>>().join("; ")
        ));
    }
    if let Some([one, other]) = comparison.same_samples() {
        warnings.push(format!("{one} and {other} hold the same samples: all their ratios are 1."));
    }
    warnings.extend(overview::one_after_the_other(comparison));
    for (machine, unusable) in comparison.machines.iter().zip(&comparison.points.unusable) {
        if *unusable > 0 {
            warnings.push(format!(
                "{}: {} excluded because the rate is not positive and finite.",
                machine.name,
                plural(*unusable, "sample")
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
            Basis::Pairs => format!("{points} from launches of one run, compared in pairs"),
            Basis::Launches => format!("{points} from the variation between launches"),
            Basis::Samples => {
                format!(
                    "{points} from the variation within single launches; launch-to-launch variation is not included"
                )
            }
            Basis::Nothing => format!("{points} without an interval because of too few samples"),
        };
        let words: Vec<String> = counts.iter().map(say).collect();
        let (name, base) = (&comparison.machines[of].name, &comparison.machines[0].name);
        found.push(format!("{name} / {base}: {}.", words.join("; ")));
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
            .zip(&point.by_machine)
            .filter(|(_, data)| data.is_some())
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

fn unreported(comparison: &Comparison) -> Vec<String> {
    let one = |(machine, class, names): &(String, String, Vec<String>)| {
        format!("{machine} does not report {} of {class}: points are matched without it.", names.join(", "))
    };
    comparison.points.unreported.iter().map(one).collect()
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
            .filter(|point| point.by_machine[k].as_ref().is_some_and(|data| data.samples() == 0))
            .collect();
        let Some(first) = failed.first() else { continue };
        let status =
            first.by_machine[k].as_ref().and_then(|data| data.failures.first()).map_or("no value", |s| s.name());
        found.push(format!(
            "{} did not finish {}, such as {} ({status}).",
            machine.name,
            plural(failed.len(), "point"),
            first.short(&varying)
        ));
    }
    found
}
