//! Uncertainty of the parameters: variance of the residuals, covariance, profile-likelihood intervals.
//!
//! A model's error at a point is the same factor in all launches, so points are the independent observations. The covariance
//! is the sandwich A^-1 B A^-1 with points as clusters: A sums the products of all gradients, B holds the variance of the
//! points' mean residuals, pooled as in least squares. (One variance per point, after Eicker, Huber and White, covers 98 to
//! 99 % with correction CR2 and 91 to 93 % with CR3 where few points determine a parameter.)

use super::optimum::{Optimum, Search, minimise};
use super::task::Task;
use super::{Estimate, bits, distinct_points};
use crate::statistics::distributions::t_quantile;
use nalgebra::{DMatrix, RowDVector};
use std::collections::HashMap;

/// Returns the variance of a residual for the parameters' variance: Huber's K^2 [sum psi^2 / (n - p)] / [mean psi']^2 (Huber,
/// Robust Statistics, 1981, Section 7.6). Without outliers this is the usual sum of squares / (n - p). For points with
/// several launches, the ratio of n - p to n is that of the points.
pub fn variance(task: &Task, optimum: &Optimum) -> f64 {
    let squares: f64 = optimum.residuals.iter().map(|r| r.abs().min(optimum.limit).powi(2)).sum();
    corrected_variance(squares / optimum.residuals.len() as f64, task, optimum)
}

/// Applies the corrections for the number of parameters and for residuals beyond the limit.
fn corrected_variance(square: f64, task: &Task, optimum: &Optimum) -> f64 {
    let parameters = task.free.len() as f64;
    let freedom = task.freedom().max(1) as f64;
    let (points, inside) = (freedom + parameters, full_weight_share(optimum));
    let correction = 1.0 + parameters / points * (1.0 - inside) / inside;
    correction * correction * square * points / freedom / (inside * inside)
}

pub fn full_weight_share(optimum: &Optimum) -> f64 {
    let inside = optimum.residuals.iter().filter(|r| r.abs() <= optimum.limit).count();
    inside as f64 / optimum.residuals.len() as f64
}

/// A design point: number of its observations, mean of its residuals within the limit, gradient.
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
        let index = *places.entry(bits(&observation.x)).or_insert(points.len());
        if index == points.len() {
            points.push(DesignPoint { launches: 0.0, residual: 0.0, gradient: jacobian.row(row).into_owned() });
        }
        points[index].launches += 1.0;
        points[index].residual += optimum.residuals[row].clamp(-optimum.limit, optimum.limit);
    }
    points.iter_mut().for_each(|point| point.residual /= point.launches);
    points
}

/// Returns the variance of a point's mean residual, with the corrections of [`variance`].
fn mean_residual_variance(points: &[DesignPoint], task: &Task, optimum: &Optimum) -> f64 {
    let squares: f64 = points.iter().map(|point| point.residual.powi(2)).sum();
    corrected_variance(squares / points.len() as f64, task, optimum)
}

/// Returns the covariance of the parameters' logarithms; `None` if the data leave a direction undetermined.
pub fn covariance(task: &Task, optimum: &Optimum) -> Option<DMatrix<f64>> {
    Some(covariance_and_inverse(task, optimum)?.0)
}

/// Returns the covariance and A^-1, which is the covariance for independent residuals of variance 1.
fn covariance_and_inverse(task: &Task, optimum: &Optimum) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
    let points = design_points(task, optimum);
    let sum = |weight: &dyn Fn(&DesignPoint) -> f64| {
        let zero = DMatrix::zeros(task.free.len(), task.free.len());
        points.iter().fold(zero, |sum, point| sum + point.gradient.transpose() * &point.gradient * weight(point))
    };
    let inverse = sum(&|point| point.launches).try_inverse()?;
    let middle = sum(&|point| point.launches.powi(2)) * mean_residual_variance(&points, task, optimum);
    let covariance = &inverse * middle * &inverse;
    let is_valid = |matrix: &DMatrix<f64>| matrix.diagonal().iter().all(|v| v.is_finite() && *v >= 0.0);
    (is_valid(&covariance) && is_valid(&inverse)).then_some((covariance, inverse))
}

/// Returns the same fit without parameters at their lower bound, whose logarithms have no finite variance.
pub fn drop_bounded_parameters<'a>(task: &Task<'a>, optimum: &Optimum) -> (Task<'a>, Optimum) {
    let (mut used, mut used_optimum) = (task.clone(), optimum.clone());
    used.base = task.parameters(&optimum.theta);
    let inside = |free_index: &usize| optimum.theta[*free_index] > task.bounds(*free_index).0 + 1e-3;
    let kept: Vec<usize> = (0..task.free.len()).filter(inside).collect();
    used.free = kept.iter().map(|&free_index| task.free[free_index]).collect();
    used_optimum.theta = kept.iter().map(|&free_index| optimum.theta[free_index]).collect();
    (used, used_optimum)
}

/// Returns the growth of the loss per standard deviation of a parameter, for tests of several parameters together.
pub fn loss_unit(task: &Task, optimum: &Optimum) -> f64 {
    let points = design_points(task, optimum);
    let launches: f64 = points.iter().map(|point| point.launches.powi(2)).sum::<f64>() / task.data.len() as f64;
    launches * mean_residual_variance(&points, task, optimum) * full_weight_share(optimum)
}

/// Returns the ends of the profile-likelihood intervals: there, with all other parameters refitted, the loss exceeds its
/// minimum by t standard deviations. A bound replaces an end beyond it, and one whose refits did not settle.
pub fn profiles(task: &Task, optimum: &Optimum) -> Vec<(f64, f64)> {
    let covariance = covariance_and_inverse(task, optimum);
    let profile = |free_index: usize| {
        let diagonal = (free_index, free_index);
        let (deviation, unit) = match &covariance {
            // The loss of an M-estimator is mean psi' times that of least squares.
            Some((covariance, inverse)) if inverse[diagonal] > 0.0 => {
                (covariance[diagonal].sqrt(), covariance[diagonal] / inverse[diagonal] * full_weight_share(optimum))
            }
            _ => (1.0, loss_unit(task, optimum)),
        };
        let search = ProfileSearch { task, optimum, free_index, deviation, unit };
        let [low, high] = [-1.0, 1.0].map(|direction| search.end(direction));
        (low.exp(), high.exp())
    };
    (0..task.free.len()).map(profile).collect()
}

/// Search for the ends of the interval of a free parameter.
struct ProfileSearch<'t, 'a> {
    task: &'t Task<'a>,
    optimum: &'t Optimum,
    free_index: usize,
    /// Standard deviation of the parameter's logarithm.
    deviation: f64,
    /// Growth of the loss at one standard deviation.
    unit: f64,
}

impl ProfileSearch<'_, '_> {
    fn end(&self, direction: f64) -> f64 {
        let Self { task, optimum, free_index, deviation, unit } = *self;
        let t = t_quantile(task.freedom());
        let (mut rest, mut theta) = (task.clone(), optimum.theta.clone());
        let index = rest.free.remove(free_index);
        theta.remove(free_index);
        let mut is_settled = true;
        // Signed root of the excess loss in standard deviations, minus t: nearly straight, and 0 at the end of the interval.
        let mut excess = |value: f64| {
            rest.base[index] = value.exp();
            // The new optimum is near the previous one. A parameter at its bound has no gradient there, so a second start is
            // needed to leave the bound.
            let mut starts = vec![theta.clone()];
            if theta.iter().enumerate().any(|(rest_index, value)| *value <= rest.bounds(rest_index).0) {
                starts.extend(rest.positive_least_squares());
            }
            let Some(refit) = minimise(&rest, &starts, Search::Profile(optimum.scale)) else { return f64::INFINITY };
            is_settled &= refit.is_settled;
            theta = refit.theta;
            ((refit.deviance - optimum.deviance).max(0.0) / unit).sqrt() - t
        };
        let (least, most) = task.bounds(free_index);
        let bound = if direction < 0.0 { least } else { most };
        let end = find_crossing(optimum.theta[free_index], direction, t, t * deviation, bound, &mut excess);
        if is_settled { end } else { bound }
    }
}

/// Returns where `excess`, which is -t at `centre`, crosses 0 in a direction (regula falsi, Illinois), or else `bound`.
fn find_crossing(
    centre: f64,
    direction: f64,
    t: f64,
    step: f64,
    bound: f64,
    excess: &mut impl FnMut(f64) -> f64,
) -> f64 {
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
        // No straight line leads to an infinite value, so halve.
        let share = if beyond.is_finite() { inner.1 / (inner.1 - beyond) } else { 0.5 };
        // A point at one of the ends would not narrow the range.
        let middle = inner.0 + share.clamp(0.01, 0.99) * (outer - inner.0);
        let value = excess(middle);
        if value.abs() < 0.01 {
            return middle;
        }
        if value >= 0.0 {
            (outer, beyond) = (middle, value);
            // Illinois: half the weight keeps an end from staying in its place.
            inner.1 *= 0.5;
        } else {
            inner = (middle, value);
            beyond *= 0.5;
        }
    }
    outer
}

/// Widens the intervals to the estimates without the points of each word of a variable, if they differ by more than their
/// noise: kernels that a model explains together may disagree.
pub fn widen(task: &Task, optimum: &Optimum, estimates: &mut [Estimate]) {
    for (variable, _) in task.model.about().variables.iter().enumerate().filter(|(_, v)| !v.words.is_empty()) {
        let mut words: Vec<f64> = task.data.iter().map(|observation| observation.x[variable]).collect();
        words.sort_by(f64::total_cmp);
        words.dedup();
        for word in words {
            for (index, value) in differing_parameters(task, optimum, variable, word) {
                let number = task.model.about().parameters[index].number;
                for estimate in estimates.iter_mut().filter(|estimate| estimate.number == number) {
                    (estimate.low, estimate.high) = (estimate.low.min(value), estimate.high.max(value));
                }
            }
        }
    }
}

/// Returns index and value of the parameters that differ by more than the noise from a fit without the points of a word.
fn differing_parameters(task: &Task, optimum: &Optimum, variable: usize, word: f64) -> Vec<(usize, f64)> {
    let mut rest = task.clone();
    rest.data.retain(|observation| observation.x[variable] != word);
    if rest.data.is_empty() {
        return Vec::new();
    }
    // A parameter that only the left-out points determine keeps its value.
    rest.base = task.parameters(&optimum.theta);
    let slopes = rest.jacobian(&optimum.theta);
    let determined: Vec<usize> = (0..task.free.len()).filter(|&index| slopes.column(index).amax() > 0.0).collect();
    rest.free = determined.iter().map(|&index| task.free[index]).collect();
    let start: Vec<f64> = determined.iter().map(|&index| optimum.theta[index]).collect();
    if distinct_points(rest.data.iter().copied()).len() <= rest.free.len() {
        return Vec::new();
    }
    let Some(refit) = minimise(&rest, std::slice::from_ref(&start), Search::Refit) else { return Vec::new() };
    let Some(spread) = covariance(&rest, &refit) else { return Vec::new() };
    let t = t_quantile(rest.freedom());
    let differs = |index: &usize| (refit.theta[*index] - start[*index]).abs() > t * spread[(*index, *index)].sqrt();
    (0..rest.free.len()).filter(differs).map(|index| (rest.free[index], refit.theta[index].exp())).collect()
}
