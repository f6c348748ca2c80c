//! Output. A failure on standard output is an error; on standard error it is ignored: a closed terminal ends no measurement.

use crate::error::{Error, Result};
use crate::text_table::{Align, TextTable};
use nix::unistd;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

/// Prints text for people: printable, and wrapped on a terminal. A closed pipe (`apexmap kernels | head`) is not an error.
pub fn print(text: &str) -> Result<()> {
    write_output(|out| out.write_all(wrap_lines(&to_printable(text), terminal_width()).as_bytes()))
}

/// Prints like [`print()`], in red if standard output is a terminal with colours.
pub fn print_in_red(line: &str) -> Result<()> {
    let (colour_on, colour_off) = if supports_colours(&io::stdout()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    write_output(|out| writeln!(out, "{colour_on}{}{colour_off}", wrap_lines(&to_printable(line), terminal_width())))
}

pub fn print_styled(text: &str) -> Result<()> {
    write_output(|out| out.write_all(text.as_bytes()))
}

/// Standard input is a terminal, and this program is not in its background, where the system stops programs that read.
pub fn can_answer() -> bool {
    let is_behind = || unistd::tcgetpgrp(io::stdin()).is_ok_and(|group| group != unistd::getpgrp());
    io::stdin().is_terminal() && !is_behind()
}

/// Returns whether an output is a terminal whose colours `NO_COLOR` does not disable (<https://no-color.org>).
pub fn supports_colours(output: &impl IsTerminal) -> bool {
    output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes data for programs: unchanged, or made printable by [`to_printable`] if standard output is a terminal.
pub fn write_data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if !io::stdout().is_terminal() {
        return write_output(write);
    }
    let mut data = Vec::new();
    write(&mut data).map_err(output_error)?;
    write_output(|out| out.write_all(to_printable(&String::from_utf8_lossy(&data)).as_bytes()))
}

pub fn print_data(text: &str) -> Result<()> {
    write_data(|out| out.write_all(text.as_bytes()))
}

/// Writes a worker's line to its driver. The whole line is one write, so lines of several ranks do not mix.
pub fn write_to_driver(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard output. A closed pipe is not an error.
fn write_output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = write(&mut out).and_then(|()| out.flush());
    // Without this, dropping the buffer would retry a failed write.
    drop(out.into_parts());
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(output_error(error)),
        _ => Ok(()),
    }
}

fn output_error(error: io::Error) -> Error {
    Error::environment(format!("cannot write to standard output: {error}"), "check where it goes")
}

/// Writes a line to standard error: printable, and wrapped on a terminal. Failures are ignored.
pub fn note(line: &str) {
    note_raw(&format!("{}\n", wrap_lines(&to_printable(line), error_width())));
}

/// Writes a text that is already printable, with its colours and line ends, to standard error. Failures are ignored.
pub fn note_raw(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Replaces characters that would move the cursor, change colours, rename the window or reverse the direction of writing.
pub fn to_printable(text: &str) -> Cow<'_, str> {
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

/// Smallest terminal width that is believed. Terminals that report less do not know their width.
const MIN_WIDTH: usize = 20;

/// Returns the width of the terminal in characters, or `None` if standard output is not a terminal.
pub fn terminal_width() -> Option<usize> {
    width_of(io::stdout())
}

pub fn error_width() -> Option<usize> {
    width_of(io::stderr())
}

fn width_of(output: impl AsFd) -> Option<usize> {
    let width = terminal_size::terminal_size_of(output).map(|(width, _)| usize::from(width.0));
    width.filter(|&width| width >= MIN_WIDTH)
}

/// Spaces before the further lines of a wrapped line, in addition to those before its first line.
const WRAPPED_INDENT: usize = 2;

/// Wraps lines between words, further lines with an indent. A longer word is not broken: it may be a path or a command.
pub fn wrap_lines(text: &str, width: Option<usize>) -> Cow<'_, str> {
    let is_long = |line: &str, width: usize| textwrap::core::display_width(line) > width;
    let Some(width) = width.filter(|&width| text.lines().any(|line| is_long(line, width))) else {
        return Cow::Borrowed(text);
    };
    let wrap = |line: &str| {
        let content = line.trim_end_matches('\n');
        if !is_long(content, width) {
            return line.to_owned();
        }
        let indent = " ".repeat(content.len() - content.trim_start_matches(' ').len() + WRAPPED_INDENT);
        let options = textwrap::Options::new(width)
            .subsequent_indent(&indent)
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
        textwrap::wrap(content, options).join("\n") + &line[content.len()..]
    };
    Cow::Owned(text.split_inclusive('\n').map(wrap).collect())
}

/// Lists `family.variant` ids with their summaries, one per line, with an empty line between families.
pub fn family_index(entries: &[(&str, &str)]) -> String {
    let mut families: Vec<Vec<(&str, &str)>> = Vec::new();
    let family_of_id = |id: &str| id.split('.').next().map(str::to_owned);
    for &entry in entries {
        match families.iter_mut().find(|family_entries| family_of_id(family_entries[0].0) == family_of_id(entry.0)) {
            Some(family_entries) => family_entries.push(entry),
            None => families.push(vec![entry]),
        }
    }
    let mut table = TextTable::new([Align::Left; 2]).with_width(terminal_width());
    for (position, family) in families.iter().enumerate() {
        if position > 0 {
            table.add_row([""]);
        }
        family.iter().for_each(|&(id, summary)| table.add_row([id, summary]));
    }
    table.to_string()
}
