//! Finds the best parameters: Levenberg-Marquardt on Huber's loss, whose scale is estimated from the residuals.

use super::task::Task;
use crate::statistics::median;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, TerminationReason};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

/// Returns the limit beyond which residuals count linearly, from their standard deviation: slightly wider than the usual
/// 1.345, which costs 5 % of the efficiency for normal noise; wider with few degrees of freedom.
pub fn huber_limit(scale: f64, freedom: usize) -> f64 {
    (1.5 + 15.0 / freedom.max(1) as f64) * scale
}

/// Purpose of a search. It decides how the scale is known, and the precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    /// Estimates of all points; the scale is estimated, too.
    Estimate,
    /// A point of a profile, with the scale of the estimates.
    Profile(f64),
    /// Estimates of some points, for errors and resamples. They need fewer digits.
    Refit,
}

impl Search {
    /// Returns the relative tolerance of loss and parameters. The differences have ten digits, which a narrow valley needs.
    fn tolerance(self) -> f64 {
        if self == Self::Refit { 1e-8 } else { 1e-11 }
    }

    /// Returns the change of the parameters' logarithms, or the relative change of the limit, below which the scale has settled.
    fn settling_change(self) -> f64 {
        if self == Self::Refit { 1e-5 } else { 1e-9 }
    }
}

/// A smaller scale is rounding, not noise.
const MIN_SCALE: f64 = 1e-10;

/// Maximum number of estimates of the scale. A few suffice; the limit stops estimates that alternate or creep.
const MAX_ROUNDS: usize = 30;

/// Residuals whose squares are Huber's loss times two: r within the limit, beyond it the root of limit (2 |r| - limit).
struct HuberProblem<'t, 'a> {
    task: &'t Task<'a>,
    limit: f64,
    theta: DVector<f64>,
    residuals: DVector<f64>,
}

impl<'t, 'a> HuberProblem<'t, 'a> {
    fn root(&self, residual: f64) -> f64 {
        if residual.abs() <= self.limit { residual } else { self.loss(residual).sqrt().copysign(residual) }
    }

    fn loss(&self, residual: f64) -> f64 {
        loss(residual, self.limit)
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for HuberProblem<'_, '_> {
    type ParameterStorage = Owned<f64, Dyn>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;

    fn set_params(&mut self, theta: &DVector<f64>) {
        self.theta.copy_from(theta);
        self.residuals = self.task.residuals(theta.as_slice());
    }

    fn params(&self) -> DVector<f64> {
        self.theta.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.residuals.iter().all(|r| r.is_finite()).then(|| self.residuals.map(|residual| self.root(residual)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let mut jacobian = self.task.jacobian(self.theta.as_slice());
        let slopes = self.residuals.map(|r| if r.abs() <= self.limit { 1.0 } else { self.limit / self.root(r).abs() });
        jacobian.column_iter_mut().for_each(|mut column| column.component_mul_assign(&slopes));
        jacobian.iter().all(|d| d.is_finite()).then_some(jacobian)
    }
}

#[derive(Clone, Debug)]
pub struct Optimum {
    /// Logarithms of the free parameters.
    pub theta: Vec<f64>,
    pub residuals: DVector<f64>,
    /// Robust standard deviation of the residuals.
    pub scale: f64,
    /// Residuals beyond this limit count linearly.
    pub limit: f64,
    /// Huber's loss as a sum of squares. Without outliers, the two are equal.
    pub deviance: f64,
    /// Number of steps: parameters at which the residuals were computed.
    pub steps: usize,
    /// Whether the search ended before its limit of steps.
    pub is_settled: bool,
}

/// Minimises the loss from each start and returns the best result; `None` if no start gives finite rates.
pub fn minimise(task: &Task, starts: &[Vec<f64>], search: Search) -> Option<Optimum> {
    let optima = starts.iter().filter_map(|start| minimise_from(task, start, search));
    optima.min_by(|a, b| a.deviance.total_cmp(&b.deviance))
}

/// Estimates the scale and minimises the loss in turn, until neither changes or the task's steps are used up.
fn minimise_from(task: &Task, start: &[f64], search: Search) -> Option<Optimum> {
    let freedom = task.freedom();
    let scale_of = |residuals: &DVector<f64>| match search {
        Search::Profile(scale) => scale,
        Search::Estimate | Search::Refit => robust_scale(residuals, freedom, start.len()),
    };
    let (mut theta, mut residuals) = (start.to_vec(), task.residuals(start));
    if !residuals.iter().all(|r| r.is_finite()) {
        return None;
    }
    let mut scale = scale_of(&residuals);
    let (mut steps, mut is_settled) = (0, false);
    for round in 0..MAX_ROUNDS {
        let limit = huber_limit(scale, freedom);
        let solution = solve(task, (theta, residuals), limit, search.tolerance(), task.max_steps.saturating_sub(steps));
        (theta, residuals) = (solution.theta, solution.residuals);
        steps += solution.steps;
        scale = scale_of(&residuals);
        let next_limit = huber_limit(scale, freedom);
        // A limit beyond all residuals has no effect.
        let is_same =
            (next_limit / limit - 1.0).abs() < search.settling_change() || residuals.amax() <= limit.min(next_limit);
        let is_last = round + 1 == MAX_ROUNDS || round > 0 && solution.moved < search.settling_change();
        is_settled = solution.is_settled && (is_same || is_last);
        if is_settled || steps >= task.max_steps {
            break;
        }
    }
    let limit = huber_limit(scale, freedom);
    Some(Optimum { deviance: deviance(&residuals, limit), theta, residuals, scale, limit, steps, is_settled })
}

struct Solution {
    theta: Vec<f64>,
    residuals: DVector<f64>,
    /// Largest change of a parameter's logarithm.
    moved: f64,
    steps: usize,
    is_settled: bool,
}

/// Minimises the loss with a given limit from `theta`, whose residuals are known. The result is never worse than `theta`.
fn solve(
    task: &Task,
    (theta, residuals): (Vec<f64>, DVector<f64>),
    limit: f64,
    tolerance: f64,
    max_steps: usize,
) -> Solution {
    if theta.is_empty() {
        return Solution { theta, residuals, moved: 0.0, steps: 0, is_settled: true };
    }
    // The solver takes at most `patience` times (parameters + 1) steps.
    let patience = (max_steps / (theta.len() + 1)).max(1);
    let problem = HuberProblem { task, limit, theta: DVector::from_column_slice(&theta), residuals: residuals.clone() };
    let (solved, report) = LevenbergMarquardt::new().with_tol(tolerance).with_patience(patience).minimize(problem);
    // A parameter that the data do not need runs away. Its bound gives the same loss.
    let bounded = |(index, value): (usize, &f64)| value.clamp(task.bounds(index).0, task.bounds(index).1);
    let solution: Vec<f64> = solved.theta.iter().enumerate().map(bounded).collect();
    let is_exact = matches!(report.termination, TerminationReason::NoImprovementPossible(_));
    let (steps, is_settled) = (report.number_of_evaluations, is_exact || report.termination.was_successful());
    let new_residuals = if solution == solved.theta.as_slice() { solved.residuals } else { task.residuals(&solution) };
    if deviance(&new_residuals, limit) <= deviance(&residuals, limit) {
        let moved = solution.iter().zip(&theta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        Solution { theta: solution, residuals: new_residuals, moved, steps, is_settled }
    } else {
        Solution { theta, residuals, moved: 0.0, steps, is_settled }
    }
}

/// Returns 1.4826 x median |r|, corrected for the number of fitted parameters and the degrees of freedom.
fn robust_scale(residuals: &DVector<f64>, freedom: usize, parameters: usize) -> f64 {
    let sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    let freedom = freedom.max(1) as f64;
    // 1.4826 makes the median of normal residuals their standard deviation.
    (1.4826 * median(&sizes).unwrap_or(0.0) * ((freedom + parameters as f64) / freedom).sqrt()).max(MIN_SCALE)
}

/// Returns Huber's loss times two: r^2 within the limit, limit (2 |r| - limit) beyond it.
fn loss(residual: f64, limit: f64) -> f64 {
    let size = residual.abs();
    if size <= limit { size * size } else { limit * (2.0 * size - limit) }
}

fn deviance(residuals: &DVector<f64>, limit: f64) -> f64 {
    residuals.iter().map(|&residual| loss(residual, limit)).sum()
}
