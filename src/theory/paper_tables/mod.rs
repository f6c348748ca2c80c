//! Tables of the papers, as printed: the `.csv` files in `models/`.
//!
//! Comment lines (paper, table, units, decisions of the transcription), one line of column names, and one line per row. A
//! field with a comma or a leading quotation mark is quoted, its own ones doubled. An empty field is a dash in the paper.

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;

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
    ("h100-apex-map", include_str!("../data/h100-apex-map.csv")),
    ("tested-errors", include_str!("../data/tested-errors.csv")),
    ("quoted", include_str!("../data/quoted.csv")),
    ("checks-apex-map", include_str!("../data/checks-apex-map.csv")),
    ("checks-hypercube", include_str!("../data/checks-hypercube.csv")),
    ("checks-bluegene", include_str!("../data/checks-bluegene.csv")),
    ("checks-nic", include_str!("../data/checks-nic.csv")),
    ("checks-simulated", include_str!("../data/checks-simulated.csv")),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub name: String,
    /// The comment lines: paper, table, units, transcription.
    pub header: Vec<String>,
    pub columns: Vec<String>,
    /// Fields as printed.
    pub rows: Vec<Vec<String>>,
}

pub fn table(name: &str) -> Result<Table> {
    let names: Vec<_> = TABLES.iter().map(|(name, _)| *name).collect();
    match TABLES.iter().find(|(candidate, _)| *candidate == name) {
        Some((_, text)) => parse(name, text),
        None => Err(Error::input(format!("no published table is named \"{name}\""), suggest(name, &names))),
    }
}

/// Returns a single number that a text quotes, by its name in `quoted.csv`.
pub fn quoted_number(name: &str) -> Result<f64> {
    let table = table("quoted")?;
    let quoted_row = (0..table.rows.len()).find(|&row| table.word(row, "name") == name);
    quoted_row.and_then(|row| table.number(row, "value")).ok_or_else(|| {
        Error::input(format!("\"{name}\" is not in quoted.csv"), "see models/quoted.csv for the quoted figures")
    })
}

/// Splits a line into fields and removes the enclosing quotation marks.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut within) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ',' if !within => fields.push(std::mem::take(&mut field)),
            '"' if !within && field.is_empty() => within = true,
            // Two quotation marks within a quoted field mean one.
            '"' if within && letters.next_if_eq(&'"').is_none() => within = false,
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

pub fn parse(name: &str, text: &str) -> Result<Table> {
    let comment = |line: &&str| line.starts_with('#');
    let header = text.lines().filter(comment).map(|line| line.trim_start_matches(['#', ' ']).to_owned()).collect();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !comment(line) && !line.trim().is_empty());
    let invalid_table =
        |message: String| Error::input(format!("table {name}: {message}"), "see the tables of models/ for examples");
    let columns =
        lines.next().map(|(_, line)| fields(line)).ok_or_else(|| invalid_table("no line of column names".into()))?;
    let mut rows = Vec::new();
    for (index, line) in lines {
        let row = fields(line);
        if row.len() != columns.len() {
            return Err(invalid_table(format!("line {} has {} fields, not {}", index + 1, row.len(), columns.len())));
        }
        rows.push(row);
    }
    Ok(Table { name: name.to_owned(), header, columns, rows })
}

impl Table {
    /// Returns a field as printed; empty for a dash of the paper. Panics without such a column: tables are compiled in.
    pub fn word(&self, row: usize, column: &str) -> &str {
        let index = self.columns.iter().position(|candidate| candidate == column);
        let index = index.unwrap_or_else(|| panic!("table {} has no column {column}: {:?}", self.name, self.columns));
        &self.rows[row][index]
    }

    pub fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.word(row, column).parse().ok()
    }

    /// Returns pairs of numbers from two columns, for the rows with numbers in both.
    pub fn pairs(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        (0..self.rows.len()).filter_map(|row| Some((self.number(row, x)?, self.number(row, y)?))).collect()
    }
}
