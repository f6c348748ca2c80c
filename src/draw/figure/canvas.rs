//! The drawing surface of figures: lines, polygons and text in pixels of a sheet, independent of the file format.

use super::colour::{GREY, INK, WHITE, on_dark};
use super::geometry::{Rect, Xy, inflate};
use super::sheet::Sheet;
use super::text::{self, Font, Side};
use apexmap_base::error::Result;
use plotters::style::RGBColor;

/// The position in the picture of a row of the figure's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    pub position: Xy,
    pub row: usize,
}

pub struct Canvas<'a> {
    painter: &'a mut dyn Painter,
    pub sheet: Sheet,
    pub spots: Vec<Spot>,
}

impl<'a> Canvas<'a> {
    pub fn new(painter: &'a mut dyn Painter, sheet: Sheet) -> Result<Self> {
        let mut canvas = Self { painter, sheet, spots: Vec::new() };
        canvas.fill(Rect { left: 0.0, top: 0.0, right: sheet.width, bottom: sheet.height }, WHITE)?;
        Ok(canvas)
    }

    pub fn spot(&mut self, position: Xy, row: usize) {
        self.spots.push(Spot { position, row });
    }

    pub fn bar_left(&self) -> f64 {
        self.sheet.width - self.sheet.bar
    }

    fn shade(&self, colour: RGBColor) -> RGBColor {
        if self.sheet.style.is_dark() { on_dark(colour) } else { colour }
    }

    pub fn polygon(&mut self, points: &[Xy], colour: RGBColor, opacity: f64) -> Result<()> {
        self.painter.polygon(points, self.shade(colour), opacity)
    }

    /// Enlarges a convex polygon by a fraction of a pixel, so that no seam shows between neighbours.
    pub fn patch(&mut self, points: &[Xy], colour: RGBColor) -> Result<()> {
        // With more than half a pixel, one of the two neighbours covers each pixel on a shared side completely.
        self.polygon(&inflate(points, 0.55), colour, 1.0)
    }

    pub fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()> {
        self.painter.line(points, self.shade(colour), width)
    }

    /// The pattern of dashes and gaps continues around corners.
    pub fn dashed_line(&mut self, points: &[Xy], colour: RGBColor, width: f64, pattern: &[f64]) -> Result<()> {
        if pattern.is_empty() {
            return self.line(points, colour, width);
        }
        let (mut index, mut left, mut dash) = (0, pattern[0], Vec::new());
        for pair in points.windows(2) {
            let length = (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
            let along = |distance: f64| {
                let share = if length > 0.0 { distance / length } else { 0.0 };
                (pair[0].0 + share * (pair[1].0 - pair[0].0), pair[0].1 + share * (pair[1].1 - pair[0].1))
            };
            let mut walked = 0.0;
            dash.push(pair[0]);
            while walked + left < length {
                walked += left;
                dash.push(along(walked));
                if index % 2 == 0 {
                    self.line(&dash, colour, width)?;
                }
                dash = vec![along(walked)];
                index = (index + 1) % pattern.len();
                left = pattern[index];
            }
            left -= length - walked;
        }
        dash.extend(points.last());
        if index % 2 == 0 && dash.len() > 1 { self.line(&dash, colour, width) } else { Ok(()) }
    }

    pub fn fill(&mut self, rect: Rect, colour: RGBColor) -> Result<()> {
        self.painter.rect(rect, self.shade(colour))
    }

    pub fn veil(&mut self, rect: Rect, colour: RGBColor, opacity: f64) -> Result<()> {
        let Rect { left, top, right, bottom } = rect;
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)], colour, opacity)
    }

    pub fn outline(&mut self, rect: Rect, colour: RGBColor, width: f64) -> Result<()> {
        let Rect { left, top, right, bottom } = rect;
        self.line(&[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], colour, width)
    }

    /// A thin white rim keeps the disc visible on any colour.
    pub fn dot(&mut self, centre: Xy, radius: f64, colour: RGBColor) -> Result<()> {
        self.painter.disc(centre, radius, self.shade(colour), radius + 0.7, self.shade(WHITE))
    }

    pub fn cross(&mut self, (x, y): Xy) -> Result<()> {
        for (arm, colour, width) in [(5.0, WHITE, 4.0), (4.0, RGBColor(200, 30, 30), 2.0)] {
            self.line(&[(x - arm, y - arm), (x + arm, y + arm)], colour, width)?;
            self.line(&[(x - arm, y + arm), (x + arm, y - arm)], colour, width)?;
        }
        Ok(())
    }

    /// Centres the capitals vertically on `position`.
    pub fn text(&mut self, text: &str, position: Xy, side: Side, font: Font) -> Result<()> {
        let font = font.with_colour(self.shade(font.colour));
        self.painter.text(&text::clean(text), position, side, font, false)
    }

    pub fn upward_text(&mut self, text: &str, position: Xy, font: Font) -> Result<()> {
        let font = font.with_colour(self.shade(font.colour));
        self.painter.text(&text::clean(text), position, Side::Middle, font, true)
    }

    /// Returns the y position below the header. Text after a line break in the subtitle is a warning, which is always drawn.
    pub fn header(&mut self, title: &str, subtitle: &str) -> Result<f64> {
        let width = self.sheet.width - 2.0 * (self.sheet.margin + 4.0);
        self.narrow_header(title, subtitle, (width, self.sheet.subtitle_lines))
    }

    /// As [`Self::header`], in a column of this width, with at most `lines` lines of subtitle.
    pub fn narrow_header(&mut self, title: &str, subtitle: &str, (width, lines): (f64, usize)) -> Result<f64> {
        let (subtitle, warning) = subtitle.split_once('\n').unwrap_or((subtitle, ""));
        if !self.sheet.has_header() {
            let below = self.paragraph(warning, (4.0, 2.0), INK, (self.sheet.width - 8.0, 3))?;
            return Ok(below + if warning.is_empty() { 6.0 } else { 8.0 });
        }
        let margin = self.sheet.margin + 4.0;
        let sizes = [text::TITLE, text::TITLE - 1.0, text::TITLE - 2.0];
        let fits = |size: &f64| text::width(title, *size, true) <= width;
        let size = sizes.into_iter().find(fits).unwrap_or(sizes[2]);
        let mut y = self.sheet.margin - 4.0;
        for line in text::wrap(title, size, true, width, lines.min(2)) {
            y += size * 1.25;
            self.text(&line, (margin, y - size * 0.45), Side::Left, Font::bold(size))?;
        }
        y = self.paragraph(subtitle, (margin, y), GREY, (width, lines))?;
        Ok(self.paragraph(warning, (margin, y), INK, (width, 3))? + self.sheet.margin)
    }

    /// Draws at most `lines` lines of small type below a position; returns their lower end.
    fn paragraph(
        &mut self,
        words: &str,
        (left, mut y): Xy,
        colour: RGBColor,
        (width, lines): (f64, usize),
    ) -> Result<f64> {
        for line in text::wrap(words, text::TICK, false, width, lines) {
            y += text::TICK * 1.4;
            self.text(&line, (left, y - text::TICK * 0.45), Side::Left, Font::new(text::TICK).with_colour(colour))?;
        }
        Ok(y)
    }
}

pub trait Painter {
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()>;

    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()>;

    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()>;

    fn disc(&mut self, centre: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()>;

    fn text(&mut self, text: &str, position: Xy, side: Side, font: Font, upwards: bool) -> Result<()>;
}
