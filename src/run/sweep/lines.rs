//! A launch's output cut into lines of bounded length, and the events among them.

use apexmap_base::sample::Event;

/// Puts lines together from what is read.
pub struct Lines {
    line: Vec<u8>,
    longest: usize,
    /// The present line is too long: what is left of it is not kept.
    skipping: bool,
}

impl Lines {
    /// Lines of more than so many bytes are left out.
    pub fn new(longest: usize) -> Self {
        Self { line: Vec::new(), longest, skipping: false }
    }

    /// Adds bytes, and hands on the lines that they complete, without their ends.
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

    /// The last line, where its end is missing.
    pub fn rest(&self) -> &[u8] {
        &self.line
    }
}

/// How every event begins.
const EVENT: &[u8] = b"{\"event\":";

/// The event at the end of a line. Launchers print among the worker's lines, and some do not end theirs.
pub fn event(line: &[u8]) -> Option<Event> {
    let start = line.windows(EVENT.len()).rposition(|window| window == EVENT)?;
    serde_json::from_slice(&line[start..]).ok().map(Event::shortened)
}
