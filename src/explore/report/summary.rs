//! The table that ends a run and opens a report: worst, median and best cell of every group.

use crate::error::Result;
use crate::explore::store::cells::Cell;
use crate::explore::store::columns;
use crate::explore::store::derive::{BOUND_BY, SHARE};
use crate::explore::store::groups::SampleGroup;
use crate::measure::numerics::statistics::Summary;
use crate::text_table::{Align, TextTable};
use crate::units::{self, Unit};
use serde::Serialize;

/// A cell for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub group: String,
    /// `worst`, `median` or `best`.
    pub which: &'static str,
    pub place: String,
    /// The kernel's headline: median and, if there are samples enough, its 95 % interval.
    pub rate: String,
    /// Bandwidth of all ranks.
    pub aggregate: String,
    pub cycles: String,
    /// Fraction of the bound, and the bottleneck; empty where no bound is known.
    pub limit: String,
    pub samples: usize,
}

/// Three rows a group; groups without a good sample have none.
pub fn rows(group: &SampleGroup) -> Result<Vec<Row>> {
    let found = group.ranked(group.headline)?;
    let Some(last) = found.len().checked_sub(1) else { return Ok(Vec::new()) };
    let picks = [("worst", 0), ("median", last / 2), ("best", last)];
    Ok(picks.iter().map(|&(which, at)| row(group, which, &found[at])).collect())
}

fn row(group: &SampleGroup, which: &'static str, (cell, summary): &(Cell, Summary)) -> Row {
    let of = |column: &str| cell.samples.median(column);
    let unit = columns::describe(group.headline).unit;
    let rate = |value: f64| units::quantity(value, unit);
    let interval =
        summary.interval.map(|(low, high)| format!(" ({} to {})", rate(low), rate(high))).unwrap_or_default();
    Row {
        group: group.label(),
        which,
        place: group.place(cell),
        rate: format!("{}{interval}", rate(summary.median)),
        aggregate: of("bytes_per_second").map(|v| units::quantity(v, Unit::BytesPerSecond)).unwrap_or_default(),
        cycles: of("cycles_per_operation").map(units::significant).unwrap_or_default(),
        limit: of(SHARE)
            .map(|share| format!("{:.0} %, {}", 100.0 * share, cell.samples.first_word(BOUND_BY)))
            .unwrap_or_default(),
        samples: summary.n,
    }
}

/// Groups that a terminal shows.
const TERMINAL_GROUPS: usize = 6;

/// The rows of the first groups as text, columns aligned.
pub fn text(rows: &[Row]) -> String {
    let (rows, rest) = rows.split_at(rows.len().min(3 * TERMINAL_GROUPS));
    // Without a machine card no limit is known.
    let limited = rows.iter().any(|row| !row.limit.is_empty());
    let mut aligned = vec![Align::Left; 4];
    aligned.extend([Align::Right; 2]);
    aligned.extend(limited.then_some(Align::Left));
    aligned.push(Align::Right);
    let mut table = TextTable::new(aligned);
    let mut head = vec!["", "", "configuration", "median (95 % CI)", "total", "cycles/op"];
    head.extend(limited.then_some("% of limit"));
    head.push("n");
    table.row(head);
    for row in rows {
        let group = if row.which == "worst" { row.group.as_str() } else { "" };
        let mut cells = vec![group, row.which, &row.place, &row.rate, &row.aggregate, &row.cycles];
        cells.extend(limited.then_some(row.limit.as_str()));
        let samples = row.samples.to_string();
        cells.push(&samples);
        table.row(cells);
    }
    let mut text = table.to_string();
    if !rest.is_empty() {
        text.push_str(&format!("{} more groups are in the report\n", rest.len() / 3));
    }
    text
}
