//! Fits of models to measurements: estimates with intervals and goodness of fit.
//!
//! Errors of rates are factors, so fits use logarithms, with Huber's loss: least squares with positive parameters for linear
//! models, then Levenberg-Marquardt. Profile-likelihood intervals include lack of fit: a model's error at a point is the same
//! in all launches, so points are counted. With several launches, a studentised bootstrap is added.

pub mod baseline;
pub mod bootstrap;
pub mod breaks;
mod card;
pub mod first_guess;
pub mod identify;
pub mod interval;
pub mod optimum;
mod prepare;
pub mod quality;
pub mod subsample;
pub mod task;

use crate::machine::JointFit;
use crate::models::Model;
use crate::statistics::distributions::t_quantile;
use apexmap_base::error::{Error, Result};
use optimum::{Optimum, Search};
use prepare::{check, prepare};
use quality::Quality;
use serde::Serialize;
use std::collections::HashSet;
use task::Task;

/// A measured rate at a point: the median of the samples of one launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// The model's variables, in its order.
    pub x: Vec<f64>,
    /// Value of the column that the model predicts; positive.
    pub y: f64,
    /// Number of the launch. Launches are independent of each other; samples of one launch are not.
    pub launch: u32,
}

/// A fitted parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Name on machine cards.
    pub number: &'static str,
    /// Symbol in the paper: T_1.
    pub symbol: &'static str,
    /// Value in the base unit.
    pub value: f64,
    /// Lower end of the 95 % profile-likelihood interval, in the base unit. 0 means that the data do not need this parameter.
    pub low: f64,
    /// Upper end of that interval, in the base unit; the model's largest value if the data set no upper limit.
    pub high: f64,
    /// 95 % interval by studentised bootstrap over launches: with the effect of a launch on all its rates, without lack of fit.
    pub bootstrap: Option<(f64, f64)>,
}

/// A measurement and its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The model's variables, in its order and in base units.
    pub x: Vec<f64>,
    /// Number of the launch, as in [`Observation::launch`].
    pub launch: u32,
    /// Measured rate, in the unit of the column that the model predicts.
    pub measured: f64,
    /// Rate that the fitted model predicts, in the same unit.
    pub predicted: f64,
    /// Lower end of the 95 % band for another measurement at this point.
    pub low: f64,
    /// Upper end of that band.
    pub high: f64,
    /// The model's term that sets the prediction: "latency".
    pub bottleneck: &'static str,
    /// Prediction of a fit to all other points, if it was requested.
    pub left_out: Option<f64>,
}

/// Result of a fit.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Fit {
    /// Id of the model: `random_access.hypercube`.
    pub model: &'static str,
    /// The parameters that were fitted, in the model's order.
    pub estimates: Vec<Estimate>,
    /// Parameters that were given, in base units.
    pub held: Vec<(&'static str, f64)>,
    /// Parameters among `held` that were to be fitted, but that the points do not identify: [`Role::OrHold`].
    pub not_identified: Vec<&'static str>,
    /// Parameters among `held` with typical values, because neither points nor machine give them.
    pub assumed: Vec<&'static str>,
    /// Parameters known only to be at most as large as another parameter.
    pub at_most: Vec<ParameterBound>,
    /// Parameters on which no point depends.
    pub absent: Vec<&'static str>,
    /// All observations with their predictions.
    pub points: Vec<Point>,
    /// Errors, and the data that they are computed from.
    pub quality: Quality,
    /// Covariance of all estimates; `None` if the points leave a direction undetermined.
    pub joint: Option<JointFit>,
    /// The simulation or the other program that gave the rates: `simulated, card Red Storm`; `None` for measured rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Every parameter of the model, in its order; NaN where absent.
    #[serde(skip)]
    pub parameters: Vec<f64>,
}

/// Relative difference of rates below which two fits are the same.
const SAME_RATE: f64 = 1e-3;

impl Fit {
    /// Returns the predicted rates of all observations.
    pub fn rates(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.predicted).collect()
    }

    /// Returns whether the predicted rates equal those of another fit of the same observations.
    pub fn has_rates(&self, others: &[f64]) -> bool {
        let is_same = |(point, other): (&Point, &f64)| (point.predicted / other - 1.0).abs() < SAME_RATE;
        others.len() == self.points.len() && self.points.iter().zip(others).all(is_same)
    }
}

const IMPORTED: &str = "imported";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWords {
    /// `measured`, `simulated` or `imported`.
    pub rates: &'static str,
    /// `measurement`, `simulation` or `result of another program`.
    pub source: &'static str,
}

impl RateWords {
    pub fn new(origin: Option<&str>) -> Self {
        match origin {
            Some(origin) if origin.starts_with(IMPORTED) => {
                Self { rates: IMPORTED, source: "result of another program" }
            }
            Some(_) => Self { rates: "simulated", source: "simulation" },
            None => Self { rates: "measured", source: "measurement" },
        }
    }

    /// Returns the line above numbers that were not fitted to a measurement of apexmap.
    pub fn warning(self, origin: &str) -> String {
        let meaning = match self.rates {
            IMPORTED => "the numbers follow from values that apexmap did not measure",
            _ => "the numbers describe the simulation, no machine was measured",
        };
        format!("{} ({origin}): {meaning}.", self.rates.to_uppercase())
    }
}

/// A parameter that shows only where it is larger than another, and does not show in these data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParameterBound {
    /// Name on machine cards.
    pub number: &'static str,
    /// Symbol in the paper.
    pub symbol: &'static str,
    /// Name of the other parameter on machine cards.
    pub of: &'static str,
    /// The estimate of the other, in the base unit.
    pub value: f64,
    /// Upper end of the other parameter's interval, in the base unit.
    pub most: f64,
}

/// How a fit treats a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Not fitted; fixed at this value, in the base unit.
    Hold(f64),
    /// Fitted from the model's first guess.
    Fit,
    /// Fitted from this value, in the base unit.
    StartAt(f64),
    /// Fitted if the points identify it. Otherwise fixed at this value, in the base unit.
    OrHold(f64),
    /// Fitted if the points identify it. Otherwise fixed at this typical value, in the base unit.
    OrAssume(f64),
    /// Not fitted; fixed at this typical value, in the base unit, because neither a card nor the machine gives it.
    Assume(f64),
    /// Neither known nor fitted. The fit is rejected if a prediction depends on it.
    Unknown,
}

/// Options of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Seed of the bootstrap: the same seed gives the same intervals.
    pub seed: u64,
    /// Resamples of the bootstrap; 0 for none.
    pub resamples: u32,
    /// Whether to compute errors of points left out. Each needs a fit.
    pub leave_out: bool,
    /// Maximum number of points to fit. If there are more, an evenly spread subset is fitted, and the others are predicted.
    pub most_points: usize,
    /// Maximum number of steps, each of which computes all rates. A fit that has not settled by then is refused.
    pub max_steps: usize,
}

/// Default of [`Options::max_steps`], several times what fits of measurements need.
pub const MAX_STEPS: usize = 5000;

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, resamples: 499, leave_out: true, most_points: 400, max_steps: MAX_STEPS }
    }
}

/// Fits a model's parameters.
///
/// `roles` are in the order of the model's parameters.
///
/// # Errors
/// If `roles` has not one role per parameter, there are too few points, a value is not positive, the fit does not settle, or the
/// points cannot identify a parameter. The last error names the parameter and the points that would identify it.
///
/// # Panics
/// If an observation has not one number per variable of the model.
pub fn fit(model: &dyn Model, data: &[Observation], roles: &[Role], options: Options) -> Result<Fit> {
    if roles.len() != model.about().parameters.len() {
        let wanted = model.about().parameters.len();
        return Err(Error::internal(format!("{} has {wanted} parameters, not {}", model.about().id, roles.len())));
    }
    check(model, data)?;
    let fit_kept = |kept: &[bool]| match breaks::find_break(model, roles) {
        Some(break_index) => breaks::fit(model, data, kept, roles, break_index, options),
        None => fit_smooth(model, data, kept, roles, options),
    };
    // All points together may identify a parameter that a subset cannot.
    match subsample::choose(data, options.most_points) {
        Some(kept) => fit_kept(&kept).or_else(|_| fit_kept(&vec![true; data.len()])),
        None => fit_kept(&vec![true; data.len()]),
    }
}

/// Fits the observations that are kept to a model without an unknown break.
fn fit_smooth(model: &dyn Model, data: &[Observation], kept: &[bool], roles: &[Role], options: Options) -> Result<Fit> {
    let (mut task, absent) = prepare(model, data, kept, roles, options.max_steps)?;
    let first = find_optimum(&task, None)?;
    let optimum = identify::solve_identified(&mut task, first)?;
    if !optimum.is_settled {
        return Err(not_settled_error(model, optimum.steps));
    }
    let mut parameters = task.parameters(&optimum.theta);
    let mut estimates = Vec::new();
    for ((low, high), &index) in interval::profiles(&task, &optimum).into_iter().zip(&task.free) {
        let parameter = &model.about().parameters[index];
        // The logarithm of a parameter that the data do not need runs to its bound.
        let low = if low <= parameter.min * 1.001 { 0.0 } else { low };
        let value = parameters[index];
        let value = if value <= parameter.min * 1.001 { 0.0 } else { value };
        estimates.push(Estimate {
            number: parameter.number,
            symbol: parameter.symbol,
            value,
            low,
            high,
            bootstrap: None,
        });
    }
    bootstrap::add_intervals(&task, &optimum, &mut estimates, options);
    interval::widen(&task, &optimum, &mut estimates);
    let at_most = parameter_bounds(&task, &estimates);
    task.hidden.iter().for_each(|&(small, large)| parameters[small] = parameters[large]);
    let is_free = |index: &usize| {
        task.free.contains(index) || absent.contains(index) || task.hidden.iter().any(|(small, _)| small == index)
    };
    let not_fitted = (0..parameters.len()).filter(|index| !is_free(index));
    let name = |index: usize| model.about().parameters[index].number;
    let with_role =
        |is_role: fn(Role) -> bool| not_fitted.clone().filter(|index| is_role(roles[*index])).map(name).collect();
    let not_identified = with_role(|role| matches!(role, Role::OrHold(_)));
    let assumed = with_role(|role| matches!(role, Role::OrAssume(_) | Role::Assume(_)));
    let values = not_fitted.clone().map(|index| (name(index), parameters[index]));
    let held = values.filter(|(_, value)| value.is_finite()).collect();
    let (used, used_optimum) = interval::drop_bounded_parameters(&task, &optimum);
    let covariance = interval::covariance(&used, &used_optimum);
    let mut points = points(&used, data, &used_optimum, covariance.as_ref(), &parameters);
    if let Some(left_out) = options.leave_out.then(|| quality::predict_left_out(&task, &optimum)).flatten() {
        let mut left_out = left_out.into_iter();
        for (point, kept) in points.iter_mut().zip(kept) {
            // The fit has not used the points that are not kept.
            point.left_out = if *kept { left_out.next() } else { Some(point.predicted) };
        }
    }
    absent.iter().for_each(|&index| parameters[index] = f64::NAN);
    Ok(Fit {
        model: model.about().id,
        held,
        not_identified,
        assumed,
        at_most,
        absent: absent.iter().map(|&index| name(index)).collect(),
        joint: covariance.map(|covariance| card::joint_fit(&used, &used_optimum, &covariance)),
        simulated: None,
        quality: quality::assess(&task, &optimum, &points, options.leave_out),
        points,
        estimates,
        parameters,
    })
}

fn parameter_bounds(task: &Task, estimates: &[Estimate]) -> Vec<ParameterBound> {
    let parameters = task.model.about().parameters;
    let to_bound = |&(small, large): &(usize, usize)| {
        let other = estimates.iter().find(|estimate| estimate.number == parameters[large].number)?;
        let (number, symbol) = (parameters[small].number, parameters[small].symbol);
        Some(ParameterBound { number, symbol, of: other.number, value: other.value, most: other.high })
    };
    task.hidden.iter().filter_map(to_bound).collect()
}

/// Returns the distinct points of the data, in order of first appearance.
fn distinct_points<'a>(data: impl IntoIterator<Item = &'a Observation>) -> Vec<&'a [f64]> {
    let mut seen = HashSet::new();
    data.into_iter().map(|observation| observation.x.as_slice()).filter(|x| seen.insert(bits(x))).collect()
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|value| value.to_bits()).collect()
}

/// Finds the best parameters, from the task's starts and from the optimum of a task with more free parameters.
fn find_optimum(task: &Task, earlier: Option<(&[usize], &[f64])>) -> Result<Optimum> {
    let mut starts = task.starts();
    if let Some((free, theta)) = earlier {
        let is_free = |(index, _): &(&usize, &f64)| task.free.contains(index);
        starts.push(free.iter().zip(theta).filter(is_free).map(|(_, value)| *value).collect());
    }
    optimum::minimise(task, &starts, Search::Estimate).ok_or_else(|| no_rates_error(task.model))
}

fn not_settled_error(model: &dyn Model, steps: usize) -> Error {
    Error::input(
        format!("{}: the fit had not settled after {steps} steps", model.about().id),
        format!("measure {}, or hold a parameter with --hold NAME=VALUE or --machine CARD", model.about().design),
    )
}

fn no_rates_error(model: &dyn Model) -> Error {
    Error::input(
        format!("{}: the fit found no parameters that give finite rates at all points", model.about().id),
        "check the numbers held with --machine and --hold, or exclude points with --where",
    )
}

fn points(
    task: &Task,
    data: &[Observation],
    optimum: &Optimum,
    covariance: Option<&nalgebra::DMatrix<f64>>,
    parameters: &[f64],
) -> Vec<Point> {
    let t = t_quantile(task.freedom());
    let noise = interval::variance(task, optimum);
    let slopes = Task { data: data.iter().collect(), ..task.clone() }.jacobian(&optimum.theta);
    let point = |(row, observation): (usize, &Observation)| {
        let prediction = task.model.predict(&observation.x, parameters);
        let gradient = slopes.row(row).transpose();
        let parameter_variance = covariance.map_or(0.0, |c| (gradient.transpose() * c * &gradient)[0]);
        let width = (t * (noise + parameter_variance).sqrt()).exp();
        Point {
            x: observation.x.clone(),
            launch: observation.launch,
            measured: observation.y,
            predicted: prediction.value,
            low: prediction.value / width,
            high: prediction.value * width,
            bottleneck: prediction.bottleneck,
            left_out: None,
        }
    };
    data.iter().enumerate().map(point).collect()
}
