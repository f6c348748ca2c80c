//! Small least-squares problems, solved by normal equations.

use nalgebra::{DMatrix, DVector};

/// Sums of products of the rows of a design, updated row by row.
pub struct NormalEquations {
    matrix: DMatrix<f64>,
    target: DVector<f64>,
}

/// Ridge relative to the diagonal. Directions that the points do not determine get no weight; all others change by no more
/// than rounding.
const RIDGE: f64 = 1e-11;

impl NormalEquations {
    pub fn new(columns: usize) -> Self {
        Self { matrix: DMatrix::zeros(columns, columns), target: DVector::zeros(columns) }
    }

    pub fn add(&mut self, row: &[f64], target: f64) {
        for (i, a) in row.iter().enumerate() {
            for (j, b) in row.iter().enumerate() {
                self.matrix[(i, j)] += a * b;
            }
            self.target[i] += a * target;
        }
    }

    /// Returns the coefficients; `None` if the columns are linearly dependent.
    pub fn solve(&self) -> Option<DVector<f64>> {
        let scale = self.matrix.diagonal().map(f64::sqrt);
        if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
            return None;
        }
        let value = |i: usize, j: usize| {
            let ridge = if i == j { RIDGE } else { 0.0 };
            self.matrix[(i, j)] / (scale[i] * scale[j]) + ridge
        };
        let matrix = DMatrix::from_fn(scale.len(), scale.len(), value);
        let scaled_solution = matrix.cholesky()?.solve(&self.target.component_div(&scale));
        Some(scaled_solution.component_div(&scale))
    }
}
