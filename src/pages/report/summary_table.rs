//! The summary as a table on a terminal.

use super::prelude::*;
use super::summary::{INTERVAL_NOTE, SummaryRow};
use apexmap_base::text_table::{Align, MIN_WRAPPED_WIDTH, TextTable};
use apexmap_results::table::quietness::Quietness;

const MAX_TERMINAL_GROUPS: usize = 6;
/// Narrower ones show only the most important columns, with short cells.
const WIDE_TERMINAL: usize = 110;
const BOUND: &str = "% of bound";
/// Before each row, below the name of its group.
const INDENT: usize = 2;

struct Column {
    head: &'static str,
    align: Align,
    cells: Vec<String>,
}

impl Column {
    fn new(head: &'static str, align: Align, cells: impl Iterator<Item = String>) -> Self {
        Self { head, align, cells: cells.collect() }
    }

    fn width(&self) -> usize {
        let widths = self.cells.iter().map(|cell| cell.chars().count());
        widths.chain([self.head.chars().count()]).max().unwrap_or(0)
    }
}

/// The first groups, aligned below their names. Lines fit into `width` if the most important columns do.
pub fn text(rows: &[SummaryRow], width: Option<usize>) -> String {
    let firsts = rows.iter().enumerate().filter(|(_, row)| row.first);
    let end = firsts.map(|(index, _)| index).nth(MAX_TERMINAL_GROUPS).unwrap_or(rows.len());
    let (rows, rest) = rows.split_at(end);
    let wide = wide_columns(rows);
    let columns = match width {
        Some(width) if width < WIDE_TERMINAL || needed_width(&wide) > width => {
            fitting_columns(narrow_columns(rows), width)
        }
        _ => wide,
    };
    let mut table = TextTable::new(columns.iter().map(|column| column.align)).with_indent(INDENT).with_width(width);
    table.add_row(columns.iter().map(|column| column.head));
    for (index, row) in rows.iter().enumerate() {
        if row.first {
            let full = match row.technical_name() {
                name if name.is_empty() => row.plain_name.clone(),
                name => format!("{} ({name})", row.plain_name),
            };
            let fits = width.is_none_or(|width| full.chars().count() <= width);
            table.add_heading(if fits { &full } else { &row.plain_name });
        }
        table.add_row(columns.iter().map(|column| column.cells[index].as_str()));
    }
    let mut text = table.to_string();
    if columns.iter().any(|column| column.head == BOUND) && rows.iter().any(SummaryRow::is_marked) {
        text.push_str(&format!("{INTERVAL_NOTE}\n"));
    }
    if !rest.is_empty() {
        let groups = rest.iter().filter(|row| row.first).count();
        text.push_str(&format!("{} in the report\n", units::plural(groups, "more group")));
    }
    text
}

fn wide_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, align, cell: fn(&SummaryRow) -> String| Column::new(head, align, rows.iter().map(cell));
    let mut columns = vec![
        column("", Align::Left, SummaryRow::extremes),
        column("configuration", Align::Left, SummaryRow::place),
        column("median (95 % CI)", Align::Left, SummaryRow::wide_rate),
        column("total", Align::Right, SummaryRow::aggregate),
        column("cycles/op", Align::Right, SummaryRow::cycles),
    ];
    columns.extend(conditional_columns(rows));
    columns.push(column("n", Align::Right, |row| row.rate.n.to_string()));
    columns
}

/// Of some results: conformance, quietness and, last, the fraction of the limit.
fn conditional_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, cell: fn(&SummaryRow) -> String| Column::new(head, Align::Left, rows.iter().map(cell));
    let ruled = rows.iter().any(|row| row.conformance.is_some());
    let is_noisy = |health: &Health| health.verdict() != Quietness::Quiet;
    let noisy = rows.iter().any(|row| row.health.as_ref().is_some_and(is_noisy));
    // Limits are known only with a machine card.
    let limited = rows.iter().any(|row| row.share.is_some());
    let mut columns = Vec::new();
    columns.extend(ruled.then(|| column("conformant", SummaryRow::conformant)));
    columns.extend(noisy.then(|| column("quietness", SummaryRow::quietness)));
    columns.extend(limited.then(|| column(BOUND, SummaryRow::plain_limit)));
    columns
}

/// With short cells: `alpha 1, L 64`, `106 GB/s (89.9 to 125)`.
fn narrow_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, cell: fn(&SummaryRow) -> String| Column::new(head, Align::Left, rows.iter().map(cell));
    // The best or worst point needs no remark that it is a corner.
    let extreme = |row: &SummaryRow| row.which.last().map_or(String::new(), |extreme| extreme.name().to_owned());
    let mut columns = vec![
        column("", extreme),
        column("", SummaryRow::short_place),
        column("median (95 % CI)", SummaryRow::narrow_rate),
    ];
    columns.extend(conditional_columns(rows));
    columns
}

/// Removes conditional columns until the others fit; the fraction of the limit last.
fn fitting_columns(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    while columns.len() > 3 && needed_width(&columns) > width {
        columns.remove((columns.len() - 2).max(3));
    }
    columns
}

/// The fraction of the limit is wrapped if it is last.
fn needed_width(columns: &[Column]) -> usize {
    let last = columns.len() - 1;
    let widths = columns.iter().enumerate().map(|(index, column)| match column.head {
        BOUND if index == last => column.width().min(MIN_WRAPPED_WIDTH),
        _ => column.width(),
    });
    INDENT + widths.sum::<usize>() + 2 * last
}
