//! Linear interpolation between neighbours, in logarithms of rates and coordinates.

use super::{PointRates, coordinate, varied_axes};

/// Returns the rate at `x`. Each variable gives one line through the nearest points below and above `x` that have the same
/// values of all other variables. The result is the mean of these lines in logarithms. If `x` lies outside all points along
/// every variable, the lines through the nearest two points are extrapolated. If no other point is on a line with `x`, the
/// result is the rate of the nearest point.
pub(super) fn interpolate(points: &[&PointRates], x: &[f64]) -> f64 {
    let axes = varied_axes(points);
    // A variable that is constant among the points may still differ at `x`.
    let across = |variable: usize| {
        points.iter().filter(move |point| (0..x.len()).all(|other| other == variable || point.x[other] == x[other]))
    };
    let (mut inside, mut beyond) = (Vec::new(), Vec::new());
    for &axis in &axes {
        let position = coordinate(x, axis);
        let mut line: Vec<(f64, f64)> =
            across(axis.0).map(|point| (coordinate(point.x, axis) - position, point.log)).collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        let above = line.partition_point(|(distance, _)| *distance < 0.0);
        match (line.len(), above) {
            (0 | 1, _) => {}
            (_, 0) => beyond.push(intercept(line[0], line[1])),
            (count, above) if above == count => beyond.push(intercept(line[count - 1], line[count - 2])),
            _ => inside.push(intercept(line[above - 1], line[above])),
        }
    }
    let lines = if inside.is_empty() { beyond } else { inside };
    if lines.is_empty() {
        nearest(points, x, &axes).exp()
    } else {
        (lines.iter().sum::<f64>() / lines.len() as f64).exp()
    }
}

/// Returns the value at 0 of the line through two points.
fn intercept((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    y0 - x0 * (y1 - y0) / (x1 - x0)
}

fn nearest(points: &[&PointRates], x: &[f64], axes: &[(usize, bool)]) -> f64 {
    let distance = |point: &PointRates| {
        axes.iter().map(|&axis| (coordinate(point.x, axis) - coordinate(x, axis)).powi(2)).sum::<f64>()
    };
    let closest = points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.map_or(f64::NAN, |point| point.log)
}
