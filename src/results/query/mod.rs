//! Quick tables: medians with 95 % intervals of any columns, for groups of samples.

mod write;

pub use write::{csv, json, text, text_within};

use crate::samples::Samples;
use crate::samples::cells::Cell;
use crate::table::columns::{IMPORTED_FROM, NODE_TYPE};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_base::units::Unit;
use apexmap_theory::statistics::Summary;

/// Samples with the same values in the grouping columns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueryGroup {
    /// Values of the grouping columns, in their order.
    pub by: Vec<Value>,
    /// Number of good samples.
    pub samples: usize,
    /// Status of each sample that is not good.
    pub failures: Vec<Status>,
    /// Summary of each selected column, in their order, over the good samples; `None` if no sample has a value.
    pub summaries: Vec<Option<Summary>>,
}

/// A table of groups.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueryGroups {
    /// Columns that define the groups.
    pub by: Vec<String>,
    /// Columns with a summary.
    pub selected: Vec<String>,
    /// Unit of each selected column in tables for people.
    pub units: Vec<Unit>,
    /// The groups, sorted by their values of the grouping columns.
    pub groups: Vec<QueryGroup>,
    /// Columns of points that vary within some group. The medians of such a group mix different points.
    pub mixed: Vec<String>,
    /// Number of samples without a value in a grouping column. They are in no group, unless they are imported.
    pub left_out: usize,
    /// The programs that measured imported values; `None` if apexmap measured them.
    pub import: Option<String>,
}

/// Returns the type of nodes if it differs within a group, and columns that differ within some groups only, if grouping by them
/// too leaves one point per group. Otherwise a table would compare medians of one point with medians of several.
pub fn missing_columns<'a>(samples: &'a Samples, by: &[&'a str]) -> Result<Vec<&'a str>> {
    let (mut by, mut given) = (by.to_vec(), by.len());
    let is_mixed = |cell: &Cell| !cell.samples.is_constant(NODE_TYPE);
    let node_type = if samples.cells(&by)?.iter().any(is_mixed) { vec![NODE_TYPE] } else { Vec::new() };
    by.extend(&node_type);
    given += node_type.len();
    loop {
        let cells = samples.cells(&by)?;
        let mixed: Vec<&str> = samples.mixed_columns(&by).collect();
        let count = |name: &str| cells.iter().filter(|cell| !cell.samples.is_constant(name)).count();
        match mixed.into_iter().find(|name| count(name) > 0) {
            None => return Ok([node_type, by.split_off(given)].concat()),
            // Imported runs that differ in a parameter are never pooled.
            Some(name) if count(name) < cells.len() || samples.has(IMPORTED_FROM) => by.push(name),
            Some(_) => return Ok(node_type),
        }
    }
}

/// Groups these samples by the columns `by` and summarises the columns `selected`.
pub fn groups(samples: &Samples, by: &[&str], selected: &[&str]) -> Result<QueryGroups> {
    if samples.is_empty() {
        return Err(Error::input("no sample meets the condition", "widen --where, or see `apexmap status`"));
    }
    for name in selected {
        samples.require_numbers(name)?;
    }
    if selected.is_empty() {
        return Err(Error::input("no column is selected", "name at least one, such as --select seconds"));
    }
    // Programs with imported values do not report all parameters.
    let missing = samples.has(IMPORTED_FROM).then(|| Value::from("-"));
    let cells = samples.cells_with(by, missing)?;
    let grouped: usize = cells.iter().map(|cell| cell.samples.len() + cell.failures.len()).sum();
    let mixed = samples.mixed_columns(by).filter(|name| cells.iter().any(|cell| !cell.samples.is_constant(name)));
    let mixed = mixed.map(str::to_owned).collect();
    let groups = cells.into_iter().map(|cell| QueryGroup {
        samples: cell.samples.len(),
        summaries: selected.iter().map(|name| cell.summary(name)).collect(),
        by: cell.by,
        failures: cell.failures,
    });
    Ok(QueryGroups {
        by: by.iter().map(|&name| name.to_owned()).collect(),
        selected: selected.iter().map(|&name| name.to_owned()).collect(),
        units: selected.iter().map(|name| samples.describe(name).unit).collect(),
        groups: groups.collect(),
        mixed,
        left_out: samples.len() - grouped,
        import: samples.describe_import(),
    })
}
