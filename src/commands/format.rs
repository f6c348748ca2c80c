//! The output formats of models and their fits, and JSON and TOML of all commands.

use apexmap_base::error::{Error, Result};
use serde::Serialize;

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
    Toml,
}

/// Returns indented JSON with a line break at its end.
pub fn pretty(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|e| Error::internal(format!("cannot write JSON: {e}")))? + "\n")
}

pub fn toml(value: &impl Serialize) -> Result<String> {
    toml::to_string_pretty(value).map_err(|e| Error::internal(format!("cannot write TOML: {e}")))
}
