//! A column of samples: numbers or words, one a row.

use crate::table::packed::{Packed, Packer};
use apexmap_base::point::Value;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Real numbers.
    Numbers,
    /// Whole numbers.
    Whole,
    /// Words, each stored once.
    Words,
}

/// The values of a column, one a row: numbers, or words from a small dictionary. A row may have none.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    kind: Kind,
    /// The bits of a real number, a whole number itself, the place of a word in the dictionary.
    cells: Packed,
    dictionary: Vec<String>,
}

impl Column {
    /// Of real numbers; NaN stands for none.
    pub fn numbers(values: impl IntoIterator<Item = f64>) -> Self {
        let cells = values.into_iter().map(|value| (!value.is_nan()).then(|| value.to_bits())).collect();
        Self { kind: Kind::Numbers, cells, dictionary: Vec::new() }
    }

    /// Of whole numbers.
    pub fn whole(values: impl IntoIterator<Item = Option<u64>>) -> Self {
        Self { kind: Kind::Whole, cells: values.into_iter().collect(), dictionary: Vec::new() }
    }

    /// Of words.
    pub fn words<'w>(words: impl IntoIterator<Item = Option<&'w str>>) -> Self {
        let mut builder = ColumnBuilder::new(Kind::Words);
        words.into_iter().for_each(|word| builder.push_word(word));
        builder.finish()
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row; `None` where there is none.
    /// # Panics
    /// If there is no such row.
    pub fn value(&self, row: usize) -> Option<Value> {
        let bits = self.bits(row)?;
        Some(match self.kind {
            Kind::Numbers => Value::Real(f64::from_bits(bits)),
            Kind::Whole => Value::Integer(bits),
            Kind::Words => Value::Text(self.dictionary[bits as usize].clone()),
        })
    }

    /// A number; NaN where there is none or it is a word.
    /// # Panics
    /// If there is no such row.
    pub fn number(&self, row: usize) -> f64 {
        match (self.kind, self.bits(row)) {
            (Kind::Numbers, Some(bits)) => f64::from_bits(bits),
            (Kind::Whole, Some(value)) => value as f64,
            _ => f64::NAN,
        }
    }

    /// A word; empty where there is none.
    /// # Panics
    /// If there is no such row.
    pub fn word(&self, row: usize) -> &str {
        match (self.kind, self.bits(row)) {
            (Kind::Words, Some(code)) => &self.dictionary[code as usize],
            _ => "",
        }
    }

    /// The different words, in the order of their first appearance; none in a column of numbers.
    pub fn dictionary(&self) -> &[String] {
        &self.dictionary
    }

    /// Something that is equal for equal values of this column, of words their place in the dictionary; `None` where there is
    /// none.
    pub fn bits(&self, row: usize) -> Option<u64> {
        self.cells.get(row)
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
        self.kind == Kind::Words
    }
}

/// A column under construction.
#[derive(Debug)]
pub struct ColumnBuilder {
    kind: Kind,
    cells: Packer,
    dictionary: Vec<String>,
    /// Places of the words in the dictionary.
    known: HashMap<String, u64, RandomState>,
    last: u64,
}

impl ColumnBuilder {
    pub fn new(kind: Kind) -> Self {
        Self { kind, cells: Packer::default(), dictionary: Vec::new(), known: HashMap::default(), last: 0 }
    }

    /// Leaves rows empty up to this one, or takes rows back from this one on.
    pub fn resize(&mut self, rows: usize) {
        self.cells.resize(rows);
    }

    /// A whole number; a real one or a word if the column holds those.
    pub fn push_integer(&mut self, value: u64) {
        match self.kind {
            Kind::Numbers => self.cells.push(Some((value as f64).to_bits())),
            Kind::Whole => self.cells.push(Some(value)),
            Kind::Words => self.push_word(Some(&value.to_string())),
        }
    }

    /// A real number, NaN for none; the column's whole numbers become real ones.
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

    /// A word; none in a column of numbers.
    pub fn push_word(&mut self, word: Option<&str>) {
        let word = word.filter(|_| self.kind == Kind::Words);
        let code = word.map(|word| self.code(word));
        self.cells.push(code);
    }

    fn code(&mut self, word: &str) -> u64 {
        // Most words are those of the row before.
        if self.dictionary.get(self.last as usize).is_none_or(|last| last != word) {
            self.last = self.known.get(word).copied().unwrap_or_else(|| {
                self.known.insert(word.to_owned(), self.dictionary.len() as u64);
                self.dictionary.push(word.to_owned());
                self.dictionary.len() as u64 - 1
            });
        }
        self.last
    }

    pub fn finish(self) -> Column {
        Column { kind: self.kind, cells: self.cells.finish(), dictionary: self.dictionary }
    }
}
