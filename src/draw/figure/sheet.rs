//! The sizes of figures for a screen, a column of a paper, and a slide.

use super::text;

/// The medium that a figure is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// 900 by 640 pixels, with title and subtitle. Letters are 11 pixels high if half of a page of 1280 pixels shows it.
    #[default]
    Screen,
    /// One column of a paper, 3.3 inches wide: axis names of 8 points, numbers of 7, a caption instead of the title, 600 dots per inch.
    Paper,
    /// A slide of 13.33 by 7.5 inches, 1920 by 1080 pixels. Axis names are 24 points and numbers 21 points high.
    Slide,
    /// As [`Style::Slide`], in light colours on a dark ground.
    SlideDark,
}

impl Style {
    /// Names are those that `--style` accepts.
    pub const ALL: [(&'static str, Style); 4] =
        [("screen", Style::Screen), ("paper", Style::Paper), ("slide", Style::Slide), ("slide-dark", Style::SlideDark)];

    pub fn is_dark(self) -> bool {
        self == Style::SlideDark
    }

    /// Below the figures for a screen; `None` for these.
    pub fn folder(self) -> Option<&'static str> {
        let (name, _) = Self::ALL.into_iter().find(|(_, style)| *style == self)?;
        (self != Style::Screen).then_some(name)
    }
}

/// In pixels, which are not the dots of a PNG file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    pub style: Style,
    pub width: f64,
    pub height: f64,
    pub margin: f64,
    /// Distance of the axes from the middle of the name below them.
    pub name_offset: f64,
    /// Space below the axes.
    pub below: f64,
    pub bar: f64,
    pub legend_below: bool,
    /// 0 if the caption replaces title and subtitle.
    pub subtitle_lines: usize,
    /// Relative to marks on a screen.
    pub mark_size: f64,
    /// Pixels per inch.
    pub inch: f64,
    /// Dots of a PNG file per pixel.
    pub dots: f64,
    /// Pixels per dot, along each axis, of the picture that a PNG file is computed from.
    pub oversampling: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    Flat,
    Solid,
    Legend {
        height: f64,
        /// Width and height next to the axes.
        column: (f64, f64),
    },
}

/// So that axis names are 8 points high; an inch has 72 points.
const PAPER_INCH: f64 = text::AXIS / 8.0 * 72.0;
const PAPER_WIDTH: f64 = 3.3 * PAPER_INCH;
/// So that numbers, drawn 13 pixels high, are 11 pixels high in a column of 587 pixels.
const SCREEN_DOTS: f64 = 4.0 / 3.0;
/// So that axis names are 24 points high.
const SLIDE_INCH: f64 = text::AXIS / 24.0 * 72.0;
/// Width and height in inches, and dots per inch.
const SLIDE: (f64, f64, f64) = (40.0 / 3.0, 7.5, 144.0);

fn legend_below(room: &impl Fn(f64) -> Room, (width, height, margin): (f64, f64, f64)) -> Option<f64> {
    match room(width - 2.0 * margin) {
        Room::Legend { column, .. } if column.0 < width / 3.0 && column.1 < 0.6 * height => None,
        Room::Legend { height, .. } => Some(height + 6.0),
        _ => None,
    }
}

impl Sheet {
    /// `room`: the space that the figure needs on a sheet of this width.
    pub fn new(style: Style, room: impl Fn(f64) -> Room) -> Self {
        match style {
            Style::Screen => {
                let (width, height, margin) = (900.0 / SCREEN_DOTS, 640.0 / SCREEN_DOTS, 12.0);
                // A higher one would leave no room for the axes.
                let legend = legend_below(&room, (width, height, margin)).filter(|legend| *legend < 0.4 * height);
                Self {
                    style,
                    width,
                    height,
                    margin,
                    name_offset: 40.0,
                    below: 58.0 + legend.unwrap_or(0.0),
                    bar: 142.0,
                    legend_below: legend.is_some(),
                    subtitle_lines: 3,
                    mark_size: 1.0,
                    inch: 96.0 / SCREEN_DOTS,
                    dots: SCREEN_DOTS,
                    oversampling: 2,
                }
            }
            Style::Paper => {
                let (share, legend) = match room(PAPER_WIDTH) {
                    Room::Flat => (0.68, 0.0),
                    Room::Solid => (0.76, 0.0),
                    Room::Legend { height, .. } => (0.68, height),
                };
                Self {
                    style,
                    width: PAPER_WIDTH,
                    height: share * PAPER_WIDTH + legend,
                    margin: 4.0,
                    name_offset: 33.0,
                    below: 44.0 + legend,
                    bar: 122.0,
                    legend_below: true,
                    subtitle_lines: 0,
                    mark_size: 0.75,
                    inch: PAPER_INCH,
                    dots: 600.0 / PAPER_INCH,
                    oversampling: 2,
                }
            }
            Style::Slide | Style::SlideDark => {
                let (width, height, margin) = (SLIDE.0 * SLIDE_INCH, SLIDE.1 * SLIDE_INCH, 10.0);
                let legend = legend_below(&room, (width, height, margin));
                Self {
                    style,
                    width,
                    height,
                    margin,
                    name_offset: 36.0,
                    below: 52.0 + legend.unwrap_or(0.0),
                    bar: 132.0,
                    legend_below: legend.is_some(),
                    subtitle_lines: 2,
                    mark_size: 0.75,
                    inch: SLIDE_INCH,
                    dots: SLIDE.2 / SLIDE_INCH,
                    oversampling: 2,
                }
            }
        }
    }

    pub fn has_header(&self) -> bool {
        self.subtitle_lines > 0
    }

    pub fn smallest_type(&self) -> f64 {
        if self.style == Style::Screen { text::TICK } else { 9.0 }
    }

    pub fn is_wide(&self) -> bool {
        matches!(self.style, Style::Slide | Style::SlideDark)
    }

    pub fn legend_width(&self) -> f64 {
        if self.style == Style::Paper { self.width } else { self.width - 2.0 * self.margin }
    }

    pub fn png_size(&self) -> (usize, usize) {
        ((self.width * self.dots).round() as usize, (self.height * self.dots).round() as usize)
    }
}
