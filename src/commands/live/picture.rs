//! Draws a map into terminal cells: half-block cells in colour, or shades without colours, with values where they fit.

use super::chart::Chart;
use super::colours::Colours;
use super::map::{Map, Shown};
use super::text::{log_scale, title, value, write, write_cut};
use apexmap_base::units::{self, Unit};
use apexmap_draw::figure::ticks::Scale;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};

/// Lines of a map besides its cells: title, values of the horizontal axis, and colour scale.
const OTHER_LINES: u16 = 3;
/// Largest width of a cell, and its height in half lines.
const MAX_WIDTH: usize = 20;
const MAX_HALVES: usize = 6;
/// Values in cells are shorter than this; longer ones are hard to compare.
const MAX_LABEL: usize = 7;
/// Values in one unit are between these.
const LEAST_IN_UNIT: f64 = 0.01;
const MOST_IN_UNIT: f64 = 10_000.0;
/// Largest width of the colour scale.
const SCALE_WIDTH: u16 = 24;
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];

/// A map as a picture of cells or as curves.
pub enum Drawing<'a> {
    Cells(Picture<'a>),
    Curves(Chart<'a>),
}

impl<'a> Drawing<'a> {
    /// Fits a map into this many columns and lines.
    pub fn new(map: &'a Map, colours: Colours, size: (u16, u16)) -> Self {
        if map.is_chart {
            Self::Curves(Chart::new(map, colours, size))
        } else {
            Self::Cells(Picture::new(map, colours, size))
        }
    }

    /// Returns the number of lines.
    pub fn height(&self) -> u16 {
        match self {
            Self::Cells(picture) => picture.height(),
            Self::Curves(chart) => chart.height(),
        }
    }

    /// Draws the map from line `top` on. The last line ends with a remark.
    pub fn draw(&self, buffer: &mut Buffer, top: u16, remark: &str) {
        match self {
            Self::Cells(picture) => picture.draw(buffer, top, remark),
            Self::Curves(chart) => chart.draw(buffer, top, remark),
        }
    }

    /// Returns the width of the title.
    fn title_width(&self) -> usize {
        match self {
            Self::Cells(picture) => picture.full_title().chars().count(),
            Self::Curves(chart) => chart.full_title().chars().count(),
        }
    }
}

/// A map with its place in a frame.
pub struct Picture<'a> {
    map: &'a Map,
    colours: Colours,
    /// Contents of the cells, row by row, and their range of values.
    shown: Vec<Shown>,
    scale: Option<Scale>,
    /// Values of the axes that are shown, the vertical ones from above.
    columns: Vec<usize>,
    rows: Vec<usize>,
    /// Width of the values of the vertical axis, and of a cell.
    margin: usize,
    width: usize,
    /// Height of a cell in half lines.
    halves: usize,
}

impl<'a> Picture<'a> {
    /// Fits a map into this many columns and lines.
    pub fn new(map: &'a Map, colours: Colours, (width, height): (u16, u16)) -> Self {
        let margin = map.y.labels.iter().chain([&map.x.name]).map(|label| label.chars().count()).max().unwrap_or(0) + 1;
        let margin = margin.min(usize::from(width) / 3);
        let (room, lines) =
            (usize::from(width).saturating_sub(margin).max(1), height.saturating_sub(OTHER_LINES).max(1));
        // Shades fill whole lines.
        let unit = if colours == Colours::None { 2 } else { 1 };
        let halves_available = 2 * usize::from(lines);
        let columns = every_nth(map.x.labels.len(), room);
        let mut rows = every_nth(map.y.labels.len(), halves_available / unit);
        rows.reverse();
        let halves = (halves_available / rows.len()).clamp(unit, MAX_HALVES);
        // An odd number of half lines would leave no line for values.
        let halves = if halves > 1 { halves & !1 } else { halves };
        let shown = map.all_shown();
        let scale = log_scale(map, &shown);
        let width = (room / columns.len()).clamp(1, MAX_WIDTH);
        Self { map, colours, scale, shown, columns, rows, margin, width, halves }
    }

    fn lines_of_cells(&self) -> u16 {
        (self.rows.len() * self.halves).div_ceil(2) as u16
    }

    /// Returns the number of lines.
    pub fn height(&self) -> u16 {
        self.lines_of_cells() + OTHER_LINES
    }

    /// Draws the map from line `top` on. The last line ends with a remark.
    pub fn draw(&self, buffer: &mut Buffer, top: u16, remark: &str) {
        let labels = self.labels();
        write_cut(buffer, (0, top), &self.full_title());
        for line in 0..self.lines_of_cells() {
            for column in 0..self.columns.len() {
                self.paint(buffer, top + 1, (column, line), labels.is_some());
            }
        }
        match labels {
            Some((_, labels)) => self.write_labels(buffer, top + 1, &labels),
            None => self.write_corners(buffer, top + 1),
        }
        self.write_axes(buffer, top + 1);
        self.write_scale(buffer, top + 2 + self.lines_of_cells(), remark);
    }

    fn full_title(&self) -> String {
        let Map { x, y, .. } = self.map;
        let skipped = |shown: usize, planned: usize, name: &str| {
            if shown < planned { format!(", every {}th {name}", planned.div_ceil(shown)) } else { String::new() }
        };
        let skipped_x = skipped(self.columns.len(), x.labels.len(), &x.name);
        let skipped_y = skipped(self.rows.len(), y.labels.len(), &y.name);
        let unit = self.labels().map_or(String::new(), |(unit, _)| unit);
        format!("{}{skipped_x}{skipped_y}", title(self.map, &unit))
    }

    fn cell(&self, column: usize, row: usize) -> Shown {
        self.shown[self.rows[row] * self.map.x.labels.len() + self.columns[column]]
    }

    /// Returns what a half line shows; nothing below the last row.
    fn at_half(&self, column: usize, half: usize) -> Shown {
        let row = half / self.halves;
        if row < self.rows.len() { self.cell(column, row) } else { Shown::Unplanned }
    }

    fn share(&self, shown: Shown) -> Option<f64> {
        Some(self.scale?.place(value(shown)?))
    }

    /// Paints one line of a cell.
    fn paint(&self, buffer: &mut Buffer, top: u16, (column, line): (usize, u16), has_labels: bool) {
        let first = usize::from(line) * 2;
        let [upper, lower] = [0, 1].map(|half| self.at_half(column, first + half));
        let grounds = [upper, lower].map(|shown| self.share(shown).map(|share| self.colours.ground(share)));
        let left = self.margin + column * self.width;
        let (symbol, style) = match (grounds, self.share(upper)) {
            ([_, _], Some(share)) if self.colours == Colours::None => {
                let shade = SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
                (if has_labels { " " } else { shade }, Style::new())
            }
            ([Some(upper), Some(lower)], _) if upper == lower => (" ", Style::new().bg(upper)),
            ([Some(upper), Some(lower)], _) => ("▀", Style::new().fg(upper).bg(lower)),
            ([Some(upper), None], _) => ("▀", Style::new().fg(upper)),
            ([None, Some(lower)], _) => ("▄", Style::new().fg(lower)),
            ([None, None], _) => (" ", Style::new()),
        };
        let y = top + line;
        write(buffer, (left as u16, y), &symbol.repeat(self.width), style);
        let mark = match upper {
            Shown::Failed => "×",
            Shown::Waiting => "·",
            _ => return,
        };
        let is_middle = (first % self.halves) / 2 == (self.halves.max(2) / 2 - 1) / 2;
        if is_middle && grounds == [None, None] {
            write(buffer, ((left + self.width / 2) as u16, y), mark, Style::new());
        }
    }

    /// Returns the unit of all values and the number of each cell, if they fit into the cells. The unit is that of the smallest
    /// value, so that it keeps its digits, or that of the largest. Values that differ more each have a prefix: `246 G`.
    fn labels(&self) -> Option<(String, Vec<String>)> {
        let values = || self.shown.iter().filter_map(|shown| value(*shown));
        let smallest = values().fold(f64::INFINITY, f64::min);
        let largest = values().fold(f64::NEG_INFINITY, f64::max);
        let label_all = |label: &dyn Fn(f64) -> String| -> Vec<String> {
            self.shown.iter().map(|shown| value(*shown).map_or(String::new(), label)).collect()
        };
        let fits = |labels: &Vec<String>| {
            self.halves > 1 && labels.iter().all(|label| label.len() < self.width.min(MAX_LABEL))
        };
        let in_one_unit = [smallest, largest].into_iter().find_map(|reference| {
            let text = units::amount(reference, self.map.quantity.unit);
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let number: f64 = number.parse().ok()?;
            let factor = 10_f64.powi((reference / number).log10().round() as i32);
            let labels = label_all(&|value| short(value / factor));
            let is_multiple = (reference / factor / number - 1.0).abs() < 0.01;
            let is_readable = largest / factor < MOST_IN_UNIT && (smallest <= 0.0 || smallest / factor > LEAST_IN_UNIT);
            (is_multiple && is_readable && fits(&labels)).then(|| (unit.to_owned(), labels))
        });
        in_one_unit.or_else(|| {
            let unit = self.map.quantity.unit;
            let has_prefixes = !matches!(unit, Unit::Seconds | Unit::Bytes | Unit::SecondsPerByte | Unit::None);
            let labels = label_all(&with_prefix);
            (has_prefixes && smallest >= 1.0 && fits(&labels)).then(|| (unit.symbol().to_owned(), labels))
        })
    }

    fn write_labels(&self, buffer: &mut Buffer, top: u16, labels: &[String]) {
        for row in 0..self.rows.len() {
            let y = top + ((row * self.halves) / 2 + (self.halves / 2 - 1) / 2) as u16;
            for column in 0..self.columns.len() {
                let label = &labels[self.rows[row] * self.map.x.labels.len() + self.columns[column]];
                let x = self.margin + column * self.width + (self.width - label.len()) / 2;
                self.write_value(buffer, (x, y), label, |_| self.cell(column, row));
            }
        }
    }

    /// Writes the values of the corners into them.
    fn write_corners(&self, buffer: &mut Buffer, top: u16) {
        let last_half = self.rows.len() * self.halves - 1;
        let right = self.columns.len() * self.width;
        let mut halves = vec![0, last_half];
        halves.dedup_by_key(|half| *half / 2);
        for half in halves {
            let texts = [0, self.columns.len() - 1].map(|column| {
                let number = value(self.at_half(column, half));
                number.map_or(String::new(), |number| units::amount(number, self.map.quantity.unit))
            });
            let lengths = texts.each_ref().map(|text| text.chars().count());
            if lengths[0] + lengths[1] >= right {
                continue;
            }
            for (start, text) in [0, right - lengths[1]].into_iter().zip(&texts) {
                let shown = |offset: usize| self.at_half((start + offset) / self.width, half);
                self.write_value(buffer, (self.margin + start, top + (half / 2) as u16), text, shown);
            }
        }
    }

    /// Writes a value on the colours of the cells behind it.
    fn write_value(&self, buffer: &mut Buffer, (x, y): (usize, u16), text: &str, shown: impl Fn(usize) -> Shown) {
        for (offset, letter) in text.chars().enumerate() {
            let style = self.share(shown(offset)).map_or(Style::new().fg(Color::Reset).bg(Color::Reset), |share| {
                Style::new().fg(self.colours.ink(share)).bg(self.colours.ground(share))
            });
            write(buffer, ((x + offset) as u16, y), letter.encode_utf8(&mut [0; 4]), style);
        }
    }

    fn write_axes(&self, buffer: &mut Buffer, top: u16) {
        for (row, &index) in self.rows.iter().enumerate() {
            let y = top + ((row * self.halves) / 2 + (self.halves.max(2) / 2 - 1) / 2) as u16;
            // Two half lines share a line, which has space for the upper one.
            if (row * self.halves).is_multiple_of(2) {
                self.write_margin(buffer, y, &self.map.y.labels[index]);
            }
        }
        let y = top + self.lines_of_cells();
        self.write_margin(buffer, y, &self.map.x.name);
        let labels: Vec<&String> = self.columns.iter().map(|&index| &self.map.x.labels[index]).collect();
        let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let step = (longest + 1).div_ceil(self.width);
        for (column, label) in labels.iter().enumerate().step_by(step) {
            let length = label.chars().count();
            let room = step.min(labels.len() - column) * self.width;
            if length <= room {
                let inset = if step == 1 { (self.width - length) / 2 } else { 0 };
                write(buffer, ((self.margin + column * self.width + inset) as u16, y), label, Style::new());
            }
        }
    }

    /// Writes a text at the left, aligned with the cells.
    fn write_margin(&self, buffer: &mut Buffer, y: u16, text: &str) {
        let text: String = text.chars().take(self.margin.saturating_sub(1)).collect();
        let x = self.margin.saturating_sub(1 + text.chars().count());
        write(buffer, (x as u16, y), &text, Style::new());
    }

    fn write_scale(&self, buffer: &mut Buffer, y: u16, remark: &str) {
        let filled = self.shown.iter().filter(|shown| value(**shown).is_some()).count();
        let planned = self.shown.iter().filter(|shown| **shown != Shown::Unplanned).count();
        let count = format!("{filled} of {planned} cells{remark}");
        let mut x = self.margin as u16;
        if let Some(scale) = self.scale {
            let [low, high] = [scale.low, scale.high].map(|end| units::amount(end, self.map.quantity.unit));
            let [low_width, high_width, count_width] = [&low, &high, &count].map(|text| text.chars().count() as u16);
            let room = buffer.area.width.saturating_sub(x + low_width + high_width + count_width + 4);
            let width = room.clamp(SHADES.len() as u16, SCALE_WIDTH);
            write(buffer, (x, y), &low, Style::new());
            x += low_width + 1;
            for step in 0..width {
                let share = f64::from(step) / f64::from(width - 1);
                let shade = SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
                match self.colours {
                    Colours::None => write(buffer, (x + step, y), shade, Style::new()),
                    colours => write(buffer, (x + step, y), " ", Style::new().bg(colours.ground(share))),
                }
            }
            x += width + 1;
            write(buffer, (x, y), &high, Style::new());
            x += high_width + 2;
        }
        write(buffer, (x, y), &count, Style::new());
    }
}

/// Returns the map in a separate frame, as wide as its title if that `keeps_title`.
pub fn frame(map: &Map, colours: Colours, (width, height): (u16, u16), remark: &str, keeps_title: bool) -> Buffer {
    let picture = Drawing::new(map, colours, (width, height));
    let title_width = if keeps_title { picture.title_width() as u16 } else { 0 };
    let mut buffer = Buffer::empty(Rect::new(0, 0, width.max(title_width), picture.height()));
    picture.draw(&mut buffer, 0, remark);
    buffer
}

/// Formats a value with a prefix: `246 G`.
fn with_prefix(value: f64) -> String {
    let text = units::si_number(value);
    match text.find(|letter: char| letter.is_ascii_uppercase() || letter == 'k') {
        Some(place) => format!("{} {}", &text[..place], &text[place..]),
        None => text,
    }
}

/// Formats a value for a cell: three digits, but at most three decimals.
fn short(value: f64) -> String {
    if value < 0.1 { format!("{value:.3}") } else { units::short_number(value) }
}

/// Returns every nth index below `count`, at most `most` of them.
fn every_nth(count: usize, most: usize) -> Vec<usize> {
    (0..count).step_by(count.div_ceil(most.max(1)).max(1)).collect()
}
