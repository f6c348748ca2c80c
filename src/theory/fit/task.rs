//! A model, data and what is free: residuals and their derivatives, all in logarithms.

use super::Observation;
use crate::models::Model;
use crate::statistics::nnls::nnls;
use nalgebra::{DMatrix, DVector};

/// Parameters are positive and times err by factors: fits move in the logarithm of the parameters, and a residual is
/// ln(predicted / measured).
#[derive(Clone)]
pub struct Task<'a> {
    pub model: &'a dyn Model,
    pub data: Vec<&'a Observation>,
    /// Every parameter of the model; the free ones hold their first guess.
    pub base: Vec<f64>,
    /// Which parameters are fitted.
    pub free: Vec<usize>,
    /// By parameter: what it is where the points do not identify it, if that is known.
    pub or_hold: Vec<Option<f64>>,
    /// Parameters that are at most as large as another, and so show nowhere: each with that one.
    pub hidden: Vec<(usize, usize)>,
}

/// Step of the central differences, in logarithms: their error is about the step squared.
const STEP: f64 = 1e-6;

impl<'a> Task<'a> {
    /// All parameters, the free ones from their logarithms, kept within their bounds.
    pub fn parameters(&self, theta: &[f64]) -> Vec<f64> {
        let mut all = self.base.clone();
        for (&at, &value) in self.free.iter().zip(theta) {
            let parameter = &self.model.about().parameters[at];
            all[at] = value.exp().clamp(parameter.least, parameter.most);
        }
        all
    }

    /// Points more than parameters: launches of a point share what the model misses there, and count once.
    pub fn freedom(&self) -> usize {
        super::different(self.data.iter().copied()).len().saturating_sub(self.free.len())
    }

    pub fn bounds(&self, free: usize) -> (f64, f64) {
        let parameter = &self.model.about().parameters[self.free[free]];
        (parameter.least.ln(), parameter.most.ln())
    }

    pub fn residuals(&self, theta: &[f64]) -> DVector<f64> {
        let p = self.parameters(theta);
        let mut residuals = self.at_points(|x| self.model.predict(x, &p).value);
        residuals.iter_mut().zip(&self.data).for_each(|(value, observation)| *value = (*value / observation.y).ln());
        residuals
    }

    /// A function of the point of each observation. The launches of a point stand side by side: it is asked for once for all.
    fn at_points(&self, of: impl Fn(&[f64]) -> f64) -> DVector<f64> {
        let mut last: Option<(&[f64], f64)> = None;
        let value = |observation: &&'a Observation| {
            let value = match last {
                Some((x, value)) if x == observation.x => value,
                _ => of(&observation.x),
            };
            last = Some((&observation.x, value));
            value
        };
        DVector::from_iterator(self.data.len(), self.data.iter().map(value))
    }

    /// d ln(predicted) / d ln(parameter).
    pub fn jacobian(&self, theta: &[f64]) -> DMatrix<f64> {
        let mut jacobian = DMatrix::zeros(self.data.len(), theta.len());
        let mut moved = theta.to_vec();
        for at in 0..theta.len() {
            moved[at] = theta[at] + STEP;
            let up = self.parameters(&moved);
            moved[at] = theta[at] - STEP;
            let down = self.parameters(&moved);
            moved[at] = theta[at];
            let predict = |x: &[f64], p: &[f64]| self.model.predict(x, p).value;
            let slope = |x: &[f64]| (predict(x, &up) / predict(x, &down)).ln() / (2.0 * STEP);
            jacobian.set_column(at, &self.at_points(slope));
        }
        jacobian
    }

    /// For linear models: measured rate x (time with all free parameters 0), and the same of each parameter's factor;
    /// their sum should be 1 in every row.
    pub fn design(&self) -> (DVector<f64>, DMatrix<f64>) {
        let time = |observation: &Observation, one: Option<usize>| {
            let mut p = self.base.clone();
            self.free.iter().for_each(|&at| p[at] = f64::from(u8::from(Some(at) == one)));
            1.0 / self.model.predict(&observation.x, &p).value
        };
        let rows = self.data.len();
        let constant: Vec<f64> = self.data.iter().map(|observation| time(observation, None)).collect();
        let factor = |row: usize, column: usize| {
            (time(self.data[row], Some(self.free[column])) - constant[row]) * self.data[row].y
        };
        let matrix = DMatrix::from_fn(rows, self.free.len(), factor);
        let weighted = self.data.iter().zip(&constant).map(|(observation, constant)| constant * observation.y);
        (DVector::from_iterator(rows, weighted), matrix)
    }

    /// Whether one over the prediction is linear in what is fitted: sizes and limits, which are given, never are.
    pub fn linear(&self) -> bool {
        let about = self.model.about();
        about.linear && self.free.iter().all(|&at| !about.parameters[at].given)
    }

    /// For linear models what least squares with positive parameters give, in relative errors.
    pub fn positive_least_squares(&self) -> Option<Vec<f64>> {
        if !self.linear() || self.free.is_empty() {
            return None;
        }
        let (constant, matrix) = self.design();
        if !matrix.iter().chain(constant.iter()).all(|v| v.is_finite()) {
            return None;
        }
        let found = nnls(&matrix, &constant.map(|constant| 1.0 - constant));
        let bounded = |(at, value): (usize, &f64)| value.ln().clamp(self.bounds(at).0, self.bounds(at).1);
        Some(found.iter().enumerate().map(bounded).collect())
    }

    /// Where to begin: the first guesses; for linear models what least squares with positive parameters give, for others
    /// each guess moved.
    pub fn starts(&self) -> Vec<Vec<f64>> {
        let first: Vec<f64> = self.free.iter().map(|&at| self.base[at].ln()).collect();
        let mut starts = vec![first];
        if let Some(found) = self.positive_least_squares() {
            starts.push(found);
            return starts;
        }
        let adds_up = |observation: &&Observation| !self.model.budget(&observation.x, &self.base).is_empty();
        if self.data.first().is_some_and(adds_up) {
            // Each of its terms tells something everywhere.
            return starts;
        }
        // Where terms are bounds, one that does not bind at the first guess tells nothing: begin where it does.
        for at in 0..self.free.len() {
            for factor in [0.1f64, 0.2, 0.4, 0.7, 2.0, 5.0] {
                let mut start = starts[0].clone();
                start[at] += factor.ln();
                starts.push(start);
            }
        }
        starts
    }
}
