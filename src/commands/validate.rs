//! `apexmap validate`: compares the models with the papers.

use super::{Format, pretty, toml};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, terminal_width};
use apexmap_study::validate;
use apexmap_study::validate::simulations::Simulations;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap validate                           how many values agree
  apexmap validate --all                     ... and each value
  apexmap validate --format json
  apexmap validate --report validation       write an HTML page with figures: validation/validate.html
  apexmap validate --simulated results/papers   with the values of `make papers`

Each printed value counts once, in one of seven kinds: identities (arithmetic of printed numbers), model values (a paper's formula, \
recomputed from its printed inputs), inputs of a card, fitted values, features (shapes, signs, limits), predicted and simulated values. \
Only the last two test something new: their numbers are not fitted to the value. If values differ, the verdict says whether the paper \
or the model is wrong. Simulated values are those of `make papers`.")]
pub struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Print each value, the papers' tables and the fits, too
    #[arg(long, conflicts_with = "format")]
    all: bool,
    /// Also write an HTML page with all values and figures into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "format")]
    report: Option<PathBuf>,
    /// The results of `make papers`
    #[arg(long, value_name = "FOLDER", default_value = "results/papers")]
    simulated: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let simulations = read_simulations(&arguments.simulated)?;
    let report = validate::validate(simulations.as_ref())?;
    let width = terminal_width();
    print(&match arguments.format {
        Format::Table if arguments.all => report.short_text(width) + &report.text(width),
        Format::Table => report.short_text(width),
        Format::Json => pretty(&report)?,
        Format::Toml => toml(&report)?,
    })?;
    match &arguments.report {
        Some(folder) => print(&format!("report: {}\n", apexmap_pages::validation::write(&report, folder)?.display())),
        None if arguments.all || arguments.format != Format::Table => Ok(()),
        None => print("`--all` prints each value, `--report FOLDER` writes a page with all values and figures\n"),
    }
}

/// `None` if `make papers` has not run.
fn read_simulations(folder: &Path) -> Result<Option<Simulations>> {
    if folder.is_dir() {
        return Ok(Some(Simulations::read(folder)?));
    }
    if folder == Path::new("results/papers") {
        return Ok(None);
    }
    Err(Error::input(format!("{} does not exist", folder.display()), "name the folder that `make papers` wrote"))
}
