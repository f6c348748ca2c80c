//! Text tables for terminals: aligned columns with two spaces between them, without borders.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

const COLUMN_GAP: u16 = 2;
/// Minimum width of the last column for wrapping. A narrower column would be harder to read than the terminal's own line breaks.
pub const MIN_WRAPPED_WIDTH: usize = 24;

/// The first cell of the row that a heading replaces.
const HEADING: &str = "\u{1}";

/// Rows of cells. The text ends with a line end unless the table is empty.
#[derive(Clone, Debug)]
pub struct TextTable {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Lines across all columns, each in place of a row whose first cell is [`HEADING`].
    headings: Vec<String>,
    indent: usize,
    /// Maximum length of a line, if the last column may be wrapped.
    width: Option<usize>,
}

impl TextTable {
    pub fn new(columns: impl IntoIterator<Item = Align>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), headings: Vec::new(), indent: 0, width: None }
    }

    pub fn with_indent(self, spaces: usize) -> Self {
        Self { indent: spaces, ..self }
    }

    /// Wraps the text of the last column between words, so that lines fit. Other columns are never wrapped.
    pub fn with_width(self, width: Option<usize>) -> Self {
        Self { width, ..self }
    }

    /// Adds a row. The first row is the head of the table. Missing cells are empty.
    pub fn add_row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Adds a line across all columns, before the rows that follow. It has no indent.
    pub fn add_heading(&mut self, text: impl Into<String>) {
        self.headings.push(text.into());
        self.add_row([HEADING]);
    }

    fn to_table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.add_rows(&self.rows);
        let last_width = self.wrapped_width(&table.column_max_content_widths());
        let last_index = self.columns.len().saturating_sub(1);
        for (index, (column, align)) in table.column_iter_mut().zip(&self.columns).enumerate() {
            column.set_padding((0, if index == last_index { 0 } else { COLUMN_GAP }));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
            if let Some(width) = last_width.filter(|_| index == last_index) {
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            }
        }
        table
    }

    fn wrapped_width(&self, widths: &[u16]) -> Option<u16> {
        let (&last, others) = widths.split_last()?;
        let width_before: usize = others.iter().map(|&width| usize::from(width + COLUMN_GAP)).sum();
        let remaining = self.width?.checked_sub(self.indent + width_before)?;
        (MIN_WRAPPED_WIDTH..usize::from(last)).contains(&remaining).then_some(remaining as u16)
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut headings = self.headings.iter();
        self.to_table().lines().try_for_each(|line| match line.trim_end() {
            "" => writeln!(f),
            line if line.trim_start() == HEADING => writeln!(f, "{}", headings.next().map_or("", String::as_str)),
            line => writeln!(f, "{:indent$}{line}", "", indent = self.indent),
        })
    }
}

/// Formats `a, b and c`. Names only the first of a long list, and the number of the others.
pub fn list_words(words: &[String]) -> String {
    const SHOWN: usize = 4;
    match words {
        [] => String::new(),
        [one] => one.clone(),
        _ if words.len() > SHOWN => format!("{} and {} more", words[..SHOWN - 1].join(", "), words.len() + 1 - SHOWN),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
