//! The box of a 3-D surface. Cells are drawn from the far corner to the near one, so that nearer cells cover those behind.

use super::bands::{self, Corner};
use super::frame::{self, Mark};
use super::prelude::*;
use super::view::{BOX_HEIGHT, Camera};

/// Across the whole height; a patch has one colour.
const SHADES: f64 = 36.0;
/// More make the file larger without a visible gain.
const MAX_PATCHES: f64 = 6000.0;
const BOUND_COLOUR: RGBColor = RGBColor(213, 94, 0);

/// Positions 0 to 1 along x and y, heights 0 to `BOX_HEIGHT` at `[row][column]`.
pub struct Solid<'a> {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub heights: Vec<Vec<f64>>,
    /// Points (column, row).
    pub failed: Vec<(usize, usize)>,
    pub look: Look<'a>,
}

pub struct Look<'a> {
    /// Takes the share of the height.
    pub colour: fn(f64) -> RGBColor,
    pub bounds: Option<&'a Array2<f64>>,
    /// Share of the height of a line along the surface.
    pub level: Option<f64>,
    /// Points (row, column) with a mark other than "measured".
    pub marks: &'a [((usize, usize), Mark)],
}

impl Look<'_> {
    pub fn magnitude() -> Self {
        Self { colour: viridis, bounds: None, level: None, marks: &[] }
    }
}

impl Solid<'_> {
    /// For a point without a value: the mean height of its neighbours, or the floor.
    pub fn estimate_point(&self, i: usize, j: usize) -> [f64; 3] {
        let height = |i: usize, j: usize| self.heights.get(j).and_then(|row| row.get(i)).copied();
        let neighbours =
            [height(i + 1, j), height(i.wrapping_sub(1), j), height(i, j + 1), height(i, j.wrapping_sub(1))];
        let heights: Vec<f64> = neighbours.into_iter().flatten().filter(|z| z.is_finite()).collect();
        [self.x[i], self.y[j], heights.iter().sum::<f64>() / heights.len().max(1) as f64]
    }
}

pub fn heights(values: &Array2<f64>, z: &Scale) -> Vec<Vec<f64>> {
    values.rows().into_iter().map(|row| row.iter().map(|value| z.place(*value) * BOX_HEIGHT).collect()).collect()
}

pub fn draw(canvas: &mut Canvas, camera: &Camera, solid: &Solid) -> Result<()> {
    for (i, j) in camera.view.cell_order(solid.x.len() - 1, solid.y.len() - 1) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        if corners.iter().all(|(i, j)| solid.heights[*j][*i].is_finite()) {
            draw_cell(canvas, camera, solid, i, j)?;
            draw_level(canvas, camera, solid, &corners)?;
        }
        // Draw edges and points of cells with a gap too. Edges that a nearer cell covers are drawn again with that
        // cell.
        draw_mesh(canvas, camera, solid, &corners)?;
    }
    Ok(())
}

fn draw_cell(canvas: &mut Canvas, camera: &Camera, solid: &Solid, i: usize, j: usize) -> Result<()> {
    let heights = [(j, i), (j, i + 1), (j + 1, i), (j + 1, i + 1)].map(|(j, i)| solid.heights[j][i]);
    let rise = heights.into_iter().fold(f64::MIN, f64::max) - heights.into_iter().fold(f64::MAX, f64::min);
    let cells = (solid.x.len() - 1) * (solid.y.len() - 1);
    let most = (MAX_PATCHES / cells as f64).sqrt().clamp(1.0, 8.0);
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
        canvas.patch(&corners.map(|c| camera.pixel(c)), (solid.look.colour)(height / BOX_HEIGHT))?;
    }
    Ok(())
}

fn draw_level(canvas: &mut Canvas, camera: &Camera, solid: &Solid, corners: &[(usize, usize); 4]) -> Result<()> {
    let Some(level) = solid.look.level else { return Ok(()) };
    let height = |(i, j): (usize, usize)| solid.heights[j][i];
    let corner = |point: [f64; 3], id: usize| {
        let (x, y) = camera.pixel(point);
        Corner { x, y, z: point[2], id }
    };
    let place = |(i, j): (usize, usize)| [solid.x[i], solid.y[j], height((i, j))];
    let [a, _, c, _] = corners.map(place);
    let middle = corners.map(height).iter().sum::<f64>() / 4.0;
    let centre = corner([(a[0] + c[0]) / 2.0, (a[1] + c[1]) / 2.0, middle], 4);
    let ring: Vec<Corner> = (0..4).map(|k| corner(place(corners[k]), k)).collect();
    let triangles: Vec<[Corner; 3]> = (0..4).map(|k| [ring[k], ring[(k + 1) % 4], centre]).collect();
    for line in bands::iso_lines(&triangles, level * BOX_HEIGHT) {
        canvas.line(&line, INK, 2.0)?;
    }
    Ok(())
}

fn draw_mesh(canvas: &mut Canvas, camera: &Camera, solid: &Solid, corners: &[(usize, usize); 4]) -> Result<()> {
    let pixel = |(i, j): (usize, usize)| {
        let z = solid.heights[j][i];
        z.is_finite().then(|| camera.pixel([solid.x[i], solid.y[j], z]))
    };
    for k in 0..4 {
        if let (Some(a), Some(b)) = (pixel(corners[k]), pixel(corners[(k + 1) % 4])) {
            canvas.line(&[a, b], RGBColor(60, 60, 60), 0.7)?;
        }
    }
    for &(i, j) in corners {
        pixel((i, j))
            .map_or(Ok(()), |centre| frame::draw_mark(canvas, centre, Mark::find(solid.look.marks, (j, i))))?;
    }
    for (i, j) in corners.iter().filter(|corner| solid.failed.contains(corner)) {
        canvas.cross(camera.pixel(solid.estimate_point(*i, *j)))?;
    }
    Ok(())
}

pub fn draw_net(
    canvas: &mut Canvas,
    camera: &Camera,
    top: f64,
    (x, y, heights): (&[f64], &[f64], &[Vec<f64>]),
) -> Result<()> {
    let pixel = |i: usize, j: usize| {
        let z = *heights.get(j)?.get(i)?;
        z.is_finite().then(|| camera.pixel([x[i], y[j], z]))
    };
    for j in 0..y.len() {
        for i in 0..x.len() {
            let Some(start) = pixel(i, j) else { continue };
            for next in [pixel(i + 1, j), pixel(i, j + 1)].into_iter().flatten() {
                canvas.line(&[start, next], BOUND_COLOUR, 1.3)?;
            }
        }
    }
    let position = (canvas.sheet.margin, top + 8.0);
    canvas.line(&[position, (position.0 + 28.0, position.1)], BOUND_COLOUR, 1.8)?;
    // Beside the text of a slide is little space.
    let name = if canvas.sheet.is_wide() { "bound" } else { "bound of the machine" };
    canvas.text(name, (position.0 + 36.0, position.1), Side::Left, Font::new(text::TICK))
}
