//! Empirical baseline: the best of interpolation, polynomial and sum-of-terms fits. An analytic model that is not better than
//! the baseline explains nothing.
//!
//! The curves are interpolation between neighbours, polynomials of all variables in logarithms, and sums of terms of one
//! variable or of two. The best curve is chosen by leaving out some of the points that a prediction is made from. The
//! predicted points have no influence on the choice.

mod linear;
mod neighbours;
mod polynomial;
mod terms;

pub use terms::Term;

use super::quality::{LinesLeftOut, leave_out_parts, lines, smape};
use super::{Observation, bits, subsample};
use apexmap_measure::numerics::mix::mix;
use polynomial::Polynomial;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use terms::Terms;

/// The best curve and its error at points that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baseline {
    /// The curve chosen from all points.
    pub curve: Curve,
    /// SMAPE of each point as predicted from all others, from 0 to 2: mean of 2 |y - f| / (y + f). The curve is chosen again
    /// for each prediction.
    pub left_out: f64,
    /// The same error with all points of one value of a variable left out together, for each variable with at least three
    /// values.
    pub lines_left_out: Vec<LinesLeftOut>,
}

/// A kind of curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Curve {
    /// Straight lines between neighbours, in logarithms.
    Neighbours,
    /// A polynomial of all variables, in logarithms.
    Polynomial {
        /// The largest sum of exponents.
        degree: u32,
    },
    /// Time as a sum of terms.
    Terms {
        /// Time of one unit of work that does not depend on a variable: seconds, for a rate per second.
        constant: f64,
        /// Products of one or two factors, each with its coefficient. No coefficient is negative.
        terms: Vec<(Vec<Term>, f64)>,
    },
}

impl fmt::Display for Curve {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Neighbours => write!(to, "interpolation between neighbours"),
            Self::Polynomial { degree: 1 } => write!(to, "a power law"),
            Self::Polynomial { degree } => write!(to, "a polynomial of degree {degree} in logarithms"),
            Self::Terms { .. } => write!(to, "a sum of terms"),
        }
    }
}

/// Degrees of the polynomials.
const DEGREES: RangeInclusive<u32> = 1..=4;

/// The launches of a point: its variables, its rates per unit of work, and their sums for least squares.
#[derive(Clone, Debug)]
struct PointRates<'a> {
    x: &'a [f64],
    /// Rates per unit of work. The time of a unit of work is the reciprocal.
    rates: Vec<f64>,
    /// Mean of their logarithms.
    log: f64,
    /// The sum of (r t - 1)^2 over the rates r equals (t w - v)^2 plus a part that does not depend on the time t. w is the
    /// root of the sum of r^2; v is the sum of r divided by w.
    weight: f64,
    aim: f64,
}

fn point_rates<'a>(data: &'a [Observation], work: &dyn Fn(&[f64]) -> f64) -> Vec<PointRates<'a>> {
    let mut places = HashMap::new();
    let mut points: Vec<PointRates> = Vec::new();
    for observation in data {
        let index = *places.entry(bits(&observation.x)).or_insert(points.len());
        if index == points.len() {
            points.push(PointRates { x: &observation.x, rates: Vec::new(), log: 0.0, weight: 0.0, aim: 0.0 });
        }
        points[index].rates.push(observation.y / work(&observation.x));
    }
    for point in &mut points {
        point.log = point.rates.iter().map(|rate| rate.ln()).sum::<f64>() / point.rates.len() as f64;
        point.weight = point.rates.iter().map(|rate| rate * rate).sum::<f64>().sqrt();
        point.aim = point.rates.iter().sum::<f64>() / point.weight;
    }
    points
}

/// Number of parts that a choice leaves out in turn. Fewer than points, because each part costs a fit of all curves.
const INNER_PARTS: u64 = 8;

/// Minimum number of points for a choice.
const MIN_POINTS: usize = 4;

/// Above this number of points, an evenly spread subset is used. Neighbours remain close, and a choice takes a second less.
const MAX_POINTS: usize = 1000;

/// Returns the best curve, judged by points that it was not fitted to; `None` for fewer than four distinct points.
///
/// The time is `work(x)` divided by the rate. `work(x)` is the amount of work that the time covers, such as the number of ranks.
pub fn choose(data: &[Observation], work: &dyn Fn(&[f64]) -> f64) -> Option<Baseline> {
    if let Some(kept) = subsample::choose(data, MAX_POINTS) {
        let subset: Vec<Observation> =
            data.iter().zip(kept).filter(|(_, kept)| *kept).map(|(observation, _)| observation.clone()).collect();
        return choose_from(&subset, work);
    }
    choose_from(data, work)
}

fn choose_from(data: &[Observation], work: &dyn Fn(&[f64]) -> f64) -> Option<Baseline> {
    let points = point_rates(data, work);
    if points.len() < MIN_POINTS {
        return None;
    }
    let places: Vec<&[f64]> = points.iter().map(|point| point.x).collect();
    let lines = lines(&places)
        .into_iter()
        .map(|(variable, parts)| LinesLeftOut { variable, smape: nested_error(&points, &parts, Some(variable)) });
    let curve = match select(&points.iter().collect::<Vec<_>>(), None) {
        FittedCurve::Neighbours(_) => Curve::Neighbours,
        FittedCurve::Polynomial(fit) => Curve::Polynomial { degree: fit.degree },
        FittedCurve::Terms(fit) => Curve::Terms { constant: fit.constant(), terms: fit.terms() },
    };
    Some(Baseline {
        curve,
        left_out: nested_error(&points, &leave_out_parts(points.len()), None),
        lines_left_out: lines.collect(),
    })
}

/// Returns the error over all parts, each predicted by the curve that is best for all other points.
fn nested_error(points: &[PointRates], parts: &[Vec<usize>], variable: Option<usize>) -> f64 {
    let references: Vec<&PointRates> = points.iter().collect();
    let pairs = parts.iter().flat_map(|part| {
        let curve = select(&leave_out(&references, part), variable);
        part.iter()
            .flat_map(|&index| rate_pairs(references[index], curve.rate(references[index].x)))
            .collect::<Vec<_>>()
    });
    error(pairs.collect())
}

fn leave_out<'p, 'a>(points: &[&'p PointRates<'a>], part: &[usize]) -> Vec<&'p PointRates<'a>> {
    (0..points.len()).filter(|index| !part.contains(index)).map(|index| points[index]).collect()
}

/// Pairs each rate of a point with a prediction.
fn rate_pairs(point: &PointRates, predicted: f64) -> Vec<(f64, f64)> {
    point.rates.iter().map(|rate| (*rate, predicted)).collect()
}

/// Returns the SMAPE. A prediction that is not finite counts as the largest possible error.
fn error(pairs: Vec<(f64, f64)>) -> f64 {
    smape(pairs.into_iter().map(|(y, f)| if f.is_finite() { (y, f) } else { (y, 0.0) }))
}

/// A fitted curve.
enum FittedCurve<'a> {
    Neighbours(Vec<&'a PointRates<'a>>),
    Polynomial(Polynomial),
    Terms(Terms),
}

impl FittedCurve<'_> {
    /// Returns the rate at `x`, per unit of work.
    fn rate(&self, x: &[f64]) -> f64 {
        match self {
            FittedCurve::Neighbours(points) => neighbours::interpolate(points, x),
            FittedCurve::Polynomial(curve) => curve.rate(x),
            FittedCurve::Terms(curve) => curve.rate(x),
        }
    }
}

/// Returns the curve with the smallest error on points left out: all points of a value of `variable` if it has three values,
/// otherwise drawn parts.
fn select<'a>(points: &[&'a PointRates<'a>], variable: Option<usize>) -> FittedCurve<'a> {
    let places: Vec<&[f64]> = points.iter().map(|point| point.x).collect();
    let line_parts =
        variable.and_then(|variable| lines(&places).into_iter().find(|(line_variable, _)| *line_variable == variable));
    let drawn = || {
        let number = INNER_PARTS.min(points.len() as u64);
        // Drawn, so that no part is a line of the design.
        let members =
            |part: u64| (0..points.len()).filter(|&index| mix(index as u64) % number == part).collect::<Vec<_>>();
        (0..number).map(members).filter(|part| !part.is_empty()).collect()
    };
    let parts: Vec<Vec<usize>> = line_parts.map_or_else(drawn, |(_, parts)| parts);
    let left_out = |fit: &dyn Fn(&[&'a PointRates<'a>]) -> Option<FittedCurve<'a>>| {
        let mut pairs = Vec::new();
        for part in &parts {
            let curve = fit(&leave_out(points, part))?;
            pairs.extend(part.iter().flat_map(|&index| rate_pairs(points[index], curve.rate(points[index].x))));
        }
        Some(error(pairs))
    };
    let neighbours = |points: &[&'a PointRates<'a>]| Some(FittedCurve::Neighbours(points.to_vec()));
    let mut best = (left_out(&neighbours).unwrap_or(f64::INFINITY), FittedCurve::Neighbours(points.to_vec()));
    for degree in DEGREES {
        let polynomial = |points: &[&'a PointRates<'a>]| Polynomial::fit(points, degree).map(FittedCurve::Polynomial);
        if let Some((error, fit)) = left_out(&polynomial).zip(polynomial(points))
            && error < best.0
        {
            best = (error, fit);
        }
    }
    if let Some((fit, error)) = Terms::fit(points, &parts)
        && error < best.0
    {
        best = (error, FittedCurve::Terms(fit));
    }
    best.1
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

/// Returns the coordinate on an axis: the logarithm if the axis is logarithmic.
fn coordinate(x: &[f64], (variable, logarithmic): (usize, bool)) -> f64 {
    if logarithmic { x[variable].max(f64::MIN_POSITIVE).ln() } else { x[variable] }
}
