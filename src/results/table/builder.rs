//! Builds tables row by row. A cell needs no allocation, and no look-up of the column name if the column is known.

use crate::table::Table;
use crate::table::column::{ColumnBuilder, Kind};
use apexmap_base::point::Value;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A column of a [`TableBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnHandle(usize);

/// A table under construction. A cell before the first row, or of another builder's column, is a panic.
#[derive(Clone, Debug, Default)]
pub struct TableBuilder {
    rows: usize,
    /// Column names; values after the first one is set.
    columns: Vec<(String, Option<ColumnBuilder>)>,
    handles: HashMap<String, ColumnHandle, RandomState>,
    order: Vec<ColumnHandle>,
}

impl TableBuilder {
    /// Returns the number of rows begun.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the column of a name. It becomes part of the table with its first value.
    pub fn column(&mut self, name: &str) -> ColumnHandle {
        if let Some(handle) = self.handles.get(name) {
            return *handle;
        }
        let handle = ColumnHandle(self.columns.len());
        self.columns.push((name.to_owned(), None));
        self.handles.insert(name.to_owned(), handle);
        handle
    }

    /// Begins a new row of empty cells.
    pub fn begin_row(&mut self) {
        self.rows += 1;
    }

    /// Sets a cell of the last row. The first value sets the type; whole numbers become reals; a word is no number.
    pub fn set(&mut self, name: &str, value: &Value) {
        let column = self.column(name);
        self.set_value(column, value);
    }

    /// Sets a cell as [`TableBuilder::set`] does.
    pub fn set_value(&mut self, column: ColumnHandle, value: &Value) {
        match value {
            Value::Integer(value) => self.set_integer(column, *value),
            Value::Real(value) => self.set_number(column, *value),
            Value::Text(word) => self.set_word(column, word),
        }
    }

    /// Sets a cell to a whole number, as [`TableBuilder::set`] does.
    pub fn set_integer(&mut self, column: ColumnHandle, value: u64) {
        self.cells(column, Kind::Whole).push_integer(value);
    }

    /// Sets a cell to a real number, as [`TableBuilder::set_integer`] does.
    pub fn set_number(&mut self, column: ColumnHandle, value: f64) {
        self.cells(column, Kind::Numbers).push_number(value);
    }

    /// Sets a cell to a word, as [`TableBuilder::set_integer`] does.
    pub fn set_word(&mut self, column: ColumnHandle, word: &str) {
        self.cells(column, Kind::Words).push_word(Some(word));
    }

    /// Returns the cells of a column up to the last row. A value already set in this row is removed.
    fn cells(&mut self, column: ColumnHandle, kind: Kind) -> &mut ColumnBuilder {
        let row = self.rows - 1;
        let cells = self.columns[column.0].1.get_or_insert_with(|| {
            self.order.push(column);
            ColumnBuilder::new(kind)
        });
        cells.resize(row);
        cells
    }

    /// Returns the table. Columns without a value are omitted.
    pub fn finish(mut self) -> Table {
        let mut table = Table::default();
        for ColumnHandle(index) in self.order {
            let (name, cells) = &mut self.columns[index];
            if let Some(mut cells) = cells.take() {
                cells.resize(self.rows);
                table.insert(name, cells.finish());
            }
        }
        table.rows = self.rows;
        table
    }
}
