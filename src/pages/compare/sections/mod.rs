//! The sections of a comparison's HTML page, which also provide the lines for the terminal and the CSV tables. A section is the
//! context of its template. It words the facts of the comparison and decides nothing.

pub mod cards;
pub mod check;
mod codes;
mod drawing;
mod fits;
pub mod headline;
mod means;
mod method;
pub mod overview;
mod points;
pub mod provenance;
mod rates;
pub mod ratios;
mod shapes;
mod summary;
pub mod terms;

use super::comparison::Comparison;
use super::machine::Machine;
use super::regression::RegressionCheck;
use crate::html::{self, Viewer};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use cards::Cards;
use check::Check;
use codes::Codes;
use fits::Fits;
use means::Means;
use method::Method;
use overview::Overview;
use points::MatchedPoints;
use provenance::Provenance;
use rates::Rates;
use ratios::RatioFigures;
use serde::Serialize;
use shapes::Shapes;
use std::path::{Path, PathBuf};
use summary::Summary;
use terms::Terms;

/// The context of the HTML page.
#[derive(Serialize)]
struct Page<'a> {
    title: String,
    #[serde(skip)]
    names: Vec<&'a str>,
    sections: Vec<Part>,
}

/// A rendered section.
#[derive(Serialize)]
struct Part {
    /// Identifier of the heading, and its name in the table of contents; `None` if the section has no separate heading.
    heading: Option<[&'static str; 2]>,
    html: String,
}

/// The context of a section's template.
#[derive(Serialize)]
struct Context<'a, S> {
    title: &'a str,
    names: &'a [&'a str],
    #[serde(flatten)]
    section: &'a S,
}

/// The context of the interactive view of the machines' surfaces.
#[derive(Serialize)]
struct Surfaces {
    viewer: Viewer,
}

impl Page<'_> {
    /// Adds a section, unless it has nothing to show.
    fn add<S: Serialize>(
        &mut self,
        applies: bool,
        heading: Option<[&'static str; 2]>,
        template: &str,
        section: &S,
    ) -> Result<()> {
        if !applies {
            return Ok(());
        }
        let template = format!("{{% import \"parts.html\" as parts %}}{template}");
        let html = html::render(&template, &Context { title: &self.title, names: &self.names, section })?;
        self.sections.push(Part { heading, html });
        Ok(())
    }
}

/// The files of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonOutput {
    pub page: PathBuf,
    /// Text for the terminal.
    pub summary: String,
}

/// Writes `compare.html`, `figures/`, `cells.csv`, `unmatched.csv` and, if terms are known, `terms.csv` into a folder. The HTML
/// page shows `command` as the way to reproduce it.
pub fn write(
    comparison: &Comparison,
    folder: &Path,
    command: &str,
    check: Option<&RegressionCheck>,
) -> Result<ComparisonOutput> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let mut ratios = RatioFigures::new(comparison, &figures)?;
    let mut rates = Rates::new(comparison, &figures)?;
    let lead = ratios.take_lead().or_else(|| rates.lead());
    let (means, points, codes) = (Means::new(comparison), MatchedPoints::new(comparison), Codes::new(comparison));
    let (terms, cards, fits) = (Terms::new(comparison, Some(&figures))?, Cards::new(comparison), Fits::new(comparison));
    let summary = Summary::new(comparison, headline(comparison, &means), &points.unfinished);
    let overview = Overview::new(comparison, check.map(RegressionCheck::sentence), lead, summary.remarks.clone());
    let check = check.map(|check| Check::new(check, &comparison.warnings()));
    let method = Method::new(comparison, terms.applies(), check.is_some());
    let shapes = Shapes::new(comparison, cards.applies());
    let provenance = Provenance::new(comparison, command);
    let surfaces = Surfaces { viewer: Viewer { surfaces: ratios.surfaces() } };

    let names: Vec<&str> = comparison.machines.iter().map(|machine| machine.name.as_str()).collect();
    let mut page = Page { title: title(comparison.machines), names, sections: Vec::new() };
    page.add(true, Some(["summary", "Summary"]), include_str!("summary.html"), &summary)?;
    page.add(true, None, include_str!("overview.html"), &overview)?;
    page.add(means.applies(), Some(["means", "Means"]), include_str!("means.html"), &means)?;
    if let Some(check) = &check {
        page.add(true, Some(["check", "Regression check"]), include_str!("check.html"), check)?;
    }
    page.add(ratios.applies(), Some(["ratios", "Ratios point by point"]), include_str!("ratios.html"), &ratios)?;
    page.add(terms.applies(), Some(["terms", "Term by term"]), include_str!("terms.html"), &terms)?;
    page.add(rates.applies(), Some(["rates", "Rates"]), include_str!("rates.html"), &rates)?;
    let has_surfaces = !surfaces.viewer.surfaces.is_empty();
    page.add(has_surfaces, Some(["live", "The surfaces"]), include_str!("surfaces.html"), &surfaces)?;
    page.add(codes.applies(), Some(["codes", "Known codes"]), include_str!("codes.html"), &codes)?;
    page.add(shapes.applies(), Some(["shapes", "Sensitivity to locality"]), include_str!("shapes.html"), &shapes)?;
    page.add(cards.applies(), None, include_str!("cards.html"), &cards)?;
    page.add(fits.applies(), Some(["fits", "Fitted parameters"]), include_str!("fits.html"), &fits)?;
    page.add(true, Some(["points", "Points"]), include_str!("points.html"), &points)?;
    page.add(true, Some(["method", "Method"]), include_str!("method.html"), &method)?;
    page.add(true, Some(["provenance", "Provenance"]), include_str!("provenance.html"), &provenance)?;

    let tables = points.tables().into_iter().chain([("terms.csv", terms.table.clone())]);
    for (name, text) in tables {
        save(&folder.join(name), text.as_deref())?;
    }
    let text = html::render(include_str!("compare.html"), &page)?;
    let page = folder.join("compare.html");
    save(&page, Some(&text))?;
    html::remove_unmade(&figures, &text)?;
    let others = [overview.details, terms.sentences(), codes.sentences(), points.lines(true)];
    Ok(ComparisonOutput { page, summary: join_lines(summary, others) })
}

/// Returns the text for the terminal, and writes no file.
pub fn text(comparison: &Comparison) -> Result<String> {
    let (means, points) = (Means::new(comparison), MatchedPoints::new(comparison));
    let summary = Summary::new(comparison, headline(comparison, &means), &points.unfinished);
    let (terms, codes) = (Terms::new(comparison, None)?, Codes::new(comparison));
    let others = [overview::details(comparison), terms.sentences(), codes.sentences(), points.lines(false)];
    Ok(join_lines(summary, others))
}

fn headline(comparison: &Comparison, means: &Means) -> Vec<String> {
    means.fastest.clone().into_iter().chain(headline::sentences(comparison)).collect()
}

/// Joins the headline with the other lines, the shortest first.
fn join_lines(summary: Summary, others: [Vec<String>; 4]) -> String {
    let mut others = [summary.lines, others.concat()].concat();
    others.sort_by_key(|line| line.chars().count());
    summary.headline.into_iter().chain(others).map(|line| line + "\n").collect()
}

/// Returns the machines with their processors: `Intel Xeon, 2 cores (old) against AMD EPYC, 4 cores (new)`. Machines with the same
/// processor name it once: `Intel Xeon, 2 cores: old against new`.
fn title(machines: &[Machine]) -> String {
    let processors: Vec<Option<String>> = machines.iter().map(Machine::processor).collect();
    let is_shared = processors.windows(2).all(|pair| pair[0] == pair[1]);
    let name = |(machine, processor): (&Machine, &Option<String>)| match processor {
        Some(processor) if !is_shared => format!("{processor} ({})", machine.name),
        _ => machine.name.clone(),
    };
    let names = machines.iter().zip(&processors).map(name).collect::<Vec<_>>().join(" against ");
    match &processors[0] {
        Some(processor) if is_shared => format!("{processor}: {names}"),
        _ => names,
    }
}

/// Writes a table or the HTML page; `None` removes the file of an earlier comparison.
fn save(path: &Path, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) => new_file::replace_contents(path, text),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path, error)),
            _ => Ok(()),
        },
    }
}
