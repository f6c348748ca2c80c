//! Samples as columns in memory.

use super::columns;
use crate::error::{Error, Result};
use crate::nearest::suggest;
use crate::point::Value;
use std::collections::{HashMap, HashSet};

/// A column: numbers with NaN where there is none, or words from a small dictionary.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Numbers(Vec<f64>),
    Whole(Vec<Option<u64>>),
    Words { codes: Vec<Option<u32>>, dictionary: Vec<String> },
}

impl Column {
    /// The value in a row; `None` where there is none.
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
    pub fn number(&self, row: usize) -> f64 {
        match self {
            Column::Numbers(values) => values[row],
            Column::Whole(values) => values[row].map_or(f64::NAN, |v| v as f64),
            Column::Words { .. } => f64::NAN,
        }
    }

    /// A word; empty where there is none.
    pub fn word(&self, row: usize) -> &str {
        match self {
            Column::Words { codes, dictionary } => codes[row].map_or("", |code| &dictionary[code as usize]),
            _ => "",
        }
    }

    /// Something that is equal for equal values of this column; `None` where there is none.
    pub fn bits(&self, row: usize) -> Option<u64> {
        match self {
            Column::Numbers(values) => (!values[row].is_nan()).then(|| values[row].to_bits()),
            Column::Whole(values) => values[row],
            Column::Words { codes, .. } => codes[row].map(u64::from),
        }
    }
}

/// A table under construction or read from a store: columns in order, all of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub rows: usize,
    names: Vec<String>,
    columns: HashMap<String, Column>,
    /// Word to code, by column, while building.
    codes: HashMap<String, HashMap<String, u32>>,
}

impl Table {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// A column that must be there; the error names the nearest one and lists all, parameters by the papers' names.
    pub fn require(&self, name: &str) -> Result<&Column> {
        self.column(name).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(|name| columns::short(name)).collect();
            Error::input(format!("the result has no column \"{name}\""), suggest(name, &known))
        })
    }

    /// A column of numbers that must be there.
    pub fn require_numbers(&self, name: &str) -> Result<&Column> {
        match self.require(name)? {
            Column::Words { .. } => Err(Error::input(
                format!("the column \"{name}\" holds words, which have no median"),
                "choose a column of numbers here; words can group samples, or stand in --where",
            )),
            column => Ok(column),
        }
    }

    /// Refuses a table that does not hold samples, as of another program's Parquet file; `given` is its name.
    pub fn check_samples(&self, given: &str) -> Result<()> {
        let numbers = |name: &&str| !matches!(self.column(name), Some(Column::Numbers(_) | Column::Whole(_)));
        let words = |name: &&str| !matches!(self.column(name), Some(Column::Words { .. }));
        let missing = ["kernel", "status"].into_iter().find(words);
        match missing.or_else(|| ["ranks", "seconds"].into_iter().find(numbers)) {
            None => Ok(()),
            Some(name) => Err(Error::input(
                format!("{given} does not hold samples of apexmap: it has no column \"{name}\" as samples have it"),
                "name a result folder or the samples.parquet of one",
            )),
        }
    }

    /// The value of a cell; `None` where there is none.
    pub fn value(&self, name: &str, row: usize) -> Option<Value> {
        self.column(name)?.value(row)
    }

    /// The different values in these rows, in the order of their first appearance.
    pub fn values(&self, name: &str, rows: &[usize]) -> Vec<Value> {
        let Some(column) = self.column(name) else { return Vec::new() };
        let mut known = HashSet::new();
        let new = |row: &&usize| column.bits(**row).is_some_and(|bits| known.insert(bits));
        rows.iter().filter(new).filter_map(|&row| column.value(row)).collect()
    }

    /// A number; NaN where there is none or it is a word.
    pub fn number(&self, name: &str, row: usize) -> f64 {
        self.column(name).map_or(f64::NAN, |column| column.number(row))
    }

    /// The numbers that there are in these rows.
    pub fn numbers(&self, name: &str, rows: &[usize]) -> Vec<f64> {
        let Some(column) = self.column(name) else { return Vec::new() };
        rows.iter().map(|&row| column.number(row)).filter(|value| !value.is_nan()).collect()
    }

    /// The same, ascending and each once.
    pub fn distinct(&self, name: &str, rows: &[usize]) -> Vec<f64> {
        let mut values = self.numbers(name, rows);
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// A word; empty where there is none.
    pub fn word(&self, name: &str, row: usize) -> &str {
        self.column(name).map_or("", |column| column.word(row))
    }

    /// Those of these rows that have one of some words.
    pub fn with_word(&self, name: &str, words: &[&str], rows: &[usize]) -> Vec<usize> {
        let Some(Column::Words { codes, dictionary }) = self.column(name) else { return Vec::new() };
        let wanted: Vec<bool> = dictionary.iter().map(|known| words.contains(&known.as_str())).collect();
        rows.iter().copied().filter(|&row| codes[row].is_some_and(|code| wanted[code as usize])).collect()
    }

    /// Distinct words of a column, in the order of their first appearance.
    pub fn words(&self, name: &str) -> &[String] {
        match self.columns.get(name) {
            Some(Column::Words { dictionary, .. }) => dictionary,
            _ => &[],
        }
    }

    /// Adds a whole column.
    pub fn insert(&mut self, name: &str, column: Column) {
        self.rows = match &column {
            Column::Numbers(values) => values.len(),
            Column::Whole(values) => values.len(),
            Column::Words { codes, .. } => codes.len(),
        };
        self.names.push(name.to_owned());
        self.columns.insert(name.to_owned(), column);
    }

    /// Begins a new row of empty cells.
    pub fn begin_row(&mut self) {
        self.rows += 1;
        for column in self.columns.values_mut() {
            match column {
                Column::Numbers(values) => values.push(f64::NAN),
                Column::Whole(values) => values.push(None),
                Column::Words { codes, .. } => codes.push(None),
            }
        }
    }

    /// Sets a cell of the row begun last. A column appears with its first value and takes its type from it; whole
    /// numbers become reals if a real comes.
    pub fn set(&mut self, name: &str, value: &Value) {
        if !self.columns.contains_key(name) {
            let column = match value {
                Value::Integer(_) => Column::Whole(vec![None; self.rows]),
                Value::Real(_) => Column::Numbers(vec![f64::NAN; self.rows]),
                Value::Text(_) => Column::Words { codes: vec![None; self.rows], dictionary: Vec::new() },
            };
            self.names.push(name.to_owned());
            self.columns.insert(name.to_owned(), column);
        }
        let column = self.columns.get_mut(name).expect("inserted above");
        if let (Column::Whole(values), Value::Real(_)) = (&*column, value) {
            *column = Column::Numbers(values.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect());
        }
        let last = self.rows - 1;
        match (column, value) {
            (Column::Whole(values), Value::Integer(v)) => values[last] = Some(*v),
            (Column::Numbers(values), value) => values[last] = value.as_f64().unwrap_or(f64::NAN),
            (Column::Words { codes, dictionary }, value) => {
                let text = value.to_string();
                // A column that was inserted whole brings its dictionary along.
                let known =
                    self.codes.entry(name.to_owned()).or_insert_with(|| dictionary.iter().cloned().zip(0..).collect());
                let code = *known.entry(text).or_insert_with_key(|text| {
                    dictionary.push(text.clone());
                    dictionary.len() as u32 - 1
                });
                codes[last] = Some(code);
            }
            (Column::Whole(_), _) => {}
        }
    }
}
