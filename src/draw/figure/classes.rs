//! Maps of classes: one rectangle per cell, coloured by the class of the cell and labelled with its value.

use ndarray::Array2;

use super::canvas::Canvas;
use super::cells::{Cells, tile};
use super::colour::{CLASSES, INK, readable_on};
use super::drawable::Drawable;
use super::geometry::Rect;
use super::grid::Grid;
use super::table::{self, FigureTable};
use super::text::{self, Side, Type};
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
        let written = |value: f64| match grid.z.unit {
            Unit::None => format!("{:.0} %", 100.0 * value),
            unit => ticks::short(value, unit),
        };
        for ((j, i), class) in self.classes.indexed_iter() {
            let rect = area.at(j, i);
            let Some(colour) = class.and_then(|class| CLASSES.get(class)).copied() else {
                frame::hatch(canvas, rect)?;
                continue;
            };
            tile(canvas, rect, colour)?;
            let words = written(grid.values[(j, i)]);
            let fits = |size: &f64| Type::new(*size).width(&words) + 8.0 <= rect.width() && size * 1.2 <= rect.height();
            let size = [14.0, 12.0, 10.0].into_iter().find(fits);
            if let Some(size) = size.filter(|_| !grid.values[(j, i)].is_nan()) {
                canvas.text(&words, rect.centre(), Side::Middle, Type::new(size).coloured(readable_on(colour)))?;
            }
        }
        area.marks(canvas, grid)?;
        let frame = area.frame.area;
        canvas.outline(frame, INK, 1.0)?;
        let shown = (0..self.names.len()).filter(|class| self.classes.iter().any(|found| found == &Some(*class)));
        let mut top = frame.top;
        for class in shown {
            let at = (frame.right + 21.0, top + 0.5 * KEY_LINE);
            canvas.fill(Rect::around(at, 16.0, 14.0), CLASSES[class])?;
            let lines = text::wrapped(&self.names[class], text::TICK, false, canvas.sheet.bar - 38.0, 2);
            for (line, words) in lines.iter().enumerate() {
                let y = at.1 + line as f64 * 1.2 * text::TICK;
                canvas.text(words, (at.0 + 13.0, y), Side::Left, Type::new(text::TICK))?;
            }
            top += KEY_LINE + lines.len().saturating_sub(1) as f64 * 1.2 * text::TICK;
        }
        let room = canvas.sheet.bar - 24.0;
        let lines = text::wrapped(&format!("In cells: {}", grid.z.label), text::TICK, false, room, 4);
        for (line, words) in lines.iter().rev().enumerate() {
            let y = frame.bottom - 8.0 - line as f64 * 1.4 * text::TICK;
            canvas.text(words, (frame.right + 12.0, y), Side::Left, Type::new(text::TICK))?;
        }
        Ok(())
    }

    fn table(&self) -> FigureTable {
        let mut table = FigureTable::of_grid(&self.grid);
        table.head.push("which".into());
        for (row, at) in table.rows.iter_mut().zip(self.grid.filled_cells()) {
            row.push(self.classes[at].map_or(String::new(), |class| self.names[class].clone()));
        }
        table
    }

    fn description(&self) -> String {
        let of = |class: usize| self.classes.iter().filter(|found| **found == Some(class)).count();
        let each = self.names.iter().enumerate().map(|(class, name)| (name, of(class)));
        let each =
            each.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} at {}", plural(count, "point")));
        let each = each.collect::<Vec<_>>().join(", ");
        format!("Map of classes: {each}. {}", table::extremes(&self.grid))
    }
}
