//! A model, its data and its free parameters: residuals and their derivatives, in logarithms.

use super::Observation;
use crate::models::Model;
use crate::statistics::nnls::nnls;
use nalgebra::{DMatrix, DVector};
use std::ops::Range;

/// A fitting problem, in logarithms of the parameters, which are positive. A residual is ln(predicted / measured).
#[derive(Clone)]
pub struct Task<'a> {
    pub model: &'a dyn Model,
    pub data: Vec<&'a Observation>,
    /// All parameters of the model; free parameters hold their first guess.
    pub base: Vec<f64>,
    /// Indices of the fitted parameters.
    pub free: Vec<usize>,
    /// For each parameter, the value to hold if the points do not identify it.
    pub or_hold: Vec<Option<f64>>,
    /// Pairs of parameters. The first is at most as large as the second and shows at no point.
    pub hidden: Vec<(usize, usize)>,
    /// Maximum number of steps of a search, see [`super::Options::max_steps`].
    pub max_steps: usize,
}

/// Step of the central differences, in logarithms. Their error is about the step squared.
const STEP: f64 = 1e-6;

impl<'a> Task<'a> {
    /// Returns all parameters: the free ones from their logarithms `theta`, limited to their bounds.
    pub fn parameters(&self, theta: &[f64]) -> Vec<f64> {
        let mut parameters = self.base.clone();
        for (&index, &value) in self.free.iter().zip(theta) {
            let parameter = &self.model.about().parameters[index];
            parameters[index] = value.exp().clamp(parameter.min, parameter.max);
        }
        parameters
    }

    /// Returns distinct points minus free parameters. Launches of a point share the model's error there, so it counts once.
    pub fn freedom(&self) -> usize {
        super::distinct_points(self.data.iter().copied()).len().saturating_sub(self.free.len())
    }

    pub fn bounds(&self, free: usize) -> (f64, f64) {
        let parameter = &self.model.about().parameters[self.free[free]];
        (parameter.min.ln(), parameter.max.ln())
    }

    pub fn residuals(&self, theta: &[f64]) -> DVector<f64> {
        let p = [self.parameters(theta)];
        let (mut residuals, mut rate) = (DVector::zeros(self.data.len()), [0.0]);
        self.visit_points(|x, rows| {
            self.model.predict_rates(x, &p, &mut rate);
            rows.for_each(|row| residuals[row] = (rate[0] / self.data[row].y).ln());
        });
        residuals
    }

    /// Calls a function with each point and its observations. Only consecutive observations share a call.
    pub fn visit_points(&self, mut visit: impl FnMut(&[f64], Range<usize>)) {
        let mut first = 0;
        for same in self.data.chunk_by(|a, b| a.x == b.x) {
            visit(&same[0].x, first..first + same.len());
            first += same.len();
        }
    }

    /// Returns d ln(predicted) / d ln(parameter). All derivatives at a point are computed together.
    pub fn jacobian(&self, theta: &[f64]) -> DMatrix<f64> {
        let mut moved = theta.to_vec();
        let mut parameters = Vec::new();
        for index in 0..theta.len() {
            for step in [STEP, -STEP] {
                moved[index] = theta[index] + step;
                parameters.push(self.parameters(&moved));
            }
            moved[index] = theta[index];
        }
        let (mut jacobian, mut rates) = (DMatrix::zeros(self.data.len(), theta.len()), vec![0.0; parameters.len()]);
        self.visit_points(|x, rows| {
            self.model.predict_rates(x, &parameters, &mut rates);
            for (column, ends) in rates.chunks_exact(2).enumerate() {
                let slope = (ends[0] / ends[1]).ln() / (2.0 * STEP);
                rows.clone().for_each(|row| jacobian[(row, column)] = slope);
            }
        });
        jacobian
    }

    /// Returns, for linear models, measured rate x time with all free parameters 0, and measured rate x the factor of each.
    /// Without error, constant and parameters x factors sum to 1 in each row. A model that is linear itself predicts times.
    pub fn design(&self) -> (DVector<f64>, DMatrix<f64>) {
        let is_time = self.model.is_linear_itself();
        let rate = |observation: &Observation| if is_time { 1.0 / observation.y } else { observation.y };
        let time = |observation: &Observation, unit_parameter: Option<usize>| {
            let mut p = self.base.clone();
            self.free.iter().for_each(|&index| p[index] = f64::from(u8::from(Some(index) == unit_parameter)));
            let value = self.model.predict(&observation.x, &p).value;
            if is_time { value } else { 1.0 / value }
        };
        let rows = self.data.len();
        let constant: Vec<f64> = self.data.iter().map(|observation| time(observation, None)).collect();
        let factor = |row: usize, column: usize| {
            (time(self.data[row], Some(self.free[column])) - constant[row]) * rate(self.data[row])
        };
        let matrix = DMatrix::from_fn(rows, self.free.len(), factor);
        let weighted = self.data.iter().zip(&constant).map(|(observation, constant)| constant * rate(observation));
        (DVector::from_iterator(rows, weighted), matrix)
    }

    /// Returns whether the reciprocal prediction is linear in the free parameters: not in sizes or limits (given parameters).
    pub fn is_linear(&self) -> bool {
        let about = self.model.about();
        about.linear && self.free.iter().all(|&index| !about.parameters[index].is_given)
    }

    /// Returns the least squares of relative errors with positive parameters, as logarithms; `None` if the model is not linear.
    pub fn positive_least_squares(&self) -> Option<Vec<f64>> {
        if !self.is_linear() || self.free.is_empty() {
            return None;
        }
        let (constant, matrix) = self.design();
        if !matrix.iter().chain(constant.iter()).all(|v| v.is_finite()) {
            return None;
        }
        let solution = nnls(&matrix, &constant.map(|constant| 1.0 - constant));
        let bounded = |(index, value): (usize, &f64)| value.ln().clamp(self.bounds(index).0, self.bounds(index).1);
        Some(solution.iter().enumerate().map(bounded).collect())
    }

    /// Returns the first guess, and least squares with positive parameters for linear models, variations for others.
    pub fn starts(&self) -> Vec<Vec<f64>> {
        let first: Vec<f64> = self.free.iter().map(|&index| self.base[index].ln()).collect();
        let mut starts = vec![first];
        if let Some(solution) = self.positive_least_squares() {
            starts.push(solution);
            return starts;
        }
        let adds_up = |observation: &&Observation| !self.model.budget(&observation.x, &self.base).is_empty();
        if self.data.first().is_some_and(adds_up) {
            // Each term of such a model contributes at all points.
            return starts;
        }
        // If terms are bounds, a bound that does not bind at the first guess has no gradient there. Start where it binds.
        for index in 0..self.free.len() {
            for factor in [0.1f64, 0.2, 0.4, 0.7, 2.0, 5.0] {
                let mut start = starts[0].clone();
                start[index] += factor.ln();
                starts.push(start);
            }
        }
        starts
    }
}
