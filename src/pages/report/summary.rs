//! The summary table at the end of a run and in a report: the corners of every group's surface, its best and its worst point.

use super::share;
use apexmap_base::error::Result;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, Unit};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::samples::estimate::unknown_interval_basis;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::samples::health::Health;
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE, corrected_column};
use apexmap_results::table::disturbance_columns::QUIETNESS;
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::statistics::Summary;
use serde::Serialize;

/// A point as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryRow {
    pub group: String,
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
    /// Median rate as corrected with the canary; empty without a correction.
    pub corrected: String,
    /// Verdict about the samples, with the number of disturbed ones; empty if the run has no verdict.
    pub quietness: String,
    /// Bandwidth of all ranks.
    pub aggregate: String,
    pub cycles: String,
    /// Fraction of the bound, and the bottleneck; empty without a bound.
    pub limit: String,
    /// RandomAccess: whether the runs followed all rules of the definition, and the broken rules. Empty for other kernels.
    pub conformant: String,
    pub samples: usize,
}

/// Returns the four corners of a surface, from the least locality to the most, with the worst point before and the best point
/// after them. Empty for a group without a good sample.
pub fn rows(group: &SampleGroup) -> Result<Vec<SummaryRow>> {
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
    let rows = picks.iter().map(|&index| row(group, index == picks[0], kind_of(index), &points[index]));
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
    SummaryRow {
        group: group.label(),
        first,
        which: kind,
        place: group.place(cell),
        at: cell.by.iter().map(|value| value.as_f64()).collect(),
        median: rate(summary.median),
        interval: match unknown_interval_basis(summary) {
            Some(over) => format!("not known: {over}"),
            None => summary.interval.map(|ends| units::interval(ends, unit)).unwrap_or_default(),
        },
        corrected: median_of(&corrected_column(group.headline)).map(rate).unwrap_or_default(),
        quietness: quietness(&cell.samples),
        aggregate: median_of("bytes_per_second").map(|v| units::quantity(v, Unit::BytesPerSecond)).unwrap_or_default(),
        cycles: median_of("cycles_per_operation").map(units::short_number).unwrap_or_default(),
        limit: cell.summary(SHARE).map(|share| limit(&share, cell.samples.first_word(BOUND_BY))).unwrap_or_default(),
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

/// Returns `quiet` or `disturbed, 3 of 6`.
fn quietness(samples: &Samples) -> String {
    if !samples.has(QUIETNESS) {
        return String::new();
    }
    let health = Health::from_samples(samples);
    match health.disturbed_count() {
        0 => health.verdict().name().into(),
        disturbed => format!("{}, {disturbed} of {}", health.verdict().name(), health.sample_count()),
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

/// Formats the rows of the first groups as aligned text.
pub fn text(rows: &[SummaryRow]) -> String {
    let firsts = rows.iter().enumerate().filter(|(_, row)| row.first);
    let end = firsts.map(|(index, _)| index).nth(MAX_TERMINAL_GROUPS).unwrap_or(rows.len());
    let (rows, rest) = rows.split_at(end);
    // Limits are known only with a machine card.
    let limited = rows.iter().any(|row| !row.limit.is_empty());
    let mut aligned = vec![Align::Left; 4];
    aligned.extend([Align::Right; 2]);
    let ruled = rows.iter().any(|row| !row.conformant.is_empty());
    let noisy = rows.iter().any(|row| !row.quietness.is_empty() && !row.quietness.starts_with(Quietness::Quiet.name()));
    aligned.extend(limited.then_some(Align::Left));
    aligned.extend(ruled.then_some(Align::Left));
    aligned.extend(noisy.then_some(Align::Left));
    aligned.push(Align::Right);
    let mut table = TextTable::new(aligned);
    let mut head = vec!["", "", "configuration", "median (95 % CI)", "total", "cycles/op"];
    head.extend(limited.then_some("% of limit"));
    head.extend(ruled.then_some("conformant"));
    head.extend(noisy.then_some("quietness"));
    head.push("n");
    table.add_row(head);
    for row in rows {
        let group = if row.first { row.group.as_str() } else { "" };
        let rate = match row.interval.as_str() {
            "" => row.median.clone(),
            interval => format!("{} ({interval})", row.median),
        };
        let mut cells = vec![group, &row.which, &row.place, &rate, &row.aggregate, &row.cycles];
        cells.extend(limited.then_some(row.limit.as_str()));
        cells.extend(ruled.then_some(row.conformant.as_str()));
        cells.extend(noisy.then_some(row.quietness.as_str()));
        let samples = row.samples.to_string();
        cells.push(&samples);
        table.add_row(cells);
    }
    let mut text = table.to_string();
    if !rest.is_empty() {
        let groups = rest.iter().filter(|row| row.first).count();
        text.push_str(&format!("{} in the report\n", units::plural(groups, "more group")));
    }
    text
}
