//! Cells: the samples of one combination of parameters.

use crate::samples::{Mixture, Samples};
use crate::table::column::Column;
use crate::table::columns::order;
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_theory::statistics::Summary;

/// Samples with the same values in some columns.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Values of the grouping columns, in their order.
    pub by: Vec<Value>,
    /// The good samples.
    pub samples: Samples,
    /// Status of each sample that is not a measurement.
    pub failures: Vec<Status>,
}

impl Cell {
    /// Returns median, interval and extremes of a column over the good samples; `None` if no sample has a value.
    pub fn summary(&self, column: &str) -> Option<Summary> {
        self.samples.summary(column)
    }
}

impl Samples {
    /// Groups the samples by columns and sorts the cells by their values. Samples without such a value are omitted.
    pub fn cells(&self, by: &[&str]) -> Result<Vec<Cell>> {
        self.cells_with(by, None)
    }

    /// Groups the samples as [`Samples::cells`] does. A missing value in a grouping column is replaced, if `missing` is given.
    pub fn cells_with(&self, by: &[&str], missing: Option<Value>) -> Result<Vec<Cell>> {
        let columns: Vec<&Column> = by.iter().map(|name| self.require(name)).collect::<Result<_>>()?;
        let cell = |part: Samples| {
            let value = |column: &&Column| column.value(part.rows()[0]).or_else(|| missing.clone());
            let by = columns.iter().map(value).collect::<Option<_>>()?;
            let failures = part.rows().iter().filter_map(|&row| self.failure(row)).collect();
            Some(Cell { by, failures, samples: part.good() })
        };
        let mut cells: Vec<Cell> = self.group_by(by).into_iter().filter_map(cell).collect();
        cells.sort_by(|a, b| compare(&a.by, &b.by));
        Ok(cells)
    }
}

/// Checks that each cell holds samples of one point. The error is the first parameter that differs within a cell.
pub fn single_points<'a, C: IntoIterator<Item = &'a Cell>>(cells: C, by: &[&str]) -> Result<(), Mixture> {
    cells.into_iter().try_for_each(|cell| cell.samples.single_point(by))
}

/// Compares cells: numbers by size, words alphabetically.
pub fn compare(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}
