//! Sum-of-terms fit: time as a sum of a few terms v^i log2(v)^j or products of two of them, added one at a time.

use super::{PointRates, varied_axes};
use serde::Serialize;

const POWERS: [f64; 7] = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];
const LOGARITHMS: [i32; 3] = [0, 1, 2];

/// Factors of products of two variables.
const FACTORS: [(f64, i32); 7] = [(-1.0, 0), (-0.5, 0), (0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0)];

/// Maximum number of terms besides the constant.
const MAX_TERMS: usize = 3;

/// A term is added only if the remaining error is below this share of the previous one.
const MAX_ERROR_RATIO: f64 = 0.99;

/// v^power log2(v)^logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Index of the variable.
    pub variable: usize,
    pub power: f64,
    pub logarithm: i32,
}

impl Term {
    fn evaluate(&self, x: &[f64]) -> f64 {
        let value = x[self.variable];
        value.powf(self.power) * value.log2().powi(self.logarithm)
    }
}

fn product(term: &[Term], x: &[f64]) -> f64 {
    term.iter().map(|factor| factor.evaluate(x)).product()
}

/// A fitted sum: time = constant + sum of coefficient x term.
pub struct Terms {
    chosen: Vec<Vec<Term>>,
    /// The constant's coefficient comes first.
    coefficients: Vec<f64>,
}

impl Terms {
    /// Adds terms while the error on left-out `parts` of the points decreases, each time the term that lowers it most.
    /// Coefficients minimise the squares of relative errors and are not negative. Returns the sum and its error on left-out
    /// parts (SMAPE).
    pub fn fit(points: &[&PointRates], parts: &[Vec<usize>]) -> Option<(Self, f64)> {
        let candidates = candidates(points);
        let columns: Vec<Vec<f64>> =
            candidates.iter().map(|term| points.iter().map(|point| product(term, point.x)).collect()).collect();
        let mut chosen: Vec<usize> = Vec::new();
        let mut design = Design::new(points, parts);
        let mut best = design.left_out_error()?;
        // The points must outnumber the constant, the chosen terms and the new one.
        while chosen.len() < MAX_TERMS && points.len() > chosen.len() + 2 {
            let mut lowest: Option<(f64, usize)> = None;
            for candidate in (0..candidates.len()).filter(|candidate| !chosen.contains(candidate)) {
                design.push(&columns[candidate]);
                let error = design.solve(None).and_then(|_| design.left_out_error()).unwrap_or(f64::INFINITY);
                design.pop();
                if error < lowest.map_or(MAX_ERROR_RATIO * best, |(lowest_error, _)| lowest_error) {
                    lowest = Some((error, candidate));
                }
            }
            let Some((error, candidate)) = lowest else { break };
            best = error;
            chosen.push(candidate);
            design.push(&columns[candidate]);
        }
        let coefficients = design.solve(None)?.to_vec();
        Some((Self { chosen: chosen.into_iter().map(|index| candidates[index].clone()).collect(), coefficients }, best))
    }

    /// Returns the rate at `x`.
    pub fn rate(&self, x: &[f64]) -> f64 {
        let terms = self.chosen.iter().zip(&self.coefficients[1..]).map(|(term, c)| c * product(term, x));
        1.0 / (self.coefficients[0] + terms.sum::<f64>())
    }

    pub fn constant(&self) -> f64 {
        self.coefficients[0]
    }

    pub fn terms(&self) -> Vec<(Vec<Term>, f64)> {
        self.chosen.iter().cloned().zip(self.coefficients[1..].iter().copied()).collect()
    }
}

/// Returns terms of one variable and products of two terms that are finite and not negative at all points.
fn candidates(points: &[&PointRates]) -> Vec<Vec<Term>> {
    let variables: Vec<usize> = varied_axes(points).into_iter().map(|(variable, _)| variable).collect();
    let mut terms = Vec::new();
    for (index, &variable) in variables.iter().enumerate() {
        for power in POWERS {
            let single_terms = LOGARITHMS.iter().map(|&logarithm| Term { variable, power, logarithm });
            terms.extend(single_terms.filter(|term| term.power != 0.0 || term.logarithm != 0).map(|term| vec![term]));
        }
        for &other in &variables[..index] {
            let term = |variable: usize, (power, logarithm): (f64, i32)| Term { variable, power, logarithm };
            let pairs = FACTORS.iter().flat_map(|a| FACTORS.iter().map(move |b| (*a, *b)));
            terms.extend(pairs.map(|(a, b)| vec![term(variable, a), term(other, b)]));
        }
    }
    let usable = |value: f64| value.is_finite() && value >= 0.0;
    terms.retain(|term| points.iter().all(|point| usable(product(term, point.x))));
    terms
}

/// Maximum number of columns of a design: the constant and the terms.
const MAX_COLUMNS: usize = MAX_TERMS + 1;

/// Sums of products of the columns, and of the columns and the target.
type Sums = ([[f64; MAX_COLUMNS]; MAX_COLUMNS], [f64; MAX_COLUMNS]);

/// The constant and some terms at all points, with the least-squares sums of each part of the points.
struct Design<'a> {
    points: &'a [&'a PointRates<'a>],
    parts: &'a [Vec<usize>],
    columns: Vec<Vec<f64>>,
    sums: Vec<Sums>,
}

impl<'a> Design<'a> {
    fn new(points: &'a [&'a PointRates<'a>], parts: &'a [Vec<usize>]) -> Self {
        let mut design = Self { points, parts, columns: Vec::new(), sums: vec![Sums::default(); parts.len()] };
        design.push(&vec![1.0; points.len()]);
        design
    }

    fn push(&mut self, column: &[f64]) {
        let new = self.columns.len();
        self.columns.push(column.to_vec());
        for (part, (matrix, target)) in self.parts.iter().zip(&mut self.sums) {
            for (index, other) in self.columns.iter().enumerate() {
                let product = |&point: &usize| column[point] * other[point] * self.points[point].weight.powi(2);
                matrix[new][index] = part.iter().map(product).sum();
                matrix[index][new] = matrix[new][index];
            }
            target[new] =
                part.iter().map(|&point| column[point] * self.points[point].weight * self.points[point].aim).sum();
        }
    }

    /// Removes the last column. Its sums remain, but are not used.
    fn pop(&mut self) {
        self.columns.pop();
    }

    /// Returns the coefficients from all points except one part; `None` if one is negative or the columns are linearly
    /// dependent.
    fn solve(&self, left_out_part: Option<usize>) -> Option<[f64; MAX_COLUMNS]> {
        let used = self.columns.len();
        let (mut matrix, mut target) = Sums::default();
        for (_, sums) in self.sums.iter().enumerate().filter(|(index, _)| Some(*index) != left_out_part) {
            for i in 0..used {
                target[i] += sums.1[i];
                (0..used).for_each(|j| matrix[i][j] += sums.0[i][j]);
            }
        }
        let coefficients = solve(matrix, target, used)?;
        coefficients.iter().all(|c| *c >= 0.0).then_some(coefficients)
    }

    /// Returns the SMAPE of the points of each part, with coefficients from all other parts.
    fn left_out_error(&self) -> Option<f64> {
        let (mut sum, mut number) = (0.0, 0.0);
        for (out, part) in self.parts.iter().enumerate() {
            let coefficients = self.solve(Some(out))?;
            for &point in part {
                let time: f64 = self.columns.iter().zip(&coefficients).map(|(column, c)| c * column[point]).sum();
                let error = |rate: &f64| (2.0 * (rate * time - 1.0) / (rate * time + 1.0)).abs();
                sum += self.points[point].rates.iter().map(error).sum::<f64>();
                number += self.points[point].rates.len() as f64;
            }
        }
        Some(sum / number)
    }
}

/// Solves the normal equations by Cholesky factors, scaled to a diagonal of ones. Returns `None` if the matrix is singular
/// within rounding.
fn solve(
    matrix: [[f64; MAX_COLUMNS]; MAX_COLUMNS],
    target: [f64; MAX_COLUMNS],
    used: usize,
) -> Option<[f64; MAX_COLUMNS]> {
    const MIN_PIVOT: f64 = 1e-12;
    let mut scale = [0.0; MAX_COLUMNS];
    for index in 0..used {
        scale[index] = matrix[index][index].sqrt();
        if !(scale[index].is_finite() && scale[index] > 0.0) {
            return None;
        }
    }
    let (mut lower, mut solution) = ([[0.0; MAX_COLUMNS]; MAX_COLUMNS], [0.0; MAX_COLUMNS]);
    for i in 0..used {
        for j in 0..=i {
            let previous: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] / (scale[i] * scale[j]) - previous;
            if i == j && rest <= MIN_PIVOT {
                return None;
            }
            lower[i][j] = if i == j { rest.sqrt() } else { rest / lower[j][j] };
        }
        let previous: f64 = (0..i).map(|k| lower[i][k] * solution[k]).sum();
        solution[i] = (target[i] / scale[i] - previous) / lower[i][i];
    }
    // Back substitution begins with the last coefficient.
    for i in (0..used).rev() {
        let previous: f64 = (i + 1..used).map(|k| lower[k][i] * solution[k]).sum();
        solution[i] = (solution[i] - previous) / lower[i][i];
    }
    (0..used).for_each(|index| solution[index] /= scale[index]);
    Some(solution)
}
