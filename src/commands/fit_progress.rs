//! Progress of fits: on a terminal a line that is replaced, otherwise a line every few seconds.

use apexmap_base::terminal::{note, to_printable};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shortest time between two plain lines. Short fits print nothing.
const QUIET: Duration = Duration::from_secs(2);

pub struct FitProgress {
    line: Option<ProgressBar>,
    latest: Cell<Instant>,
}

impl FitProgress {
    pub fn new() -> Self {
        let line = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)).with_style(style)
        });
        Self { line, latest: Cell::new(Instant::now()) }
    }

    /// Shows what happens now.
    pub fn show(&self, text: &str) {
        match &self.line {
            Some(line) => line.set_message(to_printable(text).into_owned()),
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
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
