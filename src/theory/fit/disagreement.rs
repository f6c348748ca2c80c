//! Accounts for kernels that disagree about a parameter: the gap per byte of ping-pong may differ from that of streaming.
//!
//! If a model explains several kernels together, each kernel alone may fit well with a different value, and all together fit
//! with a value between these. The interval of such a parameter must include the values of fits that leave one kernel out.

use super::interval::covariance;
use super::optimum::{Optimum, Search, minimise};
use super::task::Task;
use super::{Estimate, distinct_points};
use crate::statistics::distributions::t_quantile;

/// Widens the intervals to include the estimates without the points of each word of a variable, if they differ by more than
/// their noise.
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

/// Fits all points except those of one word. Returns index and value of the parameters that differ from those of the fit to
/// all points by more than the noise of the remaining points.
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
