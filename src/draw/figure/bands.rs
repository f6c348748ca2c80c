//! Contours of a grid: bands between levels, and lines at levels.
//!
//! Each cell is split into four triangles around its centre, whose value is the mean of the corners. Within a triangle the value is
//! linear, so bands are convex polygons and lines are straight. Cells with an unknown corner are not drawn.

use ndarray::Array2;
use std::collections::HashMap;

/// `id` is shared by all triangles that touch the corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub id: usize,
}

/// Cells with a NaN corner are left out. `values` are at [row, column].
pub fn triangles(x: &[f64], y: &[f64], values: &Array2<f64>) -> Vec<[Corner; 3]> {
    let width = x.len();
    let corner = |j: usize, i: usize| Corner { x: x[i], y: y[j], z: values[[j, i]], id: j * width + i };
    let mut triangles = Vec::new();
    for j in 0..y.len().saturating_sub(1) {
        for i in 0..width.saturating_sub(1) {
            let corners = [corner(j, i), corner(j, i + 1), corner(j + 1, i + 1), corner(j + 1, i)];
            let z = corners.iter().map(|c| c.z).sum::<f64>() / 4.0;
            if !z.is_finite() {
                continue;
            }
            let (cx, cy) = ((x[i] + x[i + 1]) / 2.0, (y[j] + y[j + 1]) / 2.0);
            let centre = Corner { x: cx, y: cy, z, id: y.len() * width + j * width + i };
            triangles.extend((0..4).map(|k| [corners[k], corners[(k + 1) % 4], centre]));
        }
    }
    triangles
}

pub fn band(triangle: &[Corner; 3], low: f64, high: f64) -> Vec<(f64, f64)> {
    let points: Vec<_> = triangle.iter().map(|c| (c.x, c.y, c.z)).collect();
    let above = clip(&points, |z| z - low);
    let within = clip(&above, |z| high - z);
    if within.len() < 3 { Vec::new() } else { within.into_iter().map(|(x, y, _)| (x, y)).collect() }
}

/// Keeps the part where `inside(z) >= 0` (Sutherland-Hodgman).
fn clip(polygon: &[(f64, f64, f64)], inside: impl Fn(f64) -> f64) -> Vec<(f64, f64, f64)> {
    let mut kept = Vec::new();
    for (k, a) in polygon.iter().enumerate() {
        let b = polygon[(k + 1) % polygon.len()];
        let (at_a, at_b) = (inside(a.2), inside(b.2));
        if at_a >= 0.0 {
            kept.push(*a);
        }
        if (at_a > 0.0 && at_b < 0.0) || (at_a < 0.0 && at_b > 0.0) {
            let t = at_a / (at_a - at_b);
            kept.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1), a.2 + t * (b.2 - a.2)));
        }
    }
    kept
}

/// The ids of the corners of an edge, and a position on it.
type End = ((usize, usize), (f64, f64));

/// A corner exactly on the level counts as above it, so that pieces of neighbouring triangles always meet.
fn crossing(triangle: &[Corner; 3], level: f64) -> Option<[End; 2]> {
    let mut ends = Vec::new();
    for k in 0..3 {
        let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
        if (a.z >= level) != (b.z >= level) {
            // Both triangles at an edge interpolate in the same direction, so that their points agree to the last bit.
            let (a, b) = if a.id < b.id { (a, b) } else { (b, a) };
            let t = (level - a.z) / (b.z - a.z);
            ends.push(((a.id, b.id), (a.x + t * (b.x - a.x), a.y + t * (b.y - a.y))));
        }
    }
    ends.try_into().ok()
}

/// Each line has its points in order; a closed one ends where it begins.
pub fn iso_lines(triangles: &[[Corner; 3]], level: f64) -> Vec<Vec<(f64, f64)>> {
    let pieces: Vec<[End; 2]> = triangles.iter().filter_map(|t| crossing(t, level)).collect();
    let mut at_edge: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (k, piece) in pieces.iter().enumerate() {
        for end in piece {
            at_edge.entry(end.0).or_default().push(k);
        }
    }
    let mut used = vec![false; pieces.len()];
    let is_open = |piece: &[End; 2]| piece.iter().any(|end| at_edge[&end.0].len() == 1);
    // Open lines are walked from an end. Only closed lines remain after them.
    let (open, closed): (Vec<usize>, Vec<usize>) = (0..pieces.len()).partition(|k| is_open(&pieces[*k]));
    let mut lines = Vec::new();
    for start in open.into_iter().chain(closed) {
        if !used[start] {
            lines.push(walk(start, &pieces, &at_edge, &mut used));
        }
    }
    lines
}

fn walk(
    start: usize,
    pieces: &[[End; 2]],
    at_edge: &HashMap<(usize, usize), Vec<usize>>,
    used: &mut [bool],
) -> Vec<(f64, f64)> {
    let [a, b] = pieces[start];
    let (first, mut end) = if at_edge[&b.0].len() == 1 { (b, a) } else { (a, b) };
    let mut line = vec![first.1, end.1];
    used[start] = true;
    while let Some(next) = at_edge[&end.0].iter().copied().find(|k| !used[*k]) {
        used[next] = true;
        let [a, b] = pieces[next];
        end = if a.0 == end.0 { b } else { a };
        line.push(end.1);
    }
    line
}
