//! The output of a launch besides its events. Keeps its beginning and end in a file, and its last lines for messages.

use crate::launch::causes::{self, CauseMatch};
use apexmap_base::error::Result;
use apexmap_base::new_file;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Number of bytes kept from the beginning.
const BEGINNING_BYTES: usize = 1 << 20;
/// Number of bytes kept from the end.
const END_BYTES: usize = 1 << 16;
/// Smallest number of bytes of a line that are searched together. It exceeds the longest sign of a cause.
const OVERLAP: usize = 1 << 12;
/// Number of lines shown in a message.
const LAST_LINES: usize = 6;

/// Collects the output of a launch besides its events.
pub struct ErrorOutput {
    file: File,
    bytes: usize,
    /// The first bytes of the output.
    beginning: Vec<u8>,
    /// The last bytes of the output, at most twice the number kept.
    end: Vec<u8>,
    /// The searched part of the last line, or the end of that part.
    line: Vec<u8>,
    /// The most specific cause in all lines so far.
    cause_match: Option<CauseMatch>,
}

impl ErrorOutput {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self> {
        let file = new_file::create(path)?;
        Ok(Self { file, bytes: 0, beginning: Vec::new(), end: Vec::new(), line: Vec::new(), cause_match: None })
    }

    /// Adds output. A full disk does not end a measurement, so write errors are ignored. Returns the number of bytes searched for
    /// causes.
    pub fn add(&mut self, bytes: &[u8]) -> usize {
        let kept = BEGINNING_BYTES.saturating_sub(self.bytes).min(bytes.len());
        let _ = self.file.write_all(&bytes[..kept]);
        self.beginning.extend_from_slice(&bytes[..kept]);
        self.bytes += bytes.len();
        self.end.extend_from_slice(&bytes[bytes.len().saturating_sub(END_BYTES)..]);
        if self.end.len() > 2 * END_BYTES {
            self.end.drain(..self.end.len() - END_BYTES);
        }
        self.search(bytes)
    }

    /// Searches the new bytes, together with the beginning of their first line. Earlier bytes are searched at most once more.
    fn search(&mut self, bytes: &[u8]) -> usize {
        self.line.extend_from_slice(bytes);
        let searched_bytes = self.line.len();
        let new_match = causes::find(&String::from_utf8_lossy(&self.line));
        self.cause_match = causes::more_special(self.cause_match.take(), new_match);
        let start = self.line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.line.drain(..start.max(self.line.len().saturating_sub(OVERLAP)));
        searched_bytes
    }

    /// Returns the cause found in the output so far.
    pub fn early_cause(&self) -> Option<&CauseMatch> {
        self.cause_match.as_ref()
    }

    /// Writes the end of an output that was too long for the file.
    pub fn finish(&mut self) {
        let omitted = self.bytes.saturating_sub(BEGINNING_BYTES);
        if omitted > 0 {
            let kept_bytes = omitted.min(END_BYTES).min(self.end.len());
            let _ = write!(self.file, "\n[{} bytes are left out here]\n", omitted - kept_bytes);
            let _ = self.file.write_all(&self.end[self.end.len() - kept_bytes..]);
        }
    }

    /// Returns the known cause with all lines of its message. Call this at the end, because it searches all kept output again.
    pub fn final_cause(&self) -> Option<CauseMatch> {
        let end = if self.bytes > self.beginning.len() { self.end.as_slice() } else { &[] };
        let kept_match = causes::find(&String::from_utf8_lossy(&[&self.beginning, &b"\n"[..], end].concat()));
        causes::more_special(kept_match, self.cause_match.clone())
    }

    /// Returns the last few lines, for messages.
    pub fn last_lines(&self) -> String {
        let text = String::from_utf8_lossy(&self.end[self.end.len().saturating_sub(END_BYTES)..]);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }
}
