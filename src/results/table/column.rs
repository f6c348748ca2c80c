//! A column of samples: numbers or words, one per row.

use crate::table::packed::{PackedColumn, PackedColumnBuilder};
use apexmap_base::point::Value;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Real numbers.
    Numbers,
    /// Whole numbers.
    Whole,
    /// Words, each stored once.
    Words,
}

/// Values of a column, one per row: numbers, or words from a small dictionary. Values may be missing. Rows beyond the end
/// panic.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    kind: Kind,
    /// Bits of a real number, a whole number, or the index of a word in the dictionary.
    cells: PackedColumn,
    dictionary: Vec<String>,
}

impl Column {
    /// Creates a column of real numbers. NaN marks missing values.
    pub fn from_numbers(values: impl IntoIterator<Item = f64>) -> Self {
        let cells = values.into_iter().map(|value| (!value.is_nan()).then(|| value.to_bits())).collect();
        Self { kind: Kind::Numbers, cells, dictionary: Vec::new() }
    }

    /// Creates a column of whole numbers.
    pub fn from_whole(values: impl IntoIterator<Item = Option<u64>>) -> Self {
        Self { kind: Kind::Whole, cells: values.into_iter().collect(), dictionary: Vec::new() }
    }

    /// Creates a column of words.
    pub fn from_words<'w>(words: impl IntoIterator<Item = Option<&'w str>>) -> Self {
        let mut builder = ColumnBuilder::new(Kind::Words);
        words.into_iter().for_each(|word| builder.push_word(word));
        builder.finish()
    }

    /// Returns the type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value in a row; `None` if it is missing.
    pub fn value(&self, row: usize) -> Option<Value> {
        let bits = self.bits(row)?;
        Some(match self.kind {
            Kind::Numbers => Value::Real(f64::from_bits(bits)),
            Kind::Whole => Value::Integer(bits),
            Kind::Words => Value::Text(self.dictionary[bits as usize].clone()),
        })
    }

    /// Returns a number; NaN if it is missing or the column holds words.
    pub fn number(&self, row: usize) -> f64 {
        match (self.kind, self.bits(row)) {
            (Kind::Numbers, Some(bits)) => f64::from_bits(bits),
            (Kind::Whole, Some(value)) => value as f64,
            _ => f64::NAN,
        }
    }

    /// Returns a word; empty if it is missing or the column holds numbers.
    pub fn word(&self, row: usize) -> &str {
        match (self.kind, self.bits(row)) {
            (Kind::Words, Some(code)) => &self.dictionary[code as usize],
            _ => "",
        }
    }

    /// Returns the distinct words, in order of first appearance; empty for a column of numbers.
    pub fn dictionary(&self) -> &[String] {
        &self.dictionary
    }

    /// Returns a code that is equal for equal values of this column: for words, their index in the dictionary.
    pub fn bits(&self, row: usize) -> Option<u64> {
        self.cells.get(row)
    }

    /// Returns whether the column has the same value in all of these rows, or a value in none.
    pub fn is_constant(&self, rows: &[usize]) -> bool {
        let Some(&first) = rows.first() else { return true };
        let bits = self.bits(first);
        rows.iter().all(|&row| self.bits(row) == bits)
    }

    /// Returns whether the column holds words, which have no median.
    pub fn is_words(&self) -> bool {
        self.kind == Kind::Words
    }
}

#[derive(Clone, Debug)]
pub struct ColumnBuilder {
    kind: Kind,
    cells: PackedColumnBuilder,
    dictionary: Vec<String>,
    /// Indices of the words in the dictionary.
    codes: HashMap<String, u64, RandomState>,
    last_code: u64,
}

impl ColumnBuilder {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            cells: PackedColumnBuilder::default(),
            dictionary: Vec::new(),
            codes: HashMap::default(),
            last_code: 0,
        }
    }

    /// Sets the number of rows: adds missing values, or removes rows from the end.
    pub fn resize(&mut self, rows: usize) {
        self.cells.resize(rows);
    }

    /// Appends a whole number, converted to the type of the column.
    pub fn push_integer(&mut self, value: u64) {
        match self.kind {
            Kind::Numbers => self.cells.push(Some((value as f64).to_bits())),
            Kind::Whole => self.cells.push(Some(value)),
            Kind::Words => self.push_word(Some(&value.to_string())),
        }
    }

    /// Appends a real number; NaN is a missing value. Whole numbers of the column become real numbers.
    pub fn push_number(&mut self, value: f64) {
        if self.kind == Kind::Words {
            return self.push_word(Some(&value.to_string()));
        }
        if self.kind == Kind::Whole {
            self.cells.map(|whole| (whole as f64).to_bits());
            self.kind = Kind::Numbers;
        }
        self.cells.push((!value.is_nan()).then(|| value.to_bits()));
    }

    /// Appends a word; a missing value in a column of numbers.
    pub fn push_word(&mut self, word: Option<&str>) {
        let word = word.filter(|_| self.kind == Kind::Words);
        let code = word.map(|word| self.code(word));
        self.cells.push(code);
    }

    fn code(&mut self, word: &str) -> u64 {
        // Most words equal that of the previous row.
        if self.dictionary.get(self.last_code as usize).is_none_or(|last| last != word) {
            self.last_code = self.codes.get(word).copied().unwrap_or_else(|| {
                self.codes.insert(word.to_owned(), self.dictionary.len() as u64);
                self.dictionary.push(word.to_owned());
                self.dictionary.len() as u64 - 1
            });
        }
        self.last_code
    }

    pub fn finish(self) -> Column {
        Column { kind: self.kind, cells: self.cells.finish(), dictionary: self.dictionary }
    }
}
