//! Maps of classes: one rectangle per cell, coloured by the class of the cell and labelled with its value.

use ndarray::Array2;

use super::canvas::Canvas;
use super::cells::{Cells, tile};
use super::colour::{CLASSES, INK, readable_on};
use super::drawable::Drawable;
use super::geometry::Rect;
use super::grid::Grid;
use super::table::{self, FigureTable};
use super::text::{self, Font, Side};
use super::{frame, ticks};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{Unit, plural};

const KEY_LINE: f64 = 24.0;

/// A class name for each cell of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// Values that are written into the cells; numbers without a unit are written in per cent.
    pub grid: Grid,
    /// Indices into `names` by [y, x].
    pub classes: Array2<Option<usize>>,
    /// Class names, at most twelve. The key lists those that occur.
    pub names: Vec<String>,
}

impl Drawable for &Classes {
    /// Fails also if there are more names than colours, or if the parts do not match in size.
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let grid = &self.grid;
        grid.check()?;
        if self.classes.dim() != grid.values.dim() || self.names.len() > CLASSES.len() {
            return Err(Error::internal("the classes of a map do not match its cells"));
        }
        let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
        let format_value = |value: f64| match grid.z.unit {
            Unit::None => format!("{:.0} %", 100.0 * value),
            unit => ticks::short(value, unit),
        };
        for ((j, i), class) in self.classes.indexed_iter() {
            let rect = area.rect(j, i);
            let Some(colour) = class.and_then(|class| CLASSES.get(class)).copied() else {
                frame::hatch(canvas, rect)?;
                continue;
            };
            tile(canvas, rect, colour)?;
            let words = format_value(grid.values[(j, i)]);
            let fits = |size: &f64| Font::new(*size).width(&words) + 8.0 <= rect.width() && size * 1.2 <= rect.height();
            let size = [14.0, 12.0, 10.0].into_iter().find(fits);
            if let Some(size) = size.filter(|_| !grid.values[(j, i)].is_nan()) {
                canvas.text(&words, rect.centre(), Side::Middle, Font::new(size).with_colour(readable_on(colour)))?;
            }
        }
        area.draw_marks(canvas, grid)?;
        let frame = area.frame.area;
        canvas.outline(frame, INK, 1.0)?;
        let shown = (0..self.names.len()).filter(|class| self.classes.iter().any(|cell| cell == &Some(*class)));
        let mut top = frame.top;
        for class in shown {
            let swatch = (frame.right + 21.0, top + 0.5 * KEY_LINE);
            canvas.fill(Rect::from_centre(swatch, 16.0, 14.0), CLASSES[class])?;
            let lines = text::wrap(&self.names[class], text::TICK, false, canvas.sheet.bar - 38.0, 2);
            for (line, words) in lines.iter().enumerate() {
                let y = swatch.1 + line as f64 * 1.2 * text::TICK;
                canvas.text(words, (swatch.0 + 13.0, y), Side::Left, Font::new(text::TICK))?;
            }
            top += KEY_LINE + lines.len().saturating_sub(1) as f64 * 1.2 * text::TICK;
        }
        let room = canvas.sheet.bar - 24.0;
        let lines = text::wrap(&format!("In cells: {}", grid.z.label), text::TICK, false, room, 4);
        for (line, words) in lines.iter().rev().enumerate() {
            let y = frame.bottom - 8.0 - line as f64 * 1.4 * text::TICK;
            canvas.text(words, (frame.right + 12.0, y), Side::Left, Font::new(text::TICK))?;
        }
        Ok(())
    }

    fn table(&self) -> FigureTable {
        let mut table = FigureTable::from_grid(&self.grid);
        table.head.push("which".into());
        for (row, cell) in table.rows.iter_mut().zip(self.grid.filled_cells()) {
            row.push(self.classes[cell].map_or(String::new(), |class| self.names[class].clone()));
        }
        table
    }

    fn description(&self) -> String {
        let count = |class: usize| self.classes.iter().filter(|cell| **cell == Some(class)).count();
        let counts = self.names.iter().enumerate().map(|(class, name)| (name, count(class)));
        let parts =
            counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} at {}", plural(count, "point")));
        let list = parts.collect::<Vec<_>>().join(", ");
        format!("Map of classes: {list}. {}", table::extremes(&self.grid))
    }
}
