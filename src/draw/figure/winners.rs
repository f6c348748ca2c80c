//! Maps of the fastest machine in each cell and its lead, striped where the second may be as fast.

use ndarray::Array2;
use plotters::style::RGBColor;

use super::canvas::Canvas;
use super::cells::Cells;
use super::colour::{INK, SERIES, readable_on};
use super::compared_cells::{Key, draw_key, label, tile, type_size};
use super::drawable::Drawable;
use super::geometry::Rect;
use super::grid::Axis;
use super::table::{FigureTable, column, format_number as number};
use super::text::{self, Font, Side};
use super::{frame, ticks};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{Unit, plural};

/// The fastest machine over two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Winners {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub names: Vec<String>,
    /// The fastest machine at [y, x]; `None` where no machine has a value.
    pub fastest: Array2<Option<usize>>,
    /// Ratio of the fastest machine's speed to the second's; NaN if there is no second.
    pub margin: Array2<f64>,
    /// Cells (row, column) where the 95 % interval does not separate the fastest from the next.
    pub undecided: Vec<(usize, usize)>,
    /// Words of the legend for undecided cells.
    pub undecided_label: &'static str,
    /// Cells that at least one machine did not finish.
    pub failed: Vec<(usize, usize)>,
}

impl Winners {
    /// Returns the cells (row, column) that have a fastest machine, with its index.
    pub fn filled_cells(&self) -> Vec<((usize, usize), usize)> {
        self.fastest.indexed_iter().filter_map(|(cell, who)| Some((cell, (*who)?))).collect()
    }
}

impl Drawable for &Winners {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        self.x.check()?;
        self.y.check()?;
        let shape = (self.y.values.len(), self.x.values.len());
        if self.fastest.dim() != shape || self.margin.dim() != shape || self.names.len() > MAX_WINNERS {
            return Err(Error::internal("the parts of a map of winners do not match"));
        }
        let area = Cells::new(canvas, (&self.title, &self.subtitle), (&self.x, &self.y))?;
        let (frame, cell) = (&area.frame, |j: usize, i: usize| area.rect(j, i));
        let font = Font::new(text::TICK);
        let room = canvas.sheet.bar - 50.0;
        let names: Vec<String> = self.names.iter().map(|name| text::cut(name, text::TICK, false, room)).collect();
        let cell_text = |who: usize, margin: f64| match margin.is_nan() {
            true => letter(who).to_owned(),
            false => format!("{} {}", letter(who), ticks::short(margin, Unit::None)),
        };
        let cells = self.filled_cells();
        let labels = || cells.iter().map(|((j, i), who)| (cell_text(*who, self.margin[(*j, *i)]), cell(*j, *i)));
        let size = type_size(labels());
        // Write numbers either in all cells or in none.
        let numbers = labels().all(|(words, rect)| Font::new(size).width(&words) + 8.0 <= rect.width());
        for ((j, i), who) in self.fastest.indexed_iter() {
            let rect = cell(j, i);
            let Some(who) = *who else {
                frame::hatch(canvas, rect)?;
                continue;
            };
            let undecided = self.undecided.contains(&(j, i));
            let colour = if undecided { pale(SERIES[who]) } else { SERIES[who] };
            tile(canvas, rect, colour, undecided)?;
            let words = if numbers { cell_text(who, self.margin[(j, i)]) } else { letter(who).to_owned() };
            label(canvas, rect, colour, &words, size)?;
        }
        for (row, ((j, i), _)) in cells.into_iter().enumerate() {
            canvas.spot(cell(j, i).centre(), row);
        }
        for (j, i) in &self.failed {
            let rect = cell(*j, *i);
            canvas.cross((rect.right - 9.0, rect.top + 9.0))?;
        }
        canvas.outline(frame.area, INK, 1.0)?;
        for (k, name) in names.iter().enumerate() {
            let swatch = (frame.area.right + 31.0, frame.area.top + 22.0 * (k as f64 + 0.5));
            canvas.fill(Rect::from_centre(swatch, 18.0, 16.0), SERIES[k])?;
            canvas.text(letter(k), swatch, Side::Middle, font.with_colour(readable_on(SERIES[k])))?;
            canvas.text(name, (swatch.0 + 16.0, swatch.1), Side::Left, font)?;
        }
        let mut key = Vec::new();
        if !self.undecided.is_empty() {
            key.push(Key::Undecided(self.undecided_label));
        }
        if !self.failed.is_empty() {
            key.push(Key::Unfinished);
        }
        if self.fastest.iter().any(Option::is_none) {
            key.push(Key::Missing);
        }
        draw_key(canvas, &frame.area, &key)
    }

    fn table(&self) -> FigureTable {
        let (x, write_x) = column(&self.x.quantity, &self.x.values);
        let (y, write_y) = column(&self.y.quantity, &self.y.values);
        let row = |((j, i), who): ((usize, usize), usize)| {
            let decided = if self.undecided.contains(&(j, i)) { self.undecided_label } else { "yes" };
            let (x, y) = (write_x(self.x.values[i]), write_y(self.y.values[j]));
            vec![x, y, self.names[who].clone(), number(self.margin[(j, i)]), decided.into()]
        };
        let head = vec![x, y, "fastest".into(), "speed / second fastest".into(), "decided".into()];
        FigureTable { head, rows: self.filled_cells().into_iter().map(row).collect() }
    }

    fn description(&self) -> String {
        let won = |k: usize| self.filled_cells().iter().filter(|(_, who)| *who == k).count();
        let parts = self.names.iter().enumerate().map(|(k, name)| format!("{name} at {}", plural(won(k), "point")));
        format!("Map of the fastest: {}.", parts.collect::<Vec<_>>().join(", "))
    }
}

/// Returns the letter of a machine in cells and key, because colours are not distinct in grey.
fn letter(machine: usize) -> &'static str {
    LETTERS[machine]
}

const LETTERS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];
/// Maximum number of machines in a map of winners.
pub const MAX_WINNERS: usize = LETTERS.len();

/// Returns the colour of a machine where its lead is not certain.
fn pale(colour: RGBColor) -> RGBColor {
    let lighter = |c: u8| (f64::from(c) * 0.4 + 255.0 * 0.6) as u8;
    RGBColor(lighter(colour.0), lighter(colour.1), lighter(colour.2))
}
