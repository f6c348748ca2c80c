//! How well a fit describes its data, and data that it has not seen.

use super::optimum::{Optimum, minimise};
use super::task::Task;
use super::{Observation, Point, bits, different, interval};
use crate::measure::numerics::mix::mix;
use serde::Serialize;
use std::collections::HashSet;

/// Numbers that say how good a fit is. Errors are SMAPE, in shares of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Number of observations: one for each launch at each point.
    pub observations: usize,
    /// Different points.
    pub points: usize,
    /// The points that the numbers were fitted to: of a large design a part, evenly spread. The others count in the errors.
    pub fitted_points: usize,
    /// Number of different launches among them.
    pub launches: usize,
    /// Symmetric mean absolute percentage error: mean of 2 |y - f| / (y + f).
    pub smape: f64,
    /// Standard deviation of ln(measured / predicted), robust.
    pub log_spread: f64,
    /// The SMAPE of each point as predicted by a fit to all others; of more than 100 points a twentieth is left out at once.
    pub left_out: Option<f64>,
    /// The largest P and the SMAPE there of a fit to all smaller ones.
    pub largest_left_out: Option<(f64, f64)>,
    /// Akaike's criterion with the correction for few data; smaller is better, among models of the same data. Absent if there are
    /// too few data for it.
    pub aicc: Option<f64>,
}

/// Mean of 2 |y - f| / (y + f).
pub fn smape(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let errors: Vec<f64> = pairs.map(|(y, f)| 2.0 * (y - f).abs() / (y.abs() + f.abs())).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1), with k parameters, the variance among them; `None` unless n > k + 1.
pub fn aicc(squares: f64, n: usize, k: usize) -> Option<f64> {
    let (rows, parameters) = (n as f64, k as f64);
    (n > k + 1).then(|| {
        rows * (squares / rows).ln()
            + 2.0 * parameters
            + 2.0 * parameters * (parameters + 1.0) / (rows - parameters - 1.0)
    })
}

/// `points` are all that were measured, with their predictions.
pub fn of(task: &Task, optimum: &Optimum, points: &[Point], leave_out: bool) -> Quality {
    let launches: HashSet<u32> = points.iter().map(|point| point.launch).collect();
    let known: HashSet<Vec<u64>> = points.iter().map(|point| bits(&point.x)).collect();
    let left_out: Option<Vec<(f64, f64)>> =
        points.iter().map(|point| Some((point.measured, point.left_out?))).collect();
    let squares: f64 = points.iter().map(|point| (point.predicted / point.measured).ln().powi(2)).sum();
    Quality {
        observations: points.len(),
        points: known.len(),
        fitted_points: different(task.data.iter().copied()).len(),
        launches: launches.len(),
        smape: smape(points.iter().map(|point| (point.measured, point.predicted))),
        log_spread: interval::variance(optimum, optimum.theta.len()).sqrt(),
        left_out: left_out.map(|pairs| smape(pairs.into_iter())),
        largest_left_out: leave_out.then(|| largest_left_out(task, optimum)).flatten(),
        aicc: aicc(squares, points.len(), optimum.theta.len() + 1),
    }
}

/// Pairs of measured and predicted, predicted by a fit to the observations that are kept; `None` if too few are.
fn predicted_without(task: &Task, optimum: &Optimum, out: impl Fn(&Observation) -> bool) -> Option<Vec<(f64, f64)>> {
    let mut rest = task.clone();
    rest.data.retain(|observation| !out(observation));
    if different(rest.data.iter().copied()).len() < rest.free.len() {
        return None;
    }
    let found = minimise(&rest, std::slice::from_ref(&optimum.theta), None)?;
    let parameters = rest.parameters(&found.theta);
    let gone = task.data.iter().filter(|observation| out(observation));
    Some(gone.map(|observation| (observation.y, task.model.predict(&observation.x, &parameters).value)).collect())
}

/// Each leaving out costs a fit: of more points than this, a twentieth is left out at once.
const MOST_LEFT_OUT_SINGLY: usize = 100;

/// Which points are left out together: each alone, or of many a part, drawn so that it is no line of the design.
pub fn parts(points: usize) -> Vec<Vec<usize>> {
    if points <= MOST_LEFT_OUT_SINGLY {
        return (0..points).map(|at| vec![at]).collect();
    }
    let parts = MOST_LEFT_OUT_SINGLY / 5;
    let of = |part: usize| (0..points).filter(|&at| mix(at as u64) % parts as u64 == part as u64).collect();
    (0..parts).map(of).collect()
}

/// What a fit to all other points predicts for each observation; `None` if the others are too few.
pub fn left_out(task: &Task, optimum: &Optimum) -> Option<Vec<f64>> {
    let points = different(task.data.iter().copied());
    let mut predicted = vec![f64::NAN; task.data.len()];
    for part in parts(points.len()) {
        let out: HashSet<Vec<u64>> = part.into_iter().map(|at| bits(points[at])).collect();
        let is_out = |observation: &Observation| out.contains(&bits(&observation.x));
        let values = predicted_without(task, optimum, is_out)?;
        let here = predicted.iter_mut().zip(&task.data).filter(|(_, observation)| is_out(observation));
        here.zip(values).for_each(|((predicted, _), (_, value))| *predicted = value);
    }
    Some(predicted)
}

fn largest_left_out(task: &Task, optimum: &Optimum) -> Option<(f64, f64)> {
    let at = task.model.about().variables.iter().position(|variable| variable.name == "P")?;
    let largest = task.data.iter().map(|observation| observation.x[at]).max_by(f64::total_cmp)?;
    if task.data.iter().all(|observation| observation.x[at] == largest) {
        return None;
    }
    let pairs = predicted_without(task, optimum, |observation| observation.x[at] == largest)?;
    Some((largest, smape(pairs.into_iter())))
}
