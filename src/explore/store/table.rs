//! Samples as columns in memory.

use super::column::Column;
use crate::error::{Error, Result};
use crate::point::Value;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// All samples of a store, or made by a [`TableBuilder`](super::build::TableBuilder): columns in order, all of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Number of rows: the length of every column.
    pub rows: usize,
    names: Vec<String>,
    columns: HashMap<String, Column, RandomState>,
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
        let lacks = |(name, words): &(&str, bool)| self.column(name).is_none_or(|column| column.is_words() != *words);
        let needed = [("kernel", true), ("status", true), ("ranks", false), ("seconds", false)];
        match needed.into_iter().find(lacks).map(|(name, _)| name) {
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
        self.column(name).map_or(&[], Column::dictionary)
    }

    /// Adds a whole column after the others, with as many rows as they have.
    pub fn insert(&mut self, name: &str, column: Column) {
        self.rows = column.len();
        self.names.push(name.to_owned());
        self.columns.insert(name.to_owned(), column);
    }
}
