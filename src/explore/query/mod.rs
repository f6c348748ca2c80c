//! Quick tables: medians with 95 % intervals of any columns, by groups of samples.
//!
//! ```
//! use apexmap::point::Value;
//! use apexmap::explore::query;
//! use apexmap::explore::store::Table;
//!
//! let mut table = Table::default();
//! for (ranks, seconds) in [(1, 2.0), (1, 3.0), (1, 7.0), (2, 1.0)] {
//!     table.begin_row();
//!     table.set("ranks", &Value::Integer(ranks));
//!     table.set("seconds", &Value::Real(seconds));
//! }
//! let groups = query::groups(&table, &[0, 1, 2, 3], &["ranks"], &["seconds"])?;
//! assert_eq!(groups.groups[0].summaries[0].unwrap().median, 3.0);
//! print!("{}", query::text(&groups));
//! # Ok::<(), apexmap::error::Error>(())
//! ```

mod write;

pub use write::{csv, json, text};

use crate::error::{Error, Result};
use crate::explore::store::cells::cells;
use crate::explore::store::{Table, columns};
use crate::measure::kernels;
use crate::measure::numerics::statistics::Summary;
use crate::point::Value;
use crate::sample::Status;

/// Samples that share the values of the grouping columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Values of the grouping columns, in their order.
    pub by: Vec<Value>,
    /// Good samples.
    pub samples: usize,
    /// How the others ended.
    pub failures: Vec<Status>,
    /// Of the selected columns, in their order, over the good samples; `None` where none has a value.
    pub summaries: Vec<Option<Summary>>,
}

/// A table of groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// Columns that the samples are grouped by.
    pub by: Vec<String>,
    /// Columns that are summed up.
    pub selected: Vec<String>,
    pub groups: Vec<Group>,
    /// Columns of points that vary within some group, whose medians are then those of a mixture.
    pub mixed: Vec<String>,
    /// Samples without a value in a grouping column: they are in no group.
    pub left_out: usize,
}

/// Groups these rows by the columns `by` and sums up the columns `selected`.
///
/// # Errors
/// If there are no rows, a column is missing, or a selected column holds words.
pub fn groups(table: &Table, rows: &[usize], by: &[&str], selected: &[&str]) -> Result<Groups> {
    if rows.is_empty() {
        return Err(Error::input("no sample meets the condition", "widen --where, or see `apexmap status`"));
    }
    for name in selected {
        table.require_numbers(name)?;
    }
    let Some(first) = selected.first() else {
        return Err(Error::input("no column is selected", "name at least one, such as --select seconds"));
    };
    let found = cells(table, rows, by, first)?;
    let grouped: usize = found.iter().map(|cell| cell.rows.len() + cell.failures.len()).sum();
    let mixed = columns::of_points(table).into_iter().filter(|name| !by.contains(name)).filter(|name| {
        table.column(name).is_some_and(|column| found.iter().any(|cell| !columns::constant(column, &cell.rows)))
    });
    let mixed = mixed.map(str::to_owned).collect();
    let groups = found.into_iter().map(|cell| Group {
        samples: cell.rows.len(),
        summaries: selected.iter().map(|name| Summary::of(&table.numbers(name, &cell.rows))).collect(),
        by: cell.by,
        failures: cell.failures,
    });
    Ok(Groups {
        by: by.iter().map(|&name| name.to_owned()).collect(),
        selected: selected.iter().map(|&name| name.to_owned()).collect(),
        groups: groups.collect(),
        mixed,
        left_out: rows.len() - grouped,
    })
}

/// What the kernels of these rows are judged by.
pub fn headlines<'a>(table: &'a Table, rows: &[usize]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for kernel in table.words("kernel") {
        let here = rows.iter().any(|&row| table.word("kernel", row) == kernel);
        let Some(kernel) = kernels::find(kernel).ok().filter(|_| here) else { continue };
        if !found.contains(&kernel.about().headline) {
            found.push(kernel.about().headline);
        }
    }
    if found.is_empty() { vec!["seconds"] } else { found }
}
