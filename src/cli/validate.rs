//! `apexmap validate`: the models against the papers.

use super::predict::{Format, pretty};
use super::print;
use crate::error::{Error, Result};
use crate::validate;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap validate
  apexmap validate --format json

Values that differ, differ in the papers themselves, and say so; none is tuned away.")]
pub struct Arguments {
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let report = validate::validate()?;
    print(&match arguments.format {
        Format::Table => report.text(),
        Format::Json => pretty(&report)?,
        Format::Toml => toml::to_string_pretty(&report)
            .map_err(|e| Error::internal(format!("cannot write the validation as TOML: {e}")))?,
    })
}
