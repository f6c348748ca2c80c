//! Contours of several machines side by side on one scale (Apex-Map paper, Figure 7).

use super::contour::{self, Bands};
use super::frame::{self, Frame, FrameAxis};
use super::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub struct Panels {
    pub title: String,
    pub subtitle: String,
    /// Titles name the panels; the axes have the quantities of the first grid.
    pub grids: Vec<Grid>,
}

/// More would be too small to read.
pub const MAX_PANELS: usize = 4;

const GAP: f64 = 34.0;
const NAME: f64 = 24.0;

impl Drawable for &Panels {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let grids = &self.grids;
        let Some(first) = grids.first().filter(|_| grids.len() <= MAX_PANELS) else {
            return Err(Error::internal(format!("{} contour plots do not fit side by side", grids.len())));
        };
        for grid in grids {
            grid.check()?;
            grid.check_two_by_two("contour plot")?;
        }
        let span = |values: &dyn Fn(&Grid) -> Vec<f64>, log: bool, name: &str| {
            Scale::from_values(grids.iter().flat_map(values), log, name)
        };
        let z =
            span(&|grid| grid.values.iter().copied().filter(|v| !v.is_nan()).collect(), first.z.log, &first.z.label)?;
        let x = span(&|grid| grid.x.values.clone(), first.x.quantity.log, &first.x.quantity.label)?;
        let y = span(&|grid| grid.y.values.clone(), first.y.quantity.log, &first.y.quantity.label)?;
        let bands = Bands::from_scale(z);
        let names = ticks::labels(&bands.levels, first.z.unit, false);
        let top = canvas.header(&self.title, &self.subtitle)? + NAME;
        let sheet = canvas.sheet;
        let bottom = sheet.height - sheet.below;
        let tick = Font::new(text::TICK);
        let y_ticks = FrameAxis::new(&first.y, y).ticks(bottom - top, 9.0, |_| text::TICK);
        let widest = y_ticks.labels.iter().map(|label| tick.width(label)).fold(0.0, f64::max);
        let left = sheet.margin + text::AXIS + 14.0 + widest + 10.0;
        let width = (canvas.bar_left() - left - GAP * (grids.len() - 1) as f64) / grids.len() as f64;
        let x_ticks = FrameAxis::new(&first.x, x).ticks(width, 9.0, |label| tick.width(label));
        let mut row = 0;
        for (k, grid) in grids.iter().enumerate() {
            let start = left + k as f64 * (width + GAP);
            let frame = Frame { area: Rect { left: start, top, right: start + width, bottom }, x, y };
            draw_panel(canvas, grid, &frame, &bands, &names)?;
            for cell in grid.filled_cells() {
                canvas.spot(frame.cell(grid, cell), row);
                row += 1;
            }
            for (value, label) in x_ticks.values.iter().zip(&x_ticks.labels) {
                let (tick_x, _) = frame.point(*value, y.low);
                canvas.line(&[(tick_x, bottom), (tick_x, bottom + 6.0)], INK, 1.0)?;
                canvas.text(label, (tick_x, bottom + 16.0), Side::Middle, tick)?;
            }
            for value in &y_ticks.values {
                let (_, tick_y) = frame.point(x.low, *value);
                canvas.line(&[(start - 6.0, tick_y), (start, tick_y)], INK, 1.0)?;
            }
        }
        let frame = Frame { area: Rect { left, top, right: canvas.bar_left(), bottom }, x, y };
        for (value, label) in y_ticks.values.iter().zip(&y_ticks.labels) {
            let (_, tick_y) = frame.point(x.low, *value);
            canvas.text(label, (left - 10.0, tick_y), Side::Right, tick)?;
        }
        let font = Font::new(text::AXIS);
        let (x, y) = frame.area.centre();
        canvas.text(&first.x.quantity.title(), (x, bottom + sheet.name_offset), Side::Middle, font)?;
        canvas.upward_text(&first.y.quantity.title(), (sheet.margin + text::AXIS / 2.0, y), font)?;
        bands.bar(names, first.z.title()).draw(canvas, &frame.area, 0)
    }

    fn table(&self) -> FigureTable {
        let Some(first) = self.grids.first() else { return FigureTable { head: Vec::new(), rows: Vec::new() } };
        let values: Vec<f64> = self.grids.iter().flat_map(|grid| grid.values.iter().copied()).collect();
        let (x, write_x) = column(&first.x.quantity, &first.x.values);
        let (y, write_y) = column(&first.y.quantity, &first.y.values);
        let (z, write_z) = column(&first.z, &values);
        let row = |grid: &Grid, (j, i): (usize, usize)| {
            let value = grid.values[(j, i)];
            let shown = if value.is_nan() { "failed".into() } else { write_z(value) };
            vec![grid.title.clone(), write_x(grid.x.values[i]), write_y(grid.y.values[j]), shown]
        };
        let rows = self.grids.iter().flat_map(|grid| grid.filled_cells().into_iter().map(move |cell| (grid, cell)));
        FigureTable { head: vec!["machine".into(), x, y, z], rows: rows.map(|(grid, cell)| row(grid, cell)).collect() }
    }

    fn description(&self) -> String {
        let parts = self.grids.iter().map(|grid| format!("{}: {}", grid.title, table::extremes(grid)));
        format!("Filled contours side by side. {}", parts.collect::<Vec<_>>().join(" "))
    }
}

fn draw_panel(canvas: &mut Canvas, grid: &Grid, frame: &Frame, bands: &Bands, names: &[String]) -> Result<()> {
    let lines = contour::draw_area(canvas, grid, frame, bands, names, "no four neighbouring points")?;
    for (cell, _) in grid.values.indexed_iter().filter(|(_, value)| !value.is_nan()) {
        frame::draw_dot(canvas, frame.cell(grid, cell))?;
    }
    for cell in &grid.failed {
        canvas.cross(frame.cell(grid, *cell))?;
    }
    contour::label_lines(canvas, &lines, grid, frame, Vec::new())?;
    let name = text::cut(&grid.title, text::AXIS, true, frame.area.width());
    let position = (frame.area.centre().0, frame.area.top - NAME / 2.0);
    canvas.text(&name, position, Side::Middle, Font::bold(text::AXIS))
}
