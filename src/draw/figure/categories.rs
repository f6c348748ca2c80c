//! Maps of categories, such as the limit that binds or the fastest machine.

use super::cells::{Cells, Key, draw_key, label, tile, type_size};
use super::frame;
use super::prelude::*;
use super::table::format_number as number;

#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// `values` are what cells show besides their categories.
    pub grid: Grid,
    /// Indices into `names` at [y, x]; `None` is a gap.
    pub cells: Array2<Option<usize>>,
    /// At most eight names; twelve if cells show values, and [`MAX_WINNERS`] if they show leads.
    pub names: Vec<String>,
    pub shown: CellText,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CellText {
    Name,
    /// Values without a unit are in per cent. The key lists the categories that occur.
    Value,
    /// The letter of the fastest machine, and its speed relative to the second's; striped where the second may be as fast.
    Lead {
        /// Cells (row, column) where the interval does not separate the fastest from the next.
        undecided: Vec<(usize, usize)>,
        undecided_label: &'static str,
    },
}

/// Colours are not distinct in grey.
const LETTERS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];
pub const MAX_WINNERS: usize = LETTERS.len();

type Place = (usize, usize);

struct LeadText {
    size: f64,
    with_numbers: bool,
}

impl Categories {
    fn cells_with_category(&self) -> Vec<(Place, usize)> {
        self.cells.indexed_iter().filter_map(|(cell, category)| Some((cell, (*category)?))).collect()
    }

    fn rows(&self) -> Vec<Place> {
        match self.shown {
            CellText::Value => self.grid.filled_cells(),
            CellText::Name | CellText::Lead { .. } => {
                self.cells_with_category().into_iter().map(|(cell, _)| cell).collect()
            }
        }
    }

    fn colours(&self) -> &'static [RGBColor] {
        match self.shown {
            CellText::Name => &SERIES,
            CellText::Value => &CLASSES,
            CellText::Lead { .. } => &SERIES[..MAX_WINNERS],
        }
    }

    fn check(&self) -> Result<()> {
        self.grid.check()?;
        let is_unknown = |category: &usize| *category >= self.names.len();
        if self.cells.dim() != self.grid.values.dim()
            || self.names.len() > self.colours().len()
            || self.cells.iter().flatten().any(is_unknown)
        {
            return Err(Error::internal("the categories of a map do not match its cells, names or colours"));
        }
        Ok(())
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas,
        area: &Cells,
        cell: Place,
        category: usize,
        leads: &LeadText,
    ) -> Result<()> {
        let (rect, value, colour) = (area.rect(cell.0, cell.1), self.grid.values[cell], self.colours()[category]);
        let (words, sizes): (String, &[f64]) = match (&self.shown, self.grid.z.unit) {
            (CellText::Lead { undecided, .. }, _) => {
                let is_open = undecided.contains(&cell);
                let colour = if is_open { pale(colour) } else { colour };
                tile(canvas, rect, colour, is_open)?;
                let words = if leads.with_numbers { self.lead(cell, category) } else { LETTERS[category].to_owned() };
                return label(canvas, rect, colour, &words, leads.size).map(drop);
            }
            (CellText::Name, _) => (self.names[category].clone(), &[text::TICK]),
            (CellText::Value, _) if value.is_nan() => (String::new(), &[]),
            (CellText::Value, Unit::None) => (format!("{:.0} %", 100.0 * value), &[14.0, 13.0, 12.0, 10.0]),
            (CellText::Value, unit) => (ticks::short(value, unit), &[14.0, 13.0, 12.0, 10.0]),
        };
        let is_above = self.is_above(value);
        tile(canvas, rect, colour, is_above)?;
        let fits = |size: &&f64| Font::new(**size).width(&words) + 8.0 <= rect.width() && **size * 1.2 <= rect.height();
        let smallest = canvas.sheet.smallest_type();
        let Some(size) = sizes.iter().filter(|size| **size >= smallest).find(fits) else { return Ok(()) };
        if is_above {
            return label(canvas, rect, colour, &words, *size).map(drop);
        }
        canvas.text(&words, rect.centre(), Side::Middle, Font::new(*size).with_colour(readable_on(colour)))
    }

    fn is_above(&self, value: f64) -> bool {
        self.shown == CellText::Value && self.grid.z.unit == Unit::None && value > 1.0
    }

    fn lead(&self, cell: Place, who: usize) -> String {
        match self.grid.values[cell] {
            margin if margin.is_nan() => LETTERS[who].to_owned(),
            margin => format!("{} {}", LETTERS[who], ticks::short(margin, Unit::None)),
        }
    }

    fn lead_text(&self, area: &Cells) -> LeadText {
        let is_lead = matches!(self.shown, CellText::Lead { .. });
        let cells = if is_lead { self.cells_with_category() } else { Vec::new() };
        let labels = || cells.iter().map(|&((j, i), who)| (self.lead((j, i), who), area.rect(j, i)));
        let size = type_size(labels());
        // Write numbers either in all cells or in none.
        let with_numbers = labels().all(|(words, rect)| Font::new(size).width(&words) + 8.0 <= rect.width());
        LeadText { size, with_numbers }
    }

    fn draw_names(&self, canvas: &mut Canvas, area: &Rect) -> Result<()> {
        let is_shown = |category: &usize| match self.shown {
            CellText::Value => self.cells.iter().flatten().any(|other| other == category),
            CellText::Name | CellText::Lead { .. } => true,
        };
        let (from, line, size, to) = match self.shown {
            CellText::Name => (31.0, 24.0, (18.0, 14.0), 16.0),
            CellText::Value => (21.0, 24.0, (16.0, 14.0), 13.0),
            CellText::Lead { .. } => (31.0, 22.0, (18.0, 16.0), 16.0),
        };
        let (lines, room) = if self.shown == CellText::Value { (2, 38.0) } else { (1, 50.0) };
        let font = Font::new(text::TICK);
        let mut top = area.top;
        for category in (0..self.names.len()).filter(is_shown) {
            let (swatch, colour) = ((area.right + from, top + 0.5 * line), self.colours()[category]);
            canvas.fill(Rect::from_centre(swatch, size.0, size.1), colour)?;
            if let CellText::Lead { .. } = self.shown {
                canvas.text(LETTERS[category], swatch, Side::Middle, font.with_colour(readable_on(colour)))?;
            }
            let lines = text::wrap(&self.names[category], text::TICK, false, canvas.sheet.bar - room, lines);
            for (line, words) in lines.iter().enumerate() {
                let y = swatch.1 + line as f64 * 1.2 * text::TICK;
                canvas.text(words, (swatch.0 + to, y), Side::Left, font)?;
            }
            top += line + lines.len().saturating_sub(1) as f64 * 1.2 * text::TICK;
        }
        Ok(())
    }

    fn draw_quantity(&self, canvas: &mut Canvas, area: &Rect) -> Result<()> {
        let above =
            if self.grid.values.iter().any(|value| self.is_above(*value)) { "; striped: above 100 %" } else { "" };
        let words = format!("In cells: {}{above}", self.grid.z.label);
        let lines = text::wrap(&words, text::TICK, false, canvas.sheet.bar - 24.0, 4);
        for (line, words) in lines.iter().rev().enumerate() {
            let y = area.bottom - 8.0 - line as f64 * 1.4 * text::TICK;
            canvas.text(words, (area.right + 12.0, y), Side::Left, Font::new(text::TICK))?;
        }
        Ok(())
    }

    fn draw_marks(&self, canvas: &mut Canvas, area: &Rect, undecided: Option<&'static str>) -> Result<()> {
        let mut key: Vec<Key> = undecided.map(Key::Undecided).into_iter().collect();
        key.extend((!self.grid.failed.is_empty()).then_some(Key::Unfinished));
        key.extend(self.cells.iter().any(Option::is_none).then_some(Key::Missing));
        draw_key(canvas, area, &key)
    }
}

impl Drawable for &Categories {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        self.check()?;
        let grid = &self.grid;
        let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
        let leads = self.lead_text(&area);
        for ((j, i), category) in self.cells.indexed_iter() {
            match category {
                None => frame::hatch(canvas, area.rect(j, i))?,
                Some(category) => self.draw_cell(canvas, &area, (j, i), *category, &leads)?,
            }
        }
        for (row, (j, i)) in self.rows().into_iter().enumerate() {
            canvas.spot(area.rect(j, i).centre(), row);
        }
        for (j, i) in &grid.failed {
            let rect = area.rect(*j, *i);
            let is_lead = matches!(self.shown, CellText::Lead { .. });
            canvas.cross(if is_lead { (rect.right - 9.0, rect.top + 9.0) } else { rect.centre() })?;
        }
        let frame = area.frame.area;
        canvas.outline(frame, INK, 1.0)?;
        self.draw_names(canvas, &frame)?;
        match &self.shown {
            CellText::Name => Ok(()),
            CellText::Value => self.draw_quantity(canvas, &frame),
            CellText::Lead { undecided, undecided_label } => {
                self.draw_marks(canvas, &frame, (!undecided.is_empty()).then_some(*undecided_label))
            }
        }
    }

    fn table(&self) -> FigureTable {
        let grid = &self.grid;
        let name = |cell: &Place| self.cells[*cell].map_or(String::new(), |category| self.names[category].clone());
        let rows = self.rows();
        let mut table = match &self.shown {
            CellText::Value => FigureTable::from_grid(grid),
            CellText::Name | CellText::Lead { .. } => {
                let (x, write_x) = column(&grid.x.quantity, &grid.x.values);
                let (y, write_y) = column(&grid.y.quantity, &grid.y.values);
                let row = |(j, i): &Place| vec![write_x(grid.x.values[*i]), write_y(grid.y.values[*j])];
                FigureTable { head: vec![x, y], rows: rows.iter().map(row).collect() }
            }
        };
        for (row, cell) in table.rows.iter_mut().zip(&rows) {
            row.push(name(cell));
            if let CellText::Lead { undecided, undecided_label } = &self.shown {
                let decided = if undecided.contains(cell) { undecided_label } else { "yes" };
                row.extend([number(grid.values[*cell]), decided.to_owned()]);
            }
        }
        table.head.extend(match self.shown {
            CellText::Name | CellText::Value => vec!["which".to_owned()],
            CellText::Lead { .. } => ["fastest", "speed / second fastest", "decided"].map(str::to_owned).to_vec(),
        });
        table
    }

    fn description(&self) -> String {
        let count = |category: usize| self.cells.iter().filter(|cell| **cell == Some(category)).count();
        let is_listed = |(_, count): &(&String, usize)| *count > 0 || self.shown != CellText::Value;
        let counts = self.names.iter().enumerate().map(|(category, name)| (name, count(category))).filter(is_listed);
        let parts: Vec<String> = counts.map(|(name, count)| format!("{name} at {}", plural(count, "point"))).collect();
        let (x, y, list) = (&self.grid.x.quantity.label, &self.grid.y.quantity.label, parts.join(", "));
        match self.shown {
            CellText::Name => format!("Map over {x} and {y} of: {}.", self.names.join(", ")),
            CellText::Value => format!("Map of classes: {list}. {}", table::extremes(&self.grid)),
            CellText::Lead { .. } => format!("Map of the fastest: {list}."),
        }
    }
}

fn pale(colour: RGBColor) -> RGBColor {
    let lighter = |c: u8| (f64::from(c) * 0.4 + 255.0 * 0.6) as u8;
    RGBColor(lighter(colour.0), lighter(colour.1), lighter(colour.2))
}
