//! The output of a launch besides its events: its beginning and end in a file, and its last lines for messages.

use crate::launch::causes::{ADVICE, CauseMatch, Search, find_handicap};
use apexmap_base::error::Result;
use apexmap_base::new_file;
use apexmap_base::other_output::{LineCounts, OtherOutput};
use apexmap_base::terminal::to_printable;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

const BEGINNING_BYTES: usize = 1 << 20;
const END_BYTES: usize = 1 << 16;
/// Number of bytes of a longer line that are searched together. It exceeds the longest sign of a cause.
const LINE_BYTES: usize = 1 << 12;
const LAST_LINES: usize = 6;

pub struct ErrorOutput {
    file: File,
    bytes: usize,
    /// The last bytes of the output, at most twice the number kept.
    end: Vec<u8>,
    /// The last line, if it has no end yet.
    line: Vec<u8>,
    search: Search,
    counts: LineCounts,
    /// Known causes of lines although the launch measures, each with advice.
    handicaps: BTreeSet<String>,
}

impl ErrorOutput {
    pub fn create(path: &Path, command: &[String]) -> Result<Self> {
        let file = new_file::create(path)?;
        let (search, counts, handicaps) = (Search::of_command(command), LineCounts::default(), BTreeSet::new());
        Ok(Self { file, bytes: 0, end: Vec::new(), line: Vec::new(), search, counts, handicaps })
    }

    /// A full disk does not end a measurement, so write errors are ignored.
    pub fn add(&mut self, bytes: &[u8]) {
        let kept = BEGINNING_BYTES.saturating_sub(self.bytes).min(bytes.len());
        let _ = self.file.write_all(&bytes[..kept]);
        self.bytes += bytes.len();
        self.end.extend_from_slice(&bytes[bytes.len().saturating_sub(END_BYTES)..]);
        // Old bytes are dropped rarely, because each time moves those that stay.
        if self.end.len() > 2 * END_BYTES {
            self.end.drain(..self.end.len() - END_BYTES);
        }
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() > LINE_BYTES {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        self.search.add_line(&line);
        if self.counts.add(&to_printable(&line)) {
            let handicap = find_handicap(&line);
            self.handicaps.extend(handicap.map(|cause| format!("{}{ADVICE}{}", cause.summary, cause.advice)));
        }
        // A sign may be in two pieces of a long line.
        let kept = if self.line.ends_with(b"\n") { 0 } else { self.line.len().min(LINE_BYTES / 4) };
        self.line.drain(..self.line.len() - kept);
    }

    /// The ranks have greeted, so nothing before kept them from starting.
    pub fn record_start(&mut self) {
        self.search.record_start();
    }

    pub fn cause(&self) -> Option<CauseMatch> {
        let mut search = self.search.clone();
        search.add_line(&String::from_utf8_lossy(&self.line));
        search.cause()
    }

    /// Writes the end of an output that was too long for the file.
    pub fn finish(&mut self) {
        self.end_line();
        let omitted = self.bytes.saturating_sub(BEGINNING_BYTES);
        if omitted > 0 {
            let kept_bytes = omitted.min(END_BYTES).min(self.end.len());
            let _ = write!(self.file, "\n[{} bytes are left out here]\n", omitted - kept_bytes);
            let _ = self.file.write_all(&self.end[self.end.len() - kept_bytes..]);
        }
    }

    pub fn into_counts(self) -> OtherOutput {
        OtherOutput { causes: self.handicaps, ..self.counts.finish() }
    }

    pub fn last_lines(&self) -> String {
        let text = String::from_utf8_lossy(&self.end[self.end.len().saturating_sub(END_BYTES)..]);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
    }
}
