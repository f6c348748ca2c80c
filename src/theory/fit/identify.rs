//! Decides whether the points of a design identify the parameters, and holds those that they do not identify.

use super::optimum::Optimum;
use super::task::Task;
use crate::models::Model;
use apexmap_base::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Minimum relative noise: a fit through few points can look exact by chance.
const MIN_NOISE: f64 = 0.05;

/// Share of the time of a typical point that a design should resolve.
const TYPICAL_TIME_SHARE: f64 = 0.1;

/// Largest standard error in multiples of a parameter. Above it, a 95 % interval spans more than a factor of 10 either way.
const MAX_RELATIVE_ERROR: f64 = 1.17;

/// Holds parameters that the points do not identify, the least identified first, and solves again until the others are.
pub fn solve_identified(task: &mut Task, mut optimum: Optimum) -> Result<Optimum> {
    loop {
        let errors = relative_errors(task, &optimum.theta, optimum.scale);
        let free = task.free.clone();
        if !hold_worst(task, &errors, false) && !hide_smaller(task, &optimum, &errors) {
            require_identified(task, &optimum)?;
            return Ok(optimum);
        }
        if task.free.is_empty() {
            return Err(nothing_to_fit_error(task.model));
        }
        optimum = super::find_optimum(task, Some((&free, &optimum.theta)))?;
    }
}

pub fn nothing_to_fit_error(model: &dyn Model) -> Error {
    Error::input(
        format!("{}: these points identify none of the parameters to fit", model.about().id),
        format!("measure {}", model.about().design),
    )
}

/// Holds parameters that this number of points cannot identify even at true values: with them, a fit would not settle.
pub fn hold_unidentifiable(task: &mut Task, points: usize) {
    while task.free.iter().any(|&index| task.or_hold[index].is_some()) {
        let theta: Vec<f64> = task.free.iter().map(|&index| task.base[index].ln()).collect();
        if task.jacobian(&theta).iter().any(|slope| !slope.is_finite()) {
            // The fit reports the error.
            return;
        }
        let errors = relative_errors(task, &theta, MIN_NOISE);
        if !hold_worst(task, &errors, points <= task.free.len()) {
            return;
        }
    }
}

/// Holds the least identified of the parameters that may be held, if it is not identified or `too_many` is set.
fn hold_worst(task: &mut Task, errors: &[f64], too_many: bool) -> bool {
    let error = |free_index: &usize| if errors[*free_index].is_nan() { f64::INFINITY } else { errors[*free_index] };
    let values = (0..task.free.len()).filter_map(|free_index| Some((free_index, task.or_hold[task.free[free_index]]?)));
    let worst = values.max_by(|a, b| error(&a.0).total_cmp(&error(&b.0)));
    let Some((worst, value)) = worst.filter(|(free_index, _)| too_many || error(free_index) > MAX_RELATIVE_ERROR)
    else {
        return false;
    };
    let index = task.free.remove(worst);
    task.base[index] = value;
    true
}

/// Hides a parameter that shows only where it is larger than another, identified one. Returns whether it hid one.
fn hide_smaller(task: &mut Task, optimum: &Optimum, errors: &[f64]) -> bool {
    let parameters = task.model.about().parameters;
    let place = |name: &str| task.free.iter().position(|&index| parameters[index].number == name);
    let free = |pair: &[&str; 2]| Some((place(pair[0])?, place(pair[1])?));
    let mut pairs: Vec<(usize, usize)> = task.model.hidden_pairs().iter().filter_map(free).collect();
    // The largest parameter is the one that shows.
    pairs.sort_by(|a, b| optimum.theta[b.1].total_cmp(&optimum.theta[a.1]));
    for (small, large) in pairs {
        if errors[small] <= MAX_RELATIVE_ERROR || optimum.theta[small] > optimum.theta[large] {
            continue;
        }
        // Test: if the hidden one were the larger, the points would still have to identify the other. Otherwise they cannot
        // show which of the two they measure.
        let mut theta = optimum.theta.clone();
        theta[small] = theta[large] + MIN_NOISE;
        if relative_errors(task, &theta, optimum.scale)[large] <= MAX_RELATIVE_ERROR {
            task.hidden.push((task.free[small], task.free[large]));
            let index = task.free.remove(small);
            task.base[index] = parameters[index].min;
            return true;
        }
    }
    false
}

pub fn require_identified(task: &Task, optimum: &Optimum) -> Result<()> {
    let unclear = unclear_parameters(task, optimum, optimum.scale);
    if unclear.is_empty() {
        return Ok(());
    }
    let about = task.model.about();
    let name = |(index, error): &(usize, f64)| {
        let number = about.parameters[*index].number;
        if error.is_finite() && *error < 1e4 {
            format!("{number} (standard error {error:.1} times its size)")
        } else {
            format!("{number} (not at all)")
        }
    };
    let names = unclear.iter().map(name).collect::<Vec<_>>().join(", ");
    let hold = "or hold a parameter with --hold NAME=VALUE or --machine CARD";
    if unclear_parameters(task, optimum, MIN_NOISE).is_empty() {
        let scatter = 100.0 * optimum.scale;
        return Err(Error::measurement(
            format!("{}: the points scatter by {scatter:.0} % about the model, which hides {names}", about.id),
            format!(
                "measure the same points on a quiet machine and in more launches, or choose another model if these do not scatter less, {hold}"
            ),
        ));
    }
    Err(Error::input(
        format!("{}: these points cannot identify {names}", about.id),
        format!("measure {}, {hold}", about.design),
    ))
}

/// Returns the free parameters that points with this noise do not identify, with their relative standard errors.
fn unclear_parameters(task: &Task, optimum: &Optimum, noise: f64) -> Vec<(usize, f64)> {
    let errors = relative_errors(task, &optimum.theta, noise).into_iter();
    task.free.iter().copied().zip(errors).filter(|(_, e)| e.is_nan() || *e > MAX_RELATIVE_ERROR).collect()
}

/// Returns standard errors relative to the parameters, for noise of at least 5 %. In linear models, a parameter counts with at
/// least a tenth of the time of a typical point, so that one that the data do not need is not unknown.
fn relative_errors(task: &Task, theta: &[f64], scale: f64) -> Vec<f64> {
    let noise = scale.max(MIN_NOISE);
    if task.is_linear() {
        let (_, design) = task.design();
        if design.iter().all(|v| v.is_finite()) {
            let parameters = task.parameters(theta);
            let size = |(column, &index): (usize, &usize)| {
                let mut weights: Vec<f64> = design.column(column).iter().copied().filter(|w| *w > 0.0).collect();
                weights.sort_by(f64::total_cmp);
                let typical = weights.get(weights.len() / 2).map_or(0.0, |w| TYPICAL_TIME_SHARE / w);
                parameters[index].max(typical)
            };
            let sizes = DVector::from_iterator(task.free.len(), task.free.iter().enumerate().map(size));
            // In units of their sizes: rounding errors would otherwise hide nanoseconds among bytes.
            let scaled = design * DMatrix::from_diagonal(&sizes);
            return errors(&scaled, noise);
        }
    }
    errors(&task.jacobian(theta), noise)
}

/// Returns the roots of the diagonal of noise^2 (J^T J)^-1; infinite for directions that the singular values leave open.
pub fn errors(jacobian: &DMatrix<f64>, noise: f64) -> Vec<f64> {
    let svd = jacobian.clone().svd(false, true);
    let Some(directions) = svd.v_t else { return vec![f64::INFINITY; jacobian.ncols()] };
    let largest = svd.singular_values.max();
    let variance = |column: usize| {
        let part = |(row, &singular): (usize, &f64)| {
            let along = directions[(row, column)];
            match singular > 1e-9 * largest {
                true => (along / singular).powi(2),
                false if along.abs() < 1e-6 => 0.0,
                false => f64::INFINITY,
            }
        };
        svd.singular_values.iter().enumerate().map(part).sum::<f64>()
    };
    (0..jacobian.ncols()).map(|column| noise * variance(column).sqrt()).collect()
}
