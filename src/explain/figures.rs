//! Pictures of a fit: measured and predicted over one variable, and the residual map over two.

use super::varied;
use crate::figure::{Axis, CurvePoint, Curves, Figure, Grid, Quantity, Series};
use crate::fit::{Fit, Point};
use crate::models::Model;
use crate::numerics::statistics::median;
use crate::units::{self, Unit};
use ndarray::Array2;

/// Curves told apart in one picture at most.
const MOST_CURVES: usize = 3;

/// The figures of a fit by their names: `curves` over the variable with the most values, for up to three values of the next, and
/// `residuals` over both, if two vary and no more.
pub fn of(model: &dyn Model, fit: &Fit, subtitle: &str) -> Vec<(&'static str, Figure)> {
    let mut variables: Vec<(usize, Vec<f64>)> = varied(fit).into_iter().map(|at| (at, values(fit, at))).collect();
    variables.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let Some((x, _)) = variables.first() else { return Vec::new() };
    let mut figures = Vec::new();
    match variables.as_slice() {
        [_] => figures.push(("curves", Figure::Curves(curves(model, fit, subtitle, *x, None)))),
        [_, (by, of)] => {
            figures.push(("curves", Figure::Curves(curves(model, fit, subtitle, *x, Some((*by, spread(of)))))));
            figures.push(("residuals", Figure::Ratio(residuals(model, fit, subtitle, *x, *by))));
        }
        // Over three variables a picture would mix points.
        _ => {}
    }
    figures
}

/// The values of a variable, ascending.
fn values(fit: &Fit, at: usize) -> Vec<f64> {
    let mut values: Vec<f64> = fit.points.iter().map(|point| point.x[at]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// First, middle and last.
fn spread(values: &[f64]) -> Vec<f64> {
    match values.len() {
        0..=MOST_CURVES => values.to_vec(),
        n => vec![values[0], values[n / 2], values[n - 1]],
    }
}

fn quantity(label: String, unit: Unit, values: &[f64]) -> Quantity {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    Quantity { label, unit, log: low > 0.0 && high / low >= 8.0 }
}

fn axis_of(model: &dyn Model, at: usize, values: &[f64]) -> Quantity {
    let variable = &model.about().variables[at];
    let clause = variable.meaning.split([':', ',', ';']).next().unwrap_or_default();
    quantity(format!("{} ({clause})", variable.name), variable.unit, values)
}

/// The median of the launches at each value of x, measured, and the prediction with its band.
fn curves(model: &dyn Model, fit: &Fit, subtitle: &str, x: usize, by: Option<(usize, Vec<f64>)>) -> Curves {
    let about = model.about();
    // One group, or one for each value of the second variable.
    let groups: Vec<Option<(usize, f64)>> = match by {
        None => vec![None],
        Some((by, values)) => values.into_iter().map(|value| Some((by, value))).collect(),
    };
    let mut series = Vec::new();
    for group in groups {
        let label = group
            .map_or(String::new(), |(by, value)| format!(", {} = {}", about.variables[by].name, units::exact(value)));
        let belongs = |point: &&Point| group.is_none_or(|(by, value)| point.x[by] == value);
        let members: Vec<&Point> = fit.points.iter().filter(belongs).collect();
        let mut places: Vec<f64> = members.iter().map(|point| point.x[x]).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let here = |place: f64| members.iter().filter(move |point| point.x[x] == place);
        let measured = |place: f64| {
            let all: Vec<f64> = here(place).map(|point| point.measured).collect();
            CurvePoint { x: place, y: median(&all).unwrap_or(f64::NAN), low: f64::NAN, high: f64::NAN }
        };
        let predicted = |place: f64| {
            let point = here(place).next().expect("a point at each place");
            CurvePoint { x: place, y: point.predicted, low: point.low, high: point.high }
        };
        let points = places.iter().map(|&place| measured(place)).collect();
        series.push(Series { label: format!("measured{label}"), points });
        let points = places.iter().map(|&place| predicted(place)).collect();
        series.push(Series { label: format!("model{label}"), points });
    }
    let rates: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.y).collect();
    Curves {
        title: format!("{}: model and measurement", about.id),
        subtitle: subtitle.to_owned(),
        x: axis_of(model, x, &values(fit, x)),
        y: quantity(crate::store::columns::describe(about.column).label, about.unit, &rates),
        series,
        marks: Vec::new(),
    }
}

/// Measured by predicted, the median over launches.
fn residuals(model: &dyn Model, fit: &Fit, subtitle: &str, x: usize, y: usize) -> Grid {
    let (across, up) = (values(fit, x), values(fit, y));
    let ratio = |(row, column): (usize, usize)| {
        let here = fit.points.iter().filter(|point| point.x[x] == across[column] && point.x[y] == up[row]);
        let ratios: Vec<f64> = here.map(|point| point.measured / point.predicted).collect();
        median(&ratios).unwrap_or(f64::NAN)
    };
    let values = Array2::from_shape_fn((up.len(), across.len()), ratio);
    Grid {
        title: format!("{}: measured by predicted", model.about().id),
        subtitle: subtitle.to_owned(),
        x: Axis { quantity: axis_of(model, x, &across), values: across },
        y: Axis { quantity: axis_of(model, y, &up), values: up },
        z: Quantity { label: "measured by predicted".into(), unit: Unit::None, log: true },
        values,
        failed: Vec::new(),
    }
}
