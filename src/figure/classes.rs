//! Maps of names: one rectangle a cell, coloured by what the cell is, its value written into it.

use plotters::backend::DrawingBackend;

use super::canvas::{Canvas, INK, Rect, Side, Type, WHITE, WIDTH};
use super::colour::{CLASSES, readable_on};
use super::frame::{self, FrameAxis};
use super::heat::{fits, limits};
use super::ticks::Scale;
use super::{Classes, text, ticks};
use crate::error::{Error, Result};
use crate::units::Unit;

/// Room for the legend.
const LEGEND: f64 = 190.0;
const LEGEND_LINE: f64 = 24.0;

pub fn draw<DB: DrawingBackend>(canvas: &mut Canvas<DB>, map: &Classes) -> Result<()> {
    let grid = &map.grid;
    grid.check()?;
    if map.classes.dim() != grid.values.dim() || map.names.len() > CLASSES.len() {
        return Err(Error::internal("a map of names got classes that do not belong to its cells"));
    }
    let x_limits = limits(&grid.x, &grid.x.scale()?);
    let y_limits = limits(&grid.y, &grid.y.scale()?);
    let ends = |limits: &[f64], log| Scale { low: limits[0], high: limits[limits.len() - 1], log };
    let axis = |axis, scale| FrameAxis { only_measured: true, ..FrameAxis::new(axis, scale) };
    let x = axis(&grid.x, ends(&x_limits, grid.x.quantity.log));
    let y = axis(&grid.y, ends(&y_limits, grid.y.quantity.log));
    let top = canvas.header(&grid.title, &grid.subtitle)?;
    let frame = frame::axes(canvas, top, WIDTH - LEGEND, &x, &y, false)?;
    let written = |value: f64| match grid.z.unit {
        Unit::None => format!("{:.0} %", 100.0 * value),
        unit => ticks::short(value, unit),
    };
    for ((j, i), class) in map.classes.indexed_iter() {
        let (left, bottom) = frame.at(x_limits[i], y_limits[j]);
        let (right, top) = frame.at(x_limits[i + 1], y_limits[j + 1]);
        let rect = Rect { left, top, right, bottom };
        let Some(colour) = class.and_then(|class| CLASSES.get(class)).copied() else {
            frame::hatch(canvas, rect)?;
            continue;
        };
        canvas.fill(rect, colour)?;
        canvas.outline(rect, WHITE, 1.0)?;
        let words = written(grid.values[(j, i)]);
        let size = [14.0, 12.0, 10.0].into_iter().find(|size| fits(&words, &rect, *size));
        if let Some(size) = size.filter(|_| !grid.values[(j, i)].is_nan()) {
            canvas.text(&words, rect.centre(), Side::Middle, Type::new(size).coloured(readable_on(colour)))?;
        }
    }
    for (j, i) in &grid.failed {
        canvas.cross(frame.at(grid.x.values[*i], grid.y.values[*j]))?;
    }
    canvas.outline(frame.area, INK, 1.0)?;
    let at = frame.area.right + 18.0;
    canvas.text(&map.title, (at, frame.area.top + 8.0), Side::Left, Type::bold(text::TICK))?;
    let shown = (0..map.names.len()).filter(|class| map.classes.iter().any(|found| found == &Some(*class)));
    for (line, class) in shown.enumerate() {
        let y = frame.area.top + 8.0 + LEGEND_LINE * (line as f64 + 1.2);
        canvas.fill(Rect::around((at + 9.0, y), 18.0, 16.0), CLASSES[class])?;
        canvas.text(&map.names[class], (at + 26.0, y), Side::Left, Type::new(text::TICK))?;
    }
    let lines = text::wrapped(&format!("In cells: {}", grid.z.label), text::TICK, false, LEGEND - 24.0, 3);
    for (line, words) in lines.iter().rev().enumerate() {
        let y = frame.area.bottom - 8.0 - line as f64 * 1.4 * text::TICK;
        canvas.text(words, (at, y), Side::Left, Type::new(text::TICK))?;
    }
    Ok(())
}
