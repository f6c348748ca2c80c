//! Maps of cells: axes and one rectangle per point.

use super::canvas::Canvas;
use super::frame::{self, Frame, FrameAxis};
use super::geometry::Rect;
use super::grid::{Axis, Grid};
use super::ticks::Scale;
use apexmap_base::error::Result;

/// Midway between the values, on the axis's own scale.
fn limits(axis: &Axis, scale: &Scale) -> Vec<f64> {
    let places: Vec<f64> = axis.values.iter().map(|v| scale.place(*v)).collect();
    let Some((first, last)) = places.first().zip(places.last()) else { return Vec::new() };
    let half = |k: usize| (places[k + 1] - places[k]) / 2.0;
    let inner = (0..places.len() - 1).map(|k| places[k] + half(k));
    let (before, after) = if places.len() == 1 { (0.5, 0.5) } else { (half(0), half(places.len() - 2)) };
    std::iter::once(first - before)
        .chain(inner)
        .chain(std::iter::once(last + after))
        .map(|place| scale.value(place))
        .collect()
}

/// `x` and `y` are the limits of the cells.
pub struct Cells {
    pub frame: Frame,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Cells {
    /// Leaves the right margin free for a key.
    pub fn new(canvas: &mut Canvas, (title, subtitle): (&str, &str), (x, y): (&Axis, &Axis)) -> Result<Self> {
        let x_limits = limits(x, &x.scale()?);
        let y_limits = limits(y, &y.scale()?);
        let scale_over = |limits: &[f64], log| Scale { low: limits[0], high: limits[limits.len() - 1], log };
        let axis = |axis, scale| FrameAxis { only_measured: true, ..FrameAxis::new(axis, scale) };
        let x = axis(x, scale_over(&x_limits, x.quantity.log));
        let y = axis(y, scale_over(&y_limits, y.quantity.log));
        let top = canvas.header(title, subtitle)?;
        let frame = frame::draw_axes(canvas, top, canvas.bar_left(), &x, &y, false)?;
        Ok(Self { frame, x: x_limits, y: y_limits })
    }

    pub fn rect(&self, j: usize, i: usize) -> Rect {
        let (left, bottom) = self.frame.point(self.x[i], self.y[j]);
        let (right, top) = self.frame.point(self.x[i + 1], self.y[j + 1]);
        Rect { left, top, right, bottom }
    }

    pub fn draw_marks(&self, canvas: &mut Canvas, grid: &Grid) -> Result<()> {
        self.record_spots(canvas, grid);
        for (j, i) in &grid.failed {
            canvas.cross(self.rect(*j, *i).centre())?;
        }
        Ok(())
    }

    pub fn record_spots(&self, canvas: &mut Canvas, grid: &Grid) {
        for (row, (j, i)) in grid.filled_cells().into_iter().enumerate() {
            canvas.spot(self.rect(j, i).centre(), row);
        }
    }
}
