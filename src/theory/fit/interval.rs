//! How sure the parameters are: variance of the residuals, covariance, profile-likelihood intervals.
//!
//! A model misses a point by the same factor in all launches, so that launches of a point are no independent witnesses of the
//! parameters: points are. The covariance is the sandwich A^-1 B A^-1 over design points as clusters, where A sums the products
//! of the gradients of all observations. B holds the variance of the points' mean residuals, pooled over points as in least
//! squares, with as many degrees of freedom as there are points more than parameters. (One variance a point, as of Eicker,
//! Huber and White, with the corrections CR2 and CR3, covers in 98 to 99 and 91 to 93 % where few points tell a parameter.)

use super::bits;
use super::optimum::{Optimum, minimise};
use super::task::Task;
use crate::statistics::distributions::t_quantile;
use nalgebra::{DMatrix, RowDVector};
use std::collections::HashMap;

/// Variance of a residual as it enters the parameters' variance: Huber's K^2 [sum psi^2 / (n - p)] / [mean psi']^2
/// (Huber, Robust Statistics, 1981, Section 7.6); without outliers the usual sum of squares / (n - p). Of points that were
/// measured several times, n - p is to n as it is of points.
pub fn variance(task: &Task, optimum: &Optimum) -> f64 {
    let squares: f64 = optimum.residuals.iter().map(|r| r.abs().min(optimum.limit).powi(2)).sum();
    of_mean_square(squares / optimum.residuals.len() as f64, task, optimum)
}

/// With the corrections for the parameters and for what lies beyond the limit.
fn of_mean_square(square: f64, task: &Task, optimum: &Optimum) -> f64 {
    let parameters = task.free.len() as f64;
    let freedom = task.freedom().max(1) as f64;
    let (points, inside) = (freedom + parameters, inside(optimum));
    let correction = 1.0 + parameters / points * (1.0 - inside) / inside;
    correction * correction * square * points / freedom / (inside * inside)
}

/// The share of residuals that count in full: mean psi'.
pub fn inside(optimum: &Optimum) -> f64 {
    let inside = optimum.residuals.iter().filter(|r| r.abs() <= optimum.limit).count();
    inside as f64 / optimum.residuals.len() as f64
}

/// A design point: how often it was measured, the mean of its residuals within the limit, the gradient there.
struct DesignPoint {
    launches: f64,
    residual: f64,
    gradient: RowDVector<f64>,
}

fn design_points(task: &Task, optimum: &Optimum) -> Vec<DesignPoint> {
    let jacobian = task.jacobian(&optimum.theta);
    let mut places = HashMap::new();
    let mut points: Vec<DesignPoint> = Vec::new();
    for (row, observation) in task.data.iter().enumerate() {
        let at = *places.entry(bits(&observation.x)).or_insert(points.len());
        if at == points.len() {
            points.push(DesignPoint { launches: 0.0, residual: 0.0, gradient: jacobian.row(row).into_owned() });
        }
        points[at].launches += 1.0;
        points[at].residual += optimum.residuals[row].clamp(-optimum.limit, optimum.limit);
    }
    points.iter_mut().for_each(|point| point.residual /= point.launches);
    points
}

/// Variance of a point's mean residual, as [`variance`].
fn between(points: &[DesignPoint], task: &Task, optimum: &Optimum) -> f64 {
    let squares: f64 = points.iter().map(|point| point.residual.powi(2)).sum();
    of_mean_square(squares / points.len() as f64, task, optimum)
}

/// Covariance of the parameters' logarithms; `None` if the data leave a direction open.
pub fn covariance(task: &Task, optimum: &Optimum) -> Option<DMatrix<f64>> {
    Some(both(task, optimum)?.0)
}

/// The covariance, and A^-1: what it would be if all residuals were independent and of variance 1.
fn both(task: &Task, optimum: &Optimum) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
    let points = design_points(task, optimum);
    let sum = |weight: &dyn Fn(&DesignPoint) -> f64| {
        let zero = DMatrix::zeros(task.free.len(), task.free.len());
        points.iter().fold(zero, |sum, point| sum + point.gradient.transpose() * &point.gradient * weight(point))
    };
    let inverse = sum(&|point| point.launches).try_inverse()?;
    let middle = sum(&|point| point.launches.powi(2)) * between(&points, task, optimum);
    let covariance = &inverse * middle * &inverse;
    let known = |matrix: &DMatrix<f64>| matrix.diagonal().iter().all(|v| v.is_finite() && *v >= 0.0);
    (known(&covariance) && known(&inverse)).then_some((covariance, inverse))
}

/// The same fit without the parameters that are at their lower bound: the data do without them, and a logarithm that runs away
/// has no variance.
pub fn within_bounds<'a>(task: &Task<'a>, optimum: &Optimum) -> (Task<'a>, Optimum) {
    let (mut used, mut at_used) = (task.clone(), optimum.clone());
    used.base = task.parameters(&optimum.theta);
    let inside = |at: &usize| optimum.theta[*at] > task.bounds(*at).0 + 1e-3;
    let kept: Vec<usize> = (0..task.free.len()).filter(inside).collect();
    used.free = kept.iter().map(|&at| task.free[at]).collect();
    at_used.theta = kept.iter().map(|&at| optimum.theta[at]).collect();
    (used, at_used)
}

/// How much the loss grows, in its own unit, where a parameter moves by one standard deviation: for tests of several at once.
pub fn unit(task: &Task, optimum: &Optimum) -> f64 {
    let points = design_points(task, optimum);
    let launches: f64 = points.iter().map(|point| point.launches.powi(2)).sum::<f64>() / task.data.len() as f64;
    launches * between(&points, task, optimum) * inside(optimum)
}

/// The profile-likelihood interval of a free parameter: where the loss, all others refitted, is as far above its minimum as t
/// standard deviations take it. An end beyond the parameter's bounds is that bound.
pub fn profile(task: &Task, optimum: &Optimum, at: usize) -> (f64, f64) {
    let t = t_quantile(task.freedom());
    let (deviation, unit) = match both(task, optimum) {
        // The loss of an M-estimator is worth mean psi' of a least-squares one.
        Some((covariance, inverse)) if inverse[(at, at)] > 0.0 => {
            (covariance[(at, at)].sqrt(), covariance[(at, at)] / inverse[(at, at)] * inside(optimum))
        }
        _ => (1.0, unit(task, optimum)),
    };
    let (least, most) = task.bounds(at);
    let end = |direction: f64| {
        let mut rest = task.clone();
        let index = rest.free.remove(at);
        let mut theta = optimum.theta.clone();
        theta.remove(at);
        // Signed root of the excess loss in standard deviations, less t: nearly straight, and 0 at the end sought.
        let mut excess = |value: f64| {
            rest.base[index] = value.exp();
            // The optimum is near the last one; but a parameter at its bound, which tells nothing there, must find its way back.
            let mut starts = vec![theta.clone()];
            if theta.iter().enumerate().any(|(at, value)| *value <= rest.bounds(at).0) {
                starts.extend(rest.positive_least_squares());
            }
            let Some(found) = minimise(&rest, &starts, Some(optimum.scale)) else { return f64::INFINITY };
            theta = found.theta;
            ((found.deviance - optimum.deviance).max(0.0) / unit).sqrt() - t
        };
        cross(optimum.theta[at], direction, t, t * deviation, if direction < 0.0 { least } else { most }, &mut excess)
    };
    (end(-1.0).exp(), end(1.0).exp())
}

/// Where `excess`, which is -t at `centre`, crosses 0 in a direction: by regula falsi (Illinois), to a hundredth of a
/// standard deviation. `bound` if it does not before.
fn cross(centre: f64, direction: f64, t: f64, step: f64, bound: f64, excess: &mut impl FnMut(f64) -> f64) -> f64 {
    let (mut inner, mut outer) = ((centre, -t), centre);
    let mut step = step.clamp(1e-9, 2.0);
    let mut beyond = loop {
        outer = if (bound - outer) * direction <= step { bound } else { outer + direction * step };
        let value = excess(outer);
        if value >= 0.0 {
            break value;
        }
        if outer == bound {
            return bound;
        }
        inner = (outer, value);
        step *= 2.0;
    };
    for _ in 0..40 {
        if (outer - inner.0).abs() < 1e-6 || beyond.abs() < 0.01 {
            break;
        }
        let share = if beyond.is_finite() { inner.1 / (inner.1 - beyond) } else { 0.5 };
        let middle = inner.0 + share.clamp(0.01, 0.99) * (outer - inner.0);
        let value = excess(middle);
        if value.abs() < 0.01 {
            return middle;
        }
        if value >= 0.0 {
            (outer, beyond) = (middle, value);
            inner.1 *= 0.5;
        } else {
            inner = (middle, value);
            beyond *= 0.5;
        }
    }
    outer
}
