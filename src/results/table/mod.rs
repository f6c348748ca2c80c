//! Samples as columns in memory.

pub mod bound_columns;
pub mod build;
pub mod column;
pub mod columns;
pub mod correction;
pub mod derive;
pub mod disturbance_columns;
#[cfg(feature = "polars")]
pub mod frame;
mod packed;
pub mod quietness;

pub use build::TableBuilder;

use crate::table::column::Column;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// All samples of a store, or made by a [`TableBuilder`]: columns in order, all of one length.
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
    pub fn check_samples(&self, given: &str) -> Result<()> {
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

    /// Makes runs failed ones that ended well after no time, or after one that cannot be, as another program's file may tell:
    /// journals with such lines are damaged. Returns how many there are.
    pub fn fail_untimed(&mut self) -> usize {
        let Some(status) = self.column("status") else { return 0 };
        let ended_well = |row| Status::from_name(status.word(row)).is_none_or(|status| status == Status::Ok);
        let is_timed = |seconds: f64| seconds > 0.0 && seconds.is_finite();
        let is_untimed = |row: &usize| ended_well(*row) && !is_timed(self.number("seconds", *row));
        let untimed = (0..self.rows).filter(is_untimed).count();
        if untimed > 0 {
            let word = |row: usize| match is_untimed(&row) {
                true => Some(Status::Failed.name()),
                false => status.bits(row).map(|_| status.word(row)),
            };
            let status = Column::words((0..self.rows).map(word));
            self.columns.insert("status".into(), status);
        }
        untimed
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
