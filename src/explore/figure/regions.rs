//! Maps of names: one colour a name, the name written into each cell if there is room.

use plotters::backend::DrawingBackend;

use super::canvas::{Canvas, INK, Rect, Side, Type, WHITE};
use super::colour::{SERIES, readable_on};
use super::heat::Cells;
use super::{Regions, frame, text};
use crate::error::{Error, Result};

const KEY_LINE: f64 = 24.0;

/// Errors if there are more names than colours, or the parts do not belong together.
pub fn draw<DB: DrawingBackend>(canvas: &mut Canvas<DB>, regions: &Regions) -> Result<()> {
    regions.x.check()?;
    regions.y.check()?;
    if regions.cells.dim() != (regions.y.values.len(), regions.x.values.len()) {
        return Err(Error::internal("a map of names got cells that are not those of its axes"));
    }
    if regions.names.len() > SERIES.len() || regions.cells.iter().flatten().any(|name| *name >= regions.names.len()) {
        return Err(Error::internal("a map of names got names that it has no colours for"));
    }
    let area = Cells::new(canvas, (&regions.title, &regions.subtitle), (&regions.x, &regions.y))?;
    for ((j, i), name) in regions.cells.indexed_iter() {
        let rect = area.at(j, i);
        let Some(name) = *name else {
            frame::hatch(canvas, rect)?;
            continue;
        };
        canvas.fill(rect, SERIES[name])?;
        canvas.outline(rect, WHITE, 1.0)?;
        let kind = Type::new(text::TICK).coloured(readable_on(SERIES[name]));
        let words = &regions.names[name];
        if kind.width(words) + 8.0 <= rect.width() && text::TICK * 1.2 <= rect.height() {
            canvas.text(words, rect.centre(), Side::Middle, kind)?;
        }
    }
    for (row, ((j, i), _)) in regions.listed().into_iter().enumerate() {
        canvas.spot(area.at(j, i).centre(), row);
    }
    let frame = area.frame.area;
    canvas.outline(frame, INK, 1.0)?;
    for (k, words) in regions.names.iter().enumerate() {
        let at = (frame.right + 31.0, frame.top + KEY_LINE * (k as f64 + 0.5));
        canvas.fill(Rect::around(at, 18.0, 14.0), SERIES[k])?;
        let words = text::cut(words, text::TICK, false, canvas.sheet.bar - 50.0);
        canvas.text(&words, (at.0 + 16.0, at.1), Side::Left, Type::new(text::TICK))?;
    }
    Ok(())
}
