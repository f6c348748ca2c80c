//! A surface below its bound: two layers on one scale.

use ndarray::Array2;
use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Canvas, Side, Type};
use super::solid::Look;
use super::surface::{Camera, draw_coloured};
use super::ticks::Scale;
use super::view::{BOX_HEIGHT, View};
use super::{Grid, text};
use crate::error::Result;

/// Lines of the bound.
const BOUND: RGBColor = RGBColor(213, 94, 0);

/// The surface below the bounds of its points.
pub fn draw<DB: DrawingBackend>(canvas: &mut Canvas<DB>, grid: &Grid, bounds: &Array2<f64>, view: View) -> Result<()> {
    let known = || bounds.iter().copied().filter(|bound| !bound.is_nan());
    let range = known().reduce(f64::min).zip(known().reduce(f64::max));
    let [x, y, z] = grid.scales(range)?;
    draw_coloured(canvas, grid, view, [x, y, z], Look { bounds: Some(bounds), ..Look::of_magnitudes() })
}

pub fn heights(values: &Array2<f64>, z: &Scale) -> Vec<Vec<f64>> {
    values.rows().into_iter().map(|row| row.iter().map(|value| z.place(*value) * BOX_HEIGHT).collect()).collect()
}

/// The bound, which lies above the surface, as lines that let it be seen.
pub fn net<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    camera: &Camera,
    top: f64,
    (x, y, heights): (&[f64], &[f64], &[Vec<f64>]),
) -> Result<()> {
    let known = |i: usize, j: usize| {
        let z = *heights.get(j)?.get(i)?;
        z.is_finite().then(|| camera.pixel([x[i], y[j], z]))
    };
    for j in 0..y.len() {
        for i in 0..x.len() {
            let Some(at) = known(i, j) else { continue };
            for next in [known(i + 1, j), known(i, j + 1)].into_iter().flatten() {
                canvas.line(&[at, next], BOUND, 1.3)?;
            }
        }
    }
    let at = (canvas.sheet.margin, top + 8.0);
    canvas.line(&[at, (at.0 + 28.0, at.1)], BOUND, 1.8)?;
    canvas.text("the machine's own limit", (at.0 + 36.0, at.1), Side::Left, Type::new(text::TICK))
}
