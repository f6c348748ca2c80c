//! Straight lines between neighbours, in logarithms of rates and places.

use super::{PointRates, place, varied};

/// The rate at a place: the mean, in logarithms, of the lines along each variable between the nearest points on either side that
/// have the same values of all other variables. Where a place lies beyond all others along every variable, the lines through the
/// nearest two are drawn further; where no other point is on a line with it, it has the rate of the nearest point.
pub(super) fn at(points: &[&PointRates], x: &[f64]) -> f64 {
    let axes = varied(points);
    // What does not differ among the points may still differ from here.
    let across = |variable: usize| {
        points.iter().filter(move |point| (0..x.len()).all(|at| at == variable || point.x[at] == x[at]))
    };
    let (mut inside, mut beyond) = (Vec::new(), Vec::new());
    for &axis in &axes {
        let here = place(x, axis);
        let mut line: Vec<(f64, f64)> = across(axis.0).map(|point| (place(point.x, axis) - here, point.log)).collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        let above = line.partition_point(|(distance, _)| *distance < 0.0);
        match (line.len(), above) {
            (0 | 1, _) => {}
            (_, 0) => beyond.push(straight(line[0], line[1])),
            (all, above) if above == all => beyond.push(straight(line[all - 1], line[all - 2])),
            _ => inside.push(straight(line[above - 1], line[above])),
        }
    }
    let lines = if inside.is_empty() { beyond } else { inside };
    if lines.is_empty() {
        nearest(points, x, &axes).exp()
    } else {
        (lines.iter().sum::<f64>() / lines.len() as f64).exp()
    }
}

/// The value at 0 of the line through two points.
fn straight((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    y0 - x0 * (y1 - y0) / (x1 - x0)
}

fn nearest(points: &[&PointRates], x: &[f64], axes: &[(usize, bool)]) -> f64 {
    let distance =
        |point: &PointRates| axes.iter().map(|&axis| (place(point.x, axis) - place(x, axis)).powi(2)).sum::<f64>();
    let closest = points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.map_or(f64::NAN, |point| point.log)
}
