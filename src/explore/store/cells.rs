//! Cells: the samples of one combination of parameters, summed up.

use super::table::{Column, Table};
use crate::error::Result;
use crate::measure::numerics::statistics::Summary;
use crate::point::Value;
use crate::sample::Status;
use std::collections::HashMap;

/// The samples that share the values of some columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Values of the grouping columns, in their order.
    pub by: Vec<Value>,
    /// Good samples; `None` if there are none.
    pub summary: Option<Summary>,
    /// The status of samples that did not give a number.
    pub failures: Vec<Status>,
    /// Rows of the good samples.
    pub rows: Vec<usize>,
}

/// Groups `rows` by the columns `by` and sums up `value`; cells come sorted by their values.
///
/// Rows without a value in a grouping column are left out.
pub fn cells(table: &Table, rows: &[usize], by: &[&str], value: &str) -> Result<Vec<Cell>> {
    let columns: Vec<&Column> = by.iter().map(|name| table.require(name)).collect::<Result<_>>()?;
    table.require(value)?;
    let status = table.column("status");
    let mut cells = Vec::new();
    for mut rows in alike(&columns, rows) {
        let Some(by) = columns.iter().map(|column| column.value(rows[0])).collect() else { continue };
        let mut failures = Vec::new();
        rows.retain(|&row| {
            let failure = status.and_then(|status| Status::from_name(status.word(row))).filter(|s| *s != Status::Ok);
            failures.extend(failure);
            failure.is_none()
        });
        cells.push(Cell { by, summary: Summary::of(&table.numbers(value, &rows)), failures, rows });
    }
    cells.sort_by(|a, b| compare(&a.by, &b.by));
    Ok(cells)
}

/// The rows that have the same values in all of these columns, or none in the same, in the order of their first appearance.
pub fn alike(columns: &[&Column], rows: &[usize]) -> Vec<Vec<usize>> {
    let mut places: HashMap<Vec<Option<u64>>, usize> = HashMap::new();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut key = Vec::new();
    for &row in rows {
        key.clear();
        key.extend(columns.iter().map(|column| column.bits(row)));
        match places.get(&key) {
            Some(&at) => parts[at].push(row),
            None => {
                places.insert(key.clone(), parts.len());
                parts.push(vec![row]);
            }
        }
    }
    parts
}

/// The order of cells: numbers by size, words by letters.
pub fn compare(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let one = |(a, b): (&Value, &Value)| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.to_string().cmp(&b.to_string()),
    };
    a.iter().zip(b).map(one).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}
