//! The summary at the end of a run and in a report: the corners of every group's surface, its best and its worst point.

use super::prelude::*;
use super::share;
use crate::html::{block_length, corner_places};
use apexmap_base::point::Value;
use apexmap_base::provenance::PlainNode;
use apexmap_results::samples::estimate::unknown_interval_basis;
use apexmap_results::samples::plain_names::plain_limit;
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE};
use apexmap_theory::statistics::Summary;
use serde_json::json;

#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    pub group: String,
    pub plain_name: String,
    pub first: bool,
    /// Empty for the only point of a group.
    pub which: Vec<Extreme>,
    /// Axes and values.
    pub place: Vec<(String, Value)>,
    pub unit: Unit,
    pub rate: Summary,
    pub health: Option<Health>,
    /// Of all ranks.
    pub bytes_per_second: Option<f64>,
    pub cycles: Option<f64>,
    /// Fraction of the bound, and the bottleneck.
    pub share: Option<(Summary, String)>,
    /// `None` for kernels without rules.
    pub conformance: Option<Conformance>,
}

/// Why a point is in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Corner,
    Worst,
    Best,
}

impl Extreme {
    pub fn name(self) -> &'static str {
        match self {
            Self::Corner => "corner",
            Self::Worst => "worst",
            Self::Best => "best",
        }
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
    /// For the table of a page.
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
            "aggregate": self.aggregate(),
            "cycles": self.cycles(),
            "limit": self.limit(),
            "conformant": self.conformant(),
            "samples": self.rate.n,
        })
    }

    /// Parts that the plain name does not repeat: `apex_map.chains, P = 1`.
    pub fn technical_name(&self) -> String {
        let plain: Vec<&str> = self.plain_name.split(", ").collect();
        self.group.split(", ").filter(|part| !plain.contains(part)).collect::<Vec<_>>().join(", ")
    }

    /// `corner, worst`
    pub fn extremes(&self) -> String {
        self.which.iter().map(|extreme| extreme.name()).collect::<Vec<_>>().join(", ")
    }

    /// `alpha = 0.001, L = 64 words (512 B)`
    pub fn place(&self) -> String {
        let part = |(column, value): &(String, Value)| match value.as_f64() {
            Some(words) if column == BLOCK => format!("L = {}", block_length(words)),
            _ => columns::label(column, value),
        };
        self.place.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// `alpha 0.001, L 64`
    pub fn short_place(&self) -> String {
        let part = |(column, value): &(String, Value)| {
            format!("{} {}", columns::short(column), columns::value_name(column, value))
        };
        self.place.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    pub fn is_at(&self, alpha: f64, block: f64) -> bool {
        matches!(self.place.as_slice(), [(_, a), (_, l)] if a.as_f64() == Some(alpha) && l.as_f64() == Some(block))
    }

    /// `106 GB/s`
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

    /// `106 GB/s (89.9 to 125 GB/s)`
    pub fn wide_rate(&self) -> String {
        match self.interval() {
            interval if interval.is_empty() => self.median(),
            interval => format!("{} ({interval})", self.median()),
        }
    }

    /// `106 GB/s (89.9 to 125)`
    pub fn narrow_rate(&self) -> String {
        match (unknown_interval_basis(&self.rate), self.rate.interval) {
            (None, Some(ends)) => units::quantity_with_interval(self.rate.median, ends, self.unit),
            _ => self.wide_rate(),
        }
    }

    /// `disturbed, 3 of 6`
    pub fn quietness(&self) -> String {
        self.health.as_ref().map_or(String::new(), Health::brief)
    }

    /// Bandwidth of all ranks.
    pub fn aggregate(&self) -> String {
        self.bytes_per_second.map(|rate| units::quantity(rate, Unit::BytesPerSecond)).unwrap_or_default()
    }

    pub fn cycles(&self) -> String {
        self.cycles.map(units::short_number).unwrap_or_default()
    }

    /// `84 %, memory bandwidth`; empty without a bound
    pub fn limit(&self) -> String {
        let [percent, limit] = self.limit_lines();
        if percent.is_empty() { percent } else { format!("{percent}, {limit}") }
    }

    /// `84 %`, `memory bandwidth`
    pub fn limit_lines(&self) -> [String; 2] {
        self.share.as_ref().map_or_else(Default::default, |(share, bound_by)| limit_lines(share, bound_by.clone()))
    }

    /// With the bottleneck in plain words.
    pub fn plain_limit(&self) -> String {
        let lines = |(share, bound_by): &(Summary, String)| limit_lines(share, plain_limit(bound_by)).join(", ");
        self.share.as_ref().map(lines).unwrap_or_default()
    }

    /// The fraction of the bound has the mark that [`INTERVAL_NOTE`] explains.
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
    let mut picks = corners.clone();
    if !picks.contains(&0) {
        picks.insert(0, 0);
    }
    if !picks.contains(&last) {
        picks.push(last);
    }
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
        cycles: cell.samples.median("cycles_per_operation"),
        share: share.map(|share| (share, cell.samples.first_word(BOUND_BY).to_owned())),
        conformance: conformance(&cell.samples),
    }
}

/// Of a fraction above 100 % that may be below.
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
