//! The distribution of samples: the share of samples at or below each value, with one curve for each value of a column.

use apexmap_base::error::{Error, Result};
use apexmap_base::units::Unit;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;

/// Draws the distribution of `column` over these samples, with one curve per value of `by`.
///
/// # Errors
/// Fails if a column is missing or no sample has a value.
pub fn distribution(samples: &Samples, by: &str, column: &str) -> Result<Figure> {
    let mut series = Vec::new();
    for cell in samples.cells(&[by])? {
        let mut values = cell.samples.numbers(column);
        values.sort_by(f64::total_cmp);
        let share = |index: usize| (index + 1) as f64 / values.len() as f64;
        // These points have no interval.
        let point = |(index, &x): (usize, &f64)| CurvePoint { x, y: share(index), low: f64::NAN, high: f64::NAN };
        let points: Vec<CurvePoint> = values.iter().enumerate().map(point).collect();
        if !points.is_empty() {
            series.push(Series { label: columns::label(by, &cell.by[0]), points });
        }
    }
    if series.is_empty() {
        return Err(Error::input(format!("no good sample has {column}"), "widen --where"));
    }
    let shown = columns::describe(column);
    Ok(Figure::Curves(Curves {
        title: format!("Distribution of samples: {}", shown.label),
        subtitle: format!("{} samples", series.iter().map(|curve| curve.points.len()).sum::<usize>()),
        x: Quantity { label: shown.label, unit: shown.unit, log: true },
        y: Quantity { label: "share of the samples at or below".into(), unit: Unit::None, log: false },
        series,
        marks: Vec::new(),
        ordered: false,
    }))
}
