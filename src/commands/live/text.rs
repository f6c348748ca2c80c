//! Texts in terminal cells, and the titles and scales that maps and curves share.

use super::map::{Map, Shown};
use apexmap_base::terminal::to_printable;
use apexmap_draw::figure::ticks::Scale;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

/// Values span this factor before colours follow their logarithm, as in figures.
const LOG_FROM: f64 = 8.0;

/// Writes a text into the first line of a frame. One that is too long ends with a mark.
pub fn write_cut(buffer: &mut Buffer, place: (u16, u16), text: &str) {
    let room = usize::from(buffer.area.width.saturating_sub(place.0));
    let is_cut = text.chars().count() > room;
    let text =
        if is_cut { text.chars().take(room.saturating_sub(1)).chain(['…']).collect() } else { text.to_owned() };
    write(buffer, place, &text, Style::new());
}

/// Writes a text, made printable, and cuts it at the end of the area.
pub fn write(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, style: Style) {
    if x < buffer.area.right() && y < buffer.area.bottom() {
        buffer.set_string(x, y, to_printable(text), style);
    }
}

/// Returns name, quantity, unit and axes of a map.
pub fn title(map: &Map, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let axes = match (map.x.name.as_str(), map.y.name.as_str()) {
        ("", _) => String::new(),
        (x, "") => format!(", over {x}"),
        (x, y) => format!(", {y} over {x}"),
    };
    format!("{}: {}{unit}{axes}", map.label, map.quantity.label)
}

/// Returns the scale of the values of a map; `None` without values.
pub fn log_scale(map: &Map, shown: &[Shown]) -> Option<Scale> {
    let values = || shown.iter().filter_map(|shown| value(*shown));
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    Scale::from_values(values(), low > 0.0 && high / low >= LOG_FROM, &map.quantity.label).ok()
}

/// Returns the value of a cell, if it has one.
pub fn value(shown: Shown) -> Option<f64> {
    match shown {
        Shown::Value(value) => Some(value),
        _ => None,
    }
}
