//! Vertical lines at particular values of x, such as cache sizes.

use super::canvas::Canvas;
use super::colour::{GREY, INK};
use super::frame::Frame;
use super::geometry::Rect;
use super::text::{self, Font};
use apexmap_base::error::Result;

/// A value of x that a vertical line marks, such as the size of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    /// Position on the x axis, in its unit.
    pub x: f64,
    /// Label of the line: "L2".
    pub label: String,
    /// Style of the line.
    pub style: LandmarkStyle,
}

/// The style of a [`Landmark`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LandmarkStyle {
    /// A dashed line with its label at the lower end.
    #[default]
    Line,
    /// A line within a band that spans its 95 % interval, with its label at the upper end.
    Range(f64, f64),
    /// A tick above the axis, without a label.
    Tick,
}

impl Landmark {
    pub(super) fn draw(&self, canvas: &mut Canvas, frame: &Frame) -> Result<()> {
        const DASH: f64 = 5.0;
        const TICK: f64 = 12.0;
        let (top, bottom) = (frame.area.top, frame.area.bottom);
        let (x, _) = frame.point(self.x, frame.y.low);
        let font = Font::new(text::TICK).with_colour(GREY);
        let half = font.width(&self.label) / 2.0;
        match self.style {
            LandmarkStyle::Tick => canvas.line(&[(x, bottom - TICK), (x, bottom)], INK, 2.5),
            LandmarkStyle::Range(low, high) => {
                let [left, right] =
                    [low.max(frame.x.low), high.min(frame.x.high)].map(|end| frame.point(end, frame.y.low).0);
                canvas.veil(Rect { left, top, right, bottom }, GREY, 0.2)?;
                canvas.line(&[(x, top), (x, bottom)], GREY, 1.0)?;
                canvas.upward_text(&self.label, (left.min(x) - 9.0, top + 8.0 + half), font)
            }
            LandmarkStyle::Line => {
                let mut y = top;
                while y < bottom {
                    canvas.line(&[(x, y), (x, (y + DASH).min(bottom))], GREY, 1.0)?;
                    y += 2.0 * DASH;
                }
                canvas.upward_text(&self.label, (x - 9.0, bottom - 8.0 - half), font)
            }
        }
    }
}
