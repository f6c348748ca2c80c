//! `apexmap report`: redraws a result's figures and rewrites its report.

use super::card::CardArguments;
use super::fit_progress::FitProgress;
use super::opened::Opened;
use super::own_model::OwnModels;
use super::plot::style;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, print_in_red, terminal_width};
use apexmap_base::{new_file, regular_file};
use apexmap_draw::figure::Style;
use apexmap_pages::html::make_style_folder;
use apexmap_pages::report::nodes::NodeReport;
use apexmap_pages::report::{self, Additions, ReportOutput, summary_table};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_study::answers::declared::Declared;
use apexmap_study::nodes;
use apexmap_theory::models::Model;
use apexmap_theory::models::formula::FormulaModel;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap report results/quickstart
  apexmap report results/quickstart --card results/calibrate/card.toml
  apexmap report results/quickstart --model mine.toml
  apexmap report results/quickstart --style paper
  apexmap report report.html                 draw the page of an older version again")]
pub struct Arguments {
    /// A result: folder, archive, or a report that holds its result
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    /// Write only the page, to this file; the result stays as it is [default: report.html in the result folder, NAME.redrawn.html or
    /// NAME.html next to a page or an archive]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    card: CardArguments,
    #[command(flatten)]
    models: OwnModels,
    /// paper, slide, slide-dark: also write each figure in this style, into figures/STYLE; later reports update them
    #[arg(long, default_value = "screen",
        value_parser = clap::builder::PossibleValuesParser::new(Style::ALL.map(|(name, _)| name)))]
    style: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let models = arguments.models.read()?;
    let opened = Opened::open(&arguments.result)?;
    let opened = if arguments.out.is_some() { opened.into_copy()? } else { opened };
    if opened.is_unpacked() {
        return redraw(arguments, &opened, &models);
    }
    let folder = opened.folder()?;
    folder.remove_abandoned_if_unused();
    if arguments.card.card.is_some() {
        // A card changes `samples.parquet`, so no other program may write it meanwhile.
        let _lock = folder.lock()?;
        if folder.journal_files()?.is_empty() {
            return Err(Error::input(
                format!("{} has no journals, which bounds are computed from", arguments.result.display()),
                "omit --card, or use the complete result folder",
            ));
        }
        let manifest = Manifest::read(folder)?;
        let hosts: Vec<_> = manifest.launches.iter().map(|end| &end.launch.host).collect();
        if let Some(card) = arguments.card.find(&manifest.machine, &hosts)? {
            folder.replace_card(&card)?;
        }
        folder.compact()?;
    }
    make_style_folder(&folder.figures(), style(&arguments.style))?;
    make(folder, &opened.samples()?, &models)
}

/// Draws the page of a report or an archive, from the result that it holds.
fn redraw(arguments: &Arguments, opened: &Opened, models: &[&'static FormulaModel]) -> Result<()> {
    if arguments.card.card.is_some() || style(&arguments.style) != Style::Screen {
        return Err(Error::input(
            "--card and --style change the files of a result folder, not those of an archive or a report, and not with --out",
            "omit them, or name the result folder without --out",
        ));
    }
    let out = arguments.out.clone().unwrap_or_else(|| redrawn_name(&arguments.result));
    let folder = opened.folder()?;
    let (samples, version) = (opened.samples()?, opened.page_version.as_deref());
    if nodes::is_of_each_node(&samples.current()) {
        refuse_models(models)?;
        let made = report::nodes::make(folder, &samples, version).map_err(|error| opened.name_error(error))?;
        copy_page(folder, &out)?;
        return print_nodes(&made, &out);
    }
    let progress = FitProgress::new();
    let made = report::make_from(folder, &samples, Additions { redrawn: version, models }, &|text| progress.show(text))
        .map_err(|error| opened.name_error(error))?;
    // Clears its line before others are printed.
    drop(progress);
    copy_page(folder, &out)?;
    print_summary(&made, &out)
}

/// Returns `NAME.redrawn.html` for a report, and `NAME.html` for an archive.
fn redrawn_name(named: &Path) -> PathBuf {
    let name = named.to_string_lossy();
    match name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".tgz")) {
        Some(stem) => PathBuf::from(format!("{stem}.html")),
        None => named.with_extension("redrawn.html"),
    }
}

/// Copies the report of a folder to a file of the user.
fn copy_page(folder: &Folder, out: &Path) -> Result<()> {
    let text = regular_file::read_text(&folder.report()).map_err(|e| Error::file("read", &folder.report(), e))?;
    new_file::write_user_file_contents(out, text)
}

/// Makes the report with models of the user, and prints the summary.
pub fn make(folder: &Folder, samples: &Samples, models: &[&'static FormulaModel]) -> Result<()> {
    if nodes::is_of_each_node(&samples.current()) {
        refuse_models(models)?;
        let made = report::nodes::make(folder, samples, None)?;
        return print_nodes(&made, &folder.report());
    }
    let progress = FitProgress::new();
    let additions = Additions { models, ..Additions::default() };
    let made = report::make_from(folder, samples, additions, &|text| progress.show(text))?;
    // Clears its line before others are printed.
    drop(progress);
    print_summary(&made, &folder.report())
}

/// The page of a sweep that each node ran alone compares nodes, and fits no model.
fn refuse_models(models: &[&'static FormulaModel]) -> Result<()> {
    let Some(model) = models.first() else { return Ok(()) };
    let message = "a report that compares nodes fits no models";
    Err(Error::input(message, format!("omit --model, or use apexmap fit RESULT --model {}", model.about().id)))
}

/// Makes the report of an interrupted run without fits, which take long, and prints its place.
pub fn make_quickly(folder: &Folder, samples: &Samples) -> Result<()> {
    if nodes::is_of_each_node(&samples.current()) {
        report::nodes::make(folder, samples, None)?;
    } else {
        report::make_without_fits(folder, samples)?;
    }
    print(&format!("report: {}\n", folder.report().display()))
}

/// Prints the comparison of nodes that each ran the sweep alone.
fn print_nodes(made: &NodeReport, page: &Path) -> Result<()> {
    print(&nodes::text(&made.check, terminal_width()))?;
    print_end(&made.health, &made.warnings, page)
}

fn print_summary(made: &ReportOutput, page: &Path) -> Result<()> {
    print(&summary_table::text(&made.rows, terminal_width()))?;
    print(&made.answers)?;
    print_end(&made.health, &made.warnings, page)?;
    print(&made.declared.as_ref().map_or(String::new(), Declared::lines))
}

/// Prints how quiet the machine was, the warnings, and the place of the report.
fn print_end(health: &Health, warnings: &[String], page: &Path) -> Result<()> {
    match health.banner() {
        Some(banner) => print_in_red(&banner.to_string())?,
        None => print(&format!("{}\n", health.sentence()))?,
    }
    let warnings: String = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&format!("{warnings}report: {}\n", page.display()))
}
