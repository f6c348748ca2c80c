//! Prints errors on the terminal: the error, the underlined place, and the next step.

use super::snippet::{Part, Snippet, cut};
use apexmap_base::error::{Error, ErrorKind};
use apexmap_base::terminal::{error_width, note_raw, supports_colours, to_printable, wrap_lines};

/// Maximum number of characters of the error and of the help. Arguments may be longer, and the error need not repeat them.
const MAX_CHARACTERS: usize = 4000;

/// Formats an error for a terminal of `width` columns, in printable characters and with bounded length.
pub fn render(error: &Error, colour: bool, width: usize) -> String {
    let error = &Error {
        message: cut(&error.message, MAX_CHARACTERS),
        help: cut(&error.help, MAX_CHARACTERS),
        ..error.clone()
    };
    if let ErrorKind::Interrupted(_) = error.kind {
        return format!("{error}\n");
    }
    let Some(place) = &error.location else { return format!("error: {error}\n") };
    let paint = |part: Part, text: &str| if colour { in_colour(part, text) } else { text.to_owned() };
    let fill = |text: &str, first: &str, others: &str| {
        let options = textwrap::Options::new(width.saturating_sub(2)).initial_indent(first).subsequent_indent(others);
        textwrap::fill(text, options) + "\n"
    };
    let [cross, bar] = ["×", "│"].map(|sign| format!("  {} ", paint(Part::Error, sign)));
    let mut text = fill(&error.message, &cross, &bar) + &Snippet::from_place(place).draw(&paint);
    if !error.help.is_empty() {
        text += &fill(&error.help, &paint(Part::Help, "  help: "), "        ");
    }
    text
}

fn in_colour(part: Part, text: &str) -> String {
    let code = match part {
        Part::Error => "31",
        Part::Help => "36",
        Part::Mark => "35;1",
        Part::Number => "2",
        Part::Place => "36;1;4",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Width of an error with a place if standard error is not a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Prints an error to standard error, wrapped between words on a terminal.
pub fn show(error: &Error) {
    let width = error_width();
    let text = render(error, supports_colours(&std::io::stderr()), width.unwrap_or(DEFAULT_WIDTH));
    // The underlined place is already wrapped, and wrapping would count its colours.
    match error.location {
        Some(_) => note_raw(&text),
        None => note_raw(&wrap_lines(&to_printable(&text), width)),
    }
}
