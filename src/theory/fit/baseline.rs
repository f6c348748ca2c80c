//! Empirical baseline: interpolation between neighbours. An analytic model that is not better than the baseline explains nothing.

use super::quality::{LinesLeftOut, leave_out_parts, lines, smape};
use super::{Observation, bits, subsample};
use serde::Serialize;
use std::collections::HashMap;

/// The error of interpolation between neighbours at points that it does not use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baseline {
    /// SMAPE of each point as predicted from all others, from 0 to 2: mean of 2 |y - f| / (y + f).
    pub left_out: f64,
    /// The same error with all points of a value left out together, for each variable with at least three values.
    pub lines_left_out: Vec<LinesLeftOut>,
}

/// The launches of a point: its variables, its rates, and the mean of their logarithms.
struct PointRates<'a> {
    x: &'a [f64],
    rates: Vec<f64>,
    log: f64,
}

const MIN_POINTS: usize = 4;

/// Above this number of points, an evenly spread subset is used, in which neighbours remain close.
const MAX_POINTS: usize = 1000;

/// Returns the error of interpolation; `None` for fewer than four distinct points.
pub fn interpolate(data: &[Observation]) -> Option<Baseline> {
    let kept = subsample::choose(data, MAX_POINTS).unwrap_or_else(|| vec![true; data.len()]);
    let points = group_by_point(data.iter().zip(kept).filter(|(_, kept)| *kept).map(|(observation, _)| observation));
    if points.len() < MIN_POINTS {
        return None;
    }
    let places: Vec<&[f64]> = points.iter().map(|point| point.x).collect();
    Some(Baseline {
        left_out: error(&points, &leave_out_parts(points.len())),
        lines_left_out: lines(&places)
            .into_iter()
            .map(|(variable, parts)| LinesLeftOut { variable, smape: error(&points, &parts) })
            .collect(),
    })
}

fn group_by_point<'a>(data: impl Iterator<Item = &'a Observation>) -> Vec<PointRates<'a>> {
    let mut places = HashMap::new();
    let mut points: Vec<PointRates> = Vec::new();
    for observation in data {
        let index = *places.entry(bits(&observation.x)).or_insert(points.len());
        if index == points.len() {
            points.push(PointRates { x: &observation.x, rates: Vec::new(), log: 0.0 });
        }
        points[index].rates.push(observation.y);
    }
    for point in &mut points {
        point.log = point.rates.iter().map(|rate| rate.ln()).sum::<f64>() / point.rates.len() as f64;
    }
    points
}

/// Returns the SMAPE of parts predicted from all other points. A prediction that is not finite has the largest error.
fn error(points: &[PointRates], parts: &[Vec<usize>]) -> f64 {
    let mut pairs = Vec::new();
    for part in parts {
        let rest: Vec<&PointRates> =
            (0..points.len()).filter(|index| !part.contains(index)).map(|index| &points[index]).collect();
        for point in part.iter().map(|&index| &points[index]) {
            let predicted = predict(&rest, point.x);
            let predicted = if predicted.is_finite() { predicted } else { 0.0 };
            pairs.extend(point.rates.iter().map(|rate| (*rate, predicted)));
        }
    }
    smape(pairs.into_iter())
}

/// Returns the rate at `x`: the mean, in logarithms, of one line per variable through the nearest points below and above with
/// the same other variables. Outside of all points, the lines through the nearest two are extrapolated. Without lines, it is
/// the rate of the nearest point.
fn predict(points: &[&PointRates], x: &[f64]) -> f64 {
    let axes = varied_axes(points);
    let (mut inside, mut beyond) = (Vec::new(), Vec::new());
    for &axis in &axes {
        // A variable that is constant among the points may still differ at `x`.
        let across =
            points.iter().filter(|point| (0..x.len()).all(|other| other == axis.0 || point.x[other] == x[other]));
        let position = coordinate(x, axis);
        let mut line: Vec<(f64, f64)> = across.map(|point| (coordinate(point.x, axis) - position, point.log)).collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        let above = line.partition_point(|(distance, _)| *distance < 0.0);
        match (line.len(), above) {
            (0 | 1, _) => {}
            (_, 0) => beyond.push(intercept(line[0], line[1])),
            (count, above) if above == count => beyond.push(intercept(line[count - 1], line[count - 2])),
            _ => inside.push(intercept(line[above - 1], line[above])),
        }
    }
    let lines = if inside.is_empty() { beyond } else { inside };
    let log = match lines.len() {
        0 => nearest(points, x, &axes),
        count => lines.iter().sum::<f64>() / count as f64,
    };
    log.exp()
}

/// Returns the value at 0 of the line through two points.
fn intercept((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    y0 - x0 * (y1 - y0) / (x1 - x0)
}

fn nearest(points: &[&PointRates], x: &[f64], axes: &[(usize, bool)]) -> f64 {
    let distance = |point: &PointRates| {
        axes.iter().map(|&axis| (coordinate(point.x, axis) - coordinate(x, axis)).powi(2)).sum::<f64>()
    };
    let closest = points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.map_or(f64::NAN, |point| point.log)
}

/// Returns the variables that differ among points, and whether all of their values have logarithms.
fn varied_axes(points: &[&PointRates]) -> Vec<(usize, bool)> {
    let Some(first) = points.first() else { return Vec::new() };
    let differs = |variable: &usize| points.iter().any(|point| point.x[*variable] != first.x[*variable]);
    (0..first.x.len())
        .filter(differs)
        .map(|variable| (variable, points.iter().all(|point| point.x[variable] > 0.0)))
        .collect()
}

fn coordinate(x: &[f64], (variable, logarithmic): (usize, bool)) -> f64 {
    if logarithmic { x[variable].max(f64::MIN_POSITIVE).ln() } else { x[variable] }
}
