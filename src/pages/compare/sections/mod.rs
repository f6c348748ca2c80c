//! The sections of the page, with lines for the terminal and CSV tables. A section is the context of its template, and decides nothing.

pub mod cards;
pub mod check;
mod codes;
mod fits;
pub mod headline;
mod means;
mod points;
mod prelude;
pub mod provenance;
mod rates;
pub mod ratios;
mod shapes;
mod summary;
pub mod terms;
mod time;

use super::regression::RegressionCheck;
use crate::html;
use apexmap_base::error::Error;
use apexmap_base::new_file;
use codes::Codes;
use means::Means;
use points::MatchedPoints;
use prelude::*;
use rates::Rates;
use ratios::RatioFigures;
use std::path::PathBuf;
use summary::Summary;
use terms::Terms;

const MAX_GROUPS: usize = 6;

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    #[serde(skip)]
    names: Vec<&'a str>,
    sections: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    /// Identifier, and name in the table of contents.
    heading: Option<[&'static str; 2]>,
    html: String,
}

#[derive(Serialize)]
struct Context<'a, S> {
    title: &'a str,
    names: &'a [&'a str],
    #[serde(flatten)]
    section: S,
}

impl Page<'_> {
    fn add<S: Serialize>(
        &mut self,
        heading: Option<[&'static str; 2]>,
        template: &str,
        section: Option<S>,
    ) -> Result<()> {
        let Some(section) = section else { return Ok(()) };
        let template = format!("{{% import \"parts.html\" as parts %}}{template}");
        let html = html::render(&template, &Context { title: &self.title, names: &self.names, section })?;
        self.sections.push(Part { heading, html });
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct ComparisonOutput {
    pub page: PathBuf,
    pub summary: String,
}

/// Writes `compare.html`, `figures/` and tables into a folder. The page shows `command` as the way to reproduce it.
pub fn write(
    comparison: &Comparison,
    folder: &Path,
    command: &str,
    checks: &[RegressionCheck],
) -> Result<ComparisonOutput> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let mut ratios = RatioFigures::new(comparison, &figures)?;
    let mut rates = Rates::new(comparison, &figures)?;
    let map = ratios.take_lead();
    let curves = if map.is_none() { rates.take_lead() } else { None };
    let (means, points, codes) = (Means::new(comparison), MatchedPoints::new(comparison), Codes::new(comparison));
    let terms = Terms::new(comparison, Some(&figures))?;
    let summary = Summary::new(comparison, headline(comparison, &means), &points.unfinished);
    let details = headline::details(comparison);
    let judged: Vec<String> = checks.iter().map(RegressionCheck::sentence).collect();
    let judged = (!judged.is_empty()).then(|| judged.join(" "));
    let rates = rates.section(curves.is_some());
    let overview = summary::overview(comparison, &details, judged, map.or(curves), &summary.remarks);
    let method = provenance::method(comparison, terms.section().is_some(), !checks.is_empty());
    let check = check::section(checks, &comparison.warnings());
    let time = time::section(comparison, &figures)?;
    let cards = cards::section(comparison);
    let shapes = shapes::section(comparison, cards.is_some());

    let names: Vec<&str> = comparison.machines.iter().map(|machine| machine.name.as_str()).collect();
    let mut page = Page { title: title(comparison.machines), names, sections: Vec::new() };
    page.add(Some(["summary", "Summary"]), include_str!("summary.html"), Some(&summary))?;
    page.add(None, include_str!("overview.html"), Some(overview))?;
    page.add(Some(["means", "Means"]), include_str!("means.html"), means.section)?;
    page.add(Some(["time", "Over time"]), include_str!("time.html"), time)?;
    page.add(Some(["check", "Regression check"]), include_str!("check.html"), check)?;
    page.add(Some(["ratios", "Ratios point by point"]), include_str!("ratios.html"), ratios.section())?;
    page.add(Some(["terms", "Term by term"]), include_str!("terms.html"), terms.section())?;
    page.add(Some(["rates", "Rates"]), include_str!("rates.html"), rates)?;
    page.add(Some(["live", "The surfaces"]), include_str!("surfaces.html"), ratios.surfaces())?;
    page.add(Some(["codes", "Known codes"]), include_str!("codes.html"), codes.section())?;
    page.add(Some(["shapes", "Sensitivity to locality"]), include_str!("shapes.html"), shapes)?;
    page.add(None, include_str!("cards.html"), cards)?;
    page.add(Some(["fits", "Fitted parameters"]), include_str!("fits.html"), fits::section(comparison))?;
    page.add(Some(["points", "Points"]), include_str!("points.html"), Some(points.section()))?;
    page.add(Some(["method", "Method"]), include_str!("method.html"), Some(method))?;
    let provenance = provenance::section(comparison, command);
    page.add(Some(["provenance", "Provenance"]), include_str!("provenance.html"), Some(provenance))?;

    for (name, text) in points.tables() {
        new_file::replace_contents(&folder.join(name), text)?;
    }
    match &terms.table {
        Some(text) => new_file::replace_contents(&folder.join(TERMS), text)?,
        // An earlier comparison may have written it.
        None => remove(&folder.join(TERMS))?,
    }
    let text = html::render(include_str!("compare.html"), &page)?;
    let page = folder.join("compare.html");
    new_file::replace_contents(&page, &text)?;
    html::remove_unmade(&figures, &text)?;
    // The page has the details.
    let others = [terms.sentences(), codes.sentences, points.lines(true)];
    Ok(ComparisonOutput { page, summary: join_lines(summary, others) + &cards::text(comparison) })
}

const TERMS: &str = "terms.csv";

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path, error)),
        _ => Ok(()),
    }
}

pub fn text(comparison: &Comparison) -> Result<String> {
    let (means, points) = (Means::new(comparison), MatchedPoints::new(comparison));
    let summary = Summary::new(comparison, headline(comparison, &means), &points.unfinished);
    let (terms, codes) = (Terms::new(comparison, None)?, Codes::new(comparison));
    let others = [headline::details(comparison), terms.sentences(), codes.sentences, points.lines(false)];
    Ok(join_lines(summary, others) + &cards::text(comparison))
}

fn headline(comparison: &Comparison, means: &Means) -> Vec<String> {
    means.fastest.clone().into_iter().chain(headline::sentences(comparison)).collect()
}

fn join_lines<const N: usize>(summary: Summary, others: [Vec<String>; N]) -> String {
    let mut others = [summary.lines, others.concat()].concat();
    others.sort_by_key(|line| line.chars().count());
    summary.headline.into_iter().chain(others).map(|line| line + "\n").collect()
}

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
