//! Text tables for terminals: aligned columns, two spaces apart, without borders.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt;

/// Which side of a column the cells are aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Rows of cells; its text ends with a line end, if there are rows.
pub struct TextTable {
    table: Table,
    columns: Vec<Align>,
    /// Spaces before each line.
    indent: usize,
}

impl TextTable {
    pub fn new(columns: impl IntoIterator<Item = Align>) -> Self {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        Self { table, columns: columns.into_iter().collect(), indent: 0 }
    }

    /// Begins each line with this many spaces.
    pub fn indented(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Adds a row; the head of the table is its first row.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.table.add_row(cells.into_iter().map(Into::into).collect::<Vec<String>>());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.table.is_empty() {
            return Ok(());
        }
        let mut table = self.table.clone();
        for (column, align) in table.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, 2));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        table.lines().try_for_each(|line| writeln!(f, "{:indent$}{}", "", line.trim_end(), indent = self.indent))
    }
}
