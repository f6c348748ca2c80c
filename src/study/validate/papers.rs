//! The tables and figures of the papers: what reproduces them, and the reasons for missing ones.

use super::{Check, Count};
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub paper: String,
    /// Place in the paper: `Table 3`.
    pub place: String,
    pub what: String,
    #[serde(default)]
    pub models: Vec<String>,
    /// Sweeps that measure the same on another machine.
    #[serde(default)]
    pub sweeps: Vec<String>,
    /// Prefixes of the sources of its checks.
    #[serde(default, skip_serializing)]
    pub checks: Vec<String>,
    /// Prefixes of the sources of its simulated values.
    #[serde(default, skip_serializing)]
    pub simulated: Vec<String>,
    /// Missing parts and the reason; empty if complete.
    #[serde(default)]
    pub missing: String,
}

impl Item {
    pub fn has(&self, check: &Check) -> bool {
        let sources = if check.is_simulated { &self.simulated } else { &self.checks };
        sources.iter().any(|source| check.source.starts_with(source))
    }
}

/// Every table and figure of the five papers, and their other quoted numbers.
pub fn items() -> Result<Vec<Item>> {
    #[derive(Deserialize)]
    struct File {
        item: Vec<Item>,
    }
    let file = toml::from_str::<File>(include_str!("../data/papers.toml"));
    file.map(|file| file.item).map_err(|e| Error::internal(format!("models/papers.toml: {e}")))
}

/// With the outcomes of its values by kind.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub item: Item,
    pub values: Vec<Count>,
}

/// Paper by paper.
pub fn rows(checks: &[Check]) -> Result<Vec<Row>> {
    let row = |item: Item| Row { values: Count::count_kinds(checks.iter().filter(|check| item.has(check))), item };
    Ok(items()?.into_iter().map(row).collect())
}
