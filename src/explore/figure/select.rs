//! From a store's samples to what a figure shows.

use super::{Axis, Classes, CurvePoint, Curves, Figure, Grid, Quantity, Series, View};
use crate::error::{Error, Result};
use crate::explore::bounds;
use crate::explore::condition::Condition;
use crate::explore::store::Table;
use crate::explore::store::bound_columns;
use crate::explore::store::cells::{Cell, cells, compare};
use crate::explore::store::columns;
use crate::point::Value;
use crate::units::{self, Unit};
use ndarray::Array2;

/// The kinds of figures, by the names that `apexmap plot` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Surface,
    Contour,
    Heat,
    Curves,
    /// Which limit is the bottleneck, with the fraction of it that was reached.
    Bottleneck,
}

impl Kind {
    pub const ALL: [(&'static str, Kind); 5] = [
        ("surface", Kind::Surface),
        ("contour", Kind::Contour),
        ("heat", Kind::Heat),
        ("curves", Kind::Curves),
        ("bottleneck", Kind::Bottleneck),
    ];
}

/// What to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub kind: Kind,
    pub title: String,
    /// Columns. The first of `by` is the second axis of a grid; all of them tell curves apart.
    pub x: String,
    pub by: Vec<String>,
    /// The quantity shown.
    pub z: String,
}

/// Rows of the current plan that meet a condition over columns and the papers' parameter names.
pub fn rows(table: &Table, condition: Option<&Condition>) -> Vec<usize> {
    let mut rows = all_rows(table, condition);
    if let Some(stale) = table.column("stale") {
        rows.retain(|&row| stale.number(row) == 0.0);
    }
    rows
}

/// As [`rows`], with those of other plans.
pub fn all_rows(table: &Table, condition: Option<&Condition>) -> Vec<usize> {
    let meets = |row: &usize| {
        condition
            .is_none_or(|condition| condition.holds(&|name| table.value(columns::resolve(name), *row)).unwrap_or(false))
    };
    (0..table.rows).filter(meets).collect()
}

/// The figure of a request over these rows.
///
/// # Errors
/// If a column is missing, nothing is left to draw, or a cell would mix samples of different points.
pub fn figure(table: &Table, rows: &[usize], request: &Request) -> Result<Figure> {
    let by: Vec<&str> = std::iter::once(&request.x).chain(&request.by).map(String::as_str).collect();
    if request.kind != Kind::Curves && by.len() != 2 {
        return Err(Error::input("a grid needs two axes", "name the second, and only that, with --y"));
    }
    if request.kind == Kind::Bottleneck && table.column(bound_columns::BOUND_BY).is_none() {
        return Err(Error::input(
            "the result knows no bounds",
            "give it the card of its machine: apexmap calibrate; apexmap report RESULT --card results/calibrate/card.toml",
        ));
    }
    table.require_numbers(&request.z)?;
    let found = cells(table, rows, &by, &request.z)?;
    if found.iter().all(|cell| cell.summary.is_none()) {
        return Err(Error::input(
            format!("there is nothing to draw: no sample has {}, {} and a good status", by.join(", "), request.z),
            "widen --where, or see `apexmap status` for points that failed",
        ));
    }
    refuse_mixtures(table, &found, &by)?;
    let subtitle = subtitle(table, rows, &found);
    Ok(match request.kind {
        Kind::Curves => Figure::Curves(curves(request, subtitle, &found)),
        Kind::Surface => Figure::Surface(grid(request, subtitle, &found)?, View::default()),
        Kind::Bottleneck => Figure::Classes(binding(table, grid(request, subtitle, &found)?, &found)),
        Kind::Contour => Figure::Contour(grid(request, subtitle, &found)?),
        Kind::Heat => Figure::Heat(grid(request, subtitle, &found)?),
    })
}

/// A surface or curves of a rate with its bounds, where the result knows them: the same figure otherwise.
pub fn with_bounds(table: &Table, rows: &[usize], request: &Request, drawn: Figure) -> Result<Figure> {
    let Some(column) = bound_columns::bound_of(&request.z).filter(|column| table.column(column).is_some()) else {
        return Ok(drawn);
    };
    let by: Vec<&str> = std::iter::once(&request.x).chain(&request.by).map(String::as_str).collect();
    let found = cells(table, rows, &by, column)?;
    if found.iter().all(|cell| cell.summary.is_none()) {
        return Ok(drawn);
    }
    Ok(match drawn {
        Figure::Surface(measured, view) => {
            let bounds = grid(request, String::new(), &found)?.values;
            if bounds.dim() == measured.values.dim() {
                return Ok(Figure::Layers(measured, bounds, view));
            }
            Figure::Surface(measured, view)
        }
        Figure::Curves(mut all) if all.series.len() <= MOST_BOUNDED => {
            let bounds = curves(request, String::new(), &found).series;
            let bound_of = |series: &Series| {
                let known = bounds.iter().find(|bound| bound.label == series.label);
                let points = known.map(|bound| bound.points.clone()).unwrap_or_default();
                let plain = |point: CurvePoint| CurvePoint { low: f64::NAN, high: f64::NAN, ..point };
                let label = format!("{} limit", series.label).trim().to_owned();
                Series { label, points: points.into_iter().map(plain).collect() }
            };
            all.series = all.series.into_iter().flat_map(|series| [series.clone(), bound_of(&series)]).collect();
            Figure::Model(all)
        }
        other => other,
    })
}

/// Curves that can be told apart with a bound each.
const MOST_BOUNDED: usize = 7;

/// The limit that binds most samples of each cell.
fn binding(table: &Table, grid: Grid, found: &[Cell]) -> Classes {
    let mut classes = Array2::from_elem(grid.values.dim(), None);
    for cell in found {
        let at = |axis: &[f64], by: usize| axis.iter().position(|&v| cell.by[by].as_f64() == Some(v));
        let (Some(column), Some(row)) = (at(&grid.x.values, 0), at(&grid.y.values, 1)) else { continue };
        let count =
            |name: &str| cell.rows.iter().filter(|&&row| table.word(bound_columns::BOUND_BY, row) == name).count();
        let most = bounds::NAMES.iter().enumerate().max_by_key(|(_, name)| count(name));
        classes[(row, column)] = most.filter(|(_, name)| count(name) > 0).map(|(class, _)| class);
    }
    Classes { grid, classes, names: bounds::NAMES.map(str::to_owned).to_vec() }
}

/// A cell must hold samples of one point only.
fn refuse_mixtures(table: &Table, found: &[Cell], by: &[&str]) -> Result<()> {
    let Some(mixed) = found.iter().find_map(|cell| columns::mixed(table, &cell.rows, by)) else { return Ok(()) };
    Err(Error::input(
        format!("one cell of the figure would mix points with {} = {}", mixed.name, mixed.values),
        format!("choose one with --where '{}'", mixed.choice),
    ))
}

fn quantity(column: &str, values: impl Iterator<Item = f64>) -> Quantity {
    let described = columns::describe(column);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    values.filter(|v| !v.is_nan()).for_each(|v| (low, high) = (low.min(v), high.max(v)));
    // Powers of two and decades: log steps show them evenly.
    Quantity { label: described.label, unit: described.unit, log: low > 0.0 && high / low >= 8.0 }
}

fn ascending(cells: &[Cell], by: usize) -> Result<Vec<f64>> {
    let number = |cell: &Cell| {
        cell.by[by].as_f64().ok_or_else(|| {
            Error::input(format!("\"{}\" is a word: an axis needs numbers", cell.by[by]), "use it in --where instead")
        })
    };
    let mut values: Vec<f64> = cells.iter().map(number).collect::<Result<_>>()?;
    values.sort_by(f64::total_cmp);
    values.dedup();
    Ok(values)
}

fn grid(request: &Request, subtitle: String, found: &[Cell]) -> Result<Grid> {
    let (x, y) = (ascending(found, 0)?, ascending(found, 1)?);
    let mut values = Array2::from_elem((y.len(), x.len()), f64::NAN);
    let mut failed = Vec::new();
    for cell in found {
        let at = |axis: &[f64], by: usize| axis.iter().position(|&v| cell.by[by].as_f64() == Some(v));
        let (Some(column), Some(row)) = (at(&x, 0), at(&y, 1)) else { continue };
        match cell.summary {
            Some(summary) => values[(row, column)] = summary.median,
            None => failed.push((row, column)),
        }
    }
    let z = quantity(&request.z, values.iter().copied());
    let axis = |column: &str, values: Vec<f64>| Axis { quantity: quantity(column, values.iter().copied()), values };
    Ok(Grid {
        title: request.title.clone(),
        subtitle,
        x: axis(&request.x, x),
        y: axis(&request.by[0], y),
        z,
        values,
        failed,
    })
}

fn curves(request: &Request, subtitle: String, found: &[Cell]) -> Curves {
    let mut series: Vec<(&[Value], Series)> = Vec::new();
    // Cells come in the order of x first; curves in the order of what tells them apart.
    let mut ordered: Vec<&Cell> = found.iter().collect();
    ordered.sort_by(|a, b| compare(&a.by[1..], &b.by[1..]));
    for cell in ordered {
        let Some(x) = cell.by[0].as_f64() else { continue };
        let name = &cell.by[1..];
        if series.last().is_none_or(|(known, _)| *known != name) {
            // Several words need no names to be told apart, which the legend has no room for.
            let text = |(column, value): (&String, &Value)| match value {
                Value::Text(word) if name.len() > 1 => word.clone(),
                value => label(column, value),
            };
            let labels: Vec<String> = request.by.iter().zip(name).map(text).collect();
            series.push((name, Series { label: labels.join(", "), points: Vec::new() }));
        }
        let (low, high) = cell.summary.and_then(|s| s.interval).unwrap_or((f64::NAN, f64::NAN));
        let y = cell.summary.map_or(f64::NAN, |s| s.median);
        if let Some((_, series)) = series.last_mut() {
            series.points.push(CurvePoint { x, y, low, high });
        }
    }
    let y = found.iter().filter_map(|cell| cell.summary).map(|summary| summary.median);
    Curves {
        title: request.title.clone(),
        subtitle,
        x: quantity(&request.x, found.iter().filter_map(|cell| cell.by[0].as_f64())),
        y: quantity(&request.z, y),
        series: series.into_iter().map(|(_, series)| series).collect(),
        marks: Vec::new(),
    }
}

/// `alpha = 0.1`, `L = 4096`, `M = 64 Mwords`.
pub fn label(column: &str, value: &Value) -> String {
    let text = match value {
        Value::Integer(v) if columns::describe(column).unit == Unit::Words => words(*v),
        Value::Integer(v) => v.to_string(),
        Value::Real(v) => units::significant(*v),
        // The name of a kernel says that it is one.
        Value::Text(v) if column == "kernel" => return v.clone(),
        Value::Text(v) => v.clone(),
    };
    format!("{} = {text}", columns::short(column))
}

/// Words as the papers count them; short blocks stay plain numbers.
fn words(count: u64) -> String {
    let scale = [(30, "Gwords"), (20, "Mwords")]
        .into_iter()
        .find(|(bits, _)| count >> bits > 0 && count.is_multiple_of(1 << bits));
    scale.map_or(count.to_string(), |(bits, name)| format!("{} {name}", count >> bits))
}

/// What the samples have in common, and how many there are of each point.
fn subtitle(table: &Table, rows: &[usize], found: &[Cell]) -> String {
    let same = |name: &str| {
        let first = *rows.first()?;
        let column = table.column(name)?;
        columns::constant(column, rows).then(|| table.value(name, first)).flatten()
    };
    let mut parts = Vec::new();
    parts.extend(same("host").map(|host| host.to_string()));
    parts.extend(same("cpu_model").map(|model| model.to_string()));
    parts.extend(same("kernel").map(|kernel| kernel.to_string()));
    parts.extend(same("ranks").map(|ranks| format!("P = {ranks}")));
    parts.extend(same("transport").map(|transport| transport.to_string()));
    parts.extend(
        same("memory_words").and_then(|v| v.as_f64()).map(|words| format!("M = {}", units::bytes(words * 8.0))),
    );
    parts.extend(same("page_bytes").and_then(|v| v.as_f64()).map(|bytes| format!("{} pages", units::bytes(bytes))));
    let counts = || found.iter().filter_map(|cell| cell.summary).map(|summary| summary.n);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    parts.push(if least == most { format!("n = {least}") } else { format!("n = {least} to {most}") });
    if table.numbers("oversubscribed", rows).iter().any(|&is| is > 0.0) {
        parts.push("OVERSUBSCRIBED: more ranks than cores".into());
    }
    parts.join(", ")
}
