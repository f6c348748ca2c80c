//! ln rate as a polynomial of all variables' logarithms.

use super::linear::Normal;
use super::{PointRates, place, varied};

/// A polynomial of all products of powers up to a degree.
pub struct Polynomial {
    /// The largest sum of exponents.
    pub degree: u32,
    /// Variable, middle and half-width of its range: powers are of numbers from -1 to 1.
    axes: Vec<((usize, bool), f64, f64)>,
    exponents: Vec<Vec<u32>>,
    coefficients: Vec<f64>,
}

impl Polynomial {
    /// `None` unless there are more points than coefficients.
    pub fn fit(points: &[&PointRates], degree: u32) -> Option<Self> {
        let axes: Vec<_> = varied(points)
            .into_iter()
            .map(|axis| {
                let places = points.iter().map(|point| place(point.x, axis));
                let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                (axis, (low + high) / 2.0, (high - low) / 2.0)
            })
            .collect();
        // No power of a variable that its values cannot tell from lower ones.
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

    /// The rate there.
    pub fn at(&self, x: &[f64]) -> f64 {
        self.row(x).iter().zip(&self.coefficients).map(|(a, b)| a * b).sum::<f64>().exp()
    }
}

/// How many values a variable has.
fn values(points: &[&PointRates], axis: (usize, bool)) -> u32 {
    let mut all: Vec<f64> = points.iter().map(|point| point.x[axis.0]).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.len() as u32
}
