//! Polynomial fit of ln rate in the logarithms of all variables.

use super::linear::NormalEquations;
use super::{PointRates, coordinate, varied_axes};

/// A polynomial of all products of powers up to a total degree.
pub struct Polynomial {
    /// The largest sum of exponents.
    pub degree: u32,
    /// Variable, centre and half-width of its range. Powers are taken of coordinates scaled to -1 to 1.
    axes: Vec<((usize, bool), f64, f64)>,
    exponents: Vec<Vec<u32>>,
    coefficients: Vec<f64>,
}

impl Polynomial {
    /// Fits a polynomial. Returns `None` unless there are more points than coefficients.
    pub fn fit(points: &[&PointRates], degree: u32) -> Option<Self> {
        let axes: Vec<_> = varied_axes(points)
            .into_iter()
            .map(|axis| {
                let places = points.iter().map(|point| coordinate(point.x, axis));
                let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                (axis, (low + high) / 2.0, (high - low) / 2.0)
            })
            .collect();
        // Limit the power by the number of values: higher powers would be linearly dependent.
        let max_powers: Vec<u32> = axes.iter().map(|(axis, ..)| degree.min(values(points, *axis) - 1)).collect();
        let mut exponents = vec![Vec::new()];
        for max_power in max_powers {
            exponents = exponents
                .iter()
                .flat_map(|prefix: &Vec<u32>| (0..=max_power).map(move |power| [prefix.as_slice(), &[power]].concat()))
                .filter(|powers| powers.iter().sum::<u32>() <= degree)
                .collect();
        }
        if points.len() <= exponents.len() {
            return None;
        }
        let mut polynomial = Self { degree, axes, exponents, coefficients: Vec::new() };
        let mut normal = NormalEquations::new(polynomial.exponents.len());
        points.iter().for_each(|point| normal.add(&polynomial.row(point.x), point.log));
        polynomial.coefficients = normal.solve()?.iter().copied().collect();
        Some(polynomial)
    }

    fn row(&self, x: &[f64]) -> Vec<f64> {
        let places: Vec<f64> =
            self.axes.iter().map(|(axis, middle, half)| (coordinate(x, *axis) - middle) / half).collect();
        let product = |powers: &Vec<u32>| places.iter().zip(powers).map(|(v, power)| v.powi(*power as i32)).product();
        self.exponents.iter().map(product).collect()
    }

    /// Returns the rate at `x`.
    pub fn rate(&self, x: &[f64]) -> f64 {
        self.row(x).iter().zip(&self.coefficients).map(|(a, b)| a * b).sum::<f64>().exp()
    }
}

/// Returns the number of distinct values of a variable.
fn values(points: &[&PointRates], axis: (usize, bool)) -> u32 {
    let mut sorted: Vec<f64> = points.iter().map(|point| point.x[axis.0]).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted.len() as u32
}
