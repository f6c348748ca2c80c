//! The sections of a comparison's HTML page, which also provide the lines for the terminal and the CSV tables.

pub mod cards;
pub mod check;
mod codes;
mod fits;
mod means;
mod method;
pub mod overview;
mod points;
pub mod provenance;
mod rates;
pub mod ratios;
mod shapes;
mod summary;
mod surfaces;
pub mod terms;

use super::Comparison;
use crate::html::{self, Picture, Viewer};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_draw::figure::Figure;
use cards::Cards;
use check::{Check, RegressionCheck};
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
use surfaces::Surfaces;
use terms::Terms;

const PAGE: &str = include_str!("compare.html");

/// Maximum number of groups with figures.
const MAX_GROUPS: usize = 6;

/// A section of the HTML page, which is the context of its template.
pub trait Section: Serialize {
    /// Identifier of the heading, and its name in the table of contents; `None` if the section has no separate heading.
    const HEADING: Option<[&'static str; 2]>;
    const TEMPLATE: &'static str;

    /// Returns whether the section has anything to show.
    fn applies(&self) -> bool {
        true
    }

    /// Returns the lines for the terminal.
    fn lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the tables in the folder of the HTML page: file name and CSV. `None` removes the table of an earlier comparison.
    fn tables(&self) -> Vec<(&'static str, Option<String>)> {
        Vec::new()
    }
}

/// A rendered section; without heading and HTML if it does not apply.
#[derive(Serialize)]
struct Part {
    heading: Option<[&'static str; 2]>,
    html: String,
    #[serde(skip)]
    lines: Vec<String>,
    #[serde(skip)]
    tables: Vec<(&'static str, Option<String>)>,
}

impl Part {
    fn new<S: Section>(comparison: &Comparison, section: &S) -> Result<Self> {
        let (lines, tables) = (section.lines(), section.tables());
        if !section.applies() {
            return Ok(Self { heading: None, html: String::new(), lines, tables });
        }
        let html = html::render(
            &format!("{{% import \"parts.html\" as parts %}}{}", S::TEMPLATE),
            &Context { names: machine_names(comparison), section },
        )?;
        Ok(Self { heading: S::HEADING, html, lines, tables })
    }
}

/// The context of a section's template.
#[derive(Serialize)]
struct Context<'a, S> {
    names: Vec<&'a str>,
    #[serde(flatten)]
    section: &'a S,
}

fn machine_names<'a>(comparison: &Comparison<'a>) -> Vec<&'a str> {
    comparison.machines.iter().map(|machine| machine.name.as_str()).collect()
}

/// Makes all sections in their order, and writes their figures into a folder.
fn make_sections(
    comparison: &Comparison,
    figures: &Path,
    command: &str,
    check: Option<&RegressionCheck>,
) -> Result<Vec<Part>> {
    let mut ratios = RatioFigures::new(comparison, figures)?;
    let mut rates = Rates::new(comparison, figures)?;
    let lead = ratios.take_lead().or_else(|| rates.lead());
    let (means, points) = (Means::new(comparison), MatchedPoints::new(comparison));
    let (terms, cards) = (Terms::new(comparison, figures)?, Cards::new(comparison));
    let statements = check.map(RegressionCheck::sentence).into_iter().chain(means.fastest.clone());
    let method = Method { bases: method::bases(comparison), has_terms: terms.applies(), has_check: check.is_some() };
    let surfaces = Surfaces { viewer: Viewer { surfaces: ratios.surfaces() } };
    let summary = Summary::new(comparison, &points.unfinished);
    let remarks = summary.remarks.clone();
    Ok(vec![
        Part::new(comparison, &summary)?,
        Part::new(comparison, &Overview::new(comparison, statements.collect(), lead, remarks))?,
        Part::new(comparison, &means)?,
        Part::new(comparison, &Check::new(check, &comparison.stamps()))?,
        Part::new(comparison, &ratios)?,
        Part::new(comparison, &terms)?,
        Part::new(comparison, &rates)?,
        Part::new(comparison, &surfaces)?,
        Part::new(comparison, &Codes::new(comparison))?,
        Part::new(comparison, &Shapes::new(comparison, cards.applies()))?,
        Part::new(comparison, &cards)?,
        Part::new(comparison, &Fits::new(comparison))?,
        Part::new(comparison, &points)?,
        Part::new(comparison, &method)?,
        Part::new(comparison, &Provenance::new(comparison, command))?,
    ])
}

/// The files of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonOutput {
    pub page: PathBuf,
    /// Text for the terminal.
    pub summary: String,
}

/// The context of the HTML page.
#[derive(Serialize)]
struct Page {
    title: String,
    sections: Vec<Part>,
}

/// Writes `compare.html`, `figures/`, `cells.csv`, `unmatched.csv` and, if terms are known, `terms.csv` into a folder. The HTML
/// page shows `command` as the way to reproduce it.
///
/// # Errors
/// If a file cannot be written or a figure cannot be drawn.
pub fn write(
    comparison: &Comparison,
    folder: &Path,
    command: &str,
    check: Option<&RegressionCheck>,
) -> Result<ComparisonOutput> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let sections = make_sections(comparison, &figures, command, check)?;
    let lines = sections.iter().flat_map(|section| &section.lines);
    let summary = lines.map(|line| format!("{line}\n")).collect();
    for (name, text) in sections.iter().flat_map(|section| &section.tables) {
        save(&folder.join(name), text.as_deref())?;
    }
    let page = folder.join("compare.html");
    let text = html::render(PAGE, &Page { title: machine_names(comparison).join(" against "), sections })?;
    save(&page, Some(&text))?;
    html::remove_unmade(&figures, &text)?;
    Ok(ComparisonOutput { page, summary })
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

/// A figure and its texts.
struct Drawing {
    figure: Figure,
    /// Name of the files without extension.
    file: String,
    title: String,
    caption: String,
}

impl Drawing {
    /// Draws the picture. If its values cannot be drawn, returns `None` and adds the reason to `undrawn`.
    fn draw(self, folder: &Path, undrawn: &mut Vec<String>) -> Result<Option<Picture>> {
        let Self { figure, file, title, caption } = self;
        html::if_drawable(html::picture(folder, &figure, file, title.clone(), caption), &title, undrawn)
    }
}
