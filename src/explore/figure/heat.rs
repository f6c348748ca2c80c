//! Heat maps: one rectangle a cell, its value written into it if there is room.

use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Canvas, Rect, Side, Type, WHITE};
use super::colour::{diverging, readable_on, viridis};
use super::frame::{self, ColourBar, Frame, FrameAxis, Mark};
use super::ticks::{self, Scale};
use super::{Axis, Grid, text};
use crate::error::Result;

/// Limits of the cells around an axis' values: midway between them on the axis' own scale.
pub fn limits(axis: &Axis, scale: &Scale) -> Vec<f64> {
    let places: Vec<f64> = axis.values.iter().map(|v| scale.place(*v)).collect();
    let Some((first, last)) = places.first().zip(places.last()) else { return Vec::new() };
    let half = |k: usize| (places[k + 1] - places[k]) / 2.0;
    let inner = (0..places.len() - 1).map(|k| places[k] + half(k));
    let (before, after) = if places.len() == 1 { (0.5, 0.5) } else { (half(0), half(places.len() - 2)) };
    std::iter::once(first - before).chain(inner).chain(std::iter::once(last + after)).map(|p| scale.at(p)).collect()
}

/// What colours mean.
#[derive(Clone, Copy, PartialEq)]
pub enum Palette {
    Magnitude,
    /// Distance from 1, on a log scale that reaches as far up as down.
    Ratio,
}

impl Palette {
    fn colour(self, share: f64) -> RGBColor {
        match self {
            Palette::Magnitude => viridis(share),
            Palette::Ratio => diverging(share),
        }
    }

    fn scale(self, grid: &Grid, range: Option<(f64, f64)>) -> Result<Scale> {
        if self == Palette::Magnitude {
            return Ok(grid.z_scale(range)?.rounded());
        }
        let measured = grid.values.iter().copied().filter(|ratio| !ratio.is_nan());
        let seen = Scale::spanning(measured.chain([1.0]), true, &grid.z.label)?;
        let farthest = seen.high.max(1.0 / seen.low);
        let high = [1.1, 1.25, 1.5].into_iter().find(|end| farthest <= *end);
        let high = high.unwrap_or_else(|| farthest.log2().ceil().exp2());
        Ok(Scale { low: 1.0 / high, high, log: true })
    }
}

/// Axes around cells.
pub struct Cells {
    pub frame: Frame,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Cells {
    /// Header and axes; the picture's right margin is left for a key.
    pub fn new<DB: DrawingBackend>(
        canvas: &mut Canvas<DB>,
        (title, subtitle): (&str, &str),
        (x, y): (&Axis, &Axis),
    ) -> Result<Self> {
        let x_limits = limits(x, &x.scale()?);
        let y_limits = limits(y, &y.scale()?);
        let ends = |limits: &[f64], log| Scale { low: limits[0], high: limits[limits.len() - 1], log };
        let axis = |axis, scale| FrameAxis { only_measured: true, ..FrameAxis::new(axis, scale) };
        let x = axis(x, ends(&x_limits, x.quantity.log));
        let y = axis(y, ends(&y_limits, y.quantity.log));
        let top = canvas.header(title, subtitle)?;
        let frame = frame::axes(canvas, top, canvas.bar_left(), &x, &y, false)?;
        Ok(Self { frame, x: x_limits, y: y_limits })
    }

    /// The rectangle of row j, column i.
    pub fn at(&self, j: usize, i: usize) -> Rect {
        let (left, bottom) = self.frame.at(self.x[i], self.y[j]);
        let (right, top) = self.frame.at(self.x[i + 1], self.y[j + 1]);
        Rect { left, top, right, bottom }
    }
}

pub fn draw<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    range: Option<(f64, f64)>,
    palette: Palette,
) -> Result<()> {
    grid.check()?;
    let z = palette.scale(grid, range)?;
    let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
    cells(canvas, grid, (&z, palette), &|j, i| area.at(j, i))?;
    for (row, (j, i)) in grid.listed().into_iter().enumerate() {
        canvas.spot(area.at(j, i).centre(), row);
    }
    for (j, i) in &grid.failed {
        canvas.cross(area.at(*j, *i).centre())?;
    }
    canvas.outline(area.frame.area, super::canvas::INK, 1.0)?;
    beside(canvas, grid, (&z, palette), &area.frame)
}

fn cells<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    (z, palette): (&Scale, Palette),
    cell: &impl Fn(usize, usize) -> Rect,
) -> Result<()> {
    let written = |value: f64| ticks::short(value, grid.z.unit);
    let fits = |words: &str, rect: &Rect, size: f64| {
        Type::new(size).width(words) + 10.0 <= rect.width() && size * 1.2 <= rect.height()
    };
    let known = || grid.values.indexed_iter().filter(|(_, value)| !value.is_nan());
    let sizes = [14.0, 13.0, 12.0, 11.0];
    let all_fit = |size: &f64| known().all(|((j, i), value)| fits(&written(*value), &cell(j, i), *size));
    let size = sizes.into_iter().find(all_fit).unwrap_or(sizes[3]);
    for ((j, i), value) in grid.values.indexed_iter() {
        let rect = cell(j, i);
        if value.is_nan() {
            frame::hatch(canvas, rect)?;
            continue;
        }
        let colour = palette.colour(z.place(*value));
        canvas.fill(rect, colour)?;
        canvas.outline(rect, WHITE, 1.0)?;
        let words = written(*value);
        if fits(&words, &rect, size) {
            canvas.text(&words, rect.centre(), Side::Middle, Type::new(size).coloured(readable_on(colour)))?;
        }
    }
    Ok(())
}

/// Colour bar and key.
fn beside<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    (z, palette): (&Scale, Palette),
    frame: &Frame,
) -> Result<()> {
    let mut marks = Vec::new();
    if grid.values.iter().any(|v| v.is_nan()) {
        marks.push(Mark::Gap);
    }
    if !grid.failed.is_empty() {
        marks.push(Mark::Failed);
    }
    const PARTS: usize = 120;
    let share = |k: f64| k / PARTS as f64;
    let parts = (0..PARTS).map(|k| (share(k as f64), palette.colour(share(k as f64 + 0.5)))).collect();
    let far_apart = |values: &[f64], _: &[String]| {
        values.windows(2).all(|pair| (z.place(pair[1]) - z.place(pair[0])) * frame.area.height() > 2.0 * text::TICK)
    };
    // Ratios are halves and doubles.
    let doublings = palette == Palette::Ratio && z.high >= 2.0;
    let mut sets = ticks::tick_sets(z, &[], grid.z.unit, doublings);
    if doublings && z.high == 2.0 {
        sets.insert(0, vec![0.5, 0.7, 1.0, 1.4, 2.0]);
    }
    let ticks = frame::choose(sets, &grid.z, false, far_apart);
    let ticks = ticks.values.iter().map(|v| z.place(*v)).zip(ticks.labels).collect();
    ColourBar { parts, ticks, title: grid.z.title() }.draw(canvas, &frame.area, marks.len())?;
    frame::key(canvas, &frame.area, &marks)
}
