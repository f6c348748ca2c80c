//! Whether the points of a design identify the parameters, and what is held instead where they do not.

use super::optimum::Optimum;
use super::task::Task;
use apexmap_base::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Noise that is taken for granted, relative: a fit through few points may seem exact by chance.
const NOISE: f64 = 0.05;

/// A contribution to the time that a design should be able to see.
const SHARE: f64 = 0.1;

/// A parameter is not identified if its standard error is more than this many times its size: the 95 % interval would span more
/// than a factor of 10 either way.
const WIDEST: f64 = 1.17;

/// Holds what the points do not identify at the values that the task has for this, the least identified first, and solves again,
/// until all others are identified.
///
/// # Errors
/// If one is not identified that has no such value, or no parameters give finite rates.
pub fn settle(task: &mut Task, mut optimum: Optimum) -> Result<Optimum> {
    loop {
        let errors = relative_errors(task, &optimum.theta, optimum.scale);
        if !hold_worst(task, &errors, false) && !hide(task, &optimum, &errors) {
            check(task, &optimum)?;
            return Ok(optimum);
        }
        if task.free.is_empty() {
            return Err(super::nothing_to_fit(task.model));
        }
        optimum = super::solve(task)?;
    }
}

/// Holds what so many points do not identify even if the values that may be held are the true ones: a fit that has them free would
/// wander.
pub fn hold_beforehand(task: &mut Task, points: usize) {
    while task.free.iter().any(|&at| task.or_hold[at].is_some()) {
        let theta: Vec<f64> = task.free.iter().map(|&at| task.base[at].ln()).collect();
        if task.jacobian(&theta).iter().any(|slope| !slope.is_finite()) {
            // The fit says what is wrong.
            return;
        }
        let errors = relative_errors(task, &theta, NOISE);
        if !hold_worst(task, &errors, points <= task.free.len()) {
            return;
        }
    }
}

/// Holds the least identified parameter that may be held, if it is not identified, or any is `too_many`. Whether there was one.
fn hold_worst(task: &mut Task, errors: &[f64], too_many: bool) -> bool {
    let error = |at: &usize| if errors[*at].is_nan() { f64::INFINITY } else { errors[*at] };
    let values = (0..task.free.len()).filter_map(|at| Some((at, task.or_hold[task.free[at]]?)));
    let worst = values.max_by(|a, b| error(&a.0).total_cmp(&error(&b.0)));
    let Some((worst, value)) = worst.filter(|(at, _)| too_many || error(at) > WIDEST) else { return false };
    let at = task.free.remove(worst);
    task.base[at] = value;
    true
}

/// Takes a parameter out that is not identified as it only shows where it is larger than another, which is identified. Whether
/// there was one.
fn hide(task: &mut Task, optimum: &Optimum, errors: &[f64]) -> bool {
    let parameters = task.model.about().parameters;
    let place = |name: &str| task.free.iter().position(|&at| parameters[at].number == name);
    let free = |pair: &[&str; 2]| Some((place(pair[0])?, place(pair[1])?));
    let mut pairs: Vec<(usize, usize)> = task.model.hidden().iter().filter_map(free).collect();
    // The largest is the one that shows.
    pairs.sort_by(|a, b| optimum.theta[b.1].total_cmp(&optimum.theta[a.1]));
    for (small, large) in pairs {
        if errors[small] <= WIDEST || optimum.theta[small] > optimum.theta[large] {
            continue;
        }
        // Were it the larger one, the points should tell the other still: else they cannot say which of the two they show.
        let mut theta = optimum.theta.clone();
        theta[small] = theta[large] + NOISE;
        if relative_errors(task, &theta, optimum.scale)[large] <= WIDEST {
            task.hidden.push((task.free[small], task.free[large]));
            let index = task.free.remove(small);
            task.base[index] = parameters[index].least;
            return true;
        }
    }
    false
}

/// Refuses a design that cannot identify a parameter.
///
/// # Errors
/// Names the least identified parameters, how badly, and the points that would identify them.
pub fn check(task: &Task, optimum: &Optimum) -> Result<()> {
    let errors = relative_errors(task, &optimum.theta, optimum.scale);
    let about = task.model.about();
    let unclear: Vec<(usize, f64)> =
        task.free.iter().copied().zip(errors).filter(|(_, e)| e.is_nan() || *e > WIDEST).collect();
    if unclear.is_empty() {
        return Ok(());
    }
    let name = |(at, error): &(usize, f64)| {
        let number = about.parameters[*at].number;
        if error.is_finite() && *error < 1e4 {
            format!("{number} (standard error {error:.1} times its size)")
        } else {
            format!("{number} (not at all)")
        }
    };
    let names: Vec<_> = unclear.iter().map(name).collect();
    Err(Error::input(
        format!("{}: these points cannot identify {}", about.id, names.join(", ")),
        format!("measure {}, or hold a parameter with --hold NAME=VALUE or --machine CARD", about.design),
    ))
}

/// Standard errors relative to the parameters, for noise of at least 5 %.
///
/// In linear models the size of a parameter is at least what makes a tenth of the time of a typical point, so that
/// one that the data do without is not called unknown.
fn relative_errors(task: &Task, theta: &[f64], scale: f64) -> Vec<f64> {
    let noise = scale.max(NOISE);
    if task.linear() {
        let (_, design) = task.design();
        if design.iter().all(|v| v.is_finite()) {
            let parameters = task.parameters(theta);
            let size = |(column, &at): (usize, &usize)| {
                let mut weights: Vec<f64> = design.column(column).iter().copied().filter(|w| *w > 0.0).collect();
                weights.sort_by(f64::total_cmp);
                let typical = weights.get(weights.len() / 2).map_or(0.0, |w| SHARE / w);
                parameters[at].max(typical)
            };
            let sizes = DVector::from_iterator(task.free.len(), task.free.iter().enumerate().map(size));
            // In units of their sizes, so that nanoseconds and bytes can be told apart from rounding.
            let scaled = design * DMatrix::from_diagonal(&sizes);
            return errors(&scaled, noise);
        }
    }
    errors(&task.jacobian(theta), noise)
}

/// Square roots of the diagonal of noise^2 (J^T J)^-1; infinite in directions that the singular values leave open.
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
