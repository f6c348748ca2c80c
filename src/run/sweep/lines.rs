//! Splits a launch's output into lines of bounded length, and parses the events in them.

use apexmap_base::sample::Event;

/// Assembles lines from chunks of bytes.
pub struct Lines {
    line: Vec<u8>,
    longest: usize,
    /// Whether the present line is too long, so its rest is dropped.
    skipping: bool,
}

impl Lines {
    /// Creates an assembler that drops lines of more than `max_bytes` bytes.
    pub fn new(longest: usize) -> Self {
        Self { line: Vec::new(), longest, skipping: false }
    }

    /// Adds bytes, and passes on the lines that they complete, without line ends.
    pub fn add<E>(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.line.len() + text.len() > self.longest {
                self.skipping = true;
                self.line.clear();
            }
            if !self.skipping {
                self.line.extend_from_slice(text);
            }
            if ends {
                let result = if self.skipping { Ok(()) } else { take(&self.line) };
                self.skipping = false;
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
pub fn event(line: &[u8]) -> Option<Event> {
    let start = line.windows(EVENT.len()).rposition(|window| window == EVENT)?;
    serde_json::from_slice(&line[start..]).ok().map(Event::shortened)
}
