//! How the samples of a sweep fall into surfaces, and which other parameters it varies.

use crate::error::Result;
use crate::explore::figure::select::label;
use crate::explore::store::Table;
use crate::explore::store::cells::{Cell, cells};
use crate::explore::store::columns;
use crate::explore::store::table::Column;
use crate::measure::kernels::{self, Kernel};
use crate::measure::numerics::statistics::Summary;
use crate::point::Value;

/// The axes of every surface.
pub const ALPHA: &str = "alpha";
pub const BLOCK: &str = "block_words";

/// Rows of one kernel that differ in alpha and L, and in what follows from them, only; of kernels without these, rows
/// that differ in numbers only.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Values of the columns that tell this group from others.
    pub key: Vec<(String, Value)>,
    pub rows: Vec<usize>,
    /// The column that its kernel is judged by.
    pub headline: &'static str,
    /// Columns that tell its points from one another.
    pub axes: Vec<String>,
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

    /// Where in the group a cell is: `alpha = 1, L = 64`.
    pub fn place(&self, cell: &Cell) -> String {
        self.axes.iter().zip(&cell.by).map(|(column, value)| label(column, value)).collect::<Vec<_>>().join(", ")
    }

    /// Its points that have a good sample, with the summary of a column there.
    pub fn measured(&self, table: &Table, column: &str) -> Result<Vec<(Cell, Summary)>> {
        let by: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        let found = cells(table, &self.rows, &by, column)?;
        Ok(found.into_iter().filter_map(|cell| cell.summary.map(|summary| (cell, summary))).collect())
    }

    /// The same, the least median first.
    pub fn ranked(&self, table: &Table, column: &str) -> Result<Vec<(Cell, Summary)>> {
        let mut found = self.measured(table, column)?;
        found.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        Ok(found)
    }

    /// Whether it has a surface.
    pub fn is_surface(&self) -> bool {
        self.alphas.len() > 1 && self.blocks.len() > 1
    }
}

/// Columns of points that vary over these rows and do not follow from alpha and L.
pub fn key_columns<'a>(table: &'a Table, rows: &[usize]) -> Result<Vec<&'a str>> {
    // Other kernels of the sweep may have these where the kernel of these rows has not.
    let has = |name: &&str| table.column(name).is_some_and(|column| rows.iter().any(|&row| column.bits(row).is_some()));
    let surface: Vec<&str> = [ALPHA, BLOCK].into_iter().filter(has).collect();
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
pub fn varies(table: &Table, name: &str, rows: &[usize]) -> bool {
    let Some(column) = table.column(name) else { return false };
    let mut values = rows.iter().filter_map(|&row| column.bits(row));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// Without those that have one value only, or follow from one of the others, as the number of messages from their length.
pub fn independent<'a>(table: &Table, rows: &[usize], mut names: Vec<&'a str>) -> Result<Vec<&'a str>> {
    names.retain(|name| varies(table, name, rows));
    // Of two that follow from each other the first stays.
    let mut at = names.len();
    while at > 0 {
        at -= 1;
        let column = table.require(names[at])?;
        let mut follows = false;
        for (k, other) in names.iter().enumerate() {
            follows |= k != at
                && cells(table, rows, &[*other], "ranks")?.iter().all(|cell| columns::constant(column, &cell.rows));
        }
        if follows {
            names.remove(at);
        }
    }
    Ok(names)
}

/// Whether a kernel has a surface over alpha and L.
fn has_surface(kernel: &dyn Kernel) -> bool {
    [ALPHA, BLOCK].iter().all(|name| kernel.parameters().iter().any(|parameter| parameter.column == *name))
}

/// The known kernels with rows among these.
pub fn kernels_of(table: &Table, rows: &[usize]) -> Vec<(&'static dyn Kernel, Vec<usize>)> {
    let of = |kernel: &'static dyn Kernel| (kernel, table.with_word("kernel", &[kernel.id()], rows));
    let here = kernels::ALL.iter().filter(|kernel| table.words("kernel").iter().any(|word| word == kernel.id()));
    here.copied().map(of).filter(|(_, rows)| !rows.is_empty()).collect()
}

/// The groups of these rows, kernel by kernel, in the order of their keys.
pub fn groups(table: &Table, rows: &[usize]) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    for (kernel, rows) in kernels_of(table, rows) {
        let varying = key_columns(table, &rows)?;
        let is_word = |name: &&&str| matches!(table.column(name), Some(Column::Words { .. }));
        let names: Vec<&str> = match has_surface(kernel) {
            true => varying.clone(),
            false => varying.iter().filter(is_word).copied().collect(),
        };
        let axes: Vec<String> = match has_surface(kernel) {
            true => [ALPHA, BLOCK].map(str::to_owned).to_vec(),
            false => varying.iter().filter(|name| !names.contains(name)).map(|name| name.to_string()).collect(),
        };
        for cell in cells(table, &rows, &names, "ranks")? {
            let axes = match has_surface(kernel) {
                true => axes.clone(),
                false => {
                    let numbers = axes.iter().map(String::as_str).collect();
                    independent(table, &cell.rows, numbers)?.into_iter().map(str::to_owned).collect()
                }
            };
            found.push(Group {
                key: names.iter().map(|name| name.to_string()).zip(cell.by.clone()).collect(),
                headline: kernel.about().headline,
                axes,
                alphas: table.distinct(ALPHA, &cell.rows),
                blocks: table.distinct(BLOCK, &cell.rows),
                rows: cell.rows,
            });
        }
    }
    Ok(found)
}
