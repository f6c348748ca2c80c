//! How sure the parameters are: variance of the residuals, covariance, profile-likelihood intervals.

use super::optimum::{Optimum, minimise};
use super::task::Task;
use nalgebra::DMatrix;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// The two-sided 95 % quantile of Student's t.
pub fn t_quantile(freedom: usize) -> f64 {
    t_quantile_beyond(freedom, 0.025)
}

/// The quantile of Student's t that is exceeded with probability `tail`.
pub fn t_quantile_beyond(freedom: usize, tail: f64) -> f64 {
    t_quantile_at(freedom.max(1) as f64, 1.0 - tail)
}

/// A quantile of Student's t.
pub fn t_quantile_at(freedom: f64, share: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.clamp(0.5, 1e9)).map_or(f64::INFINITY, |t| t.inverse_cdf(share))
}

/// The quantile of Fisher's F that is exceeded with probability `tail`.
pub fn f_quantile_beyond(above: usize, below: usize, tail: f64) -> f64 {
    FisherSnedecor::new(above as f64, below.max(1) as f64).map_or(f64::NAN, |f| f.inverse_cdf(1.0 - tail))
}

/// Variance of a residual as it enters the parameters' variance: Huber's K^2 [sum psi^2 / (n - p)] / [mean psi']^2
/// (Huber, Robust Statistics, 1981, Section 7.6); without outliers the usual sum of squares / (n - p).
pub fn variance(optimum: &Optimum, parameters: usize) -> f64 {
    let n = optimum.residuals.len() as f64;
    let squares: f64 = optimum.residuals.iter().map(|r| r.abs().min(optimum.limit).powi(2)).sum();
    let inside = inside(optimum);
    let correction = 1.0 + parameters as f64 / n * (1.0 - inside) / inside;
    correction * correction * squares / (n - parameters as f64).max(1.0) / (inside * inside)
}

/// The share of residuals that count in full: mean psi'.
pub fn inside(optimum: &Optimum) -> f64 {
    let inside = optimum.residuals.iter().filter(|r| r.abs() <= optimum.limit).count();
    inside as f64 / optimum.residuals.len() as f64
}

/// Covariance of the parameters' logarithms; `None` if the data leave a direction open.
pub fn covariance(task: &Task, optimum: &Optimum) -> Option<DMatrix<f64>> {
    let jacobian = task.jacobian(&optimum.theta);
    let inverse = (jacobian.transpose() * &jacobian).try_inverse()?;
    let covariance = inverse * variance(optimum, optimum.theta.len());
    covariance.diagonal().iter().all(|v| v.is_finite() && *v >= 0.0).then_some(covariance)
}

/// The profile-likelihood interval of a free parameter: where the loss, all others refitted, is t^2 variances above its
/// minimum. An end beyond the parameter's bounds is that bound.
pub fn profile(task: &Task, optimum: &Optimum, at: usize, deviation: f64) -> (f64, f64) {
    let parameters = optimum.theta.len();
    let t = t_quantile(task.data.len() - parameters);
    // The loss of an M-estimator is worth mean psi' of a least-squares one.
    let unit = variance(optimum, parameters) * inside(optimum);
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
