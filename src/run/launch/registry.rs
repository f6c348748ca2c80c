//! The list of launchers, and the names that sweep files, schemas and command lines take from it.

use super::{LauncherEntry, aprun, custom, flux, jsrun, local, mpich, openmpi, pals, srun};
use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_measure::comm::TransportKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// Every launcher of the program.
pub const ALL: &[&LauncherEntry] = &[
    &local::ENTRY,
    &openmpi::ENTRY,
    &mpich::ENTRY,
    &srun::ENTRY,
    &pals::ENTRY,
    &aprun::ENTRY,
    &jsrun::ENTRY,
    &flux::ENTRY,
    &custom::ENTRY,
];

const IDS: [&str; ALL.len()] = {
    let mut ids = [""; ALL.len()];
    let mut at = 0;
    while at < ids.len() {
        ids[at] = ALL[at].id;
        at += 1;
    }
    ids
};

/// The launcher with this id; the error names the nearest one.
pub fn find(id: &str) -> Result<&'static LauncherEntry> {
    let found = ALL.iter().copied().find(|entry| entry.id == id);
    found.ok_or_else(|| Error::input(format!("there is no launcher \"{id}\""), suggest(id, &IDS)))
}

/// The launchers of a transport.
pub fn starting(transport: TransportKind) -> impl Iterator<Item = &'static LauncherEntry> {
    ALL.iter().copied().filter(move |entry| entry.transport == transport)
}

/// `"openmpi", "mpich" or "srun"`.
pub fn ids(entries: impl Iterator<Item = &'static LauncherEntry>) -> String {
    let names: Vec<String> = entries.map(|entry| format!("\"{}\"", entry.id)).collect();
    match names.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

impl<'de> Deserialize<'de> for &'static LauncherEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        find(&id).map_err(|_| D::Error::unknown_variant(&id, &IDS))
    }
}

impl JsonSchema for LauncherEntry {
    fn schema_name() -> Cow<'static, str> {
        "Launcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |entry: &&LauncherEntry| serde_json::json!({ "description": entry.summary, "type": "string", "const": entry.id });
        json_schema!({ "description": "What starts the ranks.", "oneOf": ALL.iter().map(one).collect::<Vec<_>>() })
    }
}
