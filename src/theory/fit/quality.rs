//! Goodness of fit, for the data of the fit and for held-out data.

use super::optimum::{Optimum, Search, minimise};
use super::task::Task;
use super::{Observation, Point, bits, distinct_points, identify, interval};
use crate::models::RANKS;
use apexmap_measure::numerics::mix::mix;
use serde::Serialize;
use std::collections::HashSet;

/// Goodness of fit. Errors are SMAPE as fractions, not per cent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Number of observations: one for each launch at each point.
    pub observations: usize,
    /// Number of distinct points.
    pub points: usize,
    /// Number of points that were fitted: of a large design, an evenly spread part. The errors include all points.
    pub fitted_points: usize,
    /// Number of distinct launches in the data.
    pub launches: usize,
    /// Symmetric mean absolute percentage error: mean of 2 |y - f| / (y + f).
    pub smape: f64,
    /// Robust standard deviation of ln(measured / predicted).
    pub log_spread: f64,
    /// Geometric standard deviation of measured / predicted. Strohmaier's performance complexity is that of a compact model.
    pub geometric_spread: f64,
    /// SMAPE of each point as predicted by a fit to all other points. Above 100 points, a twentieth is left out together.
    pub left_out: Option<f64>,
    /// SMAPE of all points with one value of a variable, by fits without them, for each variable with at least three values.
    pub lines_left_out: Vec<LinesLeftOut>,
    /// The largest P, and the SMAPE at this P of a fit to all smaller P.
    pub largest_left_out: Option<(f64, f64)>,
    /// Akaike's information criterion, corrected for few data; smaller is better. Absent if there are too few data.
    pub aicc: Option<f64>,
}

/// Error of the points with each value of a variable, predicted from the points with its other values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinesLeftOut {
    pub variable: usize,
    /// SMAPE over all values of the variable, from 0 to 2.
    pub smape: f64,
}

pub fn smape(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let errors: Vec<f64> = pairs.map(|(y, f)| 2.0 * (y - f).abs() / (y.abs() + f.abs())).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// Returns the exponential of the standard deviation (n - 1) of the ratios' logarithms; NaN for fewer than two.
pub fn geometric_spread(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    if logs.len() < 2 { f64::NAN } else { (squares / (logs.len() as f64 - 1.0)).sqrt().exp() }
}

/// Returns n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1). k counts the parameters and the variance. `None` unless n > k + 1.
pub fn aicc(squares: f64, n: usize, k: usize) -> Option<f64> {
    let (rows, parameters) = (n as f64, k as f64);
    (n > k + 1).then(|| {
        rows * (squares / rows).ln()
            + 2.0 * parameters
            + 2.0 * parameters * (parameters + 1.0) / (rows - parameters - 1.0)
    })
}

pub fn assess(task: &Task, optimum: &Optimum, points: &[Point], leave_out: bool) -> Quality {
    let launches: HashSet<u32> = points.iter().map(|point| point.launch).collect();
    let distinct: HashSet<Vec<u64>> = points.iter().map(|point| bits(&point.x)).collect();
    let left_out: Option<Vec<(f64, f64)>> =
        points.iter().map(|point| Some((point.measured, point.left_out?))).collect();
    let squares: f64 = points.iter().map(|point| (point.predicted / point.measured).ln().powi(2)).sum();
    Quality {
        observations: points.len(),
        points: distinct.len(),
        fitted_points: distinct_points(task.data.iter().copied()).len(),
        launches: launches.len(),
        smape: smape(points.iter().map(|point| (point.measured, point.predicted))),
        log_spread: interval::variance(task, optimum).sqrt(),
        geometric_spread: geometric_spread(points.iter().map(|point| point.measured / point.predicted)),
        left_out: left_out.map(|pairs| smape(pairs.into_iter())),
        lines_left_out: if leave_out { lines_left_out(task, optimum) } else { Vec::new() },
        largest_left_out: leave_out.then(|| largest_left_out(task, optimum)).flatten(),
        aicc: aicc(squares, points.len(), optimum.theta.len() + 1),
    }
}

/// Fits the observations that are not `out`; `None` if too few remain.
fn fit_leaving_out<'a>(
    task: &Task<'a>,
    optimum: &Optimum,
    out: impl Fn(&Observation) -> bool,
) -> Option<(Task<'a>, Optimum)> {
    let mut rest = task.clone();
    rest.data.retain(|observation| !out(observation));
    if distinct_points(rest.data.iter().copied()).len() < rest.free.len() {
        return None;
    }
    let refit = minimise(&rest, std::slice::from_ref(&optimum.theta), Search::Refit)?;
    Some((rest, refit))
}

fn predict_pairs(task: &Task, parameters: &[f64], out: impl Fn(&Observation) -> bool) -> Vec<(f64, f64)> {
    let gone = task.data.iter().filter(|observation| out(observation));
    gone.map(|observation| (observation.y, task.model.predict(&observation.x, parameters).value)).collect()
}

/// Returns such pairs, predicted by a fit to all other observations; `None` if too few remain.
fn predict_leaving_out(task: &Task, optimum: &Optimum, out: impl Fn(&Observation) -> bool) -> Option<Vec<(f64, f64)>> {
    let (rest, refit) = fit_leaving_out(task, optimum, &out)?;
    Some(predict_pairs(task, &rest.parameters(&refit.theta), out))
}

/// Each point left out costs a fit. Above this number of points, a twentieth is left out together.
const MAX_SINGLE_LEAVE_OUTS: usize = 100;

/// Returns the groups that are left out together: single points, or parts of which none is a line of the design.
pub fn leave_out_parts(points: usize) -> Vec<Vec<usize>> {
    if points <= MAX_SINGLE_LEAVE_OUTS {
        return (0..points).map(|point| vec![point]).collect();
    }
    let parts = MAX_SINGLE_LEAVE_OUTS / 5;
    let members = |part: usize| (0..points).filter(|&point| mix(point as u64) % parts as u64 == part as u64).collect();
    (0..parts).map(members).collect()
}

/// Returns the prediction of a fit to all other points for each observation; `None` if the others are too few.
pub fn predict_left_out(task: &Task, optimum: &Optimum) -> Option<Vec<f64>> {
    let points = distinct_points(task.data.iter().copied());
    let mut predicted = vec![f64::NAN; task.data.len()];
    for part in leave_out_parts(points.len()) {
        let out: HashSet<Vec<u64>> = part.into_iter().map(|index| bits(points[index])).collect();
        let is_out = |observation: &Observation| out.contains(&bits(&observation.x));
        let values = predict_leaving_out(task, optimum, is_out)?;
        let targets = predicted.iter_mut().zip(&task.data).filter(|(_, observation)| is_out(observation));
        targets.zip(values).for_each(|((predicted, _), (_, value))| *predicted = value);
    }
    Some(predicted)
}

/// Minimum number of values of a variable. Fewer values give no trend from which to predict a missing one.
const MIN_VALUES: usize = 3;

/// Above this number of values, some are left out together.
const MAX_LINES: usize = 20;

/// Returns, for each variable with at least three values, the indices of the points of each value.
pub fn lines(points: &[&[f64]]) -> Vec<(usize, Vec<Vec<usize>>)> {
    let Some(first) = points.first() else { return Vec::new() };
    let variable_lines = |variable: usize| {
        let mut values: Vec<f64> = points.iter().map(|x| x[variable]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let place = |x: &[f64]| values.partition_point(|value| *value < x[variable]) % MAX_LINES;
        let line = |line_index: usize| (0..points.len()).filter(|&point| place(points[point]) == line_index).collect();
        let lines = (0..values.len().min(MAX_LINES)).map(line).collect();
        (values.len() >= MIN_VALUES).then_some((variable, lines))
    };
    (0..first.len()).filter_map(variable_lines).collect()
}

fn lines_left_out(task: &Task, optimum: &Optimum) -> Vec<LinesLeftOut> {
    let points = distinct_points(task.data.iter().copied());
    let line_error = |(variable, parts): (usize, Vec<Vec<usize>>)| {
        // Values that are words have no order.
        if !task.model.about().variables[variable].words.is_empty() {
            return None;
        }
        let mut pairs = Vec::new();
        for part in parts {
            let out: HashSet<Vec<u64>> = part.into_iter().map(|index| bits(points[index])).collect();
            let is_out = |seen: &Observation| out.contains(&bits(&seen.x));
            let (mut rest, refit) = fit_leaving_out(task, optimum, is_out)?;
            // A parameter that the remaining points do not identify would keep its value from the fit to all points.
            let settled = identify::solve_identified(&mut rest, refit).ok()?;
            pairs.extend(predict_pairs(task, &rest.parameters(&settled.theta), is_out));
        }
        Some(LinesLeftOut { variable, smape: smape(pairs.into_iter()) })
    };
    lines(&points).into_iter().filter_map(line_error).collect()
}

fn largest_left_out(task: &Task, optimum: &Optimum) -> Option<(f64, f64)> {
    let variable_index = task.model.about().variable_index(RANKS.name)?;
    let largest = task.data.iter().map(|observation| observation.x[variable_index]).max_by(f64::total_cmp)?;
    if task.data.iter().all(|observation| observation.x[variable_index] == largest) {
        return None;
    }
    let pairs = predict_leaving_out(task, optimum, |observation| observation.x[variable_index] == largest)?;
    Some((largest, smape(pairs.into_iter())))
}
