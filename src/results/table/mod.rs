//! Samples as columns in memory.

pub mod bound_columns;
pub mod builder;
pub mod column;
pub mod columns;
pub mod cost;
pub mod derived_columns;
pub mod disturbance_columns;
mod packed;
pub mod quietness;
pub mod similar;

pub use builder::TableBuilder;

use crate::table::column::Column;
use crate::table::columns::IMPORTED_FROM;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// All samples of a result, or of a [`TableBuilder`]: columns in order, all of the same length. Rows beyond the end panic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Number of rows: the length of each column.
    pub rows: usize,
    names: Vec<String>,
    columns: HashMap<String, Column, RandomState>,
}

impl Table {
    /// Returns the names of the columns, in their order: `kernel`, `memory_words`, `bytes_per_second`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the column of this name; `None` if it does not exist.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// Rejects a table that does not hold samples, such as another program's Parquet file. `given` is its name.
    pub fn check_samples(&self, given: &str) -> Result<()> {
        let lacks = |(name, words): &(&str, bool)| self.column(name).is_none_or(|column| column.is_words() != *words);
        let needed = [("kernel", true), ("status", true), ("ranks", false), ("seconds", false)];
        // Other programs do not report everything.
        let needed = if self.column(IMPORTED_FROM).is_some() { &needed[..2] } else { &needed[..] };
        match needed.iter().find(|column| lacks(column)).map(|(name, _)| name) {
            None => Ok(()),
            Some(name) => Err(Error::input(
                format!("{given} does not hold samples of apexmap: it has no valid column \"{name}\""),
                "name a result folder or the samples.parquet of one",
            )),
        }
    }

    /// Marks runs of another program's file as failed that ended well without a valid time. Returns their number.
    pub fn fail_untimed(&mut self) -> usize {
        let Some(status) = self.column("status") else { return 0 };
        let untimed: Vec<bool> = (0..self.rows).map(|row| self.is_untimed(row)).collect();
        let count = untimed.iter().filter(|is_untimed| **is_untimed).count();
        if count > 0 {
            let word = |(row, is_untimed): (usize, bool)| match is_untimed {
                true => Some(Status::Failed.name()),
                false => status.bits(row).map(|_| status.word(row)),
            };
            let status = Column::from_words(untimed.into_iter().enumerate().map(word));
            self.columns.insert("status".into(), status);
        }
        count
    }

    /// Returns whether a run ended well without a valid time. Imported values need no time.
    fn is_untimed(&self, row: usize) -> bool {
        let seconds = self.number("seconds", row);
        let ended_well = Status::from_name(self.word("status", row)).is_none_or(|status| status == Status::Ok);
        let is_imported = self.column(IMPORTED_FROM).is_some_and(|column| column.bits(row).is_some());
        ended_well && !is_imported && !(seconds > 0.0 && seconds.is_finite())
    }

    /// Returns the value of a cell; `None` if it is missing.
    pub fn value(&self, name: &str, row: usize) -> Option<Value> {
        self.column(name)?.value(row)
    }

    /// Returns a number; NaN if it is missing or a word.
    pub fn number(&self, name: &str, row: usize) -> f64 {
        self.column(name).map_or(f64::NAN, |column| column.number(row))
    }

    /// Returns a word; empty if it is missing or a number.
    pub fn word(&self, name: &str, row: usize) -> &str {
        self.column(name).map_or("", |column| column.word(row))
    }

    /// Returns the distinct words of a column, in order of first appearance.
    pub fn words(&self, name: &str) -> &[String] {
        self.column(name).map_or(&[], Column::dictionary)
    }

    /// Appends a column. It must have the same number of rows as the others.
    pub fn insert(&mut self, name: &str, column: Column) {
        self.rows = column.len();
        self.names.push(name.to_owned());
        self.columns.insert(name.to_owned(), column);
    }
}
