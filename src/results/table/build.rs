//! Tables row by row: a cell costs no allocation, and no look-up of its column's name where that is known.

use crate::table::Table;
use crate::table::column::{ColumnBuilder, Kind};
use apexmap_base::point::Value;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A column of a [`TableBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

/// A table under construction.
#[derive(Debug, Default)]
pub struct TableBuilder {
    rows: usize,
    /// Names, and the values once there is one.
    columns: Vec<(String, Option<ColumnBuilder>)>,
    handles: HashMap<String, Handle, RandomState>,
    /// The columns that have a value, in the order of their first.
    order: Vec<Handle>,
}

impl TableBuilder {
    /// Number of rows begun.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The column of a name. It becomes part of the table with its first value.
    pub fn column(&mut self, name: &str) -> Handle {
        if let Some(handle) = self.handles.get(name) {
            return *handle;
        }
        let handle = Handle(self.columns.len());
        self.columns.push((name.to_owned(), None));
        self.handles.insert(name.to_owned(), handle);
        handle
    }

    /// Begins a new row of empty cells.
    pub fn begin_row(&mut self) {
        self.rows += 1;
    }

    /// Sets a cell of the row begun last. A column takes its type from its first value; whole numbers become reals if a real
    /// comes; a word in a column of numbers is no value.
    ///
    /// # Panics
    /// If no row was begun.
    pub fn set(&mut self, name: &str, value: &Value) {
        let column = self.column(name);
        self.set_value(column, value);
    }

    /// As [`TableBuilder::set`].
    pub fn set_value(&mut self, column: Handle, value: &Value) {
        match value {
            Value::Integer(value) => self.set_integer(column, *value),
            Value::Real(value) => self.set_number(column, *value),
            Value::Text(word) => self.set_word(column, word),
        }
    }

    /// As [`TableBuilder::set`], of a whole number.
    ///
    /// # Panics
    /// If no row was begun, or the handle is of another builder.
    pub fn set_integer(&mut self, column: Handle, value: u64) {
        self.cells(column, Kind::Whole).push_integer(value);
    }

    /// As [`TableBuilder::set_integer`], of a real number.
    pub fn set_number(&mut self, column: Handle, value: f64) {
        self.cells(column, Kind::Numbers).push_number(value);
    }

    /// As [`TableBuilder::set_integer`], of a word.
    pub fn set_word(&mut self, column: Handle, word: &str) {
        self.cells(column, Kind::Words).push_word(Some(word));
    }

    /// A column, with gaps up to the present row; the row's own value is taken back if it was set.
    fn cells(&mut self, column: Handle, kind: Kind) -> &mut ColumnBuilder {
        let row = self.rows - 1;
        let cells = self.columns[column.0].1.get_or_insert_with(|| {
            self.order.push(column);
            ColumnBuilder::new(kind)
        });
        cells.resize(row);
        cells
    }

    /// The table; columns without a value are not in it.
    pub fn finish(mut self) -> Table {
        let mut table = Table::default();
        for Handle(at) in self.order {
            let (name, cells) = &mut self.columns[at];
            if let Some(mut cells) = cells.take() {
                cells.resize(self.rows);
                table.insert(name, cells.finish());
            }
        }
        table.rows = self.rows;
        table
    }
}
