//! What the figures draw on: lines, polygons and text in pixels of a sheet, over any plotters backend.

use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, RGBColor, ShapeStyle, TextStyle};

use super::sheet::Sheet;
use super::text;
use crate::error::{Error, Result};

pub type Xy = (f64, f64);

pub const INK: RGBColor = RGBColor(34, 34, 34);
pub const GREY: RGBColor = RGBColor(110, 110, 110);
pub const PALE: RGBColor = RGBColor(222, 222, 222);
pub const WHITE: RGBColor = RGBColor(255, 255, 255);

/// What differs between the backends of plotters.
#[derive(Clone, Copy)]
pub struct Flavour {
    /// Backend units in a pixel of the picture: plotters takes whole numbers only, so figures are drawn large.
    pub scale: f64,
    /// Font size to ask for, per em wanted.
    pub em: f64,
    /// Distance of the base line below a top anchor, in font sizes.
    pub baseline: f64,
    /// Whether a bent line may be drawn in one go. The bitmap backend fills the outline of a thick line by the
    /// even-odd rule, which leaves holes where a bent one overlaps itself.
    pub bends: bool,
}

/// The SVG backend divides sizes by 1.24 and sets top-anchored text 0.76 em lower.
pub const SVG: Flavour = Flavour { scale: 10.0, em: 1.24, baseline: 0.76 / 1.24, bends: true };
/// The bitmap backend puts the base line half a size below the top; a sheet says how much larger it is drawn.
pub const BITMAP: Flavour = Flavour { scale: 1.0, em: text::LINE_PER_EM, baseline: 0.5, bends: false };

/// A rectangle in pixels, y downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn around(centre: Xy, width: f64, height: f64) -> Self {
        let (x, y) = centre;
        Self { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn centre(&self) -> Xy {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    pub fn grown(&self, by: f64) -> Self {
        Self { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    pub fn contains(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// How a line of text is set.
#[derive(Clone, Copy)]
pub struct Type {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

impl Type {
    pub fn new(size: f64) -> Self {
        Self { size, bold: false, colour: INK }
    }

    pub fn bold(size: f64) -> Self {
        Self { bold: true, ..Self::new(size) }
    }

    pub fn coloured(self, colour: RGBColor) -> Self {
        Self { colour, ..self }
    }

    pub fn width(&self, text: &str) -> f64 {
        text::width(text, self.size, self.bold)
    }

    /// From the middle of the capitals down to the base line.
    fn half_capital(&self) -> f64 {
        0.36 * self.size
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Left,
    Middle,
    Right,
}

/// Where a row of the figure's table lies in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    pub at: Xy,
    pub row: usize,
}

pub struct Canvas<'a, DB: DrawingBackend> {
    backend: &'a mut DB,
    flavour: Flavour,
    pub sheet: Sheet,
    pub spots: Vec<Spot>,
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    pub fn new(backend: &'a mut DB, flavour: Flavour, sheet: Sheet) -> Self {
        Self { backend, flavour, sheet, spots: Vec::new() }
    }

    /// Notes where a row of the table is shown.
    pub fn spot(&mut self, at: Xy, row: usize) {
        self.spots.push(Spot { at, row });
    }

    /// Where axes end that leave room for a colour bar.
    pub fn bar_left(&self) -> f64 {
        self.sheet.width - self.sheet.bar
    }

    fn units(&self, (x, y): Xy) -> (i32, i32) {
        ((x * self.flavour.scale).round() as i32, (y * self.flavour.scale).round() as i32)
    }

    fn pen(&self, colour: RGBColor, width: f64, filled: bool) -> ShapeStyle {
        let stroke_width = (width * self.flavour.scale).round().max(1.0) as u32;
        ShapeStyle { color: colour.to_rgba(), filled, stroke_width }
    }

    pub fn present(&mut self) -> Result<()> {
        self.backend.present().map_err(drawing)
    }

    /// A filled polygon.
    pub fn polygon(&mut self, points: &[Xy], colour: RGBColor, opacity: f64) -> Result<()> {
        let style = ShapeStyle { color: colour.mix(opacity), filled: true, stroke_width: 1 };
        let points: Vec<_> = points.iter().map(|p| self.units(*p)).collect();
        self.backend.fill_polygon(points, &style).map_err(drawing)
    }

    /// A filled convex polygon, grown by a fraction of a pixel so that no seam shows between neighbours.
    pub fn patch(&mut self, points: &[Xy], colour: RGBColor) -> Result<()> {
        // More than half a pixel: any pixel on a shared side is then wholly covered by one of the two.
        self.polygon(&grown(points, 0.55), colour, 1.0)
    }

    pub fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()> {
        let style = self.pen(colour, width, false);
        let points: Vec<_> = points.iter().map(|p| self.units(*p)).collect();
        if self.flavour.bends {
            return self.backend.draw_path(points, &style).map_err(drawing);
        }
        for pair in points.windows(2).filter(|pair| pair[0] != pair[1]) {
            self.backend.draw_path(pair.iter().copied(), &style).map_err(drawing)?;
        }
        Ok(())
    }

    /// A line of dashes and gaps of these lengths in turn, going on around corners.
    pub fn dashed(&mut self, points: &[Xy], colour: RGBColor, width: f64, pattern: &[f64]) -> Result<()> {
        if pattern.is_empty() {
            return self.line(points, colour, width);
        }
        let (mut at, mut left, mut dash) = (0, pattern[0], Vec::new());
        for pair in points.windows(2) {
            let length = (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
            let along = |by: f64| {
                let share = if length > 0.0 { by / length } else { 0.0 };
                (pair[0].0 + share * (pair[1].0 - pair[0].0), pair[0].1 + share * (pair[1].1 - pair[0].1))
            };
            let mut gone = 0.0;
            dash.push(pair[0]);
            while gone + left < length {
                gone += left;
                dash.push(along(gone));
                if at % 2 == 0 {
                    self.line(&dash, colour, width)?;
                }
                dash = vec![along(gone)];
                at = (at + 1) % pattern.len();
                left = pattern[at];
            }
            left -= length - gone;
        }
        dash.extend(points.last());
        if at % 2 == 0 && dash.len() > 1 { self.line(&dash, colour, width) } else { Ok(()) }
    }

    pub fn fill(&mut self, rect: Rect, colour: RGBColor) -> Result<()> {
        let style = self.pen(colour, 1.0, true);
        let (a, b) = (self.units((rect.left, rect.top)), self.units((rect.right, rect.bottom)));
        self.backend.draw_rect(a, b, &style, true).map_err(drawing)
    }

    /// A rectangle through which what lies below shimmers.
    pub fn veil(&mut self, rect: Rect, colour: RGBColor, opacity: f64) -> Result<()> {
        let Rect { left, top, right, bottom } = rect;
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)], colour, opacity)
    }

    pub fn outline(&mut self, rect: Rect, colour: RGBColor, width: f64) -> Result<()> {
        let Rect { left, top, right, bottom } = rect;
        self.line(&[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], colour, width)
    }

    /// A filled disc with a thin white rim, to stand out on any colour.
    pub fn dot(&mut self, at: Xy, radius: f64, colour: RGBColor) -> Result<()> {
        for (radius, colour) in [(radius + 0.7, WHITE), (radius, colour)] {
            let style = self.pen(colour, 1.0, true);
            let radius = (radius * self.flavour.scale).round() as u32;
            self.backend.draw_circle(self.units(at), radius, &style, true).map_err(drawing)?;
        }
        Ok(())
    }

    /// A red cross with a white rim: here a measurement failed.
    pub fn cross(&mut self, (x, y): Xy) -> Result<()> {
        for (arm, colour, width) in [(5.0, WHITE, 4.0), (4.0, RGBColor(200, 30, 30), 2.0)] {
            self.line(&[(x - arm, y - arm), (x + arm, y + arm)], colour, width)?;
            self.line(&[(x - arm, y + arm), (x + arm, y - arm)], colour, width)?;
        }
        Ok(())
    }

    /// A line of text whose capitals are vertically centred on `at`.
    pub fn text(&mut self, text: &str, at: Xy, side: Side, kind: Type) -> Result<()> {
        let baseline = (at.0, at.1 + kind.half_capital());
        let rise = kind.size * self.flavour.em * self.flavour.baseline;
        self.write(text, (baseline.0, baseline.1 - rise), side, kind, FontTransform::None)
    }

    /// A line of text that reads upwards, centred on `at`.
    pub fn upward(&mut self, text: &str, at: Xy, kind: Type) -> Result<()> {
        let rise = kind.size * self.flavour.em * self.flavour.baseline;
        let anchor = (at.0 + kind.half_capital() - rise, at.1);
        self.write(text, anchor, Side::Middle, kind, FontTransform::Rotate270)
    }

    fn write(&mut self, text: &str, at: Xy, side: Side, kind: Type, turned: FontTransform) -> Result<()> {
        let size = kind.size * self.flavour.em * self.flavour.scale;
        let horizontal = match side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let style = TextStyle {
            font: text::font(size, kind.bold).transform(turned),
            color: kind.colour.to_backend_color(),
            pos: Pos::new(horizontal, VPos::Top),
        };
        self.backend.draw_text(&text::clean(text), &style, self.units(at)).map_err(drawing)
    }

    /// Title and subtitle; returns where the figure proper may begin. What stands after a line break in the subtitle is a
    /// warning, which stays where the rest is left to a caption.
    pub fn header(&mut self, title: &str, subtitle: &str) -> Result<f64> {
        const MARGIN: f64 = 18.0;
        let (subtitle, warning) = subtitle.split_once('\n').unwrap_or((subtitle, ""));
        if !self.sheet.headed() {
            return Ok(self.lines(warning, (4.0, 2.0), INK)? + if warning.is_empty() { 6.0 } else { 8.0 });
        }
        let room = self.sheet.width - 2.0 * MARGIN;
        let sizes = [text::TITLE, text::TITLE - 1.0, text::TITLE - 2.0];
        let fits = |size: &f64| text::width(title, *size, true) <= room;
        let size = sizes.into_iter().find(fits).unwrap_or(sizes[2]);
        let mut y = 10.0;
        for line in text::wrapped(title, size, true, room, 2) {
            y += size * 1.25;
            self.text(&line, (MARGIN, y - size * 0.45), Side::Left, Type::bold(size))?;
        }
        y = self.lines(subtitle, (MARGIN, y), GREY)?;
        Ok(self.lines(warning, (MARGIN, y), INK)? + 14.0)
    }

    /// Lines of small type below a height, from a margin to the other; returns where they end.
    fn lines(&mut self, words: &str, (left, mut y): Xy, colour: RGBColor) -> Result<f64> {
        for line in text::wrapped(words, text::TICK, false, self.sheet.width - 2.0 * left, 3) {
            y += text::TICK * 1.4;
            self.text(&line, (left, y - text::TICK * 0.45), Side::Left, Type::new(text::TICK).coloured(colour))?;
        }
        Ok(y)
    }
}

fn drawing(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("a figure cannot be drawn: {error}"))
}

/// A convex polygon with its sides moved outwards, its sharpest corners a little less.
fn grown(points: &[Xy], by: f64) -> Vec<Xy> {
    let mut points = points.to_vec();
    points.dedup_by(|a, b| (a.0 - b.0).hypot(a.1 - b.1) < 1e-6);
    let count = points.len();
    let side = |k: usize| (points[k % count], points[(k + 1) % count]);
    let area: f64 = (0..count).map(side).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
    let normal = |k: usize| {
        let (a, b) = side(k);
        let length = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9) * area.signum();
        ((b.1 - a.1) / length, (a.0 - b.0) / length)
    };
    let corner = |k: usize| {
        let (before, after) = (normal(k + count - 1), normal(k));
        let times = by / (1.0 + before.0 * after.0 + before.1 * after.1).max(0.4);
        (points[k].0 + (before.0 + after.0) * times, points[k].1 + (before.1 + after.1) * times)
    };
    (0..count).map(corner).collect()
}
