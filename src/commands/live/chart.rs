//! Draws the curves of a figure of the sweep into terminal cells: lines of braille dots between marks at the values.

use super::colours::Colours;
use super::map::{Map, Shown};
use super::text::{log_scale, title, value, write, write_cut};
use apexmap_base::terminal::wrap_lines;
use apexmap_base::units;
use apexmap_draw::figure::ticks::Scale;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Style};

/// Lines besides the curves and the legend: title and values of the horizontal axis.
const OTHER_LINES: u16 = 2;
/// Largest number of lines of the curves.
const MAX_LINES: u16 = 14;
/// Marks of the curves, which are told apart without colours, too.
const MARKS: [&str; 8] = ["●", "○", "▲", "△", "■", "□", "◆", "◇"];
/// Colours that are visible on bright and dark terminals.
const COLOURS: [u8; 8] = [6, 5, 2, 1, 4, 3, 6, 5];
/// Bits of the dots of a braille character, by row and column, and the character without dots.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
const NO_DOTS: u32 = 0x2800;

/// Curves with their place in a frame.
pub struct Chart<'a> {
    map: &'a Map,
    colours: Colours,
    shown: Vec<Shown>,
    scale: Option<Scale>,
    legend: Vec<String>,
    /// Width of the values of the vertical axis, width and lines of the curves.
    margin: u16,
    width: u16,
    lines: u16,
}

impl<'a> Chart<'a> {
    /// Fits the curves of a map into this many columns and lines.
    pub fn new(map: &'a Map, colours: Colours, (width, height): (u16, u16)) -> Self {
        let shown = map.all_shown();
        let scale = log_scale(map, &shown);
        let ends = scale.map_or([String::new(), String::new()], |scale| ends(map, scale));
        let margin = ends.iter().chain([&map.x.name]).map(|text| text.chars().count() + 1).max().unwrap_or(1);
        let margin = (margin as u16).min(width / 3);
        let legend = legend(map, &shown, width);
        let lines = height.saturating_sub(OTHER_LINES + legend.len() as u16).clamp(1, MAX_LINES);
        Self { map, colours, shown, scale, legend, margin, width: width.saturating_sub(margin).max(1), lines }
    }

    /// Returns the number of lines.
    pub fn height(&self) -> u16 {
        self.lines + OTHER_LINES + self.legend.len() as u16
    }

    /// Draws the curves from line `top` on. The last line ends with a remark.
    pub fn draw(&self, buffer: &mut Buffer, top: u16, remark: &str) {
        write_cut(buffer, (0, top), &self.full_title());
        if let Some(scale) = self.scale {
            let [low, high] = ends(self.map, scale);
            self.write_margin(buffer, top + 1, &high);
            if self.lines > 1 {
                self.write_margin(buffer, top + self.lines, &low);
            }
            (0..self.map.y.labels.len()).for_each(|series| self.draw_curve(buffer, top + 1, series, scale));
        }
        self.write_axis(buffer, top + 1 + self.lines);
        for (line, text) in (top + 2 + self.lines..).zip(&self.legend) {
            let is_last = line + 1 == top + self.height();
            write(buffer, (0, line), &format!("{text}{}", if is_last { remark } else { "" }), Style::new());
        }
    }

    /// Returns the title.
    pub fn full_title(&self) -> String {
        title(self.map, "")
    }

    /// Returns the dot of each measured value of a curve: its column and its row from above.
    fn dots(&self, series: usize, scale: Scale) -> Vec<(i32, i32)> {
        let columns = self.map.x.labels.len();
        let [right, bottom] = [2 * i32::from(self.width) - 1, 4 * i32::from(self.lines) - 1];
        let values = self.shown[series * columns..][..columns].iter().enumerate();
        let dot = |(column, shown): (usize, &Shown)| {
            let from_below = (scale.place(value(*shown)?) * f64::from(bottom)).round() as i32;
            let across = right as usize * column / columns.saturating_sub(1).max(1);
            Some((across as i32, bottom - from_below))
        };
        values.filter_map(dot).collect()
    }

    fn draw_curve(&self, buffer: &mut Buffer, top: u16, series: usize, scale: Scale) {
        let colour = COLOURS[series % COLOURS.len()];
        let colour = if self.colours == Colours::None { Color::Reset } else { Color::Indexed(colour) };
        let style = Style::new().fg(colour);
        let dots = self.dots(series, scale);
        for (from, to) in dots.iter().zip(dots.iter().skip(1)) {
            line(*from, *to).for_each(|(x, y)| self.add_dot(buffer, top, (x, y), style));
        }
        // Marks replace dots, and later curves leave them.
        for (x, y) in dots {
            write(buffer, (self.margin + (x / 2) as u16, top + (y / 4) as u16), MARKS[series % MARKS.len()], style);
        }
    }

    /// Adds a dot to the braille character in its cell. A mark stays.
    fn add_dot(&self, buffer: &mut Buffer, top: u16, (x, y): (i32, i32), style: Style) {
        let place = (self.margin + (x / 2) as u16, top + (y / 4) as u16);
        let Some(cell) = buffer.cell(place) else { return };
        let shown = cell.symbol().chars().next().map_or(0, u32::from);
        let before = match shown {
            shown if shown & !0xff == NO_DOTS => shown,
            shown if shown == u32::from(' ') => NO_DOTS,
            _ => return,
        };
        let dots = char::from_u32(before | DOTS[(y % 4) as usize][(x % 2) as usize]).unwrap_or(' ');
        write(buffer, place, &dots.to_string(), style);
    }

    fn write_margin(&self, buffer: &mut Buffer, y: u16, text: &str) {
        let x = self.margin.saturating_sub(1 + text.chars().count() as u16);
        write(buffer, (x, y), text, Style::new());
    }

    /// Writes the values of the horizontal axis that have room, each below its place.
    fn write_axis(&self, buffer: &mut Buffer, y: u16) {
        self.write_margin(buffer, y, &self.map.x.name);
        let (columns, right) = (self.map.x.labels.len(), usize::from(self.width));
        let mut free_from = 0;
        for (column, label) in self.map.x.labels.iter().enumerate() {
            let length = label.chars().count();
            let middle = (right - 1) * column / columns.saturating_sub(1).max(1);
            let start = middle.saturating_sub(length / 2).min(right.saturating_sub(length));
            if start >= free_from {
                write(buffer, (self.margin + start as u16, y), label, Style::new());
                free_from = start + length + 1;
            }
        }
    }
}

/// Formats the ends of the vertical axis.
fn ends(map: &Map, scale: Scale) -> [String; 2] {
    [scale.low, scale.high].map(|end| units::amount(end, map.quantity.unit))
}

/// Returns the lines that name the curves, and count the measured values.
fn legend(map: &Map, shown: &[Shown], width: u16) -> Vec<String> {
    let named = map.y.labels.iter().zip(MARKS).filter(|(label, _)| !label.is_empty());
    // A curve and its mark stay in one line.
    let named = named.map(|(label, mark)| format!("{mark} {label}").replace(' ', "\u{a0}"));
    let filled = shown.iter().filter(|shown| value(**shown).is_some()).count();
    let planned = shown.iter().filter(|shown| **shown != Shown::Unplanned).count();
    let text = named.chain([format!("{filled} of {planned} cells")]).collect::<Vec<_>>().join("  ");
    wrap_lines(&text, Some(usize::from(width))).replace('\u{a0}', " ").lines().map(str::to_owned).collect()
}

/// Returns the dots of a straight line.
fn line(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    let (across, down) = (to.0 - from.0, to.1 - from.1);
    let steps = across.abs().max(down.abs()).max(1);
    (0..=steps).map(move |step| (from.0 + across * step / steps, from.1 + down * step / steps))
}
