//! Formats [`QueryGroups`] as a table for people, as CSV and as JSON.

use super::{QueryGroup, QueryGroups};
use crate::export::csv;
use crate::samples::estimate::unknown_interval_basis;
use crate::table::columns;
use apexmap_base::point::Value;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units;
use apexmap_theory::statistics::Basis;
use serde_json::{Map, json};

/// Formats a table for people: short names, units, an interval next to each median.
pub fn text(groups: &QueryGroups) -> String {
    text_within(groups, None)
}

/// Formats like [`text`], but within `width` if possible: broken heads, one unit per interval, words as headings.
pub fn text_within(groups: &QueryGroups, width: Option<usize>) -> String {
    let table = table(groups, false);
    let is_too_wide = |width: usize| table.lines().any(|line| line.chars().count() > width);
    let table = if width.is_some_and(is_too_wide) { self::table(groups, true) } else { table };
    table + &footer(groups)
}

fn table(groups: &QueryGroups, narrow: bool) -> String {
    let word = |index: usize| groups.groups.iter().any(|group| matches!(group.by.get(index), Some(Value::Text(_))));
    // The first column of words, such as the kernels, becomes headings.
    let skipped = usize::from(narrow && word(0));
    let mut head: Vec<String> = groups.by.iter().map(|name| columns::short(name).to_owned()).collect();
    head.push("n".into());
    let failures = groups.groups.iter().any(|group| !group.failures.is_empty());
    head.extend(failures.then(|| "failed".to_owned()));
    for name in &groups.selected {
        head.push(if narrow { broken_at_underscores(name) } else { name.clone() });
        head.push("95 % interval".into());
    }
    let aligned = (skipped..head.len()).map(|index| if word(index) { Align::Left } else { Align::Right });
    let mut table = TextTable::new(aligned).with_indent(2 * skipped);
    table.add_row(head.split_off(skipped));
    let mut last_heading = String::new();
    for group in &groups.groups {
        let mut cells = cells(groups, group, failures, narrow);
        let shown = cells.split_off(skipped);
        if let Some(heading) = cells.pop().filter(|heading| *heading != last_heading) {
            table.add_heading(&heading);
            last_heading = heading;
        }
        table.add_row(shown);
    }
    table.to_string()
}

const MAX_HEAD: usize = 12;

/// Breaks a name into lines that end with underscores, each as long as [`MAX_HEAD`] allows.
fn broken_at_underscores(name: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive('_') {
        match lines.last_mut().filter(|line| line.len() + part.len() <= MAX_HEAD) {
            Some(line) => line.push_str(part),
            None => lines.push(part.to_owned()),
        }
    }
    lines.join("\n")
}

fn footer(groups: &QueryGroups) -> String {
    let has_basis = |basis: Basis| {
        let group_has_basis =
            |group: &QueryGroup| group.summaries.iter().flatten().any(|summary| summary.basis == basis);
        groups.groups.iter().any(group_has_basis)
    };
    let mut text = String::new();
    if let Some(import) = &groups.import {
        text += &format!("\n{}; apexmap did not measure these values.\n", import.replacen("imported", "IMPORTED", 1));
    }
    if has_basis(Basis::Launches) {
        text += "\nSeveral launches: medians are geometric means of the launches' medians; intervals are Student's t over launches.\n";
    }
    if has_basis(Basis::Samples) {
        text +=
            "\nWithin one launch: intervals come from its samples and do not include differences between launches.\n";
    }
    if has_basis(Basis::Card) {
        text +=
            "\nSimulated: intervals are those of the card's numbers, by simulations with numbers drawn from them.\n";
    }
    if has_basis(Basis::Nothing) {
        text += match groups.groups.iter().any(|group| group.samples < 6) {
            true => "\nA 95 % interval of the median needs two launches, or at least six samples within one.\n",
            false => {
                "\nNo interval if launches measured different points, or successive samples are too strongly correlated.\n"
            }
        };
    }
    text
}

fn cells(groups: &QueryGroups, group: &QueryGroup, failures: bool, narrow: bool) -> Vec<String> {
    let mut cells: Vec<String> =
        groups.by.iter().zip(&group.by).map(|(name, value)| named_value(name, value)).collect();
    cells.push(group.samples.to_string());
    cells.extend(failures.then(|| group.failures.len().to_string()));
    for (&unit, summary) in groups.units.iter().zip(&group.summaries) {
        cells.push(summary.map_or("-".into(), |summary| units::amount(summary.median, unit)));
        if let Some(over) = summary.as_ref().and_then(unknown_interval_basis) {
            cells.push(format!("not known ({over})"));
            continue;
        }
        let interval = summary.and_then(|summary| summary.interval);
        cells.push(interval.map_or("-".into(), |(low, high)| match narrow {
            true => units::amount_interval((low, high), unit),
            false => format!("[{}, {}]", units::amount(low, unit), units::amount(high, unit)),
        }));
    }
    cells
}

fn named_value(column: &str, value: &Value) -> String {
    match value {
        Value::Integer(_) => columns::exact_value(column, value),
        value => format_value(value),
    }
}

/// Formats a value. A word of a file may contain control characters that move a terminal's cursor; these are escaped.
fn format_value(value: &Value) -> String {
    match value {
        Value::Text(word) => {
            word.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
        }
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => units::exact_number(*number),
    }
}

const PARTS: [&str; 8] = ["n", "median", "low", "high", "min", "max", "launches", "basis"];

/// Formats one line per group: the grouping columns, the numbers of good and failed samples, and for each selected column `_n`,
/// `_median`, `_low` and `_high` (95 % interval), `_min`, `_max`, `_launches` and `_basis` of the interval, in base units.
pub fn csv(groups: &QueryGroups) -> String {
    let mut head = groups.by.clone();
    head.extend(["samples".to_owned(), "failed".to_owned()]);
    head.extend(groups.selected.iter().flat_map(|name| PARTS.map(|part| format!("{name}_{part}"))));
    let mut rows = vec![head];
    for group in &groups.groups {
        let word = |value: &Value| match value {
            Value::Text(word) => word.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => format!("{number:?}"),
        };
        let mut cells: Vec<String> = group.by.iter().map(word).collect();
        cells.extend([group.samples.to_string(), group.failures.len().to_string()]);
        for summary in &group.summaries {
            let number = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:?}"));
            cells.push(summary.map_or(0, |summary| summary.n).to_string());
            cells.push(number(summary.map(|summary| summary.median)));
            cells.push(number(summary.and_then(|summary| summary.interval).map(|(low, _)| low)));
            cells.push(number(summary.and_then(|summary| summary.interval).map(|(_, high)| high)));
            cells.push(number(summary.map(|summary| summary.min)));
            cells.push(number(summary.map(|summary| summary.max)));
            cells.push(summary.map_or(0, |summary| summary.launches).to_string());
            cells.push(summary.map_or(Basis::Nothing, |summary| summary.basis).name().to_owned());
        }
        rows.push(cells);
    }
    csv::text(rows)
}

/// Returns an array of objects with `by`, `samples`, `failures`, and a summary or `null` of each selected column in base units.
pub fn json(groups: &QueryGroups) -> serde_json::Value {
    let group_json = |group: &QueryGroup| {
        let by: Map<_, _> = groups.by.iter().zip(&group.by).map(|(name, value)| (name.clone(), json!(value))).collect();
        let summary = |(name, summary): (&String, &Option<_>)| {
            let summary: &Option<apexmap_theory::statistics::Summary> = summary;
            let value = summary.map(|summary| {
                let (low, high) = summary.interval.unzip();
                json!({ "n": summary.n, "median": summary.median, "low": low, "high": high, "min": summary.min,
                    "max": summary.max, "outliers": summary.outliers, "launches": summary.launches,
                    "basis": summary.basis })
            });
            (name.clone(), json!(value))
        };
        let values: Map<_, _> = groups.selected.iter().zip(&group.summaries).map(summary).collect();
        let failures: Vec<&str> = group.failures.iter().map(|status| status.name()).collect();
        json!({ "by": by, "samples": group.samples, "failures": failures, "values": values })
    };
    groups.groups.iter().map(group_json).collect()
}
