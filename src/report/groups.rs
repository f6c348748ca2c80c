//! How the samples of a sweep fall into surfaces, and which other parameters it varies.

use crate::error::Result;
use crate::figure::select::label;
use crate::point::Value;
use crate::store::Table;
use crate::store::cells::cells;
use crate::store::columns;

/// The axes of every surface.
pub const ALPHA: &str = "alpha";
pub const BLOCK: &str = "block_words";

/// Rows that differ in alpha and L, and in what follows from them, only.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Values of the columns that tell this group from others.
    pub key: Vec<(String, Value)>,
    pub rows: Vec<usize>,
    /// Distinct values of alpha and of L, ascending.
    pub alphas: Vec<f64>,
    pub blocks: Vec<f64>,
}

impl Group {
    /// `apex_map.two_sided, P = 2`.
    pub fn label(&self) -> String {
        let name = |(column, value): &(String, Value)| match value {
            Value::Text(word) => word.clone(),
            value => label(column, value),
        };
        self.key.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Whether it has a surface.
    pub fn is_surface(&self) -> bool {
        self.alphas.len() > 1 && self.blocks.len() > 1
    }
}

/// Columns of points that vary over these rows and do not follow from alpha and L.
pub fn key_columns<'a>(table: &'a Table, rows: &[usize]) -> Result<Vec<&'a str>> {
    let surface: Vec<&str> = [ALPHA, BLOCK].into_iter().filter(|name| table.column(name).is_some()).collect();
    let by_cell = cells(table, rows, &surface, "ranks")?;
    let mut keys = vec!["kernel", "ranks"];
    for name in columns::of_points(table) {
        let column = table.require(name)?;
        let follows = || by_cell.iter().all(|cell| columns::constant(column, &cell.rows));
        if !keys.contains(&name) && !surface.contains(&name) && varies(table, name, rows) && !follows() {
            keys.push(name);
        }
    }
    Ok(keys)
}

/// Whether a column has two different values in these rows; a kernel without the parameter has none.
fn varies(table: &Table, name: &str, rows: &[usize]) -> bool {
    let mut values = rows.iter().filter_map(|&row| table.value(name, row));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// The groups of these rows, in the order of their keys.
pub fn groups(table: &Table, rows: &[usize]) -> Result<Vec<Group>> {
    let keys = key_columns(table, rows)?;
    let mut columns = Vec::new();
    // A kernel without a parameter has no value there; such rows group by the columns that they have.
    for kernel in table.words("kernel") {
        let of_kernel: Vec<usize> = rows.iter().copied().filter(|&row| table.word("kernel", row) == kernel).collect();
        let Some(&first) = of_kernel.first() else { continue };
        let present: Vec<&str> = keys.iter().copied().filter(|name| table.value(name, first).is_some()).collect();
        columns.push((of_kernel, present));
    }
    let mut found = Vec::new();
    for (rows, names) in columns {
        for cell in cells(table, &rows, &names, "ranks")? {
            let distinct = |name: &str| {
                let mut values: Vec<f64> =
                    cell.rows.iter().map(|&row| table.number(name, row)).filter(|v| !v.is_nan()).collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                values
            };
            found.push(Group {
                key: names.iter().map(|name| name.to_string()).zip(cell.by.clone()).collect(),
                alphas: distinct(ALPHA),
                blocks: distinct(BLOCK),
                rows: cell.rows,
            });
        }
    }
    Ok(found)
}
