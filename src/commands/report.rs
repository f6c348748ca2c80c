//! `apexmap report`: redraws a result's figures and rewrites its report.

use super::card::CardArguments;
use super::fit_progress::FitProgress;
use super::plot::style;
use super::samples;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, print_in_red, terminal_width};
use apexmap_base::{new_file, regular_file};
use apexmap_draw::figure::Style;
use apexmap_pages::html::make_style_folder;
use apexmap_pages::report::embedded::Embedded;
use apexmap_pages::report::nodes::NodeReport;
use apexmap_pages::report::{self, ReportOutput, summary};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::nodes;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap report results/quickstart
  apexmap report results/quickstart --card results/calibrate/card.toml
  apexmap report results/quickstart --style paper
  apexmap report report.html                 draw the page of an older version again")]
pub struct Arguments {
    /// The result folder, or a report that holds its result
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    /// Where to write the page that is drawn from an older page [default: NAME.redrawn.html next to it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    card: CardArguments,
    /// paper, slide, slide-dark: also write each figure in this style, into figures/STYLE; later reports update them
    #[arg(long, default_value = "screen",
        value_parser = clap::builder::PossibleValuesParser::new(Style::ALL.map(|(name, _)| name)))]
    style: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let is_page = arguments.result.extension().is_some_and(|extension| extension == "html");
    if is_page && arguments.result.is_file() {
        return redraw(arguments);
    }
    if arguments.out.is_some() {
        return Err(Error::input(
            "--out needs a report to draw again; the report of a folder is written into the folder",
            "omit --out, or name a page: apexmap report report.html --out new.html",
        ));
    }
    let folder = Folder::open(&arguments.result)?;
    folder.remove_abandoned_if_unused();
    if arguments.card.card.is_some() {
        let _lock = folder.lock()?;
        if folder.journal_files()?.is_empty() {
            return Err(Error::input(
                format!("{} has no journals, which bounds are computed from", arguments.result.display()),
                "omit --card, or use the complete result folder",
            ));
        }
        let manifest = Manifest::read(&folder)?;
        let hosts: Vec<_> = manifest.launches.iter().map(|end| &end.launch.host).collect();
        if let Some(card) = arguments.card.find(&manifest.machine, &hosts)? {
            folder.replace_card(&card)?;
        }
        folder.compact()?;
    }
    make_style_folder(&folder.figures(), style(&arguments.style))?;
    make(&folder, &samples::read_folder(&folder)?)
}

/// Draws the page of another version again, from the result that it holds.
fn redraw(arguments: &Arguments) -> Result<()> {
    let page = &arguments.result;
    if arguments.card.card.is_some() || style(&arguments.style) != Style::Screen {
        return Err(Error::input(
            "--card and --style need a result folder, because a page holds no journals and no files of figures",
            "omit them, or name the result folder",
        ));
    }
    let out = arguments.out.clone().unwrap_or_else(|| page.with_extension("redrawn.html"));
    let embedded = Embedded::from_page(page)?;
    let place = TemporaryFolder::create()?;
    embedded.unpack(page, &place.path)?;
    // Errors of its files name the page.
    let prefix = format!("{}/", place.path.display());
    let named = |error: Error| Error {
        message: error.message.replace(&prefix, &format!("{}: ", page.display())),
        help: "name a complete report of apexmap, or draw it from its result folder: apexmap report RESULT".into(),
        ..error
    };
    let folder = Folder::create(&place.path)?;
    let samples = samples::read_folder(&folder).map_err(named)?;
    if nodes::is_of_each_node(&samples.current()) {
        let made = report::nodes::make(&folder, &samples, Some(&embedded.program)).map_err(named)?;
        copy_page(&folder, &out)?;
        return print_nodes(&made, &out);
    }
    let progress = FitProgress::new();
    let made =
        report::make_from(&folder, &samples, Some(&embedded.program), &|text| progress.show(text)).map_err(named)?;
    drop(progress);
    copy_page(&folder, &out)?;
    print_summary(&made, &out)
}

/// Copies the report of a folder to a file of the user.
fn copy_page(folder: &Folder, out: &Path) -> Result<()> {
    let text = regular_file::read_text(&folder.report()).map_err(|e| Error::file("read", &folder.report(), e))?;
    new_file::write_user_file_contents(out, text)
}

/// A folder that only this user can read, and that is removed at the end.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("apexmap-page-{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map(|()| Self { path: path.clone() }).map_err(|e| Error::file("create", &path, e))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Makes the report, and prints the summary.
pub fn make(folder: &Folder, samples: &Samples) -> Result<()> {
    if nodes::is_of_each_node(&samples.current()) {
        let made = report::nodes::make(folder, samples, None)?;
        return print_nodes(&made, &folder.report());
    }
    let progress = FitProgress::new();
    let made = report::make(folder, samples, &|text| progress.show(text))?;
    drop(progress);
    print_summary(&made, &folder.report())
}

/// Prints the comparison of nodes that each ran the sweep alone.
fn print_nodes(made: &NodeReport, page: &Path) -> Result<()> {
    let warnings: String = made.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&nodes::text(&made.check, terminal_width()))?;
    match made.health.banner() {
        Some(banner) => print_in_red(&banner)?,
        None => print(&format!("{}\n", made.health.sentence()))?,
    }
    print(&format!("{warnings}report: {}\n", page.display()))
}

fn print_summary(made: &ReportOutput, page: &Path) -> Result<()> {
    let warnings: String = made.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&summary::text(&made.rows, terminal_width()))?;
    print(&made.answers)?;
    match made.health.banner() {
        Some(banner) => print_in_red(&banner)?,
        None => print(&format!("{}\n", made.health.sentence()))?,
    }
    print(&format!("{warnings}report: {}\n", page.display()))
}
