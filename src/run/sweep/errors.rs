//! What a launch prints besides its events: its beginning and its end in a file, its last words for messages.

use crate::launch::causes::{self, Found};
use apexmap_base::error::Result;
use apexmap_base::new_file;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes of the beginning that are kept.
const BEGINNING: usize = 1 << 20;
/// Bytes of the end that are kept.
const END: usize = 1 << 16;
/// Bytes of a line that are searched together, at least: more than the longest sign of a cause has.
const OVERLAP: usize = 1 << 12;
/// Lines that a message shows.
const LAST_LINES: usize = 6;

pub struct Errors {
    file: File,
    bytes: usize,
    /// The first bytes of all.
    beginning: Vec<u8>,
    /// The last bytes of all, twice as many as are kept at most.
    end: Vec<u8>,
    /// The last line as far as it was searched, or its end.
    line: Vec<u8>,
    /// The most special cause of all lines so far.
    told: Option<Found>,
}

impl Errors {
    pub fn create(path: &Path) -> Result<Self> {
        let file = new_file::create(path)?;
        Ok(Self { file, bytes: 0, beginning: Vec::new(), end: Vec::new(), line: Vec::new(), told: None })
    }

    /// Keeps what was written. No measurement ends because the disk has no room for it. Returns how many bytes were searched for
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

    /// Searches what came, with the beginning of its first line: no byte is searched again with all before it.
    fn search(&mut self, bytes: &[u8]) -> usize {
        self.line.extend_from_slice(bytes);
        let searched = self.line.len();
        let told = causes::find(&String::from_utf8_lossy(&self.line));
        self.told = causes::more_special(self.told.take(), told);
        let start = self.line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.line.drain(..start.max(self.line.len().saturating_sub(OVERLAP)));
        searched
    }

    /// The cause that a line told of as it came.
    pub fn told(&self) -> Option<&Found> {
        self.told.as_ref()
    }

    /// Writes the end of what was too long for the file.
    pub fn finish(&mut self) {
        let more = self.bytes.saturating_sub(BEGINNING);
        if more > 0 {
            let kept = more.min(END).min(self.end.len());
            let _ = write!(self.file, "\n[{} bytes are left out here]\n", more - kept);
            let _ = self.file.write_all(&self.end[self.end.len() - kept..]);
        }
    }

    /// The cause that its lines tell of, if that is known, with those that belong to it: for the end, as all that is kept is
    /// searched once more.
    pub fn cause(&self) -> Option<Found> {
        let end = if self.bytes > self.beginning.len() { self.end.as_slice() } else { &[] };
        let kept = causes::find(&String::from_utf8_lossy(&[&self.beginning, &b"\n"[..], end].concat()));
        causes::more_special(kept, self.told.clone())
    }

    /// The last few lines, for messages.
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.end[self.end.len().saturating_sub(END)..]);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }
}
