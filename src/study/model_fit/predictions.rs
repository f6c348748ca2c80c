//! Figures of predictions alone: a model with the numbers of a card, without a measurement.

use super::figures::{ascending, axis, rate_quantity, slice_label};
use super::{place, value_text};
use apexmap_base::error::{Error, Result};
use apexmap_base::reservation;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Grid, Series, View};
use apexmap_theory::models::Model;
use apexmap_theory::models::scan::{Numbers, ScanPoint};
use ndarray::Array2;

apexmap_base::words! {
    pub enum PredictedKind {
        Surface = "surface",
        Contour = "contour",
        /// Lines with bands over one variable, one for each combination of the others.
        Curves = "curves",
    }
}

/// Title and subtitle state that the rates are not measured, and their limits.
pub fn figure(
    model: &dyn Model,
    (machine, numbers): (&str, &Numbers),
    rows: &[ScanPoint],
    kind: PredictedKind,
) -> Result<Figure> {
    let about = model.about();
    let values = |index: usize| ascending(rows.iter().map(|row| row.x[index]));
    let variables = (0..about.variables.len()).map(|index| (index, values(index)));
    let (varied, fixed): (Vec<_>, Vec<_>) = variables.partition(|(_, values)| values.len() > 1);
    let is_number = |index: usize| about.variables[index].words.is_empty();
    let fixed: Vec<usize> = fixed
        .into_iter()
        .filter(|(index, values)| about.variables[*index].default != values.first().copied())
        .map(|(index, _)| index)
        .collect();
    let fixed_text = rows.first().map_or(String::new(), |row| place(model, &row.x, &fixed));
    let comma = if fixed_text.is_empty() { "" } else { "; " };
    let title = format!("{}: predicted, not measured", about.id);
    let counts = reservation::count(rows.iter().map(|row| &row.reservations[..]));
    let mut limits = reservation::clauses(&counts, rows.len(), "point");
    let is_banded = kind == PredictedKind::Curves && rows.iter().any(|row| row.band.is_some());
    limits.extend(is_banded.then(|| format!("bands: {}", numbers.band_basis())));
    let limits = if limits.is_empty() { String::new() } else { format!("\n{}", limits.join("; ")) };
    let subtitle = format!("PREDICTED with the card of {machine}{comma}{fixed_text}{limits}");
    // The variable with the most values is x; among equals it is the last, as L after alpha.
    let along =
        varied.iter().filter(|(index, _)| is_number(*index)).max_by_key(|(index, values)| (values.len(), *index));
    let names: Vec<&str> = varied.iter().map(|(index, _)| about.variables[*index].name).collect();
    let Some(x) = along else { return Err(no_range(model, "curves need a range of a number", &names)) };
    let rates: Vec<f64> = rows.iter().map(|row| row.prediction.value).collect();
    if kind == PredictedKind::Curves {
        let others: Vec<usize> = varied.iter().map(|(index, _)| *index).filter(|index| *index != x.0).collect();
        let series = curves(model, rows, x.0, &others);
        let y = rate_quantity(model, &rates);
        return Ok(Figure::Curves(Curves::new(title, subtitle, axis(model, x).quantity, y, series)));
    }
    let [a, b] = varied.as_slice() else {
        return Err(no_range(model, "a surface or contours need ranges of two variables", &names));
    };
    let y = if a.0 == x.0 { b } else { a };
    if !is_number(y.0) {
        return Err(no_range(model, "a surface or contours need ranges of two numeric variables", &names));
    }
    let position =
        |(index, values): &(usize, Vec<f64>), row: &ScanPoint| values.partition_point(|v| *v < row.x[*index]);
    let mut cells = Array2::from_elem((y.1.len(), x.1.len()), f64::NAN);
    rows.iter().for_each(|row| cells[(position(y, row), position(x, row))] = row.prediction.value);
    let (x, y) = (axis(model, x), axis(model, y));
    let grid = Grid { title, subtitle, x, y, z: rate_quantity(model, &rates), values: cells, failed: Vec::new() };
    Ok(match kind {
        PredictedKind::Contour => Figure::Contour(grid),
        _ => {
            let view = View::of_grid(&grid);
            Figure::Surface(grid, view)
        }
    })
}

fn no_range(model: &dyn Model, requirement: &str, varied: &[&str]) -> Error {
    let varied_text = if varied.is_empty() { "none varies".to_owned() } else { format!("{} vary", varied.join(", ")) };
    let names: Vec<&str> = model.about().variables.iter().map(|variable| variable.name).collect();
    let next =
        "give ranges such as --set L=1..4096 or --set alpha=0.01,0.1,1 (--ranks for P), and one value of all others";
    Error::input(format!("{requirement}; here {varied_text}"), format!("{next}; variables are {}", names.join(", ")))
}

/// One curve for each combination of the other variables, in the order of the rows, and another one for its extrapolated part.
fn curves(model: &dyn Model, rows: &[ScanPoint], x: usize, others: &[usize]) -> Vec<Series> {
    let mut curves: Vec<((Vec<f64>, bool), Series)> = Vec::new();
    for row in rows {
        let values: Vec<f64> = others.iter().map(|&index| row.x[index]).collect();
        let key = (values, !row.extrapolations.is_empty());
        let (low, high) = row.band.unwrap_or((f64::NAN, f64::NAN));
        let point = CurvePoint { x: row.x[x], y: row.prediction.value, low, high };
        match curves.iter_mut().find(|(other, _)| *other == key) {
            Some((_, series)) => series.points.push(point),
            None => {
                let label = match others {
                    [] => "predicted".to_owned(),
                    [index] if !model.about().variables[*index].words.is_empty() => value_text(model, *index, key.0[0]),
                    _ => slice_label(model, others, &key.0),
                };
                let label = if key.1 { format!("{label}, extrapolated") } else { label };
                curves.push((key, Series { label, points: vec![point] }));
            }
        }
    }
    let sort_points = |mut series: Series| {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        series
    };
    curves.into_iter().map(|(_, series)| sort_points(series)).collect()
}
