//! What is printed on standard output.

use crate::error::{Error, Result};
use crate::text_table::{Align, TextTable};
use std::io::IsTerminal;

/// Prints, and takes a closed pipe (`apexmap kernels | head`) as the end of interest.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::environment(format!("cannot write to standard output: {error}"), "check where it goes"))
        }
        _ => Ok(()),
    }
}

/// The text in red where standard output is a terminal that takes colours; otherwise as it is.
pub fn in_red(text: &str) -> String {
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if colours { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// Characters in a line of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
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
