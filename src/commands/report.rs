//! `apexmap report`: redraws a result's figures and rewrites its report.

use super::card::CardArguments;
use super::plot::style;
use super::samples;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, print_in_red, terminal_width};
use apexmap_draw::figure::Style;
use apexmap_pages::html::make_style_folder;
use apexmap_pages::report::{self, summary};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::answers;
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
    /// paper, slide, slide-dark: also write each figure in this style, into figures/STYLE; later reports update them
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
    make_style_folder(&folder.figures(), style(&arguments.style))?;
    make(&folder, &samples::read_folder(&folder)?)
}

/// Makes the report, and prints the summary.
pub fn make(folder: &Folder, samples: &Samples) -> Result<()> {
    let made = report::make(folder, samples)?;
    let warnings: String = made.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&summary::text(&made.rows, terminal_width()))?;
    print(&answers::text(&samples.current(), folder.card()?.as_ref(), made.cores)?)?;
    match made.health.banner() {
        Some(banner) => print_in_red(&banner)?,
        None => print(&format!("{}\n", made.health.sentence()))?,
    }
    print(&format!("{warnings}report: {}\n", folder.report().display()))
}
