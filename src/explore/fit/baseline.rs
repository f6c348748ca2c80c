//! A model without knowledge: time as a sum of a few terms v^i log2(v)^j of the variables, chosen by cross-validation.
//! An analytic model that does not beat it explains nothing that a curve would not.

use super::quality::{parts, smape};
use super::{Observation, bits};
use crate::explore::fit::nnls::nnls;
use nalgebra::{DMatrix, DVector};
use serde::Serialize;
use std::collections::HashMap;

const POWERS: [f64; 7] = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];
const LOGARITHMS: [i32; 3] = [0, 1, 2];

/// Terms beside the constant.
const MOST_TERMS: usize = 2;

/// v^power log2(v)^logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Index of the variable.
    pub variable: usize,
    pub power: f64,
    pub logarithm: i32,
}

impl Term {
    fn at(&self, x: &[f64]) -> f64 {
        let value = x[self.variable];
        value.powf(self.power) * value.log2().powi(self.logarithm)
    }
}

/// The best sum of terms: time = constant + sum of coefficient x term.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baseline {
    /// Time of one unit of work that no variable changes: seconds, for a rate per second.
    pub constant: f64,
    /// Up to two terms, each with its coefficient, which is not negative.
    pub terms: Vec<(Term, f64)>,
    /// SMAPE of each point as predicted from all others, from 0 to 2: mean of 2 |y - f| / (y + f).
    pub left_out: f64,
}

/// The launches of a point, in what least squares of relative errors need of them: the sum of (r t - 1)^2 over the rates r is
/// (t w - v)^2 and what does not depend on the time t, with w the root of the sum of r^2 and v the sum of r by w.
struct PointRates<'a> {
    x: &'a [f64],
    /// Rates; times are one over them, times the work.
    rates: Vec<f64>,
    weight: f64,
    aim: f64,
}

fn point_rates<'a>(data: &'a [Observation], work: &dyn Fn(&[f64]) -> f64) -> Vec<PointRates<'a>> {
    let mut places = HashMap::new();
    let mut points: Vec<PointRates> = Vec::new();
    for one in data {
        let at = *places.entry(bits(&one.x)).or_insert(points.len());
        if at == points.len() {
            points.push(PointRates { x: &one.x, rates: Vec::new(), weight: 0.0, aim: 0.0 });
        }
        points[at].rates.push(one.y / work(&one.x));
    }
    for point in &mut points {
        point.weight = point.rates.iter().map(|rate| rate * rate).sum::<f64>().sqrt();
        point.aim = point.rates.iter().sum::<f64>() / point.weight;
    }
    points
}

/// Chooses by leave-one-out error among all sums of up to two terms, of more than 100 points a twentieth at once; `None` if
/// fewer than four points differ.
///
/// Time is one over the rate, times `work(x)`: what the rate is a rate of, such as the ranks.
pub fn choose(data: &[Observation], work: &dyn Fn(&[f64]) -> f64) -> Option<Baseline> {
    let rates = point_rates(data, work);
    let points: Vec<&[f64]> = rates.iter().map(|point| point.x).collect();
    if points.len() < 4 {
        return None;
    }
    let variables = (0..points[0].len()).filter(|&at| points.iter().any(|x| x[at] != points[0][at]));
    let mut terms: Vec<Term> = Vec::new();
    for variable in variables {
        for power in POWERS {
            let all = LOGARITHMS.iter().map(|&logarithm| Term { variable, power, logarithm });
            terms.extend(all.filter(|term| term.power != 0.0 || term.logarithm != 0));
        }
    }
    terms.retain(|term| points.iter().all(|x| term.at(x).is_finite() && term.at(x) >= 0.0));
    let mut chosen: Vec<Term> = Vec::new();
    let mut best = left_out(&rates, &chosen);
    // One term at a time, as long as it lowers the error on points not seen.
    while chosen.len() < MOST_TERMS && points.len() > chosen.len() + 2 {
        let with = |term: &Term| [chosen.as_slice(), &[*term]].concat();
        let errors = terms.iter().map(|term| (left_out(&rates, &with(term)), *term));
        let Some((error, term)) = errors.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        if error >= best {
            break;
        }
        best = error;
        chosen.push(term);
    }
    let coefficients = solve(&rates.iter().collect::<Vec<_>>(), &chosen);
    Some(Baseline {
        constant: coefficients[0],
        terms: chosen.into_iter().zip(coefficients.iter().skip(1).copied()).collect(),
        left_out: best,
    })
}

fn row(x: &[f64], terms: &[Term]) -> Vec<f64> {
    std::iter::once(1.0).chain(terms.iter().map(|term| term.at(x))).collect()
}

/// Coefficients by least squares of relative errors.
fn solve(rates: &[&PointRates], terms: &[Term]) -> DVector<f64> {
    let rows: Vec<Vec<f64>> = rates.iter().map(|point| row(point.x, terms)).collect();
    let a = DMatrix::from_fn(rows.len(), terms.len() + 1, |i, j| rows[i][j] * rates[i].weight);
    nnls(&a, &DVector::from_fn(rows.len(), |i, _| rates[i].aim))
}

fn left_out(rates: &[PointRates], terms: &[Term]) -> f64 {
    let mut pairs = Vec::new();
    for part in parts(rates.len()) {
        // Parts are in ascending order.
        let rest = (0..rates.len()).filter(|at| part.binary_search(at).is_err()).map(|at| &rates[at]);
        let coefficients = solve(&rest.collect::<Vec<_>>(), terms);
        for out in part.iter().map(|&at| &rates[at]) {
            let time: f64 = row(out.x, terms).iter().zip(coefficients.iter()).map(|(a, b)| a * b).sum();
            pairs.extend(out.rates.iter().map(|rate| (*rate, 1.0 / time)));
        }
    }
    // A time of 0 is an infinite rate: as wrong as can be.
    smape(pairs.into_iter().map(|(y, f)| if f.is_finite() { (y, f) } else { (y, 0.0) }))
}
