//! What the columns of a store are called on axes and in tables.

use super::table::{Column, Table};
use super::{bound_columns, derive};
use crate::measure::kernels::{self, Parameter};
use crate::point::Value;
use crate::units::Unit;
use std::collections::HashMap;

/// A column for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// `alpha (temporal locality)`.
    pub label: String,
    pub unit: Unit,
}

/// Columns that say where a sample comes from, and how it ended.
const ORIGINS: [(&str, Unit, &str); 17] = [
    ("key", Unit::None, "identity of the point on this machine, transport and build"),
    ("kernel", Unit::None, "what was measured"),
    ("status", Unit::None, "ok, wrong, failed, timed-out or hung: only ok is a measurement"),
    ("message", Unit::None, "why the sample is none"),
    ("stale", Unit::None, "1 if the present plan has no such point: another build, machine or plan"),
    ("block", Unit::None, "which launch of this rank count, from 0"),
    ("repetition", Unit::None, "running number within the point and block, from 0"),
    ("unix_seconds", Unit::Seconds, "when the run ended, since 1970"),
    ("load", Unit::None, "one-minute load average of rank 0's host when the run ended"),
    ("launch", Unit::None, "the launch, which is the name of its journal"),
    ("transport", Unit::None, "threads or mpi"),
    ("library", Unit::None, "what carries the messages, with its version"),
    ("launcher", Unit::None, "what started the ranks"),
    ("host", Unit::None, "host of rank 0"),
    ("cpu_model", Unit::None, "processor of that host"),
    ("build", Unit::None, "fingerprint of the measuring code"),
    ("oversubscribed", Unit::None, "1 if some node had more ranks than cores"),
];

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
    if let Some(derived) =
        derive::COLUMNS.iter().chain(&bound_columns::COLUMNS).find(|derived| derived.column == column)
    {
        return Described { label: derived.label.into(), unit: derived.unit };
    }
    if let Some((_, unit, meaning)) = ORIGINS.iter().find(|(name, ..)| *name == column) {
        return Described { label: (*meaning).into(), unit: *unit };
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

/// What rows of several points differ in.
pub struct Mixed<'a> {
    /// The column as [`short`] names it.
    pub name: &'a str,
    /// Its values.
    pub values: String,
    /// A condition that chooses one of them.
    pub choice: String,
}

/// The first column of [`of_points`] but `by` that varies in these rows.
pub fn mixed<'a>(table: &'a Table, rows: &[usize], by: &[&str]) -> Option<Mixed<'a>> {
    let varies = |name: &&str| table.column(name).is_some_and(|column| !constant(column, rows));
    let column = of_points(table).into_iter().filter(|name| !by.contains(name)).find(varies)?;
    Some(mixed_in(table, column, rows))
}

/// That these rows differ in this column.
pub fn mixed_in<'a>(table: &Table, column: &'a str, rows: &[usize]) -> Mixed<'a> {
    let name = short(column);
    let choice = match sorted(table, column, rows).first() {
        Some(Value::Text(word)) => format!("{name} == \"{word}\""),
        first => format!("{name} == {}", first.map_or_else(String::new, Value::to_string)),
    };
    Mixed { name, choice, values: listed(table, column, rows) }
}

/// The different values of a column in these rows, in order; a long list ends in dots.
pub fn listed(table: &Table, name: &str, rows: &[usize]) -> String {
    const MOST: usize = 12;
    let values = sorted(table, name, rows);
    let mut shown: Vec<String> = values.iter().take(MOST).map(Value::to_string).collect();
    if values.len() > MOST {
        shown.push("...".into());
    }
    shown.join(", ")
}

fn sorted(table: &Table, name: &str, rows: &[usize]) -> Vec<Value> {
    let mut values = table.values(name, rows);
    values.sort_by(|a, b| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.to_string().cmp(&b.to_string()),
    });
    values
}

/// The columns that tell the points of these rows apart: those of [`of_points`] that vary, without those that follow from
/// another one, as the number of accesses may follow from L, or M from the ranks.
pub fn axes<'a>(table: &'a Table, rows: &[usize]) -> Vec<&'a str> {
    // The order of kernels' parameters: what comes first is kept if two follow from each other.
    let rank = |name: &&str| parameters().position(|parameter| parameter.column == *name).map_or(0, |at| at + 1);
    let mut varied: Vec<(&str, &Column)> = of_points(table)
        .into_iter()
        .filter_map(|name| Some((name, table.column(name)?)))
        .filter(|(_, column)| !constant(column, rows))
        .collect();
    varied.sort_by_key(|(name, _)| rank(name));
    let mut kept = varied.clone();
    for (name, column) in varied.iter().rev() {
        if kept.iter().any(|(other, by)| other != name && follows(column, by, rows)) {
            kept.retain(|(other, _)| other != name);
        }
    }
    kept.into_iter().map(|(name, _)| name).collect()
}

/// Whether equal values of `by` always come with equal values of `column`.
fn follows(column: &Column, by: &Column, rows: &[usize]) -> bool {
    let mut seen = HashMap::new();
    rows.iter().all(|&row| {
        let value = column.bits(row);
        *seen.entry(by.bits(row)).or_insert(value) == value
    })
}
