//! The lines at the end of a terminal that a frame occupies, redrawn in place.
//!
//! The cursor rests on the line below the frame. All moves are relative to it, so the terminal is never asked for a position:
//! a question needs an answer from the keyboard's side, for which the system stops jobs in the background. The cursor stays
//! visible and the terminal in its usual mode, so a killed program leaves nothing to restore.

use super::colours::write_colours;
use apexmap_base::terminal::note_raw;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use std::fmt::Write;

/// Size of a terminal that does not report it.
const UNKNOWN_SIZE: (u16, u16) = (80, 24);

/// Height that a frame takes if the terminal has it.
const MIN_LINES: u16 = 16;

/// Returns the columns and rows that a frame on standard error may fill. The last column and the last row stay empty, so that
/// nothing wraps or scrolls.
pub fn space() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let (width, height) = size.map_or(UNKNOWN_SIZE, |(width, height)| (width.0, height.0));
    (width.saturating_sub(1).max(1), height.saturating_sub(1).max(1))
}

/// Returns the lines for a map in a frame with `others` further lines: at most two thirds of the terminal, so that messages
/// above it stay visible.
pub fn map_lines(height: u16, others: u16) -> u16 {
    (height * 2 / 3).max(MIN_LINES).min(height).saturating_sub(others).max(1)
}

/// A frame on standard error.
#[derive(Default)]
pub struct Viewport {
    shown: Option<Buffer>,
}

impl Viewport {
    /// Shows the next frame. Only cells that differ are written, unless the size has changed.
    pub fn draw(&mut self, next: Buffer) {
        let text = match &self.shown {
            Some(shown) if shown.area == next.area => changes(shown, &next),
            _ => self.start_of_frame() + &lines(&next),
        };
        note_raw(&text);
        self.shown = Some(next);
    }

    /// Prints a text above the frame. It must be printable.
    pub fn print_above(&mut self, text: &str) {
        let frame = self.shown.as_ref().map(lines).unwrap_or_default();
        note_raw(&format!("{}{text}\n{frame}", self.start_of_frame()));
    }

    /// Leaves the last frame on the terminal. Later output goes below it.
    pub fn leave(&mut self) {
        if self.shown.take().is_some() {
            note_raw("\x1b[J");
        }
    }

    /// Removes the frame.
    pub fn clear(&mut self) {
        note_raw(&self.start_of_frame());
        self.shown = None;
    }

    /// Returns the commands that move to the start of the frame and erase it. In a terminal that has become narrower, its lines
    /// take several rows.
    fn start_of_frame(&self) -> String {
        let Some(shown) = &self.shown else { return String::new() };
        // Rows wrap at the last column, which frames leave empty.
        let width = space().0 + 1;
        let rows: u16 = (0..shown.area.height).map(|y| length(shown, y).max(1).div_ceil(width)).sum();
        format!("\x1b[{rows}A\r\x1b[J")
    }
}

/// Returns the length of a row without the spaces at its end.
fn length(frame: &Buffer, y: u16) -> u16 {
    let is_blank = |x: &u16| frame[(*x, y)].symbol() == " " && frame[(*x, y)].bg == Color::Reset;
    let blank_cells = (0..frame.area.width).rev().take_while(is_blank).count();
    frame.area.width - blank_cells as u16
}

/// Returns all lines of a frame.
pub fn lines(frame: &Buffer) -> String {
    let mut text = String::new();
    let Rect { height, .. } = frame.area;
    for y in 0..height {
        let mut writer = Writer::new(&mut text);
        (0..length(frame, y)).for_each(|x| writer.write(&frame[(x, y)]));
        writer.end();
        text.push('\n');
    }
    text
}

/// Returns the commands that turn the shown frame into the next one.
fn changes(shown: &Buffer, next: &Buffer) -> String {
    let (mut text, height) = (String::new(), next.area.height);
    // No cell is in this column, so the first one is moved to.
    let (mut row, mut column) = (height, u16::MAX);
    let mut writer = Writer::new(&mut text);
    for (x, y, cell) in shown.diff(next) {
        if (row, column) != (y, x) {
            let _ = match y.cmp(&row) {
                std::cmp::Ordering::Less => write!(writer.text, "\x1b[{}A", row - y),
                std::cmp::Ordering::Greater => write!(writer.text, "\x1b[{}B", y - row),
                std::cmp::Ordering::Equal => Ok(()),
            };
            let _ = write!(writer.text, "\x1b[{}G", x + 1);
        }
        writer.write(cell);
        (row, column) = (y, x + 1);
    }
    writer.end();
    if row < height {
        let _ = write!(text, "\x1b[{}B\r", height - row);
    }
    text
}

/// Writes cells with their colours.
struct Writer<'a> {
    text: &'a mut String,
    colours: (Color, Color),
}

const PLAIN: (Color, Color) = (Color::Reset, Color::Reset);

impl<'a> Writer<'a> {
    fn new(text: &'a mut String) -> Self {
        Self { text, colours: PLAIN }
    }

    fn write(&mut self, cell: &Cell) {
        if self.colours != (cell.fg, cell.bg) {
            self.colours = (cell.fg, cell.bg);
            write_colours(self.text, cell.fg, cell.bg);
        }
        self.text.push_str(cell.symbol());
    }

    fn end(&mut self) {
        if self.colours != PLAIN {
            self.colours = PLAIN;
            self.text.push_str("\x1b[0m");
        }
    }
}
