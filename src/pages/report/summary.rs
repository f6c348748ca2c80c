//! The summary table at the end of a run and in a report: the corners of every group's surface, its best and its worst point.

use super::share;
use apexmap_base::error::Result;
use apexmap_base::provenance::PlainNode;
use apexmap_base::text_table::{Align, MIN_WRAPPED_WIDTH, TextTable};
use apexmap_base::units::{self, Unit};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::samples::estimate::unknown_interval_basis;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::samples::health::Health;
use apexmap_results::samples::plain_names::plain_limit;
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE};
use apexmap_results::table::disturbance_columns::QUIETNESS;
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::statistics::Summary;
use serde::Serialize;

/// A point as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryRow {
    pub group: String,
    /// Name of the group in plain words.
    pub plain_name: String,
    /// Whether it is the first row of its group.
    pub first: bool,
    /// `corner`, `best`, `worst`, or two of them.
    pub which: String,
    pub place: String,
    /// Values of the axes: alpha and L of a surface.
    #[serde(skip)]
    pub at: Vec<Option<f64>>,
    /// The median of the kernel's headline.
    pub median: String,
    /// 95 % interval; empty with too few samples.
    pub interval: String,
    /// Verdict about the samples, with the number of disturbed ones; empty if the run has no verdict.
    pub quietness: String,
    /// Bandwidth of all ranks.
    pub aggregate: String,
    pub cycles: String,
    /// Fraction of the bound, and the bottleneck; empty without a bound.
    pub limit: String,
    /// The same in plain words.
    pub plain_limit: String,
    /// RandomAccess: whether the runs followed all rules of the definition, and the broken rules. Empty for other kernels.
    pub conformant: String,
    pub samples: usize,
}

/// Returns the four corners of a surface, from the least locality to the most, with the worst point before and the best point
/// after them. Empty for a group without a good sample.
pub fn rows(group: &SampleGroup, node: &PlainNode) -> Result<Vec<SummaryRow>> {
    let mut points = group.cells_by_median(group.headline)?;
    if group.samples.describe(group.headline).unit == Unit::Seconds {
        // The best time is the shortest.
        points.reverse();
    }
    let Some(last) = points.len().checked_sub(1) else { return Ok(Vec::new()) };
    let corners = if group.is_surface() { corners(group, &points) } else { Vec::new() };
    let mut picks = corners.clone();
    if !picks.contains(&0) {
        picks.insert(0, 0);
    }
    if !picks.contains(&last) {
        picks.push(last);
    }
    let kind_of = |index: usize| {
        if last == 0 {
            return String::new();
        }
        let words = [(corners.contains(&index), "corner"), (index == 0, "worst"), (index == last, "best")];
        words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
    };
    let plain_name = group.plain_label(node);
    let rows = picks.iter().map(|&index| SummaryRow {
        plain_name: plain_name.clone(),
        ..row(group, index == picks[0], kind_of(index), &points[index])
    });
    Ok(rows.collect())
}

/// Returns the indices of the corner points: alpha descending, then L ascending.
fn corners(group: &SampleGroup, points: &[(Cell, Summary)]) -> Vec<usize> {
    let ends = |values: &[f64]| [values.first().copied(), values.last().copied()].map(Option::unwrap_or_default);
    let ([least, most], [short, long]) = (ends(&group.alphas), ends(&group.blocks));
    let position = |alpha: f64, block: f64| {
        points.iter().position(|(cell, _)| {
            let values: Vec<Option<f64>> = cell.by.iter().map(|value| value.as_f64()).collect();
            values == [Some(alpha), Some(block)]
        })
    };
    [(most, short), (most, long), (least, short), (least, long)]
        .into_iter()
        .filter_map(|(a, l)| position(a, l))
        .collect()
}

fn row(group: &SampleGroup, first: bool, kind: String, (cell, summary): &(Cell, Summary)) -> SummaryRow {
    let median_of = |column: &str| cell.samples.median(column);
    let unit = group.samples.describe(group.headline).unit;
    let rate = |value: f64| units::quantity(value, unit);
    let share = cell.summary(SHARE);
    let bound_by = cell.samples.first_word(BOUND_BY);
    SummaryRow {
        group: group.label(),
        plain_name: String::new(),
        first,
        which: kind,
        place: group.place(cell),
        at: cell.by.iter().map(|value| value.as_f64()).collect(),
        median: rate(summary.median),
        interval: match unknown_interval_basis(summary) {
            Some(over) => format!("not known: {over}"),
            None => summary.interval.map(|ends| units::interval(ends, unit)).unwrap_or_default(),
        },
        quietness: if cell.samples.has(QUIETNESS) {
            Health::from_samples(&cell.samples).brief()
        } else {
            String::new()
        },
        aggregate: median_of("bytes_per_second").map(|v| units::quantity(v, Unit::BytesPerSecond)).unwrap_or_default(),
        cycles: median_of("cycles_per_operation").map(units::short_number).unwrap_or_default(),
        limit: share.map(|share| limit(&share, bound_by)).unwrap_or_default(),
        plain_limit: share.map(|share| limit(&share, &plain_limit(bound_by))).unwrap_or_default(),
        conformant: conformant(&cell.samples),
        samples: summary.n,
    }
}

/// Returns `84 %, memory`. A fraction above the limit is marked.
fn limit(share: &Summary, bound_by: &str) -> String {
    let percent = format!("{:.0} %", 100.0 * share.median);
    match (share::is_above(share), share.median > 1.0) {
        (true, _) => format!("{percent}, above the limit: card is wrong"),
        (false, true) => format!("{percent}, {bound_by} (interval includes 100 %)"),
        (false, false) => format!("{percent}, {bound_by}"),
    }
}

/// Returns `yes`, or `no` with the rules that the runs broke.
fn conformant(samples: &Samples) -> String {
    let kept: Vec<f64> = samples.numbers("conformant").into_iter().filter(|kept| !kept.is_nan()).collect();
    if kept.is_empty() {
        return String::new();
    }
    if kept.iter().all(|&kept| kept == 1.0) {
        return "yes".into();
    }
    let broken = samples.values("rules_broken").into_iter().map(|rules| rules.to_string());
    match broken.filter(|rules| rules != "none").collect::<Vec<_>>() {
        rules if rules.is_empty() => "no".into(),
        rules => format!("no: {}", rules.join("; ")),
    }
}

/// Maximum number of groups on a terminal.
const MAX_TERMINAL_GROUPS: usize = 6;
/// Terminals narrower than this show only the most important columns, with short cells.
const WIDE_TERMINAL: usize = 110;
/// Spaces before each row, below the name of its group.
const INDENT: usize = 2;

/// A column of the table on a terminal.
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

/// Formats the rows of the first groups as aligned text, below the names of their groups. Lines fit into `width` if the most
/// important columns do.
pub fn text(rows: &[SummaryRow], width: Option<usize>) -> String {
    let firsts = rows.iter().enumerate().filter(|(_, row)| row.first);
    let end = firsts.map(|(index, _)| index).nth(MAX_TERMINAL_GROUPS).unwrap_or(rows.len());
    let (rows, rest) = rows.split_at(end);
    let narrow = width.filter(|&width| width < WIDE_TERMINAL);
    let columns = match narrow {
        Some(width) => fitting_columns(narrow_columns(rows), width),
        None => wide_columns(rows),
    };
    let mut table = TextTable::new(columns.iter().map(|column| column.align)).with_indent(INDENT).with_width(width);
    table.add_row(columns.iter().map(|column| column.head));
    for (index, row) in rows.iter().enumerate() {
        if row.first {
            let full = format!("{} ({})", row.plain_name, row.group);
            let fits = width.is_none_or(|width| full.chars().count() <= width);
            table.add_heading(if fits { &full } else { &row.plain_name });
        }
        table.add_row(columns.iter().map(|column| column.cells[index].as_str()));
    }
    let mut text = table.to_string();
    if !rest.is_empty() {
        let groups = rest.iter().filter(|row| row.first).count();
        text.push_str(&format!("{} in the report\n", units::plural(groups, "more group")));
    }
    text
}

fn wide_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, align, cell: fn(&SummaryRow) -> String| Column::new(head, align, rows.iter().map(cell));
    let rate = |row: &SummaryRow| match row.interval.as_str() {
        "" => row.median.clone(),
        interval => format!("{} ({interval})", row.median),
    };
    let mut columns = vec![
        column("", Align::Left, |row| row.which.clone()),
        column("configuration", Align::Left, |row| row.place.clone()),
        column("median (95 % CI)", Align::Left, rate),
        column("total", Align::Right, |row| row.aggregate.clone()),
        column("cycles/op", Align::Right, |row| row.cycles.clone()),
    ];
    columns.extend(conditional_columns(rows));
    columns.push(column("n", Align::Right, |row| row.samples.to_string()));
    columns
}

/// Returns columns that only some results have: conformance, quietness and, last, the fraction of the limit.
fn conditional_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, cell: fn(&SummaryRow) -> String| Column::new(head, Align::Left, rows.iter().map(cell));
    let ruled = rows.iter().any(|row| !row.conformant.is_empty());
    let noisy = rows.iter().any(|row| !row.quietness.is_empty() && !row.quietness.starts_with(Quietness::Quiet.name()));
    // Limits are known only with a machine card.
    let limited = rows.iter().any(|row| !row.limit.is_empty());
    let mut columns = Vec::new();
    columns.extend(ruled.then(|| column("conformant", |row| row.conformant.clone())));
    columns.extend(noisy.then(|| column("quietness", |row| row.quietness.clone())));
    columns.extend(limited.then(|| column("% of bound", |row| row.plain_limit.clone())));
    columns
}

/// Returns the most important columns, with short cells: `alpha 1, L 64`, `106 GB/s (89.9 to 125)`.
fn narrow_columns(rows: &[SummaryRow]) -> Vec<Column> {
    let column = |head, cell: fn(&SummaryRow) -> String| Column::new(head, Align::Left, rows.iter().map(cell));
    let rate = |row: &SummaryRow| {
        let unit = row.median.split_once(' ').map_or("", |(_, unit)| unit);
        match row.interval.as_str() {
            "" => row.median.clone(),
            interval => format!("{} ({})", row.median, interval.strip_suffix(unit).unwrap_or(interval).trim_end()),
        }
    };
    let mut columns = vec![
        column("", |row| row.which.trim_start_matches("corner, ").to_owned()),
        column("", |row| row.place.replace(" = ", " ")),
        column("median (95 % CI)", rate),
    ];
    columns.extend(conditional_columns(rows));
    columns
}

/// Removes conditional columns until the others fit. The last one, the fraction of the limit, is removed last.
fn fitting_columns(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    let needed = |columns: &[Column]| {
        let last = columns.len() - 1;
        let widths = columns.iter().enumerate().map(|(index, column)| match column.head {
            "% of bound" if index == last => column.width().min(MIN_WRAPPED_WIDTH),
            _ => column.width(),
        });
        INDENT + widths.sum::<usize>() + 2 * last
    };
    while columns.len() > 3 && needed(&columns) > width {
        columns.remove((columns.len() - 2).max(3));
    }
    columns
}
