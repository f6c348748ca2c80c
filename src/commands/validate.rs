//! `apexmap validate`: compares the models with the papers.

use super::predict::{Format, pretty};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, terminal_width};
use apexmap_study::validate;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap validate
  apexmap validate --format json
  apexmap validate --report validation       write an HTML page with figures: validation/validate.html

Values are of four kinds, counted separately: identities (arithmetic of printed numbers), model values (a paper's formula, recomputed \
from its printed inputs), measured values with numbers fitted to the same rows, and measured values predicted with numbers fitted \
to other data. If values differ, the verdict says whether the paper or the model is wrong.")]
pub struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Write an HTML page with figures into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "format")]
    report: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let report = validate::validate()?;
    if let Some(folder) = &arguments.report {
        return print(&format!("report: {}\n", apexmap_pages::validation::write(&report, folder)?.display()));
    }
    print(&match arguments.format {
        Format::Table => report.text(terminal_width()),
        Format::Json => pretty(&report)?,
        Format::Toml => toml::to_string_pretty(&report)
            .map_err(|e| Error::internal(format!("cannot write the validation as TOML: {e}")))?,
    })
}
