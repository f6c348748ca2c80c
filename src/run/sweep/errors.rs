//! The output of a launch besides its events. Keeps its beginning and end in a file, and its last lines for messages.

use crate::launch::causes::{self, Found};
use apexmap_base::error::Result;
use apexmap_base::new_file;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Number of bytes kept from the beginning.
const BEGINNING: usize = 1 << 20;
/// Number of bytes kept from the end.
const END: usize = 1 << 16;
/// Smallest number of bytes of a line that are searched together. It exceeds the longest sign of a cause.
const OVERLAP: usize = 1 << 12;
/// Number of lines shown in a message.
const LAST_LINES: usize = 6;

/// Collects the output of a launch besides its events.
pub struct Errors {
    file: File,
    bytes: usize,
    /// The first bytes of the output.
    beginning: Vec<u8>,
    /// The last bytes of the output, at most twice the number kept.
    end: Vec<u8>,
    /// The searched part of the last line, or the end of that part.
    line: Vec<u8>,
    /// The most specific cause in all lines so far.
    told: Option<Found>,
}

impl Errors {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self> {
        let file = new_file::create(path)?;
        Ok(Self { file, bytes: 0, beginning: Vec::new(), end: Vec::new(), line: Vec::new(), told: None })
    }

    /// Adds output. A full disk does not end a measurement, so write errors are ignored. Returns the number of bytes searched for
    /// causes.
    pub fn add(&mut self, bytes: &[u8]) -> usize {
        let beginning = BEGINNING.saturating_sub(self.bytes).min(bytes.len());
        let _ = self.file.write_all(&bytes[..beginning]);
        self.beginning.extend_from_slice(&bytes[..beginning]);
        self.bytes += bytes.len();
        self.end.extend_from_slice(&bytes[bytes.len().saturating_sub(END)..]);
        if self.end.len() > 2 * END {
            self.end.drain(..self.end.len() - END);
        }
        self.search(bytes)
    }

    /// Searches the new bytes, together with the beginning of their first line. Earlier bytes are searched at most once more.
    fn search(&mut self, bytes: &[u8]) -> usize {
        self.line.extend_from_slice(bytes);
        let searched = self.line.len();
        let told = causes::find(&String::from_utf8_lossy(&self.line));
        self.told = causes::more_special(self.told.take(), told);
        let start = self.line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.line.drain(..start.max(self.line.len().saturating_sub(OVERLAP)));
        searched
    }

    /// Returns the cause found in the output so far.
    pub fn told(&self) -> Option<&Found> {
        self.told.as_ref()
    }

    /// Writes the end of an output that was too long for the file.
    pub fn finish(&mut self) {
        let more = self.bytes.saturating_sub(BEGINNING);
        if more > 0 {
            let kept = more.min(END).min(self.end.len());
            let _ = write!(self.file, "\n[{} bytes are left out here]\n", more - kept);
            let _ = self.file.write_all(&self.end[self.end.len() - kept..]);
        }
    }

    /// Returns the known cause with all lines of its message. Call this at the end, because it searches all kept output again.
    pub fn cause(&self) -> Option<Found> {
        let end = if self.bytes > self.beginning.len() { self.end.as_slice() } else { &[] };
        let kept = causes::find(&String::from_utf8_lossy(&[&self.beginning, &b"\n"[..], end].concat()));
        causes::more_special(kept, self.told.clone())
    }

    /// Returns the last few lines, for messages.
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.end[self.end.len().saturating_sub(END)..]);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }
}
