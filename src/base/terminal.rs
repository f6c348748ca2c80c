//! The one place that writes to standard output and standard error, where people and programs read.
//!
//! What the user asked for goes to standard output, and that it cannot be written there is an error. Notes and progress go
//! to standard error, and nothing depends on them: a terminal that was closed, a pipe that nobody reads and a full disk end
//! no measurement.

use crate::error::{Error, Result};
use crate::text_table::{Align, TextTable};
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Prints text for people, made [`printable`]; takes a closed pipe (`apexmap kernels | head`) as the end of interest.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    output(|out| out.write_all(printable(text).as_bytes()))
}

/// As [`print()`], in red where standard output is a terminal that takes colours.
///
/// # Errors
/// As [`print()`].
pub fn print_in_red(line: &str) -> Result<()> {
    let (begin, end) = if takes_colours(&io::stdout()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    output(|out| writeln!(out, "{begin}{}{end}", printable(line)))
}

/// Whether an output is a terminal that takes colours: `NO_COLOR` refuses them (<https://no-color.org>).
pub fn takes_colours(output: &impl IsTerminal) -> bool {
    output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes data for programs: as it is, but printable where it goes to a terminal.
///
/// # Errors
/// If `write` fails or standard output cannot be written, unless the pipe was closed.
pub fn write_data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !io::stdout().is_terminal() {
        return output(write);
    }
    let mut data = Vec::new();
    write(&mut data).map_err(unwritable)?;
    print(&String::from_utf8_lossy(&data))
}

/// As [`write_data`], of a text.
///
/// # Errors
/// As [`write_data`].
pub fn print_data(text: &str) -> Result<()> {
    write_data(|out| out.write_all(text.as_bytes()))
}

/// A line of a worker, which its driver reads; all of it in one write, so that lines of several ranks do not mix.
///
/// # Errors
/// If nobody reads it.
pub fn tell_driver(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard output; a closed pipe is no error.
fn output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // What could not be written is not tried again when the buffer is dropped.
    drop(out.into_parts());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

fn unwritable(error: io::Error) -> Error {
    Error::environment(format!("cannot write to standard output: {error}"), "check where it goes")
}

/// Writes a line to standard error, made [`printable`]. That it cannot be written there is no error.
pub fn note(line: &str) {
    note_as_is(&format!("{}\n", printable(line)));
}

/// As [`note`], of text that is printable already, with its colours and line ends.
pub fn note_as_is(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Foreign text for a terminal: what would move the cursor, colour, rename the window or turn the direction of writing is
/// shown as U+FFFD. Line ends and tabulators stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_unprintable, "\u{fffd}"))
}

/// Control characters (of which ESC begins a terminal's commands), and marks of the direction of writing.
pub fn is_unprintable(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// Characters in a line of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// One line per `family.variant` id with its summary; a family's lines together, an empty line between families.
pub fn index(entries: &[(&str, &str)]) -> String {
    let mut families: Vec<Vec<(&str, &str)>> = Vec::new();
    let family = |id: &str| id.split('.').next().map(str::to_owned);
    for &entry in entries {
        match families.iter_mut().find(|known| family(known[0].0) == family(entry.0)) {
            Some(known) => known.push(entry),
            None => families.push(vec![entry]),
        }
    }
    let mut table = TextTable::new([Align::Left; 2]).within(width());
    for (at, family) in families.iter().enumerate() {
        if at > 0 {
            table.row([""]);
        }
        family.iter().for_each(|&(id, summary)| table.row([id, summary]));
    }
    table.to_string()
}
