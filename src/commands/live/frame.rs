//! Frames of terminal cells, and the lines at the end of a terminal that a frame occupies.
//!
//! The cursor rests on the line below the frame and moves relative to it: a question for a position needs an answer from the
//! keyboard's side, for which the system stops jobs in the background. The cursor stays visible and the terminal in its usual mode, so
//! a killed program leaves nothing to restore.

use super::colours::Style;
use apexmap_base::terminal::{note_raw, to_printable};

const UNKNOWN_SIZE: (u16, u16) = (80, 24);
/// Height that a frame takes if the terminal has it.
const MIN_LINES: usize = 16;

/// The columns and rows that a frame may fill. The last ones stay empty, so that nothing wraps or scrolls.
pub fn space() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let (width, height) = size.map_or(UNKNOWN_SIZE, |(width, height)| (width.0, height.0));
    (usize::from(width).saturating_sub(1).max(1), usize::from(height).saturating_sub(1).max(1))
}

/// The lines for a map in a frame with `others`: at most two thirds of the terminal, so that messages above it stay visible.
pub fn map_lines(height: usize, others: usize) -> usize {
    (height * 2 / 3).max(MIN_LINES).min(height).saturating_sub(others).max(1)
}

pub struct Frame {
    pub width: usize,
    lines: Vec<Vec<Cell>>,
}

/// The second column of a wide character has no character.
#[derive(Clone, Copy, PartialEq)]
struct Cell {
    letter: Option<char>,
    style: Style,
}

const BLANK: Cell = Cell { letter: Some(' '), style: Style { ink: None, ground: None } };

impl Frame {
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, lines: vec![vec![BLANK; width]; height] }
    }

    /// Makes a text printable, and cuts it at the end of the line.
    pub fn write(&mut self, (mut x, y): (usize, usize), text: &str, style: Style) {
        let Some(line) = self.lines.get_mut(y) else { return };
        for letter in to_printable(text).chars().filter(|letter| !letter.is_control()) {
            let width = textwrap::core::display_width(letter.encode_utf8(&mut [0; 4]));
            let Some(cells) = line.get_mut(x..x + width).filter(|cells| !cells.is_empty()) else { continue };
            cells.fill(Cell { letter: None, style });
            cells[0].letter = Some(letter);
            x += width;
        }
    }

    /// In the first column. A text that is too long ends with a mark.
    pub fn write_cut(&mut self, y: usize, text: &str) {
        let is_cut = text.chars().count() > self.width;
        let end = if is_cut { self.width.saturating_sub(1) } else { self.width };
        let shown = text.chars().take(end).chain(is_cut.then_some('…'));
        self.write((0, y), &shown.collect::<String>(), Style::default());
    }

    /// The lines with their colours, without blanks at their ends.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let mut style = Style::default();
            for cell in used_cells(line) {
                if cell.style != style {
                    style = cell.style;
                    style.write_command(&mut text);
                }
                text.extend(cell.letter);
            }
            text.push_str(if style == Style::default() { "\n" } else { "\x1b[0m\n" });
        }
        text
    }
}

fn used_cells(line: &[Cell]) -> &[Cell] {
    &line[..line.iter().rposition(|cell| *cell != BLANK).map_or(0, |last| last + 1)]
}

#[derive(Default)]
pub struct Viewport {
    shown: Option<Frame>,
}

impl Viewport {
    /// The next frame replaces the last line by line, so that it does not flicker.
    pub fn draw(&mut self, next: Frame) {
        note_raw(&format!("{}{}\x1b[J", self.move_to_start(), next.text().replace('\n', "\x1b[K\n")));
        self.shown = Some(next);
    }

    /// The text must be printable.
    pub fn print_above(&mut self, text: &str) {
        let frame = self.shown.as_ref().map(Frame::text).unwrap_or_default();
        note_raw(&format!("{}{text}\n{frame}", self.erase()));
    }

    /// Leaves the last frame on the terminal. Later output goes below it.
    pub fn leave(&mut self) {
        if self.shown.take().is_some() {
            note_raw("\x1b[J");
        }
    }

    pub fn clear(&mut self) {
        note_raw(&self.erase());
        self.shown = None;
    }

    fn erase(&self) -> String {
        let start = self.move_to_start();
        if start.is_empty() { start } else { start + "\x1b[J" }
    }

    /// In a terminal that has become narrower, the lines of the frame take several rows.
    fn move_to_start(&self) -> String {
        let Some(shown) = &self.shown else { return String::new() };
        // Rows wrap at the last column, which frames leave empty.
        let width = space().0 + 1;
        let rows: usize = shown.lines.iter().map(|line| used_cells(line).len().max(1).div_ceil(width)).sum();
        format!("\x1b[{rows}A\r")
    }
}
