//! What a figure is drawn for: a screen, or a column of a paper.

use super::text;

/// The looks of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// 900 by 640 pixels, with title and subtitle.
    #[default]
    Screen,
    /// One column of a paper, 3.3 inches wide, names of axes in 8 points and numbers in 7; no title, as the caption says it.
    /// Curves differ by marks and dashes too, to be distinguished in grey. PNG files have 600 dots per inch.
    Paper,
}

impl Style {
    /// By the names that `--style` takes.
    pub const ALL: [(&'static str, Style); 2] = [("screen", Style::Screen), ("paper", Style::Paper)];
}

/// The sizes of a style. A pixel is what figures are laid out in; it is not a dot of a PNG file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    pub style: Style,
    pub width: f64,
    pub height: f64,
    /// Free space at the edges.
    pub margin: f64,
    /// From axes to the middle of the name below them.
    pub name_at: f64,
    /// Room below the axes for labels, name and what comes after.
    pub below: f64,
    /// Room right of the axes for a colour bar with labels and title.
    pub bar: f64,
    /// Pixels in an inch.
    pub inch: f64,
    /// Dots of a PNG file in a pixel, and how many times finer it is drawn before.
    pub dots: f64,
    pub finer: usize,
}

/// What a sheet of paper makes room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    Flat,
    /// Three dimensions: taller.
    Solid,
    /// A legend of this height below the axes.
    Legend(f64),
}

/// Pixels in an inch of paper: names of axes come out as 8 of the 72 points in an inch.
const PAPER_INCH: f64 = text::AXIS / 8.0 * 72.0;
/// A column in pixels: 3.3 inches.
pub const PAPER_WIDTH: f64 = 3.3 * PAPER_INCH;

impl Sheet {
    pub fn of(style: Style, room: Room) -> Self {
        match style {
            Style::Screen => Self {
                style,
                width: 900.0,
                height: 640.0,
                margin: 14.0,
                name_at: 42.0,
                below: 62.0,
                bar: 150.0,
                inch: 96.0,
                dots: 1.0,
                finer: 3,
            },
            Style::Paper => {
                let (share, legend) = match room {
                    Room::Flat => (0.68, 0.0),
                    Room::Solid => (0.76, 0.0),
                    Room::Legend(height) => (0.68, height),
                };
                let (margin, name_at) = (4.0, 33.0);
                let below = 44.0 + legend;
                Self {
                    style,
                    width: PAPER_WIDTH,
                    height: share * PAPER_WIDTH + legend,
                    margin,
                    name_at,
                    below,
                    bar: 122.0,
                    inch: PAPER_INCH,
                    dots: 600.0 / PAPER_INCH,
                    finer: 2,
                }
            }
        }
    }

    /// Whether title and subtitle are drawn.
    pub fn headed(&self) -> bool {
        self.style == Style::Screen
    }

    /// Width and height of a PNG file.
    pub fn png_size(&self) -> (usize, usize) {
        ((self.width * self.dots).round() as usize, (self.height * self.dots).round() as usize)
    }
}
