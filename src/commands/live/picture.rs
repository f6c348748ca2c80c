//! Draws a map into terminal cells: half-block cells in colour, or shades without colours, with values where they fit.

use super::colours::{Colour, Colours, Style};
use super::frame::Frame;
use apexmap_base::units::{self, Unit};
use apexmap_draw::figure::ticks::Scale;
use apexmap_results::maps::{Map, Shown};

/// Title, values of the horizontal axis, and colour scale.
const OTHER_LINES: usize = 3;
/// Largest width of a cell, and its height in half lines.
const MAX_WIDTH: usize = 20;
const MAX_HALVES: usize = 6;
/// Longer values in cells are hard to compare.
const MAX_LABEL: usize = 7;
/// Values in one unit are between these.
const LEAST_IN_UNIT: f64 = 0.01;
const MOST_IN_UNIT: f64 = 10_000.0;
/// In larger spans, colours follow the logarithm, as in figures.
const LOG_FROM: f64 = 8.0;
const SCALE_WIDTH: usize = 24;
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];
const PLAIN: Style = Style { ink: None, ground: None };

pub struct Picture<'a> {
    map: &'a Map,
    colours: Colours,
    /// Contents of the cells, row by row, and their range of values.
    shown: Vec<Shown>,
    scale: Option<Scale>,
    /// Values of the axes that are shown, the vertical ones from above.
    columns: Vec<usize>,
    rows: Vec<usize>,
    /// The widths of the values of the vertical axis, and of a cell.
    margin: usize,
    width: usize,
    /// Height of a cell in half lines.
    halves: usize,
}

impl<'a> Picture<'a> {
    /// An axis with more values than fit shows some of them, with both ends.
    pub fn new(map: &'a Map, colours: Colours, (width, height): (usize, usize)) -> Self {
        let margin = map.y.labels.iter().chain([&map.x.name]).map(|label| label.chars().count()).max().unwrap_or(0) + 1;
        let margin = margin.min(width / 3);
        let room = width.saturating_sub(margin).max(1);
        // Shades fill whole lines.
        let unit = if colours == Colours::None { 2 } else { 1 };
        let halves_available = 2 * height.saturating_sub(OTHER_LINES).max(1);
        let columns = spread(map.x.labels.len(), room);
        let mut rows = spread(map.y.labels.len(), halves_available / unit);
        rows.reverse();
        let halves = (halves_available / rows.len()).clamp(unit, MAX_HALVES);
        // An odd number of half lines would leave no line for values.
        let halves = if halves > 1 { halves & !1 } else { halves };
        let shown = map.shown();
        let scale = scale(map, &shown);
        let width = (room / columns.len()).clamp(1, MAX_WIDTH);
        Self { map, colours, scale, shown, columns, rows, margin, width, halves }
    }

    fn lines_of_cells(&self) -> usize {
        (self.rows.len() * self.halves).div_ceil(2)
    }

    pub fn height(&self) -> usize {
        self.lines_of_cells() + OTHER_LINES
    }

    /// Into the first lines of a frame, the last of them with a remark.
    pub fn draw(&self, frame: &mut Frame, remark: &str) {
        let labels = self.labels();
        frame.write_cut(0, &self.title());
        for line in 0..self.lines_of_cells() {
            for column in 0..self.columns.len() {
                self.paint(frame, (column, line), labels.is_some());
            }
        }
        match labels {
            Some((_, labels)) => self.write_labels(frame, &labels),
            None => self.write_corners(frame),
        }
        self.write_axes(frame);
        self.write_scale(frame, remark);
    }

    /// In a frame as high as the map needs.
    pub fn frame(&self, width: usize, remark: &str) -> Frame {
        let mut frame = Frame::new(width, self.height());
        self.draw(&mut frame, remark);
        frame
    }

    /// The name of the map, with quantity, unit and axes.
    pub fn title(&self) -> String {
        let Map { x, y, label, quantity, .. } = self.map;
        let unit = self.labels().map(|(unit, _)| unit).filter(|unit| !unit.is_empty());
        let unit = unit.map_or(String::new(), |unit| format!(" ({unit})"));
        let axes = match (x.name.as_str(), y.name.as_str()) {
            ("", _) => String::new(),
            (x, "") => format!(", over {x}"),
            (x, y) => format!(", {y} over {x}"),
        };
        let skipped_x = skipped_text(self.columns.len(), x.labels.len(), &x.name);
        let skipped_y = skipped_text(self.rows.len(), y.labels.len(), &y.name);
        format!("{label}: {}{unit}{axes}{skipped_x}{skipped_y}", quantity.label)
    }

    fn cell(&self, column: usize, row: usize) -> Shown {
        self.shown[self.index(column, row)]
    }

    fn index(&self, column: usize, row: usize) -> usize {
        self.rows[row] * self.map.x.labels.len() + self.columns[column]
    }

    /// Nothing below the last row.
    fn at_half(&self, column: usize, half: usize) -> Shown {
        let row = half / self.halves;
        if row < self.rows.len() { self.cell(column, row) } else { Shown::Unplanned }
    }

    fn share(&self, shown: Shown) -> Option<f64> {
        Some(self.scale?.place(shown.value()?))
    }

    fn ground(&self, shown: Shown) -> Option<Colour> {
        self.colours.ground(self.share(shown)?)
    }

    fn paint(&self, frame: &mut Frame, (column, line): (usize, usize), has_labels: bool) {
        let upper = self.at_half(column, line * 2);
        let grounds = [upper, self.at_half(column, line * 2 + 1)].map(|shown| self.ground(shown));
        let (symbol, style) = match (grounds, self.share(upper)) {
            (_, Some(share)) if self.colours == Colours::None => (if has_labels { " " } else { shade(share) }, PLAIN),
            ([Some(upper), Some(lower)], _) if upper == lower => (" ", Style { ground: Some(upper), ink: None }),
            ([Some(upper), lower], _) => ("▀", Style { ink: Some(upper), ground: lower }),
            ([None, Some(lower)], _) => ("▄", Style { ink: Some(lower), ground: None }),
            ([None, None], _) => (" ", PLAIN),
        };
        let (x, y) = (self.margin + column * self.width, 1 + line);
        frame.write((x, y), &symbol.repeat(self.width), style);
        let mark = match upper {
            Shown::Failed => "×",
            Shown::Waiting => "·",
            _ => return,
        };
        let is_middle = (line * 2 % self.halves) / 2 == self.middle_line();
        if is_middle && grounds == [None, None] {
            frame.write((x + self.width / 2, y), mark, PLAIN);
        }
    }

    /// It has the mark of a cell and the name of its row.
    fn middle_line(&self) -> usize {
        (self.halves.max(2) / 2 - 1) / 2
    }

    /// The unit of all values and the number of each cell, if they fit: the unit of the smallest value, so that it keeps its digits, or of
    /// the largest. Values that differ more each have a prefix: `246 G`.
    fn labels(&self) -> Option<(String, Vec<String>)> {
        let unit = self.map.quantity.unit;
        let [smallest, largest] = range(&self.shown);
        let in_one_unit = [smallest, largest].into_iter().find_map(|reference| {
            let text = units::amount(reference, unit);
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let number: f64 = number.parse().ok()?;
            let factor = 10_f64.powi((reference / number).log10().round() as i32);
            let is_multiple = (reference / factor / number - 1.0).abs() < 0.01;
            let is_readable = largest / factor < MOST_IN_UNIT && (smallest <= 0.0 || smallest / factor > LEAST_IN_UNIT);
            let labels = self.label_all(|value| short(value / factor))?;
            (is_multiple && is_readable).then(|| (unit.to_owned(), labels))
        });
        let has_prefixes = !matches!(unit, Unit::Seconds | Unit::Bytes | Unit::SecondsPerByte | Unit::None);
        in_one_unit.or_else(|| {
            let labels = self.label_all(with_prefix).filter(|_| has_prefixes && smallest >= 1.0)?;
            Some((unit.symbol().to_owned(), labels))
        })
    }

    /// If each fits into its cell.
    fn label_all(&self, label: impl Fn(f64) -> String) -> Option<Vec<String>> {
        let labels = self.shown.iter().map(|shown| shown.value().map_or(String::new(), &label));
        let labels: Vec<String> = labels.collect();
        let longest = labels.iter().map(String::len).max().unwrap_or(0);
        (self.halves > 1 && longest < self.width.min(MAX_LABEL)).then_some(labels)
    }

    fn write_labels(&self, frame: &mut Frame, labels: &[String]) {
        for row in 0..self.rows.len() {
            for column in 0..self.columns.len() {
                let label = &labels[self.index(column, row)];
                let x = self.margin + column * self.width + (self.width - label.len()) / 2;
                self.write_value(frame, (x, self.line_of_row(row)), label, |_| self.cell(column, row));
            }
        }
    }

    fn line_of_row(&self, row: usize) -> usize {
        1 + (row * self.halves) / 2 + self.middle_line()
    }

    fn write_corners(&self, frame: &mut Frame) {
        let last_half = self.rows.len() * self.halves - 1;
        let right = self.columns.len() * self.width;
        let mut halves = vec![0, last_half];
        halves.dedup_by_key(|half| *half / 2);
        for half in halves {
            let texts = [0, self.columns.len() - 1].map(|column| {
                let number = self.at_half(column, half).value();
                number.map_or(String::new(), |number| units::amount(number, self.map.quantity.unit))
            });
            let lengths = texts.each_ref().map(|text| text.chars().count());
            if lengths[0] + lengths[1] >= right {
                continue;
            }
            for (start, text) in [0, right - lengths[1]].into_iter().zip(&texts) {
                let shown = |offset: usize| self.at_half((start + offset) / self.width, half);
                self.write_value(frame, (self.margin + start, 1 + half / 2), text, shown);
            }
        }
    }

    /// On the colours of the cells behind the value.
    fn write_value(&self, frame: &mut Frame, (x, y): (usize, usize), text: &str, shown: impl Fn(usize) -> Shown) {
        for (offset, letter) in text.chars().enumerate() {
            let style = self.share(shown(offset)).map_or(PLAIN, |share| self.colours.text_style(share));
            frame.write((x + offset, y), letter.encode_utf8(&mut [0; 4]), style);
        }
    }

    fn write_axes(&self, frame: &mut Frame) {
        for (row, &index) in self.rows.iter().enumerate() {
            // Two half lines share a line, which has space for the upper one.
            if (row * self.halves).is_multiple_of(2) {
                self.write_margin(frame, self.line_of_row(row), &self.map.y.labels[index]);
            }
        }
        let y = 1 + self.lines_of_cells();
        self.write_margin(frame, y, &self.map.x.name);
        let labels: Vec<&String> = self.columns.iter().map(|&index| &self.map.x.labels[index]).collect();
        let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let step = (longest + 1).div_ceil(self.width);
        for (column, label) in labels.iter().enumerate().step_by(step) {
            let length = label.chars().count();
            let room = step.min(labels.len() - column) * self.width;
            if length <= room {
                let inset = if step == 1 { (self.width - length) / 2 } else { 0 };
                frame.write((self.margin + column * self.width + inset, y), label, PLAIN);
            }
        }
    }

    /// At the left, aligned with the cells.
    fn write_margin(&self, frame: &mut Frame, y: usize, text: &str) {
        let text: String = text.chars().take(self.margin.saturating_sub(1)).collect();
        frame.write((self.margin.saturating_sub(1 + text.chars().count()), y), &text, PLAIN);
    }

    fn write_scale(&self, frame: &mut Frame, remark: &str) {
        let filled = self.shown.iter().filter(|shown| shown.value().is_some()).count();
        let planned = self.shown.iter().filter(|shown| **shown != Shown::Unplanned).count();
        let count = format!("{filled} of {planned} cells{remark}");
        let (mut x, y) = (self.margin, 2 + self.lines_of_cells());
        if let Some(scale) = self.scale {
            let [low, high] = [scale.low, scale.high].map(|end| units::amount(end, self.map.quantity.unit));
            let [low_width, high_width, count_width] = [&low, &high, &count].map(|text| text.chars().count());
            let room = frame.width.saturating_sub(x + low_width + high_width + count_width + 4);
            let width = room.clamp(SHADES.len(), SCALE_WIDTH);
            frame.write((x, y), &low, PLAIN);
            x += low_width + 1;
            for step in 0..width {
                let share = step as f64 / (width - 1) as f64;
                let symbol = if self.colours == Colours::None { shade(share) } else { " " };
                frame.write((x + step, y), symbol, Style { ink: None, ground: self.colours.ground(share) });
            }
            x += width + 1;
            frame.write((x, y), &high, PLAIN);
            x += high_width + 2;
        }
        frame.write((x, y), &count, PLAIN);
    }
}

fn range(shown: &[Shown]) -> [f64; 2] {
    let values = shown.iter().filter_map(|shown| shown.value());
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

fn scale(map: &Map, shown: &[Shown]) -> Option<Scale> {
    let [low, high] = range(shown);
    let values = shown.iter().filter_map(|shown| shown.value());
    Scale::from_values(values, low > 0.0 && high / low >= LOG_FROM, &map.quantity.label).ok()
}

/// Its darkness is this fraction.
fn shade(share: f64) -> &'static str {
    SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
}

fn skipped_text(shown: usize, planned: usize, name: &str) -> String {
    if shown < planned { format!(", {shown} of {planned} values of {name}") } else { String::new() }
}

/// `246 G`.
fn with_prefix(value: f64) -> String {
    let text = units::si_number(value);
    match text.find(|letter: char| letter.is_ascii_uppercase() || letter == 'k') {
        Some(place) => format!("{} {}", &text[..place], &text[place..]),
        None => text,
    }
}

/// Three digits, but at most three decimals.
fn short(value: f64) -> String {
    if value < 0.1 { format!("{value:.3}") } else { units::short_number(value) }
}

/// At most `most` indices below `count`, evenly spread, with the first and the last.
fn spread(count: usize, most: usize) -> Vec<usize> {
    let shown = count.min(most.max(1));
    (0..shown).map(|index| index * (count - 1) / (shown - 1).max(1)).collect()
}
