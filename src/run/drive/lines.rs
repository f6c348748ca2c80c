//! Splits a launch's output into lines of bounded length, and parses the events in them.

use apexmap_base::sample::Event;

/// Assembles lines from chunks of bytes.
pub struct Lines {
    line: Vec<u8>,
    max_bytes: usize,
    /// Whether the present line is too long, so its rest is dropped.
    is_skipping: bool,
}

impl Lines {
    /// Creates an assembler that drops lines of more than `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { line: Vec::new(), max_bytes, is_skipping: false }
    }

    /// Adds bytes, and passes on the lines that they complete, without line ends.
    pub fn add<E>(&mut self, bytes: &[u8], mut visit: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, has_end) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.line.len() + text.len() > self.max_bytes {
                self.is_skipping = true;
                self.line.clear();
            }
            if !self.is_skipping {
                self.line.extend_from_slice(text);
            }
            if has_end {
                let result = if self.is_skipping { Ok(()) } else { visit(&self.line) };
                self.is_skipping = false;
                self.line.clear();
                result?;
            }
        }
        Ok(())
    }

    /// Returns the last line if it has no line end.
    pub fn rest(&self) -> &[u8] {
        &self.line
    }
}

/// The beginning of every event.
const EVENT: &[u8] = b"{\"event\":";

/// Parses the event at the end of a line. Launchers print between the worker's lines, and some do not end theirs.
pub fn parse_event(line: &[u8]) -> Option<Event> {
    let start = line.windows(EVENT.len()).rposition(|window| window == EVENT)?;
    serde_json::from_slice(&line[start..]).ok().map(Event::with_short_message)
}
