//! Tables row by row: a cell costs no allocation, and no look-up of its column's name where that is known.

use super::table::{Column, Table};
use crate::point::Value;
use std::collections::HashMap;

/// A column of a [`TableBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

/// A table under construction.
#[derive(Debug, Default)]
pub struct TableBuilder {
    rows: usize,
    columns: Vec<ColumnBuilder>,
    handles: HashMap<String, Handle>,
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
        self.columns.push(ColumnBuilder { name: name.to_owned(), values: Values::None });
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
    pub(crate) fn set_value(&mut self, column: Handle, value: &Value) {
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
        match self.values(column, || Values::Whole(Vec::new())) {
            Values::Whole(values) => values.push(Some(value)),
            Values::Numbers(values) => values.push(value as f64),
            Values::Words(words) => words.push(Some(&value.to_string())),
            Values::None => {}
        }
    }

    /// As [`TableBuilder::set_integer`], of a real number.
    pub(crate) fn set_number(&mut self, column: Handle, value: f64) {
        let values = self.values(column, || Values::Numbers(Vec::new()));
        if let Values::Whole(whole) = values {
            *values = Values::Numbers(whole.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect());
        }
        match values {
            Values::Numbers(values) => values.push(value),
            Values::Words(words) => words.push(Some(&value.to_string())),
            Values::Whole(_) | Values::None => {}
        }
    }

    /// As [`TableBuilder::set_integer`], of a word.
    pub(crate) fn set_word(&mut self, column: Handle, word: &str) {
        match self.values(column, || Values::Words(WordsBuilder::default())) {
            Values::Words(words) => words.push(Some(word)),
            // A word is no number.
            Values::Numbers(values) => values.push(f64::NAN),
            Values::Whole(values) => values.push(None),
            Values::None => {}
        }
    }

    /// The values of a column, with gaps up to the present row.
    fn values(&mut self, column: Handle, first: impl Fn() -> Values) -> &mut Values {
        let values = &mut self.columns[column.0].values;
        if matches!(values, Values::None) {
            *values = first();
            self.order.push(column);
        }
        values.fill(self.rows - 1);
        values
    }

    /// The table; columns without a value are not in it.
    pub fn finish(mut self) -> Table {
        let mut table = Table::default();
        for Handle(at) in self.order {
            let ColumnBuilder { name, values } = &mut self.columns[at];
            values.fill(self.rows);
            match std::mem::replace(values, Values::None) {
                Values::Numbers(values) => table.insert(name, Column::Numbers(values)),
                Values::Whole(values) => table.insert(name, Column::Whole(values)),
                Values::Words(words) => table.insert(name, words.finish()),
                Values::None => {}
            }
        }
        table.rows = self.rows;
        table
    }
}

#[derive(Debug)]
struct ColumnBuilder {
    name: String,
    values: Values,
}

#[derive(Debug)]
enum Values {
    /// No value yet.
    None,
    Numbers(Vec<f64>),
    Whole(Vec<Option<u64>>),
    Words(WordsBuilder),
}

impl Values {
    /// Leaves the cells up to this row empty; the row's own is taken back if it was set.
    fn fill(&mut self, row: usize) {
        match self {
            Values::Numbers(values) => values.resize(row, f64::NAN),
            Values::Whole(values) => values.resize(row, None),
            Values::Words(words) => words.codes.resize(row, None),
            Values::None => {}
        }
    }
}

/// A column of words.
#[derive(Debug, Default)]
pub struct WordsBuilder {
    codes: Vec<Option<u32>>,
    dictionary: Vec<String>,
    known: HashMap<String, u32>,
    last: u32,
}

impl WordsBuilder {
    pub fn push(&mut self, word: Option<&str>) {
        let code = word.map(|word| self.code(word));
        self.codes.push(code);
    }

    fn code(&mut self, word: &str) -> u32 {
        // Most words are those of the row before.
        if self.dictionary.get(self.last as usize).is_some_and(|last| last == word) {
            return self.last;
        }
        self.last = match self.known.get(word) {
            Some(code) => *code,
            None => {
                let code = self.dictionary.len() as u32;
                self.dictionary.push(word.to_owned());
                self.known.insert(word.to_owned(), code);
                code
            }
        };
        self.last
    }

    pub fn finish(self) -> Column {
        Column::Words { codes: self.codes, dictionary: self.dictionary }
    }
}
