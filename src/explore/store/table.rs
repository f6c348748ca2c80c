//! Samples as columns in memory.

use crate::error::{Error, Result};

use crate::point::Value;
use std::collections::HashMap;

/// The values of a column, one a row: numbers, or words from a small dictionary.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers; NaN where there is none.
    Numbers(Vec<f64>),
    /// Whole numbers; `None` where there is none.
    Whole(Vec<Option<u64>>),
    /// Words, each stored once.
    Words {
        /// Of each row the index of its word in `dictionary`.
        codes: Vec<Option<u32>>,
        /// The different words, in the order of their first appearance.
        dictionary: Vec<String>,
    },
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(values) => values.len(),
            Column::Whole(values) => values.len(),
            Column::Words { codes, .. } => codes.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row; `None` where there is none.
    /// # Panics
    /// If there is no such row.
    pub fn value(&self, row: usize) -> Option<Value> {
        match self {
            Column::Numbers(values) => (!values[row].is_nan()).then(|| Value::Real(values[row])),
            Column::Whole(values) => values[row].map(Value::Integer),
            Column::Words { codes, dictionary } => {
                codes[row].map(|code| Value::Text(dictionary[code as usize].clone()))
            }
        }
    }

    /// A number; NaN where there is none or it is a word.
    /// # Panics
    /// If there is no such row.
    pub fn number(&self, row: usize) -> f64 {
        match self {
            Column::Numbers(values) => values[row],
            Column::Whole(values) => values[row].map_or(f64::NAN, |v| v as f64),
            Column::Words { .. } => f64::NAN,
        }
    }

    /// A word; empty where there is none.
    /// # Panics
    /// If there is no such row.
    pub fn word(&self, row: usize) -> &str {
        match self {
            Column::Words { codes, dictionary } => codes[row].map_or("", |code| &dictionary[code as usize]),
            _ => "",
        }
    }

    /// Something that is equal for equal values of this column; `None` where there is none.
    pub(crate) fn bits(&self, row: usize) -> Option<u64> {
        match self {
            Column::Numbers(values) => (!values[row].is_nan()).then(|| values[row].to_bits()),
            Column::Whole(values) => values[row],
            Column::Words { codes, .. } => codes[row].map(u64::from),
        }
    }

    /// Whether the column has the same value in all of these rows, or none in any.
    /// # Panics
    /// If there is no such row.
    pub fn constant(&self, rows: &[usize]) -> bool {
        let Some(&first) = rows.first() else { return true };
        let bits = self.bits(first);
        rows.iter().all(|&row| self.bits(row) == bits)
    }

    /// Whether it holds words, which have no median.
    pub fn is_words(&self) -> bool {
        matches!(self, Column::Words { .. })
    }
}

/// All samples of a store, or made by a [`TableBuilder`](super::build::TableBuilder): columns in order, all of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Number of rows: the length of every column.
    pub rows: usize,
    names: Vec<String>,
    columns: HashMap<String, Column>,
}

impl Table {
    /// Names of the columns, in their order: `kernel`, `memory_words`, `bytes_per_second`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The column of this name; `None` if there is none.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// Refuses a table that does not hold samples, as of another program's Parquet file; `given` is its name.
    pub(crate) fn check_samples(&self, given: &str) -> Result<()> {
        let numbers = |name: &&str| !matches!(self.column(name), Some(Column::Numbers(_) | Column::Whole(_)));
        let words = |name: &&str| !matches!(self.column(name), Some(Column::Words { .. }));
        let missing = ["kernel", "status"].into_iter().find(words);
        match missing.or_else(|| ["ranks", "seconds"].into_iter().find(numbers)) {
            None => Ok(()),
            Some(name) => Err(Error::input(
                format!("{given} does not hold samples of apexmap: it has no valid column \"{name}\""),
                "name a result folder or the samples.parquet of one",
            )),
        }
    }

    /// The value of a cell; `None` where there is none.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn value(&self, name: &str, row: usize) -> Option<Value> {
        self.column(name)?.value(row)
    }

    /// A number; NaN where there is none or it is a word.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn number(&self, name: &str, row: usize) -> f64 {
        self.column(name).map_or(f64::NAN, |column| column.number(row))
    }

    /// A word; empty where there is none.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn word(&self, name: &str, row: usize) -> &str {
        self.column(name).map_or("", |column| column.word(row))
    }

    /// Distinct words of a column, in the order of their first appearance.
    pub fn words(&self, name: &str) -> &[String] {
        match self.columns.get(name) {
            Some(Column::Words { dictionary, .. }) => dictionary,
            _ => &[],
        }
    }

    /// Adds a whole column after the others, with as many rows as they have.
    pub fn insert(&mut self, name: &str, column: Column) {
        self.rows = column.len();
        self.names.push(name.to_owned());
        self.columns.insert(name.to_owned(), column);
    }
}
