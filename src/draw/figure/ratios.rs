//! The ratio of one machine to another as a map, a surface (Apex-Map paper, Figures 5 and 6) or contours.

use super::cells::{Cells, Key, draw_key, label, tile, type_size};
use super::contour::{self, Bands};
use super::frame::{self, ColourBar, Mark};
use super::prelude::*;
use super::solid::Look;
use super::surface;
use super::view::View;

#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    /// `failed` are points that one of the two machines did not finish.
    pub grid: Grid,
    /// Cells (row, column) not significantly different from 1, or without an interval.
    pub undecided: Vec<(usize, usize)>,
    pub undecided_label: &'static str,
    /// One name for each of the grid's `failed`.
    pub unfinished: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatioForm {
    /// Cells, striped where the difference from 1 is not significant.
    Map,
    Contour,
    /// A 3-D surface, with a line along it at 1.
    Surface(View),
}

impl Ratios {
    fn marks(&self) -> Vec<((usize, usize), Mark)> {
        let mark = |cell: (usize, usize), ratio: f64| match ratio > 1.0 {
            _ if self.undecided.contains(&cell) => Mark::Undecided,
            true => Mark::Faster,
            false => Mark::Slower,
        };
        self.grid.values.indexed_iter().filter(|(_, v)| !v.is_nan()).map(|(cell, v)| (cell, mark(cell, *v))).collect()
    }

    /// Ends are powers of the root of two up to 4, then of two: a scale much longer than needed makes all colours pale.
    fn scale(&self) -> Result<Scale> {
        let ratios = || self.grid.values.iter().copied();
        let fine = Scale::for_ratios(ratios(), 0.5, &self.grid.z.label)?;
        if fine.high <= 4.0 { Ok(fine) } else { Scale::for_ratios(ratios(), 1.0, &self.grid.z.label) }
    }
}

/// Powers of a root of two, 1 among them, in at most twelve bands.
fn levels(scale: &Scale) -> Vec<f64> {
    let reach = scale.high.log2();
    let steps = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let step = steps.into_iter().find(|step| (reach / step - 1e-9).ceil() <= 6.0).unwrap_or(128.0);
    let most = (reach / step - 1e-9).ceil() as i32;
    (-most..=most).map(|k| (f64::from(k) * step).exp2()).collect()
}

pub struct RatioFigure<'a> {
    pub ratios: &'a Ratios,
    pub form: RatioForm,
}

impl Drawable for RatioFigure<'_> {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let ratios = self.ratios;
        ratios.grid.check()?;
        let z = ratios.scale()?;
        match self.form {
            RatioForm::Map => draw_map(canvas, ratios, &z),
            RatioForm::Contour => {
                let levels = levels(&z);
                let z = Scale { low: levels[0], high: levels[levels.len() - 1], log: true };
                let bands = Bands { z, levels, colour: diverging, marks: ratios.marks(), places: Vec::new() };
                contour::draw_bands(canvas, &ratios.grid, &bands)
            }
            RatioForm::Surface(view) => {
                let [x, y, _] = ratios.grid.scales(None)?;
                let marks = ratios.marks();
                let look = Look { colour: diverging, bounds: None, level: Some(0.5), marks: &marks };
                surface::draw_coloured(canvas, &ratios.grid, view, [x, y, z], look)
            }
        }
    }

    fn table(&self) -> FigureTable {
        let Ratios { grid, undecided, undecided_label, unfinished } = self.ratios;
        let mut table = FigureTable::from_grid(grid);
        table.head.push("differs from 1".into());
        for (row, cell) in table.rows.iter_mut().zip(grid.filled_cells()) {
            row.push(match grid.failed.iter().position(|failed| *failed == cell) {
                Some(k) => format!("not finished: {}", unfinished[k]),
                None if undecided.contains(&cell) => (*undecided_label).into(),
                None if grid.values[cell] == 1.0 => "no".into(),
                None => "yes".into(),
            });
        }
        table
    }

    fn description(&self) -> String {
        let open = match self.ratios.undecided.len() {
            0 => String::new(),
            count => format!(" {count} of them are not certain."),
        };
        format!("Ratios. {}{open}", table::extremes(&self.ratios.grid))
    }

    fn room(&self, _width: f64, _style: Style) -> Room {
        if matches!(self.form, RatioForm::Surface(_)) { Room::Solid } else { Room::Flat }
    }
}

fn draw_map(canvas: &mut Canvas, ratios: &Ratios, z: &Scale) -> Result<()> {
    let grid = &ratios.grid;
    let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
    let (frame, cell) = (&area.frame, |j: usize, i: usize| area.rect(j, i));
    let format_ratio = |ratio: f64| ticks::short(ratio, Unit::None);
    let values = || grid.values.indexed_iter().filter(|(_, ratio)| !ratio.is_nan());
    let size = type_size(values().map(|((j, i), ratio)| (format_ratio(*ratio), cell(j, i))));
    let mut small = false;
    for ((j, i), ratio) in grid.values.indexed_iter() {
        let rect = cell(j, i);
        if ratio.is_nan() {
            frame::hatch(canvas, rect)?;
            continue;
        }
        let colour = diverging(z.place(*ratio));
        let undecided = ratios.undecided.contains(&(j, i));
        tile(canvas, rect, colour, undecided)?;
        if !label(canvas, rect, colour, &format_ratio(*ratio), size)? && !undecided {
            frame::draw_mark(canvas, rect.centre(), if *ratio > 1.0 { Mark::Faster } else { Mark::Slower })?;
            small = true;
        }
    }
    area.record_spots(canvas, grid);
    for ((j, i), who) in grid.failed.iter().zip(&ratios.unfinished) {
        draw_unfinished(canvas, cell(*j, *i), who)?;
    }
    canvas.outline(frame.area, INK, 1.0)?;
    let mut key: Vec<Key> = if small { vec![Key::Faster, Key::Slower] } else { Vec::new() };
    key.extend((!ratios.undecided.is_empty()).then_some(Key::Undecided(ratios.undecided_label)));
    key.extend((!grid.failed.is_empty()).then_some(Key::Unfinished));
    let has_gaps = grid.values.indexed_iter().any(|(cell, ratio)| ratio.is_nan() && !grid.failed.contains(&cell));
    key.extend(has_gaps.then_some(Key::Missing));
    let sets = ticks::tick_sets(z, &[], Unit::None, z.high >= 4.0);
    let bar = ColourBar::gradient(z, diverging, (sets, &Quantity::log("", Unit::None)), grid.z.title(), &frame.area);
    bar.draw(canvas, &frame.area, key.len())?;
    draw_key(canvas, &frame.area, &key)
}

fn draw_unfinished(canvas: &mut Canvas, rect: Rect, who: &str) -> Result<()> {
    let (x, y) = rect.centre();
    let font = Font::new(text::TICK);
    let who = text::cut(who, text::TICK, false, rect.width() - 6.0);
    if rect.height() < 34.0 || who.chars().count() < 2 {
        return canvas.cross((x, y));
    }
    canvas.cross((x, y - 8.0))?;
    canvas.text(&who, (x, y + 9.0), Side::Middle, font)
}
