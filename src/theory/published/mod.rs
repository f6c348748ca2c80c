//! The papers' tables, as printed: the files of `models/` that end in `.csv`.
//!
//! Comment lines say the paper, the table, the units and what was decided in transcribing; then a line of column names,
//! then one line a row. A field that has a comma or begins with a quote stands in quotes, its own quotes doubled; an empty field is a dash of the paper.

use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;

/// Name and text of every table.
pub const TABLES: &[(&str, &str)] = &[
    ("hypercube-table-1", include_str!("../data/hypercube-table-1.csv")),
    ("hypercube-table-2", include_str!("../data/hypercube-table-2.csv")),
    ("hypercube-table-3", include_str!("../data/hypercube-table-3.csv")),
    ("hypercube-table-4", include_str!("../data/hypercube-table-4.csv")),
    ("bluegene-table-2a", include_str!("../data/bluegene-table-2a.csv")),
    ("bluegene-table-2b", include_str!("../data/bluegene-table-2b.csv")),
    ("bluegene-table-3", include_str!("../data/bluegene-table-3.csv")),
    ("bluegene-table-4", include_str!("../data/bluegene-table-4.csv")),
    ("apex-map-table-2", include_str!("../data/apex-map-table-2.csv")),
    ("nic-table-1", include_str!("../data/nic-table-1.csv")),
    ("nic-table-2", include_str!("../data/nic-table-2.csv")),
    ("nic-table-3", include_str!("../data/nic-table-3.csv")),
    ("nic-table-4", include_str!("../data/nic-table-4.csv")),
    ("quoted", include_str!("../data/quoted.csv")),
    ("checks-apex-map", include_str!("../data/checks-apex-map.csv")),
    ("checks-hypercube", include_str!("../data/checks-hypercube.csv")),
    ("checks-bluegene", include_str!("../data/checks-bluegene.csv")),
    ("checks-nic", include_str!("../data/checks-nic.csv")),
];

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub name: String,
    /// The comment lines: paper, table, units, transcription.
    pub header: Vec<String>,
    pub columns: Vec<String>,
    /// Fields as printed.
    pub rows: Vec<Vec<String>>,
}

/// A table by its name.
pub fn table(name: &str) -> Result<Table> {
    let known: Vec<_> = TABLES.iter().map(|(known, _)| *known).collect();
    match TABLES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => parse(name, text),
        None => Err(Error::input(format!("there is no published table \"{name}\""), suggest(name, &known))),
    }
}

/// A single figure that a text quotes, by its name in `quoted.csv`.
pub fn quoted(name: &str) -> Result<f64> {
    let table = table("quoted")?;
    let found = (0..table.rows.len()).find(|&row| table.word(row, "name") == name);
    found.and_then(|row| table.number(row, "value")).ok_or_else(|| {
        Error::input(format!("no text quotes \"{name}\""), "see models/quoted.csv for the quoted figures")
    })
}

/// The fields of a line, without the quotes about them.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut within) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ',' if !within => fields.push(std::mem::take(&mut field)),
            '"' if !within && field.is_empty() => within = true,
            // Two quotes within quotes stand for one.
            '"' if within && letters.next_if_eq(&'"').is_none() => within = false,
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

/// Reads a table.
///
/// # Errors
/// If a row has more or fewer fields than there are columns, or there is no line of columns.
pub fn parse(name: &str, text: &str) -> Result<Table> {
    let comment = |line: &&str| line.starts_with('#');
    let header = text.lines().filter(comment).map(|line| line.trim_start_matches(['#', ' ']).to_owned()).collect();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !comment(line) && !line.trim().is_empty());
    let wrong = |what: String| Error::input(format!("table {name}: {what}"), "see the tables of models/ for examples");
    let columns = lines.next().map(|(_, line)| fields(line)).ok_or_else(|| wrong("it has no header line".into()))?;
    let mut rows = Vec::new();
    for (at, line) in lines {
        let row = fields(line);
        if row.len() != columns.len() {
            return Err(wrong(format!("line {} has {} fields, not {}", at + 1, row.len(), columns.len())));
        }
        rows.push(row);
    }
    Ok(Table { name: name.to_owned(), header, columns, rows })
}

impl Table {
    /// A field as printed; empty for a dash of the paper.
    ///
    /// # Panics
    /// If there is no such column: the tables are part of the program.
    pub fn word(&self, row: usize, column: &str) -> &str {
        let at = self.columns.iter().position(|known| known == column);
        let at = at.unwrap_or_else(|| panic!("table {} has no column {column}: {:?}", self.name, self.columns));
        &self.rows[row][at]
    }

    /// A field as a number, if it is one.
    ///
    /// # Panics
    /// As [`Table::word`].
    pub fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.word(row, column).parse().ok()
    }

    /// The rows in which both columns have numbers, as pairs.
    ///
    /// # Panics
    /// As [`Table::word`].
    pub fn pairs(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        (0..self.rows.len()).filter_map(|row| Some((self.number(row, x)?, self.number(row, y)?))).collect()
    }
}
