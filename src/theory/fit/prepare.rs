//! Turns observations and roles into the task of a fit: which parameters are held, fitted or absent.

use super::task::Task;
use super::{Observation, Role, distinct_points, identify};
use crate::models::{Model, Parameter};
use apexmap_base::error::{Error, Result};

pub fn check(model: &dyn Model, data: &[Observation]) -> Result<()> {
    let about = model.about();
    if let Some(invalid) = data.iter().find(|observation| !(observation.y.is_finite() && observation.y > 0.0)) {
        let message = format!("{} is {} at a point: only positive rates can be fitted", about.column, invalid.y);
        return Err(Error::input(message, "exclude such points with --where"));
    }
    Ok(())
}

/// Sorts the parameters into held, fitted and absent. The task holds the observations that are kept.
pub fn prepare<'a>(
    model: &'a dyn Model,
    data: &'a [Observation],
    kept: &[bool],
    roles: &[Role],
    max_steps: usize,
) -> Result<(Task<'a>, Vec<usize>)> {
    let about = model.about();
    let parameters = about.parameters;
    let value = |(parameter, role): (&Parameter, &Role)| match role {
        Role::Hold(value) | Role::StartAt(value) | Role::Assume(value) => *value,
        // On another machine, the held value may be zero.
        Role::OrHold(value) | Role::OrAssume(value) if (parameter.min..=parameter.max).contains(value) => *value,
        Role::OrHold(_) | Role::OrAssume(_) | Role::Fit | Role::Unknown => parameter.first_guess,
    };
    let base = parameters.iter().zip(roles).map(value).collect();
    let mut free: Vec<usize> = (0..parameters.len()).filter(|&index| !matches!(roles[index], Role::Hold(_))).collect();
    let or_hold =
        |role: &Role| if let Role::OrHold(value) | Role::OrAssume(value) = role { Some(*value) } else { None };
    let or_hold = roles.iter().map(or_hold).collect();
    let mut task =
        Task { model, data: data.iter().collect(), base, free: free.clone(), or_hold, hidden: Vec::new(), max_steps };
    let absent = absent_parameters(&task);
    free.retain(|index| !absent.contains(index) && !matches!(roles[*index], Role::Assume(_)));
    let unknown = free.iter().filter(|index| roles[**index] == Role::Unknown).map(|&index| &parameters[index]);
    require_values(&unknown.collect::<Vec<_>>())?;
    task.free = free;
    let different = distinct_points(data).len();
    identify::hold_unidentifiable(&mut task, different);
    if task.free.is_empty() {
        return Err(identify::nothing_to_fit_error(model));
    }
    if different <= task.free.len() {
        let names: Vec<_> = task.free.iter().map(|&index| parameters[index].number).collect();
        return Err(Error::input(
            format!(
                "{}: {different} distinct points cannot identify {} parameters: {}",
                about.id,
                names.len(),
                names.join(", ")
            ),
            format!("measure {}, or hold a parameter with --hold NAME=VALUE or --machine CARD", about.design),
        ));
    }
    task.data = data.iter().zip(kept).filter(|(_, kept)| **kept).map(|(observation, _)| observation).collect();
    Ok((task, absent))
}

fn require_values(unknown: &[&Parameter]) -> Result<()> {
    let list = |text: &dyn Fn(&Parameter) -> String, separator: &str| {
        unknown.iter().map(|parameter| text(parameter)).collect::<Vec<_>>().join(separator)
    };
    let verb = match unknown.len() {
        0 => return Ok(()),
        1 => "has no value, and is",
        _ => "have no value, and are",
    };
    let numbers = list(&|parameter| format!("{} ({})", parameter.number, parameter.meaning()), ", ");
    let holds = list(&|parameter| format!("--hold {}=VALUE", parameter.number), " ");
    Err(Error::input(
        format!("{numbers} {verb} fitted only on request"),
        format!("give {holds} or a card that has it: --machine CARD; or fit with --free NAME"),
    ))
}

/// Returns the free parameters on which no prediction depends, neither at the first guesses nor far from them.
fn absent_parameters(task: &Task) -> Vec<usize> {
    let values = |index: usize| {
        let parameter = &task.model.about().parameters[index];
        [parameter.first_guess, parameter.min, parameter.max].map(|value| {
            let mut p = task.base.clone();
            p[index] = value;
            p
        })
    };
    let mut candidates: Vec<_> = task.free.iter().map(|&index| (index, values(index))).collect();
    task.visit_points(|x, _| {
        candidates.retain(|(_, parameters)| {
            let mut rates = [0.0; 3];
            task.model.predict_rates(x, parameters, &mut rates);
            rates.iter().all(|rate| rate.to_bits() == rates[0].to_bits())
        });
    });
    candidates.into_iter().map(|(index, _)| index).collect()
}
