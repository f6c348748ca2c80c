//! Polynomial fit of ln rate in the logarithms of all variables.

use super::linear::Normal;
use super::{PointRates, place, varied};

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
        let axes: Vec<_> = varied(points)
            .into_iter()
            .map(|axis| {
                let places = points.iter().map(|point| place(point.x, axis));
                let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                (axis, (low + high) / 2.0, (high - low) / 2.0)
            })
            .collect();
        // Limit the power by the number of values: higher powers would be linearly dependent.
        let most: Vec<u32> = axes.iter().map(|(axis, ..)| degree.min(values(points, *axis) - 1)).collect();
        let mut exponents = vec![Vec::new()];
        for most in most {
            exponents = exponents
                .iter()
                .flat_map(|known: &Vec<u32>| (0..=most).map(move |power| [known.as_slice(), &[power]].concat()))
                .filter(|powers| powers.iter().sum::<u32>() <= degree)
                .collect();
        }
        if points.len() <= exponents.len() {
            return None;
        }
        let mut found = Self { degree, axes, exponents, coefficients: Vec::new() };
        let mut normal = Normal::new(found.exponents.len());
        points.iter().for_each(|point| normal.add(&found.row(point.x), point.log));
        found.coefficients = normal.solve()?.iter().copied().collect();
        Some(found)
    }

    fn row(&self, x: &[f64]) -> Vec<f64> {
        let places: Vec<f64> = self.axes.iter().map(|(axis, middle, half)| (place(x, *axis) - middle) / half).collect();
        let product = |powers: &Vec<u32>| places.iter().zip(powers).map(|(v, power)| v.powi(*power as i32)).product();
        self.exponents.iter().map(product).collect()
    }

    /// Returns the rate at `x`.
    pub fn at(&self, x: &[f64]) -> f64 {
        self.row(x).iter().zip(&self.coefficients).map(|(a, b)| a * b).sum::<f64>().exp()
    }
}

/// Returns the number of distinct values of a variable.
fn values(points: &[&PointRates], axis: (usize, bool)) -> u32 {
    let mut all: Vec<f64> = points.iter().map(|point| point.x[axis.0]).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.len() as u32
}
