//! The summary at the end of a run and in a report: the corners of every group's surface, its best and its worst point, as rows and as a table.

use super::prelude::*;
use super::share;
use crate::html::{block_length, corner_places};
use apexmap_base::distinct::distinct;
use apexmap_base::point::Value;
use apexmap_base::provenance::PlainNode;
use apexmap_base::text_table::{Align, MIN_WRAPPED_WIDTH, TextTable};
use apexmap_results::samples::estimate::unknown_interval_basis;
use apexmap_results::samples::plain_names::plain_limit;
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE};
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::statistics::Summary;
use serde_json::json;

#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    pub group: String,
    pub plain_name: String,
    pub first: bool,
    /// Empty for the only point of a group.
    pub which: Vec<Extreme>,
    pub place: Vec<(String, Value)>,
    pub unit: Unit,
    pub rate: Summary,
    pub health: Option<Health>,
    pub bytes_per_second: Option<f64>,
    /// Fraction of the bound, and the bottleneck.
    pub share: Option<(Summary, String)>,
    /// `None` for kernels without rules.
    pub conformance: Option<Conformance>,
}

apexmap_base::words! {
    pub enum Extreme {
        Corner = "corner",
        Worst = "worst",
        Best = "best",
    }
}

/// With the rules of RandomAccess's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conformance {
    Conformant,
    /// As far as they are known.
    Broken(Vec<String>),
}

impl SummaryRow {
    pub fn page_row(&self) -> serde_json::Value {
        json!({
            "group": self.technical_name(),
            "plain_name": self.plain_name,
            "first": self.first,
            "which": self.extremes(),
            "place": self.place(),
            "median": self.median(),
            "interval": self.interval(),
            "quietness": self.quietness(),
            "limit": self.limit(),
            "conformant": self.conformant(),
            "samples": self.rate.n,
        })
    }

    pub fn technical_name(&self) -> String {
        let plain: Vec<&str> = self.plain_name.split(", ").collect();
        self.group.split(", ").filter(|part| !plain.contains(part)).collect::<Vec<_>>().join(", ")
    }

    pub fn extremes(&self) -> String {
        self.which.iter().map(|extreme| extreme.name()).collect::<Vec<_>>().join(", ")
    }

    pub fn place(&self) -> String {
        let part = |(column, value): &(String, Value)| match value.as_f64() {
            Some(words) if column == BLOCK => format!("L = {}", block_length(words)),
            _ => columns::label(column, value),
        };
        self.place.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    pub fn short_place(&self) -> String {
        let part = |(column, value): &(String, Value)| {
            format!("{} {}", columns::short(column), columns::value_name(column, value))
        };
        self.place.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    pub fn is_at(&self, alpha: f64, block: f64) -> bool {
        matches!(self.place.as_slice(), [(_, a), (_, l)] if a.as_f64() == Some(alpha) && l.as_f64() == Some(block))
    }

    pub fn median(&self) -> String {
        units::quantity(self.rate.median, self.unit)
    }

    /// Empty with too few samples.
    pub fn interval(&self) -> String {
        match unknown_interval_basis(&self.rate) {
            Some(over) => format!("not known: {over}"),
            None => self.rate.interval.map(|ends| units::interval(ends, self.unit)).unwrap_or_default(),
        }
    }

    pub fn wide_rate(&self) -> String {
        match self.interval() {
            interval if interval.is_empty() => self.median(),
            interval => format!("{} ({interval})", self.median()),
        }
    }

    pub fn narrow_rate(&self) -> String {
        match (unknown_interval_basis(&self.rate), self.rate.interval) {
            (None, Some(ends)) => units::quantity_with_interval(self.rate.median, ends, self.unit),
            _ => self.wide_rate(),
        }
    }

    pub fn quietness(&self) -> String {
        self.health.as_ref().map_or(String::new(), Health::brief)
    }

    pub fn aggregate(&self) -> String {
        self.bytes_per_second.map(|rate| units::quantity(rate, Unit::BytesPerSecond)).unwrap_or_default()
    }

    pub fn limit(&self) -> String {
        let [percent, limit] = self.limit_lines();
        if percent.is_empty() { percent } else { format!("{percent}, {limit}") }
    }

    pub fn limit_lines(&self) -> [String; 2] {
        self.share.as_ref().map_or_else(Default::default, |(share, bound_by)| limit_lines(share, bound_by.clone()))
    }

    pub fn plain_limit(&self) -> String {
        let lines = |(share, bound_by): &(Summary, String)| limit_lines(share, plain_limit(bound_by)).join(", ");
        self.share.as_ref().map(lines).unwrap_or_default()
    }

    pub fn is_marked(&self) -> bool {
        self.share.as_ref().is_some_and(|(share, _)| share.median > 1.0 && !share::is_above(share))
    }

    /// `yes`, or `no` with the broken rules
    pub fn conformant(&self) -> String {
        match &self.conformance {
            None => String::new(),
            Some(Conformance::Conformant) => "yes".into(),
            Some(Conformance::Broken(rules)) if rules.is_empty() => "no".into(),
            Some(Conformance::Broken(rules)) => format!("no: {}", rules.join("; ")),
        }
    }
}

/// The corners of a surface, from the least locality to the most, between the worst and the best point.
pub fn rows(group: &SampleGroup, node: &PlainNode) -> Result<Vec<SummaryRow>> {
    let mut points = group.cells_by_median(group.headline)?;
    if group.samples.describe(group.headline).unit == Unit::Seconds {
        // The best time is the shortest.
        points.reverse();
    }
    let Some(last) = points.len().checked_sub(1) else { return Ok(Vec::new()) };
    let corners = if group.is_surface() { corners(group, &points) } else { Vec::new() };
    let worst = [0].into_iter().filter(|worst| !corners.contains(worst));
    let picks = distinct(worst.chain(corners.iter().copied()).chain([last]));
    let extremes_of = |index: usize| {
        let kinds =
            [(corners.contains(&index), Extreme::Corner), (index == 0, Extreme::Worst), (index == last, Extreme::Best)];
        kinds.into_iter().filter(|(is, _)| *is && last > 0).map(|(_, extreme)| extreme).collect()
    };
    let plain_name = group.plain_label(node);
    let rows = picks.iter().map(|&index| SummaryRow {
        plain_name: plain_name.clone(),
        first: index == picks[0],
        which: extremes_of(index),
        ..row(group, &points[index])
    });
    Ok(rows.collect())
}

/// Alpha descending, then L ascending.
fn corners(group: &SampleGroup, points: &[(Cell, Summary)]) -> Vec<usize> {
    let Some(places) = corner_places(&group.alphas, &group.blocks) else { return Vec::new() };
    let mut places = places.map(|(_, alpha, block)| [alpha, block]);
    places.sort_by(|a, b| b[0].total_cmp(&a[0]).then(a[1].total_cmp(&b[1])));
    let is_at = |cell: &Cell, place: [f64; 2]| cell.by.iter().map(|value| value.as_f64()).eq(place.map(Some));
    places.into_iter().filter_map(|place| points.iter().position(|(cell, _)| is_at(cell, place))).collect()
}

fn row(group: &SampleGroup, (cell, summary): &(Cell, Summary)) -> SummaryRow {
    let share = cell.summary(SHARE);
    SummaryRow {
        group: group.label(),
        plain_name: String::new(),
        first: false,
        which: Vec::new(),
        place: group.axes.iter().cloned().zip(cell.by.iter().cloned()).collect(),
        unit: group.samples.describe(group.headline).unit,
        rate: *summary,
        health: Health::from_judged(&cell.samples),
        bytes_per_second: cell.samples.median("bytes_per_second"),
        share: share.map(|share| (share, cell.samples.first_word(BOUND_BY).to_owned())),
        conformance: conformance(&cell.samples),
    }
}

/// Marks a fraction above 100 % that may be below.
pub const INTERVAL_NOTE: &str = "* The interval includes 100 %.";

/// A fraction above the limit is marked.
fn limit_lines(share: &Summary, bound_by: String) -> [String; 2] {
    let percent = format!("{:.0} %", 100.0 * share.median);
    match (share::is_above(share), share.median > 1.0) {
        (true, _) => [percent, "above the limit: card is wrong".into()],
        (false, true) => [percent + "*", bound_by],
        (false, false) => [percent, bound_by],
    }
}

fn conformance(samples: &Samples) -> Option<Conformance> {
    let kept: Vec<f64> = samples.numbers("conformant").into_iter().filter(|kept| !kept.is_nan()).collect();
    if kept.is_empty() {
        return None;
    }
    if kept.iter().all(|&kept| kept == 1.0) {
        return Some(Conformance::Conformant);
    }
    let broken = samples.values("rules_broken").into_iter().map(|rules| rules.to_string());
    Some(Conformance::Broken(broken.filter(|rules| rules != "none").collect()))
}

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
pub fn text(rows: &[SummaryRow], more_groups: usize, width: Option<usize>) -> String {
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
    let groups = more_groups + rest.iter().filter(|row| row.first).count();
    if groups > 0 {
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
    ];
    let total = column("total", Align::Right, SummaryRow::aggregate);
    columns.extend(Some(total).filter(|_| rows.iter().any(|row| row.aggregate() != row.median())));
    columns.extend(conditional_columns(rows));
    columns.push(column("n", Align::Right, |row| row.rate.n.to_string()));
    columns
}

/// Only some results have conformance, quietness and, last, the fraction of the limit.
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
