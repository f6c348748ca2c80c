//! Single cells of maps: tiles, striped if undecided, their labels, and the key of maps that compare machines.

use plotters::style::RGBColor;

use super::canvas::Canvas;
use super::colour::{INK, WHITE, readable_on};
use super::frame::{self, Mark};
use super::geometry::{Rect, Xy};
use super::text::{self, Font, Side};
use apexmap_base::error::Result;

/// The largest size at which every label fits its cell, or the smallest.
pub fn type_size(labels: impl Iterator<Item = (String, Rect)> + Clone) -> f64 {
    let fits = |size: &f64| labels.clone().all(|(words, rect)| Font::new(*size).width(&words) + 8.0 <= rect.width());
    [14.0, 13.0, 12.0, 11.0, 10.0].into_iter().find(fits).unwrap_or(10.0)
}

/// The white outline separates a cell from its neighbours.
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

/// In the lower right corner, outside of the frame.
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
