//! Fits of a break: a parameter at which a model jumps, such as the message size at which the protocol changes.
//!
//! Rates do not change while the break moves between two measured points, so it has no derivative. It is therefore searched
//! among the measured values.

use super::interval::unit;
use super::optimum::{Optimum, minimise};
use super::task::Task;
use super::{Estimate, Fit, Observation, Options, Role, quality};
use crate::models::{Break, Model};
use crate::statistics::distributions::{f_quantile_beyond, t_quantile_beyond};
use apexmap_base::error::{Error, Result};

/// Minimum number of distinct values of the variable on each side of a break.
const BESIDE: usize = 3;

/// Returns the parameter that is a break and is to be fitted, and its variable, both as indices.
pub fn sought(model: &dyn Model, roles: &[Role]) -> Option<(usize, usize)> {
    let about = model.about();
    let fitted = |at: &usize| matches!(roles[*at], Role::Fit | Role::From(_) | Role::OrHold(_));
    (0..roles.len()).filter(fitted).find_map(|at| {
        let Break::At(name) = about.parameters[at].breaks else { return None };
        Some((at, about.variables.iter().position(|variable| variable.name == name)?))
    })
}

/// Fits the model with the break at each measured value and takes the value with the smallest loss.
///
/// The break is accepted if its loss is below the loss without a break by more than chance explains at any candidate (F test
/// with Bonferroni's bound over the candidates). Otherwise the fit has no break, and the parameters that depend on it are
/// absent.
///
/// The interval holds all values whose loss is within t^2 variances of the smallest loss (profile likelihood). It ends at the
/// next measured value, because a break can lie anywhere before it. The intervals of the other parameters are those at the
/// chosen break.
///
/// # Errors
/// As [`super::fit`].
pub fn fit(
    model: &dyn Model,
    data: &[Observation],
    kept: &[bool],
    roles: &[Role],
    (at, variable): (usize, usize),
    options: Options,
) -> Result<Fit> {
    let of_kept = data.iter().zip(kept).filter(|(_, kept)| **kept);
    let mut values: Vec<f64> = of_kept.map(|(observation, _)| observation.x[variable]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let Some(&largest) = values.last().filter(|_| values.len() >= 2 * BESIDE) else {
        let (name, number) = (model.about().variables[variable].name, model.about().parameters[at].number);
        return Err(Error::input(
            format!("{}: {} values of {name} cannot identify {number}", model.about().id, values.len()),
            format!("measure {}, or hold it with --hold {number}=VALUE", model.about().design),
        ));
    };
    let held = |value: f64| {
        let mut roles = roles.to_vec();
        roles[at] = Role::Hold(value);
        let beside = |at: &usize| value == largest && model.about().parameters[*at].breaks == Break::Beside;
        (0..roles.len()).filter(beside).for_each(|at| roles[at] = Role::Hold(0.0));
        roles
    };
    // The last candidate means no break: no point lies beyond it.
    let candidates: Vec<f64> = values[BESIDE - 1..values.len() - BESIDE].iter().copied().chain([largest]).collect();
    let tasks: Vec<Task> =
        candidates.iter().map(|&c| Ok(super::prepare(model, data, kept, &held(c))?.0)).collect::<Result<_>>()?;
    let excess = excess(&tasks).ok_or_else(|| super::no_rates(model))?;
    let (&none, breaks) = excess.split_last().expect("a candidate");
    let freedom = tasks[0].freedom().saturating_sub(1);
    let beside = tasks[0].free.len().saturating_sub(tasks[tasks.len() - 1].free.len()).max(1);
    if none <= beside as f64 * f_quantile_beyond(beside, freedom, 0.05 / breaks.len() as f64) {
        return without(model, data, kept, &held(largest), options);
    }
    let allowed = t_quantile_beyond(freedom, 0.025).powi(2);
    let within: Vec<f64> = candidates.iter().zip(breaks).filter(|(_, e)| **e <= allowed).map(|(c, _)| *c).collect();
    let best = breaks.iter().zip(&candidates).min_by(|a, b| a.0.total_cmp(b.0)).map_or(largest, |(_, c)| *c);
    let mut fit = super::straight(model, data, kept, &held(best), options)?;
    let beyond = |value: f64| values.iter().copied().find(|v| *v > value).unwrap_or(value);
    let parameter = &model.about().parameters[at];
    fit.held.retain(|(number, _)| *number != parameter.number);
    fit.estimates.push(Estimate {
        number: parameter.number,
        symbol: parameter.symbol,
        value: best,
        low: within.first().copied().unwrap_or(best),
        high: beyond(within.last().copied().unwrap_or(best)),
        bootstrap: None,
    });
    // Count the break and the variance as parameters.
    let squares = fit.points.iter().map(|point| (point.predicted / point.measured).ln().powi(2)).sum();
    fit.quality.aicc = quality::aicc(squares, fit.points.len(), fit.estimates.len() + 1);
    Ok(fit)
}

/// Returns the excess of the loss at each candidate over the smallest loss, in variances of a residual. `None` if a candidate
/// gives no finite rates.
fn excess(tasks: &[Task]) -> Option<Vec<f64>> {
    let alone: Vec<Optimum> = tasks.iter().map(|task| minimise(task, &task.starts(), None)).collect::<Option<_>>()?;
    let of = |k: usize| unit(&tasks[k], &alone[k]);
    let best = (0..tasks.len()).min_by(|a, b| of(*a).total_cmp(&of(*b)))?;
    let unit = of(best);
    // Losses are comparable only on the same scale.
    let scale = Some(alone[best].scale);
    let again = |k: usize| Some(minimise(&tasks[k], std::slice::from_ref(&alone[k].theta), scale)?.deviance);
    let losses: Vec<f64> = (0..tasks.len()).map(again).collect::<Option<_>>()?;
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    Some(losses.into_iter().map(|loss| (loss - least) / unit).collect())
}

/// Fits the model without a break.
fn without(model: &dyn Model, data: &[Observation], kept: &[bool], roles: &[Role], options: Options) -> Result<Fit> {
    let mut fit = super::straight(model, data, kept, roles, options)?;
    for (at, parameter) in model.about().parameters.iter().enumerate().filter(|(_, p)| p.breaks != Break::No) {
        fit.held.retain(|(known, _)| *known != parameter.number);
        fit.absent.push(parameter.number);
        fit.parameters[at] = f64::NAN;
    }
    Ok(fit)
}
