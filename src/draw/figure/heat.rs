//! Heat maps: one rectangle per cell, labelled with its value where space allows.

use super::cells::{Cells, tile};
use super::frame::{self, ColourBar, Mark};
use super::place::{self, Place, Placed, draw_places};
use super::prelude::*;

#[derive(Clone, Copy, PartialEq)]
pub enum Palette {
    Magnitude,
    /// Distance from 1, on a log scale symmetric about it.
    Ratio,
    /// Distance from 0, on a scale symmetric about it that reaches at least to 1, so that noise stays pale.
    Elasticity,
}

impl Palette {
    fn colour(self, share: f64) -> RGBColor {
        match self {
            Palette::Magnitude => viridis(share),
            Palette::Ratio | Palette::Elasticity => diverging(share),
        }
    }

    fn scale(self, grid: &Grid, range: Option<(f64, f64)>) -> Result<Scale> {
        let ends = range.into_iter().flat_map(|(low, high)| [low, high]);
        match self {
            Palette::Magnitude => Ok(grid.z_scale(range)?.span_double().round_outwards()),
            Palette::Ratio => Scale::for_ratios(grid.values.iter().copied().chain(ends), 1.0, &grid.z.label),
            Palette::Elasticity => {
                let values = grid.values.iter().copied().chain(ends);
                let farthest = values.fold(1.0, |most: f64, value| most.max(value.abs()));
                // Rounded up to a quarter. The small number keeps a rounding error from adding one.
                let end = (4.0 * farthest - 1e-9).ceil() / 4.0;
                grid.z_scale(Some((-end, end)))
            }
        }
    }

    fn format_value(self, value: f64, grid: &Grid, with_unit: bool) -> String {
        match self {
            // Adding 0 turns the -0 of rounding into 0.
            Palette::Elasticity => format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0),
            _ if with_unit => ticks::with_unit(value, grid.z.unit),
            _ => ticks::short(value, grid.z.unit),
        }
    }
}

pub struct Heat<'a> {
    pub grid: &'a Grid,
    pub range: Option<(f64, f64)>,
    pub palette: Palette,
    pub places: &'a [Place],
}

impl Drawable for Heat<'_> {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let Heat { grid, range, palette, places } = *self;
        grid.check()?;
        let z = palette.scale(grid, range)?;
        let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
        let placed = place::lay_out(grid, &area.frame, places);
        draw_cells(canvas, grid, (&z, palette), (&area, &Placed::rects(&placed)))?;
        area.draw_marks(canvas, grid)?;
        canvas.outline(area.frame.area, INK, 1.0)?;
        draw_places(canvas, &placed)?;
        draw_bar_and_key(canvas, grid, (&z, palette), (&area.frame.area, !placed.is_empty()))
    }

    fn table(&self) -> FigureTable {
        FigureTable::from_grid(self.grid)
    }

    fn description(&self) -> String {
        let kind = match self.palette {
            Palette::Magnitude => "Heat map",
            Palette::Ratio => "Heat map of ratios",
            Palette::Elasticity => "Heat map of elasticities",
        };
        format!("{kind}. {}", table::extremes(self.grid))
    }
}

/// Writes values where they fit and do not lie under one of the rectangles `covered`.
fn draw_cells(
    canvas: &mut Canvas,
    grid: &Grid,
    (z, palette): (&Scale, Palette),
    (area, covered): (&Cells, &[Rect]),
) -> Result<()> {
    let format_value = |value: f64, with_unit: bool| palette.format_value(value, grid, with_unit);
    let fits = |words: &str, rect: &Rect, size: f64| {
        Font::new(size).width(words) + 6.0 <= rect.width() && size * 1.2 <= rect.height()
    };
    // With the unit, if it fits every cell in a readable size.
    let smallest = canvas.sheet.smallest_type();
    let looks = [14.0, 13.0, 12.0].map(|size| (size, true));
    let looks = looks.into_iter().chain([14.0, 13.0, 12.0, 11.0, 10.0, 9.0].map(|size| (size, false)));
    let looks = looks.filter(|(size, _)| *size >= smallest);
    let all_fit = |&(size, with_unit): &(f64, bool)| {
        let mut values = grid.values.indexed_iter().filter(|(_, value)| !value.is_nan());
        values.all(|((j, i), value)| fits(&format_value(*value, with_unit), &area.rect(j, i), size))
    };
    let (size, with_unit) = looks.into_iter().find(all_fit).unwrap_or((smallest.max(11.0), false));
    for ((j, i), value) in grid.values.indexed_iter() {
        let rect = area.rect(j, i);
        if value.is_nan() {
            frame::hatch(canvas, rect)?;
            continue;
        }
        let colour = palette.colour(z.place(*value));
        tile(canvas, rect, colour, false)?;
        let words = format_value(*value, with_unit);
        let text_rect = Rect::from_centre(rect.centre(), Font::new(size).width(&words), size);
        if fits(&words, &rect, size) && !covered.iter().any(|other| other.overlaps(&text_rect)) {
            canvas.text(&words, rect.centre(), Side::Middle, Font::new(size).with_colour(readable_on(colour)))?;
        }
    }
    Ok(())
}

fn draw_bar_and_key(
    canvas: &mut Canvas,
    grid: &Grid,
    (z, palette): (&Scale, Palette),
    (frame, has_places): (&Rect, bool),
) -> Result<()> {
    let mut marks: Vec<Mark> = has_places.then_some(Mark::Estimate).into_iter().collect();
    marks.extend(grid.values.iter().any(|value| value.is_nan()).then_some(Mark::Gap));
    marks.extend((!grid.failed.is_empty()).then_some(Mark::Failed));
    // Tick values of ratios are powers of two.
    let doublings = palette == Palette::Ratio && z.high >= 2.0;
    let mut sets = ticks::tick_sets(z, &[], grid.z.unit, doublings);
    if doublings && z.high == 2.0 {
        sets.insert(0, vec![0.5, 0.7, 1.0, 1.4, 2.0]);
    }
    let bar = ColourBar::gradient(z, |share| palette.colour(share), (sets, &grid.z), grid.z.title(), frame);
    bar.draw(canvas, frame, marks.len())?;
    frame::draw_key(canvas, frame, &marks)
}
