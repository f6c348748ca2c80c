//! The sizes of figures for a screen and for a column of a paper.

use super::text;

/// The medium that a figure is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// 900 by 640 pixels, with title and subtitle.
    #[default]
    Screen,
    /// One column of a paper, 3.3 inches wide. Axis names are 8 points and numbers 7 points high. The caption replaces
    /// the title. Markers and dashes distinguish curves in grey. PNG files have 600 dots per inch.
    Paper,
}

impl Style {
    /// All styles by the names that `--style` accepts.
    pub const ALL: [(&'static str, Style); 2] = [("screen", Style::Screen), ("paper", Style::Paper)];
}

/// The sizes of a style. Layout uses pixels, which are not the dots of a PNG file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    pub style: Style,
    pub width: f64,
    pub height: f64,
    /// Free space at the edges.
    pub margin: f64,
    /// Distance from the axes to the middle of the name below them.
    pub name_offset: f64,
    /// Space below the axes for labels, name and legend.
    pub below: f64,
    /// Space to the right of the axes for a colour bar with labels and title.
    pub bar: f64,
    /// Pixels per inch.
    pub inch: f64,
    /// Dots of a PNG file per pixel.
    pub dots: f64,
    /// Pixels per dot, along each axis, of the picture that a PNG file is computed from.
    pub oversampling: usize,
}

/// The space that a figure needs on a sheet of paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    Flat,
    /// A figure in three dimensions, which is taller.
    Solid,
    /// A legend of this height below the axes.
    Legend(f64),
}

/// Pixels per inch of paper, so that axis names are 8 points high; an inch has 72 points.
const PAPER_INCH: f64 = text::AXIS / 8.0 * 72.0;
/// Width of a column in pixels: 3.3 inches.
pub const PAPER_WIDTH: f64 = 3.3 * PAPER_INCH;

impl Sheet {
    pub fn new(style: Style, room: Room) -> Self {
        match style {
            Style::Screen => Self {
                style,
                width: 900.0,
                height: 640.0,
                margin: 14.0,
                name_offset: 42.0,
                below: 62.0,
                bar: 150.0,
                inch: 96.0,
                dots: 1.0,
                oversampling: 3,
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
                    name_offset: name_at,
                    below,
                    bar: 122.0,
                    inch: PAPER_INCH,
                    dots: 600.0 / PAPER_INCH,
                    oversampling: 2,
                }
            }
        }
    }

    /// Returns whether title and subtitle are drawn.
    pub fn has_header(&self) -> bool {
        self.style == Style::Screen
    }

    /// Returns width and height of a PNG file in dots.
    pub fn png_size(&self) -> (usize, usize) {
        ((self.width * self.dots).round() as usize, (self.height * self.dots).round() as usize)
    }
}
