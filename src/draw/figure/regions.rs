//! Maps of names: one colour per name, and the name in each cell where space allows.

use ndarray::Array2;

use super::canvas::Canvas;
use super::cells::{Cells, tile};
use super::colour::{INK, SERIES, readable_on};
use super::drawable::Drawable;
use super::frame;
use super::geometry::Rect;
use super::grid::Axis;
use super::table::{FigureTable, column};
use super::text::{self, Font, Side};
use apexmap_base::error::{Error, Result};

const KEY_LINE: f64 = 24.0;

/// A name for each pair of values of two quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub names: Vec<String>,
    /// Indices of names at [y, x]; `None` is a gap.
    pub cells: Array2<Option<usize>>,
}

impl Regions {
    /// Returns the cells (y, x) that have a name, with its index, row by row.
    pub fn filled_cells(&self) -> Vec<((usize, usize), usize)> {
        self.cells.indexed_iter().filter_map(|(cell, name)| Some((cell, (*name)?))).collect()
    }
}

impl Drawable for &Regions {
    /// Fails also if there are more names than colours, or if the parts do not match in size.
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        self.x.check()?;
        self.y.check()?;
        if self.cells.dim() != (self.y.values.len(), self.x.values.len()) {
            return Err(Error::internal("the cells of a map of names do not match its axes"));
        }
        if self.names.len() > SERIES.len() || self.cells.iter().flatten().any(|name| *name >= self.names.len()) {
            return Err(Error::internal("a map of names has more names than colours"));
        }
        let area = Cells::new(canvas, (&self.title, &self.subtitle), (&self.x, &self.y))?;
        for ((j, i), name) in self.cells.indexed_iter() {
            let rect = area.rect(j, i);
            let Some(name) = *name else {
                frame::hatch(canvas, rect)?;
                continue;
            };
            tile(canvas, rect, SERIES[name])?;
            let font = Font::new(text::TICK).with_colour(readable_on(SERIES[name]));
            let words = &self.names[name];
            if font.width(words) + 8.0 <= rect.width() && text::TICK * 1.2 <= rect.height() {
                canvas.text(words, rect.centre(), Side::Middle, font)?;
            }
        }
        for (row, ((j, i), _)) in self.filled_cells().into_iter().enumerate() {
            canvas.spot(area.rect(j, i).centre(), row);
        }
        let frame = area.frame.area;
        canvas.outline(frame, INK, 1.0)?;
        for (k, words) in self.names.iter().enumerate() {
            let swatch = (frame.right + 31.0, frame.top + KEY_LINE * (k as f64 + 0.5));
            canvas.fill(Rect::from_centre(swatch, 18.0, 14.0), SERIES[k])?;
            let words = text::cut(words, text::TICK, false, canvas.sheet.bar - 50.0);
            canvas.text(&words, (swatch.0 + 16.0, swatch.1), Side::Left, Font::new(text::TICK))?;
        }
        Ok(())
    }

    fn table(&self) -> FigureTable {
        let (x, write_x) = column(&self.x.quantity, &self.x.values);
        let (y, write_y) = column(&self.y.quantity, &self.y.values);
        let row = |((j, i), name): ((usize, usize), usize)| {
            vec![write_x(self.x.values[i]), write_y(self.y.values[j]), self.names[name].clone()]
        };
        FigureTable { head: vec![x, y, "which".into()], rows: self.filled_cells().into_iter().map(row).collect() }
    }

    fn description(&self) -> String {
        let (x, y) = (&self.x.quantity.label, &self.y.quantity.label);
        format!("Map over {x} and {y} of: {}.", self.names.join(", "))
    }
}
