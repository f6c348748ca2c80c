//! Fits of a break, at which a model jumps, such as a change of protocol. Rates do not change while it moves between two
//! measured points, so it has no derivative, and is searched among the measured values.

use super::interval::loss_unit;
use super::optimum::{Optimum, Search, minimise};
use super::prepare::prepare;
use super::task::Task;
use super::{Estimate, Fit, Observation, Options, Role, quality};
use crate::models::{Break, Model};
use crate::statistics::distributions::{f_quantile_beyond, t_quantile_beyond};
use apexmap_base::error::{Error, Result};

const MIN_VALUES_PER_SIDE: usize = 3;

/// Returns the parameter that is a break and is to be fitted, and its variable, both as indices.
pub fn find_break(model: &dyn Model, roles: &[Role]) -> Option<(usize, usize)> {
    let about = model.about();
    let is_fitted =
        |index: &usize| matches!(roles[*index], Role::Fit | Role::StartAt(_) | Role::OrHold(_) | Role::OrAssume(_));
    (0..roles.len()).filter(is_fitted).find_map(|index| {
        let Break::Location(name) = about.parameters[index].breaks else { return None };
        Some((index, about.variable_index(name)?))
    })
}

/// Fits the model with the break at each measured value and takes the value with the smallest loss.
///
/// The break is accepted if its loss is below that without a break by more than chance explains at any candidate (F test with
/// Bonferroni's bound). Otherwise the parameters that depend on it are absent. Its interval holds all values whose loss is
/// within t^2 variances of the smallest loss (profile likelihood), up to the next measured value, because a break can lie
/// anywhere before it. Those of other parameters are at the chosen break.
pub fn fit(
    model: &dyn Model,
    data: &[Observation],
    kept: &[bool],
    roles: &[Role],
    (index, variable): (usize, usize),
    options: Options,
) -> Result<Fit> {
    let kept_observations = data.iter().zip(kept).filter(|(_, kept)| **kept);
    let mut values: Vec<f64> = kept_observations.map(|(observation, _)| observation.x[variable]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let Some(&largest) = values.last().filter(|_| values.len() >= 2 * MIN_VALUES_PER_SIDE) else {
        let (name, number) = (model.about().variables[variable].name, model.about().parameters[index].number);
        return Err(Error::input(
            format!("{}: {} values of {name} cannot identify {number}", model.about().id, values.len()),
            format!("measure {}, or hold it with --hold {number}=VALUE", model.about().design),
        ));
    };
    let hold_break_at = |value: f64| {
        let mut roles = roles.to_vec();
        roles[index] = Role::Hold(value);
        let depends_on_break = |parameter: &usize| {
            value == largest && model.about().parameters[*parameter].breaks == Break::ZeroWithoutBreak
        };
        (0..roles.len()).filter(depends_on_break).for_each(|parameter| roles[parameter] = Role::Hold(0.0));
        roles
    };
    // The last candidate means no break: no point lies beyond it.
    let candidates: Vec<f64> =
        values[MIN_VALUES_PER_SIDE - 1..values.len() - MIN_VALUES_PER_SIDE].iter().copied().chain([largest]).collect();
    let tasks: Vec<Task> = candidates
        .iter()
        .map(|&c| Ok(prepare(model, data, kept, &hold_break_at(c), options.max_steps)?.0))
        .collect::<Result<_>>()?;
    let excess = excess_losses(&tasks).ok_or_else(|| super::no_rates_error(model))?;
    let (&excess_without_break, breaks) = excess.split_last().expect("a candidate");
    let freedom = tasks[0].freedom().saturating_sub(1);
    let extra_parameters = tasks[0].free.len().saturating_sub(tasks[tasks.len() - 1].free.len()).max(1);
    if excess_without_break
        <= extra_parameters as f64 * f_quantile_beyond(extra_parameters, freedom, 0.05 / breaks.len() as f64)
    {
        return fit_without_break(model, data, kept, &hold_break_at(largest), options);
    }
    let allowed = t_quantile_beyond(freedom, 0.025).powi(2);
    let within: Vec<f64> = candidates.iter().zip(breaks).filter(|(_, e)| **e <= allowed).map(|(c, _)| *c).collect();
    let best = breaks.iter().zip(&candidates).min_by(|a, b| a.0.total_cmp(b.0)).map_or(largest, |(_, c)| *c);
    let mut fit = super::fit_smooth(model, data, kept, &hold_break_at(best), options)?;
    let beyond = |value: f64| values.iter().copied().find(|v| *v > value).unwrap_or(value);
    let parameter = &model.about().parameters[index];
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

/// Returns the excess of each candidate's loss over the smallest, in variances of a residual; `None` without finite rates.
fn excess_losses(tasks: &[Task]) -> Option<Vec<f64>> {
    let optima: Vec<Optimum> =
        tasks.iter().map(|task| minimise(task, &task.starts(), Search::Estimate)).collect::<Option<_>>()?;
    let candidate_unit = |k: usize| loss_unit(&tasks[k], &optima[k]);
    let best = (0..tasks.len()).min_by(|a, b| candidate_unit(*a).total_cmp(&candidate_unit(*b)))?;
    let unit = candidate_unit(best);
    // Losses are comparable only on the same scale.
    let search = Search::Profile(optima[best].scale);
    let refit_deviance = |k: usize| Some(minimise(&tasks[k], std::slice::from_ref(&optima[k].theta), search)?.deviance);
    let losses: Vec<f64> = (0..tasks.len()).map(refit_deviance).collect::<Option<_>>()?;
    let min_loss = losses.iter().copied().fold(f64::INFINITY, f64::min);
    Some(losses.into_iter().map(|loss| (loss - min_loss) / unit).collect())
}

fn fit_without_break(
    model: &dyn Model,
    data: &[Observation],
    kept: &[bool],
    roles: &[Role],
    options: Options,
) -> Result<Fit> {
    let mut fit = super::fit_smooth(model, data, kept, roles, options)?;
    for (index, parameter) in model.about().parameters.iter().enumerate().filter(|(_, p)| p.breaks != Break::Unrelated)
    {
        fit.held.retain(|(number, _)| *number != parameter.number);
        fit.absent.push(parameter.number);
        fit.parameters[index] = f64::NAN;
    }
    Ok(fit)
}
