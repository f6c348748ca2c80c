//! The 3-D performance surface (Apex-Map paper, Figures 3 to 6), correct from every side.
//!
//! Back panels are painted first, then the surface from its far corner to the near one, cell by cell.

use ndarray::Array2;
use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Canvas, GREY, INK, PALE, Rect, Side, Type};
use super::colour::viridis;
use super::edges::{BoxAxis, Camera, LabelledEdge, fitted};
use super::ticks::Scale;
use super::view::{BOX_HEIGHT, View};
use super::{Grid, text};
use crate::error::Result;

/// A cell is drawn as patches of one colour each; this many would span the whole height.
const SHADES: f64 = 36.0;
/// Patches of a whole surface at most: more would make a heavy picture, not a finer one.
const MOST_PATCHES: f64 = 6000.0;
/// Lines of the bound.
const BOUND: RGBColor = RGBColor(213, 94, 0);

/// The data in the box: places 0 to 1 along x and y, heights 0 to `BOX_HEIGHT`, by [row][column].
struct Solid {
    x: Vec<f64>,
    y: Vec<f64>,
    heights: Vec<Vec<f64>>,
    /// Points (column, row) whose measurement failed.
    failed: Vec<(usize, usize)>,
    colour: Colours,
}

/// The colour at a share of the height.
pub type Colours = fn(f64) -> RGBColor;

impl Solid {
    /// Where to mark a point without a value: as high as its neighbours, on the floor if they have no value either.
    fn guessed(&self, i: usize, j: usize) -> [f64; 3] {
        let at = |i: usize, j: usize| self.heights.get(j).and_then(|row| row.get(i)).copied();
        let around = [at(i + 1, j), at(i.wrapping_sub(1), j), at(i, j + 1), at(i, j.wrapping_sub(1))];
        let known: Vec<f64> = around.into_iter().flatten().filter(|z| z.is_finite()).collect();
        [self.x[i], self.y[j], known.iter().sum::<f64>() / known.len().max(1) as f64]
    }
}

pub fn draw<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    range: Option<(f64, f64)>,
    view: View,
) -> Result<()> {
    let [x, y, z] = grid.scales(range)?;
    draw_coloured(canvas, grid, view, ([x, y, z], viridis), None)
}

/// The surface below the bounds of its points.
pub fn draw_layers<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    bounds: &Array2<f64>,
    view: View,
) -> Result<()> {
    let known = || bounds.iter().copied().filter(|bound| !bound.is_nan());
    let range = known().reduce(f64::min).zip(known().reduce(f64::max));
    let [x, y, z] = grid.scales(range)?;
    draw_coloured(canvas, grid, view, ([x, y, z], viridis), Some(bounds))
}

/// With scales and the colours over the height.
pub fn draw_coloured<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    view: View,
    ([x, y, z], colour): ([Scale; 3], Colours),
    bounds: Option<&Array2<f64>>,
) -> Result<()> {
    view.check()?;
    let solid = Solid {
        x: grid.x.values.iter().map(|v| x.place(*v)).collect(),
        y: grid.y.values.iter().map(|v| y.place(*v)).collect(),
        heights: heights(&grid.values, &z),
        failed: grid.failed.iter().map(|(j, i)| (*i, *j)).collect(),
        colour,
    };
    let axes = [
        BoxAxis { quantity: &grid.x.quantity, scale: x, values: &grid.x.values },
        BoxAxis { quantity: &grid.y.quantity, scale: y, values: &grid.y.values },
        BoxAxis { quantity: &grid.z, scale: z, values: &[] },
    ];
    let top = canvas.header(&grid.title, &grid.subtitle)?;
    let edge = canvas.sheet.margin - 4.0;
    let (width, height) = (canvas.sheet.width, canvas.sheet.height);
    let room = Rect { left: edge, top: top + 4.0, right: width - edge, bottom: height - edge };
    let (camera, sides) = fitted(view, &axes, room);
    panels(canvas, &camera, &axes, &sides)?;
    surface(canvas, &camera, &solid)?;
    if let Some(bounds) = bounds {
        net(canvas, &camera, top, (&solid.x, &solid.y, &heights(bounds, &z)))?;
    }
    for side in &sides {
        side.draw(canvas, &camera)?;
    }
    for (row, (j, i)) in grid.listed().into_iter().enumerate() {
        let z = solid.heights[j][i];
        let at = if z.is_finite() { [solid.x[i], solid.y[j], z] } else { solid.guessed(i, j) };
        canvas.spot(camera.pixel(at), row);
    }
    if !grid.failed.is_empty() {
        let at = (width - 80.0, height - 18.0);
        canvas.cross(at)?;
        canvas.text("failed", (at.0 + 14.0, at.1), Side::Left, Type::new(text::TICK))?;
    }
    Ok(())
}

fn heights(values: &Array2<f64>, z: &Scale) -> Vec<Vec<f64>> {
    values.rows().into_iter().map(|row| row.iter().map(|value| z.place(*value) * BOX_HEIGHT).collect()).collect()
}

/// The bound, which lies above the surface, as lines that let it be seen.
fn net<DB: DrawingBackend>(
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

fn surface<DB: DrawingBackend>(canvas: &mut Canvas<DB>, camera: &Camera, solid: &Solid) -> Result<()> {
    for (i, j) in camera.view.cell_order(solid.x.len() - 1, solid.y.len() - 1) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        if corners.iter().all(|(i, j)| solid.heights[*j][*i].is_finite()) {
            cell(canvas, camera, solid, i, j)?;
        }
        // Edges and points of cells with a gap are shown too; what a nearer cell covers is repeated there.
        mesh(canvas, camera, solid, &corners)?;
    }
    Ok(())
}

/// One cell as bilinear patches, the far ones first.
fn cell<DB: DrawingBackend>(canvas: &mut Canvas<DB>, camera: &Camera, solid: &Solid, i: usize, j: usize) -> Result<()> {
    let heights = [(j, i), (j, i + 1), (j + 1, i), (j + 1, i + 1)].map(|(j, i)| solid.heights[j][i]);
    let rise = heights.into_iter().fold(f64::MIN, f64::max) - heights.into_iter().fold(f64::MAX, f64::min);
    let cells = (solid.x.len() - 1) * (solid.y.len() - 1);
    let most = (MOST_PATCHES / cells as f64).sqrt().clamp(1.0, 8.0);
    let patches = (rise / BOX_HEIGHT * SHADES).ceil().clamp(1.0, most) as usize;
    let point = |u: usize, v: usize| {
        let (u, v) = (u as f64 / patches as f64, v as f64 / patches as f64);
        let mix = |a: f64, b: f64, t: f64| a + t * (b - a);
        let row = |j: usize| mix(solid.heights[j][i], solid.heights[j][i + 1], u);
        [mix(solid.x[i], solid.x[i + 1], u), mix(solid.y[j], solid.y[j + 1], v), mix(row(j), row(j + 1), v)]
    };
    for (u, v) in camera.view.cell_order(patches, patches) {
        let corners = [point(u, v), point(u + 1, v), point(u + 1, v + 1), point(u, v + 1)];
        let height = corners.iter().map(|c| c[2]).sum::<f64>() / 4.0;
        canvas.patch(&corners.map(|c| camera.pixel(c)), (solid.colour)(height / BOX_HEIGHT))?;
    }
    Ok(())
}

/// The sides of a cell and the measured points at its corners.
fn mesh<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    camera: &Camera,
    solid: &Solid,
    corners: &[(usize, usize); 4],
) -> Result<()> {
    let known = |(i, j): (usize, usize)| {
        let z = solid.heights[j][i];
        z.is_finite().then(|| camera.pixel([solid.x[i], solid.y[j], z]))
    };
    for k in 0..4 {
        if let (Some(a), Some(b)) = (known(corners[k]), known(corners[(k + 1) % 4])) {
            canvas.line(&[a, b], RGBColor(60, 60, 60), 0.7)?;
        }
    }
    for at in corners.iter().filter_map(|corner| known(*corner)) {
        canvas.dot(at, 1.6, INK)?;
    }
    for (i, j) in corners.iter().filter(|corner| solid.failed.contains(corner)) {
        canvas.cross(camera.pixel(solid.guessed(*i, *j)))?;
    }
    Ok(())
}

/// The three sides of the box behind the surface, with grid lines at the ticks.
fn panels<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    camera: &Camera,
    axes: &[BoxAxis; 3],
    edges: &[LabelledEdge],
) -> Result<()> {
    let size = [1.0, 1.0, BOX_HEIGHT];
    for axis in 0..3 {
        let high = !camera.view.faces_viewer(axis, true);
        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
        let point = |at_p: f64, at_q: f64| {
            let mut point = [0.0; 3];
            point[axis] = if high { size[axis] } else { 0.0 };
            point[p] = at_p * size[p];
            point[q] = at_q * size[q];
            camera.pixel(point)
        };
        let corners = [point(0.0, 0.0), point(1.0, 0.0), point(1.0, 1.0), point(0.0, 1.0)];
        canvas.polygon(&corners, RGBColor(248, 248, 248), 1.0)?;
        for value in &edges[p].ticks.values {
            let at = axes[p].scale.place(*value);
            canvas.line(&[point(at, 0.0), point(at, 1.0)], PALE, 1.0)?;
        }
        for value in &edges[q].ticks.values {
            let at = axes[q].scale.place(*value);
            canvas.line(&[point(0.0, at), point(1.0, at)], PALE, 1.0)?;
        }
        canvas.line(&[corners[0], corners[1], corners[2], corners[3], corners[0]], GREY, 0.8)?;
    }
    Ok(())
}
