//! The report: one self-contained HTML file about one result, `report.html` with a context of plain data.

pub mod classic;
pub mod embedded;
mod first_screen;
mod head;
mod input;
mod model_fits;
mod model_tables;
pub mod nodes;
mod overview;
mod own_figures;
pub mod paper_figures;
mod pictures;
pub mod placement;
mod prelude;
pub mod regimes;
pub mod share;
pub mod summary;
mod warnings;

use crate::explorer::{self, Explorer};
use crate::html::{self, Corners, Viewer};
use apexmap_results::table::disturbance_columns::QUIETNESS;
use apexmap_results::table::quietness::Cause;
use apexmap_study::answers::declared::{self, Declared};
use apexmap_theory::models::formula::FormulaModel;
use apexmap_theory::trade::{self, Trade};
use first_screen::FirstScreen;
use head::Head;
use model_fits::PlannedFits;
use overview::Overview;
use placement::PlacedLaunch;
use prelude::*;
use regimes::Regime;
use summary::SummaryRow;
use warnings::Remarks;

const TEMPLATE: &str = include_str!("report.html");

pub struct Numbers {
    /// Corners, worst and best point of every group, except those that are only for comparison with a surface.
    pub rows: Vec<SummaryRow>,
    pub more_groups: usize,
    pub health: Health,
    pub launches: u32,
    pub answers: String,
    pub declared: Option<Declared>,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    surfaces: Surfaces,
    #[serde(flatten)]
    parameters: Parameters,
    #[serde(flatten)]
    sources: head::Sources,
    path: String,
    overview: Overview,
    viewer: Viewer,
    /// `None` if no number varies.
    explorer: Option<Explorer>,
    first: FirstScreen,
    launches: Vec<PlacedLaunch<'a>>,
    classic: Option<classic::ClassicNumbers>,
    #[serde(flatten)]
    points: Points,
    watched: bool,
    quietness: Vec<(String, String)>,
    causes: Vec<(&'static str, &'static str, String)>,
    shares: Option<share::Shares>,
    explained: model_fits::ModelSection,
    undrawn: Vec<String>,
}

#[derive(Serialize)]
struct Points {
    corners: Option<Corners>,
    /// Explains the mark of fractions of the bound.
    note: Option<&'static str>,
    summary: Vec<serde_json::Value>,
    ruled: bool,
}

impl Points {
    fn new(input: &Input, rows: &[SummaryRow]) -> Self {
        Self {
            corners: first_screen::corners(&input.groups, rows, &input.node),
            note: rows.iter().any(SummaryRow::is_marked).then_some(summary::INTERVAL_NOTE),
            summary: rows.iter().map(SummaryRow::page_row).collect(),
            ruled: rows.iter().any(|row| row.conformance.is_some()),
        }
    }
}

#[derive(Serialize)]
struct Surfaces {
    sections: Vec<Section>,
    bottlenecks: Vec<Picture>,
    unshown: Vec<String>,
}

#[derive(Serialize)]
struct Parameters {
    effects: Vec<Picture>,
    #[serde(skip)]
    own: bool,
}

#[derive(Serialize)]
struct Section {
    label: String,
    slices: Vec<Picture>,
    views: Vec<Picture>,
    trades: Vec<Trade>,
    levels: Vec<String>,
    alphas: Vec<String>,
    regimes: Vec<Regime>,
    regime_names: Vec<String>,
}

#[derive(Clone, Copy, Default)]
pub struct Additions<'a> {
    /// Version that made the page from whose data the report is drawn.
    pub redrawn: Option<&'a str>,
    pub models: &'a [&'static FormulaModel],
    /// Called with a line before each fit. Without it, the page says how to get fits, which may take much longer than all figures.
    pub fits: Option<&'a dyn Fn(&str)>,
}

pub fn numbers(folder: &Folder, samples: &Samples) -> Result<Numbers> {
    let (manifest, current) = (manifest(folder)?, samples.current());
    let mut input = Input::read(folder, &manifest, &current)?;
    let count = input.groups.len();
    input.groups = overview::without_comparisons(&input);
    Ok(Numbers {
        rows: summary_rows(&input)?,
        more_groups: count - input.groups.len(),
        launches: manifest.blocks,
        answers: input.answers.text(),
        declared: declared::of_result((folder, &manifest), &current)?,
        health: input.health,
    })
}

fn summary_rows(input: &Input) -> Result<Vec<SummaryRow>> {
    let rows: Vec<Vec<SummaryRow>> =
        input.groups.iter().map(|group| summary::rows(group, &input.node)).collect::<Result<_>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// First without fits, then with those that are wanted. Returns warnings, remarks, and figures that could not be drawn.
pub fn make(folder: &Folder, samples: &Samples, additions: Additions) -> Result<Vec<String>> {
    let redrawn = additions.redrawn;
    let manifest = manifest(folder)?;
    // A copy of the data alone has no folder of figures.
    Folder::create(&folder.path)?;
    let current = samples.current();
    let input = Input::read(folder, &manifest, &current)?;
    let summary = summary_rows(&input)?;
    let mut surfaces = Surfaces::draw(&input)?;
    let mut parameters = Parameters::draw(&input)?;
    let overview = overview::overview(&input)?;
    let viewer = own_figures::viewer(&input);
    let card = warnings::list_for_card(folder, &current)?;
    let classic = classic::section(&input)?;
    let fits = PlannedFits::new(&input, additions.models)?;
    let explained = fits.pending();
    let live_label = viewer.surfaces.first().map(|surface| surface.label.as_str());
    let mut first = FirstScreen::take(&input, classic.is_some(), live_label, &mut parameters, &mut surfaces)?;
    let remarks = Remarks::new(&manifest, &current);
    let mut warnings = warnings::list(&manifest, &current, &remarks, samples.len() - current.len());
    warnings.extend(card.iter().cloned());
    let (head, points) =
        (Head::new((folder, &manifest), &current, &input.health, warnings, redrawn)?, Points::new(&input, &summary));
    if classic.is_none() && points.corners.is_none() {
        first.tabulate(head.declared.as_ref(), &summary);
    }
    let mut context = Context {
        head,
        path: redrawn.map_or_else(|| folder.path.display().to_string(), |_| "PAGE.html".to_owned()),
        overview,
        first,
        launches: manifest.launches.iter().map(PlacedLaunch::from_launch).collect(),
        classic,
        viewer,
        explorer: explorer::explorer(&current, &own_figures::first_axes(&manifest), &input.codes)?,
        points,
        watched: current.has(QUIETNESS),
        quietness: quietness(&input),
        causes: Cause::ALL.map(|cause| (cause.name(), cause.meaning(), units::short_number(cause.limit()))).into(),
        shares: share::section(&input)?,
        surfaces,
        explained,
        parameters,
        sources: head::Sources::new(&input),
        undrawn: Vec::new(),
    };
    if let Some(progress) = additions.fits {
        if context.explained.pending > 0 {
            folder.replace_text(&folder.report(), &render(&context)?)?;
        }
        context.explained = fits.run(progress)?;
        if let Some(explorer) = &mut context.explorer {
            explorer.add_terms(&current, &context.explained.applied)?;
        }
    }
    context.undrawn = input.undrawn.take();
    let page = render(&context)?;
    html::remove_unmade(&folder.figures(), &page)?;
    folder.replace_text(&folder.report(), &page)?;
    let wrong = context.shares.as_ref().and_then(share::Shares::warning);
    let warnings = remarks.placement.into_iter().chain(remarks.samples);
    Ok(warnings.chain(card).chain(wrong).chain(context.undrawn).collect())
}

fn manifest(folder: &Folder) -> Result<Manifest> {
    if folder.manifest().is_file() {
        return Manifest::read(folder);
    }
    Err(Error::input(
        format!("{} holds samples but no manifest.json, which a report requires", folder.path.display()),
        "use the complete result folder; `apexmap plot`, `query`, `export` and `compare` need only samples.parquet",
    ))
}

fn render(context: &Context) -> Result<String> {
    match &context.explorer {
        Some(_) => html::render_with(TEMPLATE, context, explorer::STYLE, &explorer::script()),
        None => html::render(TEMPLATE, context),
    }
}

fn quietness(input: &Input) -> Vec<(String, String)> {
    let health_of = |group: &SampleGroup| (group.plain_label(&input.node), Health::from_samples(&group.samples));
    let disturbed = input.groups.iter().map(health_of).filter(|(_, health)| health.disturbed_count() > 0);
    disturbed.map(|(label, health)| (label, health.sentence())).collect()
}

impl Surfaces {
    fn draw(input: &Input) -> Result<Self> {
        let drawable: Vec<&SampleGroup> =
            input.groups.iter().filter(|group| group.alphas.len() > 1 || group.blocks.len() > 1).collect();
        let shown = pictures::evenly_spread(drawable.len(), surface_limit(&drawable));
        let (mut sections, mut bottlenecks, mut unshown) = (Vec::new(), Vec::new(), Vec::new());
        for (number, group) in drawable.iter().enumerate() {
            if shown.contains(&number) {
                let pictures = pictures::draw_group(input, group)?;
                bottlenecks.extend(pictures.bottleneck);
                sections.push(section(input, group, pictures.slices, pictures.views)?);
            } else {
                unshown.push(group.plain_label(&input.node));
            }
        }
        Ok(Self { sections, bottlenecks, unshown })
    }
}

impl Parameters {
    fn draw(input: &Input) -> Result<Self> {
        let mut effects = own_figures::draw_requested(input)?;
        let own = !effects.is_empty();
        effects.extend(pictures::draw_effects(input)?);
        let ratio = input.if_drawable("Apex-Map against ping-pong", paper_figures::drawing(input.samples))?.flatten();
        effects.extend(ratio.map(|ratio| input.draw(ratio)).transpose()?.flatten());
        effects.extend(paper_figures::draw_streams(input)?);
        Ok(Self { effects, own })
    }
}

fn surface_limit(groups: &[&SampleGroup]) -> usize {
    let points = |group: &&SampleGroup| group.alphas.len().max(1) * group.blocks.len().max(1);
    let largest = groups.iter().map(points).max().unwrap_or(1);
    (pictures::MAX_POINTS / largest).clamp(1, pictures::MAX_SURFACES)
}

fn section(input: &Input, group: &SampleGroup, slices: Vec<Picture>, views: Vec<Picture>) -> Result<Section> {
    let (mut trades, mut levels) = (Vec::new(), Vec::new());
    if group.is_surface() {
        let bandwidths = bandwidths(group)?;
        for level in trade::levels(&bandwidths) {
            trades.push(trade::trade(&group.blocks, &bandwidths, level));
            levels.push(units::short_number(level / 1e6));
        }
    }
    let regimes = regimes(group, input);
    Ok(Section {
        label: group.plain_label(&input.node),
        slices,
        views,
        trades,
        levels,
        alphas: group.alphas.iter().map(|alpha| units::short_number(*alpha)).collect(),
        regime_names: regimes.iter().take(1).flat_map(|regime| &regime.levels).map(|(name, _)| name.clone()).collect(),
        regimes,
    })
}

/// Medians per process by alpha and L; NaN for missing points.
fn bandwidths(group: &SampleGroup) -> Result<Vec<Vec<f64>>> {
    let medians = group.samples.cube([ALPHA, BLOCK], group.headline)?.values;
    Ok(medians.rows().into_iter().map(|row| row.to_vec()).collect())
}

/// Empty unless memory size, ranks and host are the same for the whole group.
fn regimes(group: &SampleGroup, input: &Input) -> Vec<Regime> {
    let number = |name: &str| group.samples.common_value(name).and_then(|value| value.as_f64());
    let Some(launch) = input.launch_of(&group.samples) else { return Vec::new() };
    let (Some(words), Some(ranks)) = (number("memory_words"), number("ranks")) else { return Vec::new() };
    let page = number("page_bytes");
    let caches = regimes::rank_caches(launch, input.card.as_ref());
    let regime_at = |&alpha: &f64| regimes::regime(alpha, words * 8.0, ranks as usize, &caches, page, &launch.host);
    group.alphas.iter().map(regime_at).collect()
}
