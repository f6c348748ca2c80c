//! Kernels that disagree about a number: the gap per byte of ping-pong may not be that of streaming.
//!
//! Where a model explains several kernels at once, each fits well with a value of its own, and all together with one between them: its
//! interval then has to hold what the others say without the one.

use super::interval::covariance;
use super::optimum::{Optimum, minimise};
use super::task::Task;
use super::{Estimate, different};
use crate::statistics::distributions::t_quantile;

/// Widens the intervals by what the points say without those of each word of a variable, where that is more than their noise.
pub fn widen(task: &Task, optimum: &Optimum, estimates: &mut [Estimate]) {
    for (variable, _) in task.model.about().variables.iter().enumerate().filter(|(_, v)| !v.words.is_empty()) {
        let mut words: Vec<f64> = task.data.iter().map(|observation| observation.x[variable]).collect();
        words.sort_by(f64::total_cmp);
        words.dedup();
        for word in words {
            for (index, value) in without(task, optimum, variable, word) {
                let number = task.model.about().parameters[index].number;
                for estimate in estimates.iter_mut().filter(|estimate| estimate.number == number) {
                    (estimate.low, estimate.high) = (estimate.low.min(value), estimate.high.max(value));
                }
            }
        }
    }
}

/// The parameters, by index, of a fit without the points of a word that differ from those of the fit to all by more than the noise
/// of what is left.
fn without(task: &Task, optimum: &Optimum, variable: usize, word: f64) -> Vec<(usize, f64)> {
    let mut rest = task.clone();
    rest.data.retain(|observation| observation.x[variable] != word);
    if rest.data.is_empty() {
        return Vec::new();
    }
    // What the points left out tell alone keeps its value.
    rest.base = task.parameters(&optimum.theta);
    let slopes = rest.jacobian(&optimum.theta);
    let told: Vec<usize> = (0..task.free.len()).filter(|&at| slopes.column(at).amax() > 0.0).collect();
    rest.free = told.iter().map(|&at| task.free[at]).collect();
    let start: Vec<f64> = told.iter().map(|&at| optimum.theta[at]).collect();
    if different(rest.data.iter().copied()).len() <= rest.free.len() {
        return Vec::new();
    }
    let Some(found) = minimise(&rest, std::slice::from_ref(&start), None) else { return Vec::new() };
    let Some(spread) = covariance(&rest, &found) else { return Vec::new() };
    let t = t_quantile(rest.freedom());
    let differs = |at: &usize| (found.theta[*at] - start[*at]).abs() > t * spread[(*at, *at)].sqrt();
    (0..rest.free.len()).filter(differs).map(|at| (rest.free[at], found.theta[at].exp())).collect()
}
