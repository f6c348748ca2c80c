//! `apexmap report`: redraws a result's figures and rewrites its report.

use super::card::CardArguments;
use super::fit_progress::FitProgress;
use super::plot::style;
use super::samples;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, print_in_red};
use apexmap_draw::figure::Style;
use apexmap_pages::html::PAPER;
use apexmap_pages::report::{self, summary};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap report results/quickstart
  apexmap report results/quickstart --card results/calibrate/card.toml
  apexmap report results/quickstart --style paper")]
pub struct Arguments {
    /// The result folder
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    #[command(flatten)]
    card: CardArguments,
    /// paper: also write each figure for one column of a paper, into figures/paper; later reports update them
    #[arg(long, default_value = "screen",
        value_parser = clap::builder::PossibleValuesParser::new(Style::ALL.map(|(name, _)| name)))]
    style: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::open(&arguments.result)?;
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
    if style(&arguments.style) == Style::Paper {
        let paper = folder.figures().join(PAPER);
        std::fs::create_dir_all(&paper).map_err(|e| Error::file("create", &paper, e))?;
    }
    make(&folder, &samples::read_folder(&folder)?)
}

/// Makes the report, and prints the summary.
pub fn make(folder: &Folder, samples: &Samples) -> Result<()> {
    let progress = FitProgress::new();
    let made = report::make(folder, samples, &|text| progress.show(text))?;
    drop(progress);
    let warnings: String = made.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&summary::text(&made.rows))?;
    match made.health.banner() {
        Some(banner) => print_in_red(&banner)?,
        None => print(&format!("{}\n", made.health.sentence()))?,
    }
    print(&format!("{warnings}report: {}\n", folder.report().display()))
}
