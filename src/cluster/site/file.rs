//! The keys of a site file, and how files are parsed and merged.

use apexmap_base::error::Result;
use apexmap_base::name_lookup::suggest;
use apexmap_base::toml_file::TomlSource;
use apexmap_measure::comm::TransportKind;
use apexmap_run::launch;
use apexmap_run::sweep::submit_table::SubmitTable;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

pub const EXAMPLES: &str = "docs/clusters.md";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteFile {
    pub machine: Option<String>,
    /// The worker for each launcher of MPI: `openmpi`, `mpich`, `srun` and so on, or `mpi` for all others.
    pub workers: BTreeMap<String, PathBuf>,
    pub account: AccountRule,
    /// Options of jobs that neither flags nor the sweep set, with the keys of `[launch.submit]`.
    pub submit: SubmitTable,
    /// Options of jobs in one partition, before those of `submit`.
    pub partitions: BTreeMap<String, SubmitTable>,
    /// Environment variables of launches, unless the user sets them.
    pub environment: BTreeMap<String, String>,
    pub limits: LimitRule,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccountRule {
    /// The environment variable whose value is the account, if neither a flag nor the sweep names one.
    pub variable: Option<String>,
    /// Whether a job without an account is refused.
    pub required: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitRule {
    pub max_node_hours: Option<f64>,
    pub max_nodes: Option<usize>,
}

/// Relative paths become absolute: they start in the file's folder, or with `~/` in the user's home. An error has the place.
pub fn parse(text: &str, path: &Path) -> Result<toml::Table> {
    let page = TomlSource { path, text, examples: EXAMPLES };
    let file: SiteFile = toml::from_str(text).map_err(|error| page.parse_error(&error))?;
    let span_of = |key: &str| {
        let is_below = |leaf: &str| leaf.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        find_leaves(text).into_iter().find(|(leaf, _)| is_below(leaf)).map_or(0..0, |(_, span)| span)
    };
    let launchers: Vec<&str> = launch::launchers_for(TransportKind::Mpi).map(|entry| entry.id).chain(["mpi"]).collect();
    if let Some(name) = file.workers.keys().find(|name| !launchers.contains(&name.as_str())) {
        let message = format!("workers: there is no launcher \"{name}\"");
        return Err(page.error_at(span_of(&format!("workers.{name}")), message, suggest(name, &launchers)));
    }
    let tables = file.partitions.iter().map(|(name, table)| (format!("partitions.{name}"), table));
    for (key, table) in tables.chain([("submit".to_owned(), &file.submit)]) {
        table.check().map_err(|(message, help)| page.error_at(span_of(&key), format!("{key}: {message}"), help))?;
    }
    let environment = SubmitTable { environment: file.environment.clone(), ..SubmitTable::default() };
    environment.check().map_err(|(message, help)| page.error_at(span_of("environment"), message, help))?;
    check_limits(&file.limits, &page, &span_of)?;
    let mut table: toml::Table = toml::from_str(text).map_err(|error| page.parse_error(&error))?;
    make_absolute(&mut table, path);
    Ok(table)
}

fn check_limits(limits: &LimitRule, page: &TomlSource, span_of: &dyn Fn(&str) -> Range<usize>) -> Result<()> {
    if limits.max_node_hours.is_some_and(|hours| !(hours.is_finite() && hours > 0.0)) {
        let message = "max_node_hours must be greater than 0";
        return Err(page.error_at(span_of("limits.max_node_hours"), message, "write max_node_hours = 100"));
    }
    if limits.max_nodes == Some(0) {
        return Err(page.error_at(span_of("limits.max_nodes"), "max_nodes must be at least 1", "write max_nodes = 64"));
    }
    Ok(())
}

/// Those of workers and templates.
fn make_absolute(table: &mut toml::Table, file: &Path) {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let absolute = |value: &mut toml::Value| {
        let Some(text) = value.as_str() else { return };
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let path = match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(text),
        };
        *value = toml::Value::String(path.to_string_lossy().into_owned());
    };
    if let Some(toml::Value::Table(workers)) = table.get_mut("workers") {
        workers.iter_mut().for_each(|(_, worker)| absolute(worker));
    }
    let mut tables: Vec<&mut toml::Value> = Vec::new();
    for (key, value) in table.iter_mut() {
        match (key.as_str(), value) {
            ("submit", submit) => tables.push(submit),
            ("partitions", toml::Value::Table(partitions)) => {
                tables.extend(partitions.iter_mut().map(|(_, table)| table));
            }
            _ => {}
        }
    }
    for system in tables.into_iter().filter_map(|table| table.get_mut("system")) {
        // The name of a built-in system has neither slashes nor dots.
        if system.as_str().is_some_and(|text| text.contains(['/', '.'])) {
            absolute(system);
        }
    }
}

/// Adds the keys of `other` that `table` does not have.
pub fn merge(table: &mut toml::Table, other: toml::Table) {
    for (key, value) in other {
        match (table.get_mut(&key), value) {
            (None, value) => _ = table.insert(key, value),
            (Some(toml::Value::Table(own)), toml::Value::Table(other)) => merge(own, other),
            _ => {}
        }
    }
}

/// The keys of a valid TOML text with their tables, and the places of their values, in the order of the text.
pub fn find_leaves(text: &str) -> Vec<(String, Range<usize>)> {
    let mut leaves = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        add_leaves(table.get_ref(), "", &mut leaves);
    }
    leaves.sort_by_key(|(_, span)| span.start);
    leaves
}

fn add_leaves(table: &DeTable, prefix: &str, leaves: &mut Vec<(String, Range<usize>)>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => add_leaves(inner, &format!("{name}."), leaves),
            _ => leaves.push((name, value.span())),
        }
    }
}
