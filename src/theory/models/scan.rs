//! Evaluates a model over ranges of its variables, with the machine's numbers and their intervals.

use super::domains::{self, Extrapolation, NumberDomain};
use super::formula::{FormulaModel, Saved};
use super::tested::{self, Test, Tested};
use super::{Model, Parameter, Prediction, card_number, combination, parameter_values};
use crate::machine::{Card, JointFit, inverse};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::point::Value;
use apexmap_base::reservation::Reservation;
use std::fmt;

/// Numbers of a machine for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Values in the order of the model's parameters, in base units.
    pub values: Vec<f64>,
    /// 95 % intervals, if the card has them.
    pub intervals: Vec<Option<(f64, f64)>>,
    /// Numbers that were fitted together.
    pub joint: Option<JointNumbers>,
    /// Where they hold.
    pub domains: Vec<NumberDomain>,
    /// Symbols of the numbers of which the card does not state where they hold.
    pub without_domain: Vec<&'static str>,
    /// Tests of the model, for its error; none if these numbers were fitted to measurements by the model itself.
    pub tests: Vec<&'static Test>,
}

/// What the band of a prediction covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandBasis {
    /// The covariance of a fit of the model, and the spread of the measurements about it.
    Fit,
    /// The intervals of the card's numbers, and the tested error of the model.
    TestedError,
    /// The intervals of the card's numbers alone.
    Numbers,
}

impl BandBasis {
    pub fn head(self) -> &'static str {
        match self {
            BandBasis::Fit | BandBasis::TestedError => "95 %",
            BandBasis::Numbers => "from the card's numbers",
        }
    }
}

/// As text, what the bands show: `where 95 % of further measurements are expected, ...`.
impl fmt::Display for BandBasis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            BandBasis::Fit => "where 95 % of further measurements are expected, from the fit's covariance and spread",
            BandBasis::TestedError => {
                "where 95 % of measurements are expected, from the intervals of the card's numbers and the tested error of the model"
            }
            BandBasis::Numbers => {
                "what the intervals of the card's numbers allow, without the error of the model, which is not tested"
            }
        })
    }
}

/// Covariance of numbers that were fitted together.
#[derive(Clone, Debug, PartialEq)]
pub struct JointNumbers {
    /// Their indices among the model's parameters.
    pub places: Vec<usize>,
    pub covariance: Vec<Vec<f64>>,
    pub t: f64,
    /// Variance of the logarithm of measured / predicted; 0 if another model was fitted.
    pub noise: f64,
}

impl JointNumbers {
    fn from_fit(model: &dyn Model, fit: &JointFit, replaced: &[(String, f64)]) -> Option<Self> {
        let (mut places, mut signed) = (Vec::new(), Vec::new());
        for (place, parameter) in model.about().parameters.iter().enumerate() {
            if replaced.iter().any(|(name, _)| name == parameter.number) {
                continue;
            }
            let same = fit.numbers.iter().position(|name| name == parameter.number);
            // The logarithm of the inverse has the opposite sign.
            let other = || fit.numbers.iter().position(|name| inverse(name).as_deref() == Some(parameter.number));
            if let Some(signed_row) = same.map(|row| (row, 1.0)).or_else(|| Some((other()?, -1.0))) {
                places.push(place);
                signed.push(signed_row);
            }
        }
        let entry = |(i, a): (usize, f64), (j, b): (usize, f64)| a * b * fit.covariance[i][j];
        let covariance = signed.iter().map(|a| signed.iter().map(|b| entry(*a, *b)).collect()).collect();
        // The name of a file is the id of its formula.
        let is_same = fit.model == model.about().id || model.formula().is_some();
        let noise = if is_same { fit.noise } else { 0.0 };
        (!places.is_empty()).then_some(Self { places, covariance, t: fit.t, noise })
    }

    fn width(&self, model: &dyn Model, x: &[f64], p: &[f64]) -> f64 {
        const STEP: f64 = 1e-5;
        let slope = |&index: &usize| {
            let moved = |by: f64| model.predict(x, &replace_value(p, index, p[index] * by.exp())).value;
            (moved(STEP) / moved(-STEP)).ln() / (2.0 * STEP)
        };
        let slopes: Vec<f64> = self.places.iter().map(slope).collect();
        let row_variance =
            |(row, slope): (&Vec<f64>, &f64)| slope * row.iter().zip(&slopes).map(|(c, s)| c * s).sum::<f64>();
        let variance: f64 = self.covariance.iter().zip(&slopes).map(row_variance).sum();
        // Rounding can make the variance slightly negative.
        self.t * (variance.max(0.0) + self.noise).sqrt()
    }
}

impl Numbers {
    /// Reads the numbers from a card and replaces some of them. A replaced number has no interval and no domain.
    pub fn new(model: &dyn Model, card: &Card, replaced: &[(String, f64)]) -> Result<Self> {
        if let Some(saved) = model.formula().and_then(FormulaModel::file) {
            return Self::of_saved(model, saved, card, replaced);
        }
        let mut card = card.clone();
        for (name, value) in replaced {
            card.set_base(name, *value, "given on the command line")?;
        }
        let mut values = model.parameters(&card)?;
        // A model may prefer another number of the card, such as the measured size of a cache.
        for (value, parameter) in values.iter_mut().zip(model.about().parameters) {
            *value =
                replaced.iter().find(|(name, _)| name == parameter.number).map_or(*value, |(_, replaced)| *replaced);
        }
        let is_replaced = |parameter: &Parameter| replaced.iter().any(|(name, _)| name == parameter.number);
        let interval = |parameter: &Parameter| {
            let name = if is_replaced(parameter) { parameter.number } else { parameter.name_on(&card) };
            card.interval(name)
        };
        let intervals = model.about().parameters.iter().map(interval).collect();
        let joint = card.joint.as_ref().and_then(|fit| JointNumbers::from_fit(model, fit, replaced));
        Self { values, intervals, joint, domains: Vec::new(), without_domain: Vec::new(), tests: Vec::new() }
            .with_limits(model, &card, replaced)
    }

    /// Adds where the numbers of the card hold, and the tests of the model.
    fn with_limits(mut self, model: &dyn Model, card: &Card, replaced: &[(String, f64)]) -> Result<Self> {
        self.domains.extend(domains::domains(model, card, replaced)?);
        self.without_domain = domains::without_domain(model, card, replaced);
        let is_fitted = self.joint.as_ref().is_some_and(|joint| joint.noise > 0.0);
        self.tests = if is_fitted { Vec::new() } else { tested::of_model(model.about().id) };
        Ok(self)
    }

    pub fn band_basis(&self) -> BandBasis {
        match &self.joint {
            Some(joint) if joint.noise > 0.0 => BandBasis::Fit,
            _ if !self.tests.is_empty() => BandBasis::TestedError,
            _ => BandBasis::Numbers,
        }
    }

    /// Takes the numbers of a formula from its file, and all others from the card.
    fn of_saved(model: &dyn Model, saved: &Saved, card: &Card, replaced: &[(String, f64)]) -> Result<Self> {
        let parameters = model.about().parameters;
        let replacement =
            |number: &str| replaced.iter().find(|(name, _)| name == number).map(|(_, replaced)| *replaced);
        let value = |parameter: &Parameter| {
            let number = parameter.number;
            let own = saved.parameters.get(number).map(|own| own.value);
            replacement(number).or(own).or_else(|| card_number(card, number))
        };
        let interval = |parameter: &Parameter| match saved.parameters.get(parameter.number) {
            _ if replacement(parameter.number).is_some() => None,
            Some(own) => own.low.zip(own.high),
            None => card.interval(parameter.number),
        };
        let own = parameters.iter().filter(|parameter| saved.parameters.contains_key(parameter.number));
        let not_of_card: Vec<(String, f64)> =
            own.clone().map(|own| (own.number.to_owned(), 0.0)).chain(replaced.to_vec()).collect();
        let kept = own.filter(|own| replacement(own.number).is_none());
        let domains: Vec<NumberDomain> =
            kept.map(|own| NumberDomain { symbol: own.symbol, domain: saved.domain.clone() }).collect();
        Self {
            values: parameter_values(parameters, card, value)?,
            intervals: parameters.iter().map(interval).collect(),
            joint: saved.fit.as_ref().and_then(|fit| JointNumbers::from_fit(model, fit, replaced)),
            domains,
            without_domain: Vec::new(),
            tests: Vec::new(),
        }
        .with_limits(model, card, &not_of_card)
    }

    /// Returns the only value of a variable for which the numbers hold.
    pub fn default_of(&self, variable: &str) -> Option<f64> {
        self.domains.iter().find_map(|number| number.domain.extent(variable)?.single())
    }
}

/// One prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPoint {
    /// Values of the variables, in the model's order.
    pub x: Vec<f64>,
    pub prediction: Prediction,
    /// Prediction band; [`Numbers::band_basis`] says what it covers. `None` without intervals and tests.
    pub band: Option<(f64, f64)>,
    /// The variables in which the model extrapolates.
    pub extrapolations: Vec<Extrapolation>,
    /// What limits the prediction, extrapolations included.
    pub reservations: Vec<Reservation>,
}

/// Predicts at every combination of the variables' values, the last one fastest. An error names an unknown or missing
/// variable, an impossible combination, a point without a rate, or one outside of the domains in a variable without a term.
pub fn scan(model: &dyn Model, numbers: &Numbers, given: &[(String, Vec<f64>)]) -> Result<Vec<ScanPoint>> {
    let about = model.about();
    let names: Vec<_> = about.variables.iter().map(|variable| variable.name).collect();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(Error::input(format!("{} has no variable {name}", about.id), suggest(name, &names)));
    }
    let mut choices: Vec<Vec<(&str, f64)>> = vec![Vec::new()];
    for name in names {
        let Some((_, values)) = given.iter().find(|(candidate, _)| candidate == name) else { continue };
        let extend = |chosen: &Vec<_>| values.iter().map(|v| [&chosen[..], &[(name, *v)]].concat()).collect::<Vec<_>>();
        choices = choices.iter().flat_map(extend).collect();
    }
    let predict = |chosen: Vec<(&str, f64)>| {
        let value = |name: &str| {
            let chosen = chosen.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
            let has_default = about.variables.iter().any(|v| v.name == name && v.default.is_some());
            chosen.or_else(|| numbers.default_of(name).filter(|_| has_default))
        };
        let mut x = model.variables(&value)?;
        let reductions = combination::check(about, &mut x)?;
        let mut row = scan_point(model, numbers, x, &|_| Vec::new())?;
        row.reservations.splice(0..0, reductions);
        require_rate(model, numbers, row)
    };
    choices.into_iter().map(predict).collect()
}

/// Rejects a prediction that is not a positive rate, such as that of zero ranks.
fn require_rate(model: &dyn Model, numbers: &Numbers, row: ScanPoint) -> Result<ScanPoint> {
    if row.prediction.value.is_finite() && row.prediction.value > 0.0 {
        return Ok(row);
    }
    let about = model.about();
    let values = about.variables.iter().zip(&row.x).map(|(variable, value)| format!("{} = {value}", variable.name));
    let place = values.collect::<Vec<_>>().join(", ");
    let lacking: Vec<&str> =
        about.parameters.iter().zip(&numbers.values).filter(|(_, v)| v.is_nan()).map(|(p, _)| p.number).collect();
    if row.prediction.value.is_nan() && !lacking.is_empty() {
        return Err(Error::input(
            format!("the card has no {}, and {} at {place} needs some of them", lacking.join(", "), about.id),
            "give them with --set NAME=VALUE, or choose variables that do not need them",
        ));
    }
    Err(Error::input(
        format!("{} has no rate at {place}", about.id),
        format!("choose values within the domains of the variables; `apexmap models {}` describes them", about.id),
    ))
}

fn replace_value(point: &[f64], index: usize, value: f64) -> Vec<f64> {
    let mut point = point.to_vec();
    point[index] = value;
    point
}

/// Predicts a rate and a band at one point. Numbers from one fit of this model contribute their covariance and the spread of
/// the measurements: the band then holds 95 % of further measurements. All others are independent: changes of the logarithm
/// at the ends of their intervals are added in quadrature, and so is the model's tested error. `option`: by name.
pub fn scan_point(
    model: &dyn Model,
    numbers: &Numbers,
    x: Vec<f64>,
    option: &dyn Fn(&str) -> Vec<Value>,
) -> Result<ScanPoint> {
    let extrapolations = domains::extrapolations(model, &numbers.domains, &x, option)?;
    let prediction = model.predict(&x, &numbers.values);
    let width = numbers.joint.as_ref().map_or(0.0, |joint| joint.width(model, &x, &numbers.values));
    let tested = Tested::choose(model.about(), &numbers.tests, &x);
    let common = width.powi(2) + tested.width.map_or(0.0, |width| width.powi(2));
    let (mut down, mut up, mut any) = (common, common, numbers.joint.is_some() || tested.width.is_some());
    let is_joint = |place: &usize| numbers.joint.as_ref().is_some_and(|joint| joint.places.contains(place));
    for (place, interval) in numbers.intervals.iter().enumerate().filter(|(place, _)| !is_joint(place)) {
        let Some((low, high)) = *interval else { continue };
        any = true;
        let change = |value: f64| {
            (model.predict(&x, &replace_value(&numbers.values, place, value)).value / prediction.value).ln()
        };
        let (a, b) = (change(low), change(high));
        // Both ends can move the prediction in one direction.
        let (least, most) = (a.min(b).min(0.0), a.max(b).max(0.0));
        down += least * least;
        up += most * most;
    }
    let band = any.then(|| (prediction.value * (-f64::sqrt(down)).exp(), prediction.value * f64::sqrt(up).exp()));
    let from = domains::label(&extrapolations).map(|from| Reservation::Extrapolated { from });
    let unstated = (!numbers.without_domain.is_empty())
        .then(|| Reservation::NoDomain { numbers: numbers.without_domain.iter().map(|s| (*s).to_owned()).collect() });
    let is_fitted = numbers.band_basis() == BandBasis::Fit;
    let of_tests = tested.reservations.into_iter().filter(|_| !is_fitted);
    let reservations = from.into_iter().chain(unstated).chain(of_tests).collect();
    Ok(ScanPoint { x, prediction, band, extrapolations, reservations })
}

pub fn parameter(model: &dyn Model, name: &str) -> Option<&'static Parameter> {
    model.about().parameters.iter().find(|parameter| parameter.number == name || parameter.symbol == name)
}
