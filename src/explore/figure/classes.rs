//! Maps of classes: one rectangle a cell, coloured by what the cell is, its value written into it.

use plotters::backend::DrawingBackend;

use super::canvas::{Canvas, INK, Rect, Side, Type, WHITE};
use super::colour::{CLASSES, readable_on};
use super::heat::Cells;
use super::{Classes, frame, text, ticks};
use crate::error::{Error, Result};
use crate::units::Unit;

const KEY_LINE: f64 = 24.0;

/// Errors if there are more names than colours, or the parts do not belong together.
pub fn draw<DB: DrawingBackend>(canvas: &mut Canvas<DB>, map: &Classes) -> Result<()> {
    let grid = &map.grid;
    grid.check()?;
    if map.classes.dim() != grid.values.dim() || map.names.len() > CLASSES.len() {
        return Err(Error::internal("a map of classes got some that do not belong to its cells"));
    }
    let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
    let written = |value: f64| match grid.z.unit {
        Unit::None => format!("{:.0} %", 100.0 * value),
        unit => ticks::short(value, unit),
    };
    for ((j, i), class) in map.classes.indexed_iter() {
        let rect = area.at(j, i);
        let Some(colour) = class.and_then(|class| CLASSES.get(class)).copied() else {
            frame::hatch(canvas, rect)?;
            continue;
        };
        canvas.fill(rect, colour)?;
        canvas.outline(rect, WHITE, 1.0)?;
        let words = written(grid.values[(j, i)]);
        let fits = |size: &f64| Type::new(*size).width(&words) + 8.0 <= rect.width() && size * 1.2 <= rect.height();
        let size = [14.0, 12.0, 10.0].into_iter().find(fits);
        if let Some(size) = size.filter(|_| !grid.values[(j, i)].is_nan()) {
            canvas.text(&words, rect.centre(), Side::Middle, Type::new(size).coloured(readable_on(colour)))?;
        }
    }
    for (row, (j, i)) in grid.listed().into_iter().enumerate() {
        canvas.spot(area.at(j, i).centre(), row);
    }
    for (j, i) in &grid.failed {
        canvas.cross(area.at(*j, *i).centre())?;
    }
    let frame = area.frame.area;
    canvas.outline(frame, INK, 1.0)?;
    let shown = (0..map.names.len()).filter(|class| map.classes.iter().any(|found| found == &Some(*class)));
    for (k, class) in shown.enumerate() {
        let at = (frame.right + 21.0, frame.top + KEY_LINE * (k as f64 + 0.5));
        canvas.fill(Rect::around(at, 16.0, 14.0), CLASSES[class])?;
        let words = text::cut(&map.names[class], text::TICK, false, canvas.sheet.bar - 38.0);
        canvas.text(&words, (at.0 + 13.0, at.1), Side::Left, Type::new(text::TICK))?;
    }
    let room = canvas.sheet.bar - 24.0;
    let lines = text::wrapped(&format!("In cells: {}", grid.z.label), text::TICK, false, room, 4);
    for (line, words) in lines.iter().rev().enumerate() {
        let y = frame.bottom - 8.0 - line as f64 * 1.4 * text::TICK;
        canvas.text(words, (frame.right + 12.0, y), Side::Left, Type::new(text::TICK))?;
    }
    Ok(())
}
