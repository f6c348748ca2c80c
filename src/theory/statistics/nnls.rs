//! Non-negative least squares.

use nalgebra::{DMatrix, DVector};

/// Returns the x >= 0 that minimises |A x - b| (Lawson and Hanson, Solving Least Squares Problems, 1974, Chapter 23). Values
/// that would be negative are exactly 0, as are those of columns of zeros. `A` has at least one row.
pub fn nnls(a: &DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    // The tolerances assume numbers near 1.
    let largest = |values: &[f64]| values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (scales, scale): (Vec<f64>, _) =
        (a.column_iter().map(|column| largest(column.clone_owned().as_slice())).collect(), largest(b.as_slice()));
    let scaled =
        DMatrix::from_fn(a.nrows(), a.ncols(), |i, j| if scales[j] > 0.0 { a[(i, j)] / scales[j] } else { 0.0 });
    if scale == 0.0 {
        return DVector::zeros(a.ncols());
    }
    let x = scaled_nnls(&scaled, &b.map(|value| value / scale));
    x.zip_map(&DVector::from_vec(scales), |x, column_scale| if x > 0.0 { x / column_scale * scale } else { 0.0 })
}

/// Solves the problem if the largest number of each column and of `b` is 1, or all are 0.
fn scaled_nnls(a: &DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let columns = a.ncols();
    let (mut x, mut passive) = (DVector::zeros(columns), vec![false; columns]);
    let tolerance = 1e-12 * (a.transpose() * b).amax().max(f64::MIN_POSITIVE);
    // Each step frees one column. A column rarely returns; the limit only prevents cycling caused by rounding.
    for _ in 0..10 * columns.max(1) {
        let gradient = a.transpose() * (b - a * &x);
        let blocked = (0..columns).filter(|&j| !passive[j] && gradient[j] > tolerance);
        let Some(next) = blocked.max_by(|&i, &j| gradient[i].total_cmp(&gradient[j])) else { break };
        passive[next] = true;
        // Each iteration except the last blocks a column again.
        for _ in 0..columns {
            let z = solve(a, b, &passive);
            let outside = |j: &usize| passive[*j] && z[*j] <= 0.0;
            let steps = (0..columns).filter(outside).map(|j| x[j] / (x[j] - z[j])).filter(|step| step.is_finite());
            let Some(step) = steps.min_by(f64::total_cmp) else {
                x = z.map(|value| value.max(0.0));
                break;
            };
            x += (&z - &x) * step;
            for j in 0..columns {
                if passive[j] && (x[j] <= 1e-14 * x.amax() || z[j] <= 0.0 && step == 0.0 && j == next) {
                    passive[j] = false;
                    x[j] = 0.0;
                }
            }
        }
    }
    x
}

/// Solves ordinary least squares over the passive columns; all others are 0.
fn solve(a: &DMatrix<f64>, b: &DVector<f64>, passive: &[bool]) -> DVector<f64> {
    let chosen: Vec<usize> = (0..passive.len()).filter(|&j| passive[j]).collect();
    let part = a.select_columns(&chosen);
    let solved = part.svd(true, true).solve(b, 1e-14).expect("singular vectors were requested");
    let mut x = DVector::zeros(passive.len());
    for (position, &column) in chosen.iter().enumerate() {
        x[column] = solved[position];
    }
    x
}
