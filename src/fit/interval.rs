//! How sure the parameters are: variance of the residuals, covariance, profile-likelihood intervals.

use super::optimum::{HUBER, Optimum, minimise};
use super::task::Task;
use nalgebra::DMatrix;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The two-sided 95 % quantile of Student's t.
pub fn t_quantile(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1) as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
}

/// Variance of a residual as it enters the parameters' variance: Huber's K^2 [sum psi^2 / (n - p)] / [mean psi']^2
/// (Huber, Robust Statistics, 1981, Section 7.6); without outliers the usual sum of squares / (n - p).
pub fn variance(optimum: &Optimum, parameters: usize) -> f64 {
    let n = optimum.residuals.len() as f64;
    let limit = HUBER * optimum.scale;
    let squares: f64 = optimum.residuals.iter().map(|r| r.abs().min(limit).powi(2)).sum();
    let inside = optimum.residuals.iter().filter(|r| r.abs() <= limit).count() as f64 / n;
    let correction = 1.0 + parameters as f64 / n * (1.0 - inside) / inside;
    correction * correction * squares / (n - parameters as f64).max(1.0) / (inside * inside)
}

/// Covariance of the parameters' logarithms; `None` if the data leave a direction open.
pub fn covariance(task: &Task, optimum: &Optimum) -> Option<DMatrix<f64>> {
    let jacobian = task.jacobian(&optimum.theta);
    let inverse = (jacobian.transpose() * &jacobian).try_inverse()?;
    let covariance = inverse * variance(optimum, optimum.theta.len());
    covariance.diagonal().iter().all(|v| v.is_finite() && *v >= 0.0).then_some(covariance)
}

/// The profile-likelihood interval of a free parameter: where the loss, all others fitted anew, is t^2 variances above its
/// minimum. An end beyond the parameter's bounds is that bound.
pub fn profile(task: &Task, optimum: &Optimum, at: usize, deviation: f64) -> (f64, f64) {
    let parameters = optimum.theta.len();
    let t = t_quantile(task.data.len() - parameters);
    let inside = {
        let limit = HUBER * optimum.scale;
        optimum.residuals.iter().filter(|r| r.abs() <= limit).count() as f64 / optimum.residuals.len() as f64
    };
    // The loss of an M-estimator is worth mean psi' of a least-squares one.
    let limit = optimum.deviance + t * t * variance(optimum, parameters) * inside;
    let bounds = task.bounds(at);
    let end = |direction: f64| {
        let bound = if direction < 0.0 { bounds.0 } else { bounds.1 };
        let mut theta = optimum.theta.clone();
        let mut above = |value: f64| {
            let found = minimise(task, &[theta.clone(), optimum.theta.clone()], Some((at, value, optimum.scale)));
            found.is_none_or(|found| {
                theta = found.theta;
                found.deviance > limit
            })
        };
        let centre = optimum.theta[at];
        let (mut inner, mut step) = (centre, (t * deviation).clamp(1e-9, 2.0));
        let mut outer = loop {
            let outer = centre + direction * step;
            if (bound - outer) * direction <= 0.0 {
                if !above(bound) {
                    return bound;
                }
                break bound;
            }
            if above(outer) {
                break outer;
            }
            (inner, step) = (outer, 2.0 * step);
        };
        while (outer - inner).abs() > 1e-4 * (outer - centre).abs() {
            let middle = 0.5 * (inner + outer);
            if above(middle) { outer = middle } else { inner = middle }
        }
        0.5 * (inner + outer)
    };
    (end(-1.0).exp(), end(1.0).exp())
}
