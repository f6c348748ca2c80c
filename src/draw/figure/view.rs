//! The orthographic view of the 3-D surface: projection, visible faces and drawing order.

use super::geometry::Xy;
use super::grid::Grid;
use apexmap_base::error::{Error, Result};

/// Height of the box around the surface; its floor is 1 by 1.
pub const BOX_HEIGHT: f64 = 0.62;

/// The direction of the viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Degrees anticlockwise from the x axis, seen from above. At -90 the x axis points to the right.
    pub azimuth: f64,
    /// Degrees above the floor, -90 to 90.
    pub elevation: f64,
}

impl Default for View {
    /// Shows the corner of largest x and least y in front, as alpha = 1, L = 1 in the Apex-Map papers' surfaces.
    fn default() -> Self {
        Self { azimuth: -52.0, elevation: 26.0 }
    }
}

impl View {
    /// Turns [`View::default`] so that the quarter with the lowest values is in front: alpha = 1, L = 1 for surfaces over alpha and L.
    pub fn of_grid(grid: &Grid) -> Self {
        let (rows, columns) = grid.values.dim();
        let height = |value: &f64| if grid.z.log { value.ln() } else { *value };
        // Each quarter of the floor is a quarter turn from the one before: (high x, high y).
        let mean = |(high_x, high_y): (bool, bool)| {
            let is_inside = |&((j, i), value): &((usize, usize), &f64)| {
                (2 * i >= columns) == high_x && (2 * j >= rows) == high_y && !value.is_nan()
            };
            let heights: Vec<f64> =
                grid.values.indexed_iter().filter(is_inside).map(|(_, value)| height(value)).collect();
            heights.iter().sum::<f64>() / heights.len() as f64
        };
        let quarters = [(true, false), (true, true), (false, true), (false, false)].map(mean);
        let lowest = (0..4).filter(|&k| quarters[k].is_finite()).min_by(|&a, &b| quarters[a].total_cmp(&quarters[b]));
        let view = Self::default();
        Self { azimuth: view.azimuth + 90.0 * lowest.unwrap_or(0) as f64, ..view }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    pub right: f64,
    pub up: f64,
    pub depth: f64,
}

impl View {
    pub fn check(&self) -> Result<()> {
        if self.azimuth.is_finite() && (-90.0..=90.0).contains(&self.elevation) {
            return Ok(());
        }
        Err(Error::input(
            format!("a surface cannot be seen from azimuth {}, elevation {}", self.azimuth, self.elevation),
            "give any azimuth in degrees and an elevation from -90 to 90",
        ))
    }

    /// Returns the unit vector from the surface to the viewer.
    pub fn viewer_direction(&self) -> [f64; 3] {
        let (a, e) = (self.azimuth.to_radians(), self.elevation.to_radians());
        [e.cos() * a.cos(), e.cos() * a.sin(), e.sin()]
    }

    pub fn project(&self, [x, y, z]: [f64; 3]) -> Projected {
        let (a, e) = (self.azimuth.to_radians(), self.elevation.to_radians());
        let away = x * a.cos() + y * a.sin();
        Projected {
            right: y * a.cos() - x * a.sin(),
            up: z * e.cos() - away * e.sin(),
            depth: away * e.cos() + z * e.sin(),
        }
    }

    /// If both faces of an axis are edge-on, the low one counts as visible.
    pub fn faces_viewer(&self, axis: usize, high: bool) -> bool {
        (self.viewer_direction()[axis] > 1e-9) == high
    }

    /// Returns the cells (column, row) so that no later one is hidden by an earlier one.
    /// A cell can hide only cells farther along both floor axes, whatever their heights, so walking from the far corner is always correct;
    /// sorting by the distance of centres is not.
    pub fn cell_order(&self, width: usize, height: usize) -> Vec<(usize, usize)> {
        let towards = self.viewer_direction();
        let far_first = |n: usize, towards: f64| -> Vec<usize> {
            if towards >= 0.0 { (0..n).collect() } else { (0..n).rev().collect() }
        };
        let rows = far_first(height, towards[1]);
        far_first(width, towards[0]).into_iter().flat_map(|i| rows.iter().map(move |j| (i, *j))).collect()
    }

    /// Returns the two edges between a visible face and a hidden one, as (start, end). Labels there never overlap the box.
    pub fn outer_edges(&self, axis: usize) -> Vec<([f64; 3], [f64; 3])> {
        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
        let size = |k: usize| if k == 2 { BOX_HEIGHT } else { 1.0 };
        let mut edges = Vec::new();
        for (p_high, q_high) in [(false, false), (false, true), (true, false), (true, true)] {
            if self.faces_viewer(p, p_high) != self.faces_viewer(q, q_high) {
                let mut start = [0.0; 3];
                start[p] = if p_high { size(p) } else { 0.0 };
                start[q] = if q_high { size(q) } else { 0.0 };
                let mut end = start;
                end[axis] = size(axis);
                edges.push((start, end));
            }
        }
        edges
    }
}

#[derive(Clone, Copy)]
pub struct Camera {
    pub view: View,
    /// Per unit of the box.
    pub pixels: f64,
    pub centre: Xy,
}

impl Camera {
    pub fn pixel(&self, point: [f64; 3]) -> Xy {
        let projected = self.view.project(point);
        let middle = self.view.project([0.5, 0.5, BOX_HEIGHT / 2.0]);
        (
            self.centre.0 + (projected.right - middle.right) * self.pixels,
            self.centre.1 - (projected.up - middle.up) * self.pixels,
        )
    }
}
