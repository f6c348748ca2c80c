//! Colour, marker and dashes of a series of curves.

use super::prelude::*;

#[derive(Clone, Copy)]
pub struct SeriesStyle {
    pub colour: RGBColor,
    shape: usize,
    dashes: &'static [f64],
    pub part: Part,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    Both,
    Markers,
    Line,
    Dots,
}

#[derive(Clone, Copy)]
pub struct Distinction {
    pub count: usize,
    pub group_size: usize,
    pub ordered: bool,
}

const PATTERNS: [&[f64]; MARKER_SHAPES] =
    [&[], &[8.0, 4.0], &[2.0, 3.0], &[9.0, 3.0, 2.0, 3.0], &[14.0, 4.0], &[9.0, 3.0, 2.0, 3.0, 2.0, 3.0], &[4.0, 2.0]];
/// Not [`WHITE`], which is the ground of every style.
const WHITE_ON_DARK: RGBColor = RGBColor(254, 254, 254);
const MARKER_SHAPES: usize = 7;

impl SeriesStyle {
    /// Ordered series beyond the number of colours have those of a ramp; others also differ in dashes. On paper, where colours may be lost,
    /// all differ in dashes.
    pub fn new(k: usize, Distinction { count, group_size, ordered }: Distinction, style: Style) -> Self {
        let part = match (group_size, k % group_size) {
            (1, _) => Part::Both,
            (_, 0) => Part::Markers,
            (_, 1) => Part::Line,
            _ => Part::Dots,
        };
        let (k, count) = (k / group_size, count.div_ceil(group_size));
        let shape = (k + k / SERIES.len()) % MARKER_SHAPES;
        let colour = match ordered && count > SERIES.len() {
            true => ramp(k as f64 / (count - 1) as f64, style.is_dark()),
            // Black would not show on a dark ground.
            false if style.is_dark() && k % SERIES.len() == 6 => WHITE_ON_DARK,
            false => SERIES[k % SERIES.len()],
        };
        let dashes = match part {
            Part::Dots => PATTERNS[2],
            _ if style == Style::Paper => PATTERNS[shape],
            _ => PATTERNS[k / SERIES.len()],
        };
        Self { colour, shape, dashes, part }
    }

    pub fn with_colour(self, colour: RGBColor) -> Self {
        Self { colour, ..self }
    }

    pub fn line(self, canvas: &mut Canvas, points: &[Xy]) -> Result<()> {
        canvas.dashed_line(points, self.colour, 1.8, self.dashes)
    }

    pub fn marker(self, canvas: &mut Canvas, (x, y): Xy) -> Result<()> {
        let shape = |r: f64| -> Vec<Xy> {
            match self.shape {
                1 => polygon((x, y), r * 1.25, 4, 45.0),
                2 => polygon((x, y), r * 1.35, 3, 90.0),
                3 => polygon((x, y), r * 1.3, 4, 0.0),
                4 => polygon((x, y), r * 1.35, 3, -90.0),
                _ => polygon((x, y), r * 1.2, 5, 90.0),
            }
        };
        let size = canvas.sheet.mark_size;
        match self.shape {
            0 => canvas.dot((x, y), 4.0 * size, self.colour),
            6 => {
                canvas.dot((x, y), 4.4 * size, self.colour)?;
                canvas.polygon(&polygon((x, y), 2.0 * size, 12, 0.0), WHITE, 1.0)
            }
            _ => {
                canvas.polygon(&shape(5.0 * size), WHITE, 1.0)?;
                canvas.polygon(&shape(4.2 * size), self.colour, 1.0)
            }
        }
    }
}

/// With a corner at `angle` degrees.
fn polygon((x, y): Xy, radius: f64, corners: usize, angle: f64) -> Vec<Xy> {
    let corner = |k: usize| {
        let turn = (angle + 360.0 * k as f64 / corners as f64).to_radians();
        (x + radius * turn.cos(), y - radius * turn.sin())
    };
    (0..corners).map(corner).collect()
}
