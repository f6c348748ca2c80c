//! Progress of fits: on a terminal a line that is replaced, otherwise a line every few seconds.

use apexmap_base::terminal::{error_width, note, note_raw, to_printable};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Shortest time between two plain lines. Short fits print nothing.
const QUIET: Duration = Duration::from_secs(2);

/// Moves the cursor to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

pub struct FitProgress {
    latest: Cell<Instant>,
}

impl FitProgress {
    pub fn new() -> Self {
        Self { latest: Cell::new(Instant::now()) }
    }

    /// Shows what happens now.
    pub fn show(&self, text: &str) {
        match error_width() {
            // A full line would move the cursor to the next one.
            Some(width) => {
                let text: String = to_printable(text).chars().take(width - 1).collect();
                note_raw(&format!("{CLEAR_LINE}{text}"));
            }
            None if self.latest.get().elapsed() >= QUIET => {
                note(text);
                self.latest.set(Instant::now());
            }
            None => {}
        }
    }
}

impl Drop for FitProgress {
    fn drop(&mut self) {
        if error_width().is_some() {
            note_raw(CLEAR_LINE);
        }
    }
}
