//! First guesses of the parameters of formulas, for which no author has given any.

use super::{Observation, Role, distinct_points};
use crate::models::{Model, Parameter};
use apexmap_base::error::{Error, Result};

/// Guesses are 10^-15 to 10^15, in steps of half a power of ten.
const MOST_HALF_POWER: i32 = 30;

/// Half powers of ten from which all parameters start together.
const STARTS: [i32; 8] = [-24, -18, -12, -6, 0, 6, 12, 18];

/// Maximum number of rounds over the parameters from one start. A few suffice.
const MAX_ROUNDS: usize = 20;

const MAX_POINTS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct FirstGuess {
    /// A value for each parameter of the model, in base units.
    pub values: Vec<f64>,
    /// Whether the prediction or its reciprocal is linear in the fitted parameters.
    pub linear: bool,
    /// Whether the prediction itself is.
    pub is_linear_itself: bool,
}

/// Searches first guesses for [`Role::Fit`], one parameter at a time, from several starts. The other roles have values.
pub fn search(model: &dyn Model, data: &[Observation], roles: &[Role]) -> Result<FirstGuess> {
    let parameters = model.about().parameters;
    let base: Vec<f64> = roles.iter().zip(parameters).map(|(role, parameter)| initial_value(role, parameter)).collect();
    let searched: Vec<usize> = (0..roles.len()).filter(|&index| roles[index] == Role::Fit).collect();
    let free: Vec<usize> = (0..roles.len()).filter(|&index| !matches!(roles[index], Role::Hold(_))).collect();
    let step = distinct_points(data).len().div_ceil(MAX_POINTS).max(1);
    let data: Vec<&Observation> = data.chunk_by(|a, b| a.x == b.x).map(|same| &same[0]).step_by(step).collect();
    let error = |p: &[f64]| {
        let sum: f64 = data.iter().map(|seen| (model.predict(&seen.x, p).value / seen.y).ln().abs()).sum();
        // No sum is below NaN, so the search could not leave it.
        if sum.is_nan() { f64::INFINITY } else { sum }
    };
    let from = |start: &i32| {
        let mut p = base.clone();
        searched.iter().for_each(|&index| p[index] = half_power(*start));
        descend(&mut p, &searched, &error)
    };
    let best = STARTS.iter().map(from).min_by(|a, b| a.0.total_cmp(&b.0));
    // The fit reports a number without a value.
    let is_unknown = roles.contains(&Role::Unknown);
    let Some((_, values)) = best.filter(|(error, _)| error.is_finite() || is_unknown) else {
        return Err(Error::input(
            format!("{}: no parameters from 1e-15 to 1e15 give positive rates at all points", model.about().id),
            "parameters are positive, so write - before a term to subtract it; or give starting values: --fit a=1e-9,b=2",
        ));
    };
    let is_affine = |of: fn(f64) -> f64| {
        data.iter().all(|seen| is_affine(&|p| of(model.predict(&seen.x, p).value), &values, &free))
    };
    let is_linear_itself = is_affine(|value| value);
    Ok(FirstGuess { linear: is_linear_itself || is_affine(f64::recip), is_linear_itself, values })
}

fn initial_value(role: &Role, parameter: &Parameter) -> f64 {
    match role {
        Role::Hold(value)
        | Role::StartAt(value)
        | Role::OrHold(value)
        | Role::OrAssume(value)
        | Role::Assume(value) => *value,
        Role::Fit | Role::Unknown => parameter.first_guess,
    }
}

fn half_power(exponent: i32) -> f64 {
    10f64.powf(0.5 * f64::from(exponent))
}

/// Moves one parameter after the other to its best value until none moves. Returns the error and the parameters.
fn descend(p: &mut [f64], searched: &[usize], error: &dyn Fn(&[f64]) -> f64) -> (f64, Vec<f64>) {
    let mut least = error(p);
    for _ in 0..MAX_ROUNDS {
        let before = least;
        for &index in searched {
            let mut best = p[index];
            for exponent in -MOST_HALF_POWER..=MOST_HALF_POWER {
                p[index] = half_power(exponent);
                let other = error(p);
                if other < least {
                    (least, best) = (other, p[index]);
                }
            }
            p[index] = best;
        }
        if least >= before {
            break;
        }
    }
    (least, p.to_vec())
}

/// Returns whether a function is a constant plus multiples of the free parameters.
fn is_affine(function: &dyn Fn(&[f64]) -> f64, values: &[f64], free: &[usize]) -> bool {
    let with = |factor: &dyn Fn(usize) -> f64| {
        let mut p = values.to_vec();
        free.iter().enumerate().for_each(|(place, &index)| p[index] *= factor(place));
        function(&p)
    };
    let constant = with(&|_| 0.0);
    let parts: Vec<f64> =
        (0..free.len()).map(|only| with(&|place| f64::from(u8::from(place == only))) - constant).collect();
    let factors = [0.3, 2.0, 7.0, 0.05];
    (0..factors.len()).all(|shift| {
        let factor = |place: usize| factors[(place + shift) % factors.len()];
        let sum: f64 = parts.iter().enumerate().map(|(place, part)| factor(place) * part).sum();
        let value = with(&factor);
        (constant + sum - value).abs() <= 1e-9 * value.abs()
    })
}
