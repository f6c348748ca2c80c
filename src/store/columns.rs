//! What the columns of a store are called on axes and in tables.

use super::table::{Column, Table};
use super::{bounded, derive};
use crate::kernels::{self, Parameter};
use crate::units::Unit;

/// A column for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// `alpha (temporal locality)`.
    pub label: String,
    pub unit: Unit,
}

fn parameters() -> impl Iterator<Item = &'static Parameter> {
    kernels::ALL.iter().flat_map(|kernel| kernel.parameters())
}

/// The column of a name: a column's own, or a parameter's by the paper (`M`, `P`).
pub fn resolve(name: &str) -> &str {
    match name {
        "P" => "ranks",
        _ => parameters().find(|parameter| parameter.name == name).map_or(name, |parameter| parameter.column),
    }
}

/// The paper's name of a parameter's column: `M` for `memory_words`.
pub fn short(column: &str) -> &str {
    match column {
        "ranks" => "P",
        _ => parameters().find(|parameter| parameter.column == column).map_or(column, |parameter| parameter.name),
    }
}

pub fn describe(column: &str) -> Described {
    if column == "ranks" {
        return Described { label: "P (ranks)".into(), unit: Unit::None };
    }
    if column == "seconds" {
        return Described { label: "time of the slowest rank".into(), unit: Unit::Seconds };
    }
    if let Some(parameter) = parameters().find(|parameter| parameter.column == column) {
        let clause = parameter.meaning.split([':', ',', ';']).next().unwrap_or_default();
        return Described { label: format!("{} ({clause})", parameter.name), unit: parameter.unit };
    }
    if let Some(derived) = derive::COLUMNS.iter().chain(&bounded::COLUMNS).find(|derived| derived.column == column) {
        return Described { label: derived.label.into(), unit: derived.unit };
    }
    let output = kernels::ALL.iter().flat_map(|kernel| kernel.outputs()).find(|output| output.column == column);
    match output {
        Some(output) => Described { label: output.meaning.into(), unit: output.unit },
        None => Described { label: column.into(), unit: Unit::None },
    }
}

/// Columns that say which point a row is of: the kernel, its ranks and parameters, and what carried it.
pub fn of_points(table: &Table) -> Vec<&str> {
    let names = ["kernel", "ranks", "transport", "library", "launcher", "host"];
    let known = |name: &&str| names.contains(name) || parameters().any(|parameter| parameter.column == *name);
    table.names().iter().map(String::as_str).filter(known).collect()
}

/// Whether a column has the same value in all of these rows.
pub fn constant(column: &Column, rows: &[usize]) -> bool {
    let Some(&first) = rows.first() else { return true };
    match column {
        Column::Numbers(values) => rows.iter().all(|&row| values[row].to_bits() == values[first].to_bits()),
        Column::Whole(values) => rows.iter().all(|&row| values[row] == values[first]),
        Column::Words { codes, .. } => rows.iter().all(|&row| codes[row] == codes[first]),
    }
}
