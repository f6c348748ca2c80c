//! All writing to standard output and standard error.
//!
//! The user's results go to standard output; a failure to write them is an error. Notes and progress go to standard error, where
//! failures are ignored: a closed terminal, an unread pipe or a full disk ends no measurement.

use crate::error::{Error, Result};
use crate::text_table::{Align, TextTable};
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Prints text for people, made [`printable`]. A closed pipe (`apexmap kernels | head`) is not an error.
///
/// # Errors
/// Fails if standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    output(|out| out.write_all(printable(text).as_bytes()))
}

/// Prints like [`print()`], in red if standard output is a terminal with colours.
///
/// # Errors
/// Fails like [`print()`].
pub fn print_in_red(line: &str) -> Result<()> {
    let (begin, end) = if takes_colours(&io::stdout()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    output(|out| writeln!(out, "{begin}{}{end}", printable(line)))
}

/// Returns whether an output is a terminal with colours and the user did not disable them with `NO_COLOR`
/// (<https://no-color.org>).
pub fn takes_colours(output: &impl IsTerminal) -> bool {
    output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes data for programs: unchanged, or made [`printable`] if standard output is a terminal.
///
/// # Errors
/// Fails if `write` fails or standard output cannot be written, unless the pipe was closed.
pub fn write_data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !io::stdout().is_terminal() {
        return output(write);
    }
    let mut data = Vec::new();
    write(&mut data).map_err(unwritable)?;
    print(&String::from_utf8_lossy(&data))
}

/// Writes a text like [`write_data`].
///
/// # Errors
/// Fails like [`write_data`].
pub fn print_data(text: &str) -> Result<()> {
    write_data(|out| out.write_all(text.as_bytes()))
}

/// Writes a worker's line to its driver. The whole line is one write, so lines of several ranks do not mix.
///
/// # Errors
/// Fails if the driver no longer reads.
pub fn tell_driver(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard output. A closed pipe is not an error.
fn output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // Without this, dropping the buffer would retry a failed write.
    drop(out.into_parts());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

fn unwritable(error: io::Error) -> Error {
    Error::environment(format!("cannot write to standard output: {error}"), "check where it goes")
}

/// Writes a line, made [`printable`], to standard error. Failures are ignored.
pub fn note(line: &str) {
    note_as_is(&format!("{}\n", printable(line)));
}

/// Writes a text that is already printable, with its colours and line ends, to standard error. Failures are ignored.
pub fn note_as_is(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Makes foreign text safe for a terminal. Characters that would move the cursor, change colours, rename the window or reverse
/// the direction of writing become U+FFFD. Line ends and tabs remain.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_unprintable, "\u{fffd}"))
}

/// Returns whether a character is a control character (ESC begins terminal commands) or changes the direction of writing.
pub fn is_unprintable(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// Returns the width of the terminal in characters, or `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Lists `family.variant` ids with their summaries, one per line, with an empty line between families.
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
