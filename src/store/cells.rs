//! Cells: the samples of one combination of parameters, summed up.

use super::columns::bits;
use super::table::{Column, Table};
use crate::error::Result;
use crate::numerics::statistics::Summary;
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
    let mut groups: HashMap<Vec<u64>, (Vec<usize>, Vec<Status>)> = HashMap::new();
    let mut order: Vec<Vec<u64>> = Vec::new();
    for &row in rows {
        let Some(key) = columns.iter().map(|column| bits(column, row)).collect::<Option<Vec<u64>>>() else { continue };
        let group = groups.entry(key).or_insert_with_key(|key| {
            order.push(key.clone());
            Default::default()
        });
        match Status::from_name(table.word("status", row)) {
            Some(Status::Ok) | None => group.0.push(row),
            Some(status) => group.1.push(status),
        }
    }
    let mut cells: Vec<Cell> = order
        .iter()
        .map(|key| {
            let (rows, failures) = groups.remove(key).unwrap_or_default();
            let numbers = table.numbers(value, &rows);
            let by = columns.iter().zip(key).map(|(column, &bits)| from_bits(column, bits)).collect();
            Cell { by, summary: Summary::of(&numbers), failures, rows }
        })
        .collect();
    cells.sort_by(|a, b| compare(&a.by, &b.by));
    Ok(cells)
}

fn from_bits(column: &Column, bits: u64) -> Value {
    match column {
        Column::Numbers(_) => Value::Real(f64::from_bits(bits)),
        Column::Whole(_) => Value::Integer(bits),
        Column::Words { dictionary, .. } => Value::Text(dictionary[bits as usize].clone()),
    }
}

/// The order of cells: numbers by size, words by letters.
pub fn compare(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let one = |(a, b): (&Value, &Value)| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.to_string().cmp(&b.to_string()),
    };
    a.iter().zip(b).map(one).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}
