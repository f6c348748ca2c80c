//! Maps of cells: axes, one rectangle per point, striped if undecided, labels, and the key of maps that compare machines.

use super::frame::{self, Frame, FrameAxis, Mark};
use super::prelude::*;

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

/// The largest size at which every label fits its cell, or the smallest.
pub fn type_size(labels: impl Iterator<Item = (String, Rect)> + Clone) -> f64 {
    let fits = |size: &f64| labels.clone().all(|(words, rect)| Font::new(*size).width(&words) + 8.0 <= rect.width());
    [14.0, 13.0, 12.0, 11.0, 10.0].into_iter().find(fits).unwrap_or(10.0)
}

pub fn tile(canvas: &mut Canvas, rect: Rect, colour: RGBColor, undecided: bool) -> Result<()> {
    canvas.fill(rect, colour)?;
    if undecided {
        stripes(canvas, rect, readable_on(colour))?;
    }
    canvas.outline(rect, WHITE, 1.0)
}

fn stripes(canvas: &mut Canvas, rect: Rect, colour: RGBColor) -> Result<()> {
    let blend = |c: u8| (f64::from(c) * 0.55 + 140.0 * 0.45) as u8;
    let colour = RGBColor(blend(colour.0), blend(colour.1), blend(colour.2));
    frame::slanted_lines(canvas, rect, 8.0, colour)
}

/// Returns whether the words fit.
pub fn label(canvas: &mut Canvas, rect: Rect, colour: RGBColor, words: &str, size: f64) -> Result<bool> {
    let font = Font::new(size).with_colour(readable_on(colour));
    let width = font.width(words);
    if width + 4.0 > rect.width() || size * 1.2 > rect.height() {
        return Ok(false);
    }
    canvas.fill(Rect::from_centre(rect.centre(), width + 4.0, size * 1.15), colour)?;
    canvas.text(words, rect.centre(), Side::Middle, font)?;
    Ok(true)
}

#[derive(Clone, Copy)]
pub enum Key {
    Faster,
    Slower,
    Undecided(&'static str),
    Unfinished,
    Missing,
}

pub fn draw_key(canvas: &mut Canvas, area: &Rect, key: &[Key]) -> Result<()> {
    for (k, mark) in key.iter().rev().enumerate() {
        let centre: Xy = (area.right + 31.0, area.bottom - 20.0 * (k as f64 + 0.5) + 2.0);
        let rect = Rect::from_centre(centre, 18.0, 13.0);
        let words = match mark {
            Key::Faster => {
                frame::draw_mark(canvas, centre, Mark::Faster)?;
                "faster"
            }
            Key::Slower => {
                frame::draw_mark(canvas, centre, Mark::Slower)?;
                "slower"
            }
            Key::Undecided(words) => {
                canvas.fill(rect, WHITE)?;
                stripes(canvas, rect, INK)?;
                canvas.outline(rect, INK, 0.7)?;
                words
            }
            Key::Unfinished => {
                canvas.cross(centre)?;
                "did not finish"
            }
            Key::Missing => {
                frame::hatch(canvas, rect)?;
                "no value"
            }
        };
        canvas.text(words, (centre.0 + 16.0, centre.1), Side::Left, Font::new(text::TICK))?;
    }
    Ok(())
}
