//! Filled contours with labelled iso-lines (Apex-Map paper, Figure 7).

use super::bands::{self, Corner};
use super::frame::{self, ColourBar, Frame, FrameAxis, Mark};
use super::place::{self, Place, Placed, draw_places};
use super::prelude::*;

pub struct Bands {
    pub z: Scale,
    pub levels: Vec<f64>,
    /// Takes the share of the way from the first band to the last.
    pub colour: fn(f64) -> RGBColor,
    /// Points (row, column) with a mark other than "measured".
    pub marks: Vec<((usize, usize), Mark)>,
    pub places: Vec<Place>,
}

impl Bands {
    pub fn from_scale(z: Scale) -> Self {
        Self { z, levels: ticks::levels(&z), colour: viridis, marks: Vec::new(), places: Vec::new() }
    }

    pub fn band_colour(&self, k: usize) -> RGBColor {
        (self.colour)((k as f64 + 0.5) / (self.levels.len() - 1) as f64)
    }

    pub fn bar(&self, names: Vec<String>, title: String) -> ColourBar {
        let count = self.levels.len() - 1;
        let share = |k: usize| k as f64 / count as f64;
        let parts = (0..count).map(|k| (share(k), self.band_colour(k))).collect();
        let ticks = names.into_iter().enumerate().map(|(k, name)| (share(k), name)).collect();
        ColourBar { parts, ticks, title }
    }
}

pub struct Contour<'a> {
    pub grid: &'a Grid,
    pub range: Option<(f64, f64)>,
    pub places: &'a [Place],
}

impl Drawable for Contour<'_> {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        self.grid.check()?;
        let bands = Bands::from_scale(self.grid.z_scale(self.range)?);
        draw_bands(canvas, self.grid, &Bands { places: self.places.to_vec(), ..bands })
    }

    fn table(&self) -> FigureTable {
        FigureTable::from_grid(self.grid)
    }

    fn description(&self) -> String {
        format!("Filled contours. {}", table::extremes(self.grid))
    }
}

pub fn draw_bands(canvas: &mut Canvas, grid: &Grid, bands: &Bands) -> Result<()> {
    grid.check_two_by_two("contour plot")?;
    let names = ticks::labels(&bands.levels, grid.z.unit, false);
    let top = canvas.header(&grid.title, &grid.subtitle)?;
    let (x, y) = (FrameAxis::new(&grid.x, grid.x.scale()?), FrameAxis::new(&grid.y, grid.y.scale()?));
    let frame = frame::draw_axes(canvas, top, canvas.bar_left(), &x, &y, false)?;
    let lines = draw_area(canvas, grid, &frame, bands, &names, "no four neighbouring points were measured")?;
    let mut marks = draw_marks(canvas, grid, &frame, &bands.marks)?;
    let placed = place::lay_out(grid, &frame, &bands.places);
    label_lines(canvas, &lines, grid, &frame, Placed::rects(&placed))?;
    draw_places(canvas, &placed)?;
    marks.extend((!placed.is_empty()).then_some(Mark::Estimate));
    bands.bar(names, grid.z.title()).draw(canvas, &frame.area, marks.len())?;
    frame::draw_key(canvas, &frame.area, &marks)
}

/// Writes `remark` if there are no bands. Returns the lines with their labels.
pub fn draw_area<'a>(
    canvas: &mut Canvas,
    grid: &Grid,
    frame: &Frame,
    bands: &Bands,
    names: &'a [String],
    remark: &str,
) -> Result<Vec<(Vec<Xy>, &'a str)>> {
    let triangles = triangles(grid, frame, &bands.z);
    if triangles.is_empty() {
        frame::remark(canvas, &frame.area, remark)?;
    }
    let places: Vec<f64> = bands.levels.iter().map(|level| bands.z.place(*level)).collect();
    fill(canvas, &triangles, &places, bands)?;
    let lines = named_lines(&triangles, &places, names);
    for (line, _) in &lines {
        canvas.line(line, INK, 1.0)?;
    }
    canvas.outline(frame.area, INK, 1.0)?;
    Ok(lines)
}

/// In pixels, with positions on the z scale as values.
fn triangles(grid: &Grid, frame: &Frame, z: &Scale) -> Vec<[Corner; 3]> {
    let x: Vec<f64> = grid.x.values.iter().map(|v| frame.point(*v, frame.y.low).0).collect();
    let y: Vec<f64> = grid.y.values.iter().map(|v| frame.point(frame.x.low, *v).1).collect();
    bands::triangles(&x, &y, &grid.values.mapv(|v| z.place(v)))
}

/// `levels` are positions on the z scale.
fn fill(canvas: &mut Canvas, triangles: &[[Corner; 3]], levels: &[f64], bands: &Bands) -> Result<()> {
    let count = levels.len() - 1;
    for triangle in triangles {
        for k in 0..count {
            let part = bands::band(triangle, levels[k], levels[k + 1]);
            if !part.is_empty() {
                canvas.patch(&part, bands.band_colour(k))?;
            }
        }
    }
    Ok(())
}

fn named_lines<'a>(triangles: &[[Corner; 3]], levels: &[f64], names: &'a [String]) -> Vec<(Vec<Xy>, &'a str)> {
    let mut lines: Vec<(Vec<Xy>, &str)> = Vec::new();
    for k in 1..levels.len() - 1 {
        let level_lines = bands::iso_lines(triangles, levels[k]);
        lines.extend(level_lines.into_iter().map(|line| (line, names[k].as_str())));
    }
    lines.sort_by(|a, b| length(&b.0).total_cmp(&length(&a.0)));
    lines
}

/// Avoids the frame, other labels, the rectangles `taken` and, if possible, measured points.
pub fn label_lines(
    canvas: &mut Canvas,
    lines: &[(Vec<Xy>, &str)],
    grid: &Grid,
    frame: &Frame,
    mut taken: Vec<Rect>,
) -> Result<()> {
    let points = grid.values.indexed_iter().filter(|(_, v)| !v.is_nan());
    let dots: Vec<Rect> = points.map(|(cell, _)| Rect::from_centre(frame.cell(grid, cell), 5.0, 5.0)).collect();
    let crosses: Vec<Rect> =
        grid.failed.iter().map(|cell| Rect::from_centre(frame.cell(grid, *cell), 12.0, 12.0)).collect();
    let font = Font::new(text::TICK);
    for (line, name) in lines {
        let (width, height) = (font.width(name) + 6.0, text::TICK * 1.25);
        if length(line) < 1.5 * width {
            continue;
        }
        // Try the middle of the line first, then outwards.
        let shares = (0..20).map(|k| 0.5 + 0.045 * f64::from((k + 1) / 2) * if k % 2 == 0 { 1.0 } else { -1.0 });
        let free: Vec<Rect> = shares
            .map(|share| Rect::from_centre(point_along(line, share), width, height))
            .filter(|rect| frame.area.inflate(-4.0).contains(rect))
            .filter(|rect| !taken.iter().any(|other| other.overlaps(&rect.inflate(10.0))))
            .filter(|rect| !crosses.iter().any(|cross| cross.overlaps(rect)))
            .collect();
        let best = free.iter().find(|rect| !dots.iter().any(|dot| dot.overlaps(rect))).or(free.first());
        if let Some(rect) = best {
            canvas.veil(*rect, WHITE, 0.85)?;
            canvas.text(name, rect.centre(), Side::Middle, font)?;
            taken.push(*rect);
        }
    }
    Ok(())
}

fn length(line: &[Xy]) -> f64 {
    line.windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum()
}

fn point_along(line: &[Xy], share: f64) -> Xy {
    let mut rest = share * length(line);
    for pair in line.windows(2) {
        let piece = length(pair);
        if piece > 0.0 && rest <= piece {
            let t = rest / piece;
            return (pair[0].0 + t * (pair[1].0 - pair[0].0), pair[0].1 + t * (pair[1].1 - pair[0].1));
        }
        rest -= piece;
    }
    line[line.len() - 1]
}

fn draw_marks(
    canvas: &mut Canvas,
    grid: &Grid,
    frame: &Frame,
    special: &[((usize, usize), Mark)],
) -> Result<Vec<Mark>> {
    let mut drawn = Vec::new();
    for (cell, _) in grid.values.indexed_iter().filter(|(_, value)| !value.is_nan()) {
        let mark = Mark::find(special, cell);
        frame::draw_mark(canvas, frame.cell(grid, cell), mark)?;
        drawn.push(mark);
    }
    for cell in &grid.failed {
        canvas.cross(frame.cell(grid, *cell))?;
    }
    for (row, cell) in grid.filled_cells().into_iter().enumerate() {
        canvas.spot(frame.cell(grid, cell), row);
    }
    let mut marks = vec![Mark::Measured, Mark::Faster, Mark::Slower, Mark::Undecided];
    marks.retain(|mark| drawn.contains(mark));
    marks.extend((!grid.failed.is_empty()).then_some(Mark::Failed));
    Ok(marks)
}
